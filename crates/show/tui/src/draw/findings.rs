//! Findings on the window: a line below the balance, and a page with their figures.

use super::put;
use super::text::{cell, cut, pack, put_right, wrapped, Piece};
use super::theme::{Ink, Theme};
use crate::app::App;
use crate::layout::Screen;
use exactop_model::findings::{Finding, FindingKind, Leads};
use exactop_model::owner::Grouping;
use exactop_model::words::findings::{evidence, sentence};
use exactop_model::Frame;
use ratatui_core::buffer::Buffer;
use ratatui_core::text::{Line, Span};

const GAP: &str = " · ";

/// The worst findings that fit, of which the last may be cut; and the number of further ones.
pub(super) fn line(frame: &Frame, theme: Theme, room: usize) -> Line<'static> {
    if frame.findings.is_empty() {
        return Line::styled("no findings", theme.style(Ink::Dim));
    }
    let said: Vec<Piece> = frame
        .findings
        .iter()
        .enumerate()
        .map(|(n, finding)| {
            let rank = u8::MAX.saturating_sub(n.min(200) as u8);
            Piece::new(rank, theme, ink(finding), sentence(finding, frame.length_ns()))
        })
        .collect();
    let count = said.len();
    let key = |hidden: usize| match hidden {
        0 => "  (!)".to_string(),
        n => format!("  (! +{n})"),
    };
    let mut line = pack(said, GAP, room.saturating_sub(key(count).len()));
    // Between two findings is a gap, which is a span of its own.
    let shown = line.spans.len().div_ceil(2);
    let key = key(count - shown.min(count));
    if let [only] = line.spans.as_mut_slice() {
        only.content = cut(&only.content, room.saturating_sub(key.len())).into();
    }
    line.push_span(Span::styled(key, theme.style(Ink::Dim)));
    line
}

fn ink(finding: &Finding) -> Ink {
    match finding.what {
        FindingKind::Throttled(_) => Ink::Throttled,
        FindingKind::Waited(_) => Ink::RunQueue,
        FindingKind::Stolen { .. } => Ink::Steal,
        FindingKind::Residual { .. } | FindingKind::Missed(_) => Ink::Alarm,
        FindingKind::ShortLived(_) | FindingKind::Unnamed { .. } => Ink::Strong,
    }
}

pub(super) fn draw(app: &App, frame: &Frame, screen: &Screen, theme: Theme, buf: &mut Buffer) {
    let (mut y, width) = (screen.heading_y, buf.area.width);
    let room = usize::from(width);
    let selected = app.selected_finding();
    let leads = selected.and_then(|at| frame.findings.get(at)).map(Finding::leads);
    let way = leads.map_or(String::new(), way);
    let whole = "FINDINGS OF THE WINDOW, THE WORST FIRST";
    let heading = if whole.len() + way.len() <= room { whole } else { "FINDINGS" };
    let heading = cell(heading, room, true);
    put(buf, 0, y, width, &Line::styled(heading, theme.style(Ink::Heading)));
    if frame.findings.is_empty() {
        let text = match frame.provenance.source {
            source if source.sees_exits() => {
                "no findings: no figure of this window reached its threshold".into()
            }
            source => format!("no findings; the source {} sees no exits", source.name()),
        };
        return put(buf, 0, y + 1, width, &Line::styled(text, theme.style(Ink::Dim)));
    }
    let rows = usize::from(screen.end_y().saturating_sub(y + 1));
    let (blocks, first) = blocks(frame, selected, room, rows, theme);
    for line in blocks[first..].iter().flatten().take(rows) {
        y += 1;
        put(buf, 0, y, width, line);
    }
    put_right(buf, screen.heading_y, &Line::styled(way, theme.style(Ink::Heading)));
}

/// The lines of each finding, and the first finding shown: on a short screen, those above the
/// selected one are left out first.
fn blocks(
    frame: &Frame,
    selected: Option<usize>,
    room: usize,
    rows: usize,
    theme: Theme,
) -> (Vec<Vec<Line<'static>>>, usize) {
    let one = |(n, finding)| block(frame, finding, selected == Some(n), room, theme);
    let blocks: Vec<Vec<Line>> = frame.findings.iter().enumerate().map(one).collect();
    let until = selected.map_or(0, |at| at + 1);
    let mut first = 0;
    while blocks[first..until.max(first)].iter().map(Vec::len).sum::<usize>() > rows
        && first + 1 < until
    {
        first += 1;
    }
    (blocks, first)
}

/// The finding of a line of the screen; `None`: the line has none.
pub(crate) fn row_at(app: &App, y: u16) -> Option<usize> {
    let (frame, screen, room) = (app.frame()?, app.screen()?, usize::from(app.size().0));
    let rows = usize::from(screen.end_y().saturating_sub(screen.heading_y + 1));
    let (blocks, first) = blocks(frame, app.selected_finding(), room, rows, Theme::MONO);
    let below = usize::from(y.checked_sub(screen.heading_y + 1)?);
    let of_line = blocks.iter().enumerate().skip(first);
    let mut of_line = of_line.flat_map(|(n, block)| std::iter::repeat_n(n, block.len()));
    of_line.nth(below).filter(|_| below < rows)
}

/// A finding's sentence with its figures below.
fn block(
    frame: &Frame,
    finding: &Finding,
    selected: bool,
    room: usize,
    theme: Theme,
) -> Vec<Line<'static>> {
    let said = sentence(finding, frame.length_ns());
    let ink = if selected { Ink::Selected } else { ink(finding) };
    let said = match selected {
        true => cell(&said, room, true),
        false => cut(&said, room),
    };
    let figures = wrapped(&evidence(finding), 4, room).into_iter();
    let figures = figures.map(|line| line.style(theme.style(Ink::Dim)));
    [Line::styled(said, theme.style(ink))].into_iter().chain(figures).collect()
}

/// The page that Enter opens.
fn way(leads: Leads) -> String {
    match leads {
        Leads::Groups(_) => " Enter: control groups".into(),
        Leads::Process(key) => format!(" Enter: process {}", key.tgid),
        Leads::Totals(_) => format!(" Enter: totals by {}", Grouping::Command),
        Leads::Cpus => " Enter: each CPU".into(),
        Leads::Quality => " Enter: the window's quality".into(),
    }
}
