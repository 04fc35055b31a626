//! The page of control groups: a tree with the use, the waits and the limits of each.

use super::figures::{
    column_at, joined, most_words, named, notes, row_of_line, rows_beside, titled, widths,
};
use super::text::put;
use super::theme::{Ink, Theme};
use super::view::until_newer;
use crate::app::App;
use crate::layout::Screen;
use exactop_model::cgroups::{GroupRow, Groups};
use exactop_model::text::escape::harmless;
use exactop_model::words::cgroups::{bare_name, beyond_cpus, cost, heading, line, without_ledger};
use exactop_model::words::units::duration;
use exactop_model::Frame;
use ratatui_core::buffer::Buffer;
use ratatui_core::text::Line;

/// Columns in the order in which a narrow screen leaves them out.
const GIVE_WAY: [&str; 13] = [
    "PSI%",
    "CPUS",
    "EXITED",
    "SHARE",
    "THROTTLED",
    "%SYS",
    "%USR",
    "PROCS",
    "PERIODS",
    "LAT%",
    "LEDGER%",
    "WEIGHT",
    "THR%",
];

pub(super) fn draw(app: &App, frame: &Frame, screen: &Screen, theme: Theme, buf: &mut Buffer) {
    let (y, height) = (screen.heading_y, screen.end_y());
    let groups = match &frame.groups {
        Some(Ok(groups)) => groups,
        none => {
            let text = match none {
                Some(Err(why)) => format!("no control groups: {}", harmless(why)),
                _ => "control groups: shown from the next window on".into(),
            };
            return put(buf, 0, y, u16::MAX, &Line::styled(text, theme.style(Ink::Dim)));
        }
    };
    if app.group_rows().is_empty() {
        let text = "no group was throttled in this window: g shows all groups";
        return put(buf, 0, y, u16::MAX, &Line::styled(text, theme.style(Ink::Dim)));
    }
    let Table { words, first, texts, names, titles, widths } = table(app, frame, groups, screen);
    let at = app.selected_group();
    put(buf, 0, y, u16::MAX, &Line::styled(joined(&titles, &widths), theme.style(Ink::Heading)));
    for ((y, text), index) in (y + 1..height).zip(&texts).zip(first..) {
        let ink = if Some(index) == at { Ink::Selected } else { Ink::Plain };
        let text = named(text, &names[index - first], &widths, usize::from(buf.area.width));
        put(buf, 0, y, u16::MAX, &Line::styled(text, theme.style(ink)));
    }
    let below = y + 1 + u16::try_from(texts.len()).unwrap_or(0);
    for (y, text) in (below..height).zip(words) {
        put(buf, 0, y, u16::MAX, &Line::styled(text, theme.style(Ink::Dim)));
    }
}

/// The page as it is drawn.
struct Table {
    /// Notes below the rows.
    words: Vec<String>,
    /// The first row on the screen.
    first: usize,
    /// Cells of each row.
    texts: Vec<Vec<String>>,
    /// Name of each row, with its meaning.
    names: Vec<String>,
    titles: Vec<String>,
    widths: Vec<usize>,
}

fn table(app: &App, frame: &Frame, groups: &Groups, screen: &Screen) -> Table {
    let words = words(app, frame, groups, most_words(screen));
    let rows = rows_beside(words.len(), screen);
    let first = (app.selected_group().unwrap_or(0) + 1).saturating_sub(rows);
    let shown: Vec<&GroupRow> = app.group_rows().into_iter().skip(first).take(rows).collect();
    let mut texts: Vec<Vec<String>> = shown.iter().map(|row| line(groups, row)).collect();
    let names: Vec<String> = texts.iter_mut().filter_map(Vec::pop).collect();
    // The meaning of a path is cut before figures are left out.
    texts.iter_mut().zip(&shown).for_each(|(text, row)| text.push(bare_name(row)));
    let titles = heading().map(String::from).to_vec();
    let (titles, give_way) = titled(titles, app.order_of_groups(groups), &GIVE_WAY);
    let widths = widths(&titles, &texts, &give_way, usize::from(app.size().0));
    Table { words, first, texts, names, titles, widths }
}

/// The column at a cell of the headings; `None`: another line.
pub(crate) fn heading_at(app: &App, x: u16, y: u16) -> Option<usize> {
    let (frame, screen) = (app.frame()?, app.screen()?);
    let groups = frame.groups.as_ref()?.as_ref().ok()?;
    let has_headings = y == screen.heading_y && !app.group_rows().is_empty();
    has_headings.then(|| column_at(x, &table(app, frame, groups, &screen).widths))
}

/// The row of a line of the screen; `None`: the line has none.
pub(crate) fn row_at(app: &App, y: u16) -> Option<usize> {
    let (frame, screen) = (app.frame()?, app.screen()?);
    let groups = frame.groups.as_ref()?.as_ref().ok()?;
    let Table { first, texts, .. } = table(app, frame, groups, &screen);
    row_of_line(y, first, texts.len(), &screen).filter(|&row| row < app.group_rows().len())
}

/// Notes: the age of the figures if they are not the frame's, the reason why the ledger's figures
/// are missing, and the cost of limits, the most expensive first.
fn words(app: &App, frame: &Frame, groups: &Groups, most: usize) -> Vec<String> {
    let age_ns = Some(frame.t1_ns.saturating_sub(groups.t1_ns)).filter(|&ns| ns > 0);
    let age = age_ns.map(|ns| until_newer(app, format!("{} old", duration(ns))));
    let costs = groups.rows.iter().filter_map(|row| cost(groups, row));
    let why = without_ledger(groups).into_iter().chain(beyond_cpus(groups));
    notes(age.into_iter().chain(why).chain(costs), most, app.size().0.into())
}
