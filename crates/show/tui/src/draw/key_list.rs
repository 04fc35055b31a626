//! The key list: the keys, the columns, the marks and the events, and how exact the window is.

use super::cpus::GLYPHS;
use super::entries::{entry, title};
use super::states;
use super::text::{graph, wrapped};
use super::theme::{Ink, Theme};
use crate::keys::{HelpSection, BINDINGS};
use exactop_model::columns::COLUMNS;
use exactop_model::words::units::duration;
use exactop_model::words::{audit, cgroups, degraded, named_sums};
use exactop_model::{text::escape::harmless, ErrorKind, Frame, SourceKind};
use ratatui_core::text::{Line, Span};

/// The list, wrapped to the width.
pub(super) fn lines(frame: &Frame, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = vec![title("exactop: every nanosecond of every CPU, accounted for", theme)];
    lines.extend(wrapped(
        "A figure with ~ is sampled at the kernel's ticks. A - is a figure that is not known. %CPU \
         is rounded so that the column adds up over all rows. The end of this list says how exact \
         this window is.",
        0,
        width,
    ));
    for group in HelpSection::ALL {
        lines.push(Line::default());
        lines.push(title(group.title(), theme));
        for binding in BINDINGS.iter().filter(|b| b.group == group) {
            lines.extend(entry(&binding.names(), binding.help, 14, width, theme));
        }
    }
    lines.extend(mouse(width, theme));
    lines.extend(bars(width, theme));
    lines.push(Line::default());
    lines.push(title("Columns (a name works in filters, too)", theme));
    for column in COLUMNS {
        let text = format!("{} Name: {}.", column.help, column.name);
        lines.extend(entry(column.title, &text, 10, width, theme));
    }
    lines.extend(columns_of_pages(width, theme));
    lines.push(Line::default());
    lines.push(title("Events (those of this window stand below)", theme));
    for kind in ErrorKind::ALL {
        let then = if kind.inexact() { " The window is inexact." } else { "" };
        let text = format!("{}{then} In JSON and docs: {}.", kind.meaning(), kind.id());
        lines.extend(entry(kind.short(), &text, 26, width, theme));
    }
    lines.push(Line::default());
    lines.extend(quality(frame, width, theme));
    lines
}

/// Where the figures of the window come from, and how exact they are.
pub(super) fn quality(frame: &Frame, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = vec![title("This window", theme)];
    let mut words = |text: &str| lines.extend(wrapped(text, 0, width));
    words(&source(frame));
    words(&window(frame));
    words(books(frame.provenance.source));
    if frame.provenance.source.keeps_books() {
        audit::lines(&frame.audit).iter().for_each(|line| words(line));
    }
    lines
}

/// Columns of the pages of control groups and of totals.
fn columns_of_pages(width: usize, theme: Theme) -> Vec<Line<'static>> {
    let groups = cgroups::FIGURES.map(|(name, help, ..)| (name, help));
    let sums = named_sums::FIGURES.map(|(name, help, ..)| (name, help));
    let mut lines = Vec::new();
    for (head, columns) in
        [("Columns of control groups (g)", &groups[..]), ("Columns of totals (K)", &sums[..])]
    {
        lines.extend([Line::default(), title(head, theme)]);
        lines.extend(columns.iter().flat_map(|(name, help)| entry(name, help, 10, width, theme)));
    }
    lines
}

/// The source, the reason for it, and what is missing.
pub(super) fn source(frame: &Frame) -> String {
    let source = frame.provenance.source.name();
    let line = match &frame.provenance.reason {
        Some(reason) => format!("Source: {source} ({}).", harmless(reason)),
        None => format!("Source: {source}."),
    };
    match degraded::line(frame.provenance.degraded) {
        Some(missing) => format!("{line} {missing}."),
        None => line,
    }
}

/// How exact the window is, with the details that the status line leaves out.
fn window(frame: &Frame) -> String {
    let mut found: Vec<String> = audit::events(frame).collect();
    if let Some(ns) = frame.residual_ns().filter(|&ns| ns != 0) {
        found.push(format!("residual {}", residual(ns)));
    }
    let state = audit::state(frame).unwrap_or_else(|| audit::grade(frame));
    match found.is_empty() {
        true => format!("This window: {state}."),
        false => format!("This window: {state}; {}.", found.join(", ")),
    }
}

fn residual(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    format!("{sign}{}", duration(ns.unsigned_abs()))
}

fn books(source: SourceKind) -> &'static str {
    match source {
        SourceKind::Ledger => {
            "The line CPU is a balance: the accounts right of the = add up to the time of all \
             CPUs, to the last digit. Each account is charged by its own events, so a lost charge \
             shows as the residual."
        }
        SourceKind::Procfs | SourceKind::Snapshot => {
            "The line CPU is a balance of the kernel's tick counts, so its unit is a tick. The \
             time of tasks that exited in the window is in the unnamed account."
        }
        SourceKind::Taskstats => {
            "The line CPU is a balance of the kernel's tick counts, so its unit is a tick. Exited \
             tasks left records; the cost of their exits is in the unnamed account."
        }
    }
}

fn mouse(width: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default(), title("Mouse", theme)];
    for (place, result) in [
        ("heading", "sort by this column; again: reverse the order"),
        ("row", "select the row"),
        ("wheel", "scroll"),
        ("time line", "click or drag: show the window of that time"),
        ("Shift", "select text, as the terminal does"),
    ] {
        lines.extend(entry(place, result, 14, width, theme));
    }
    lines
}

fn bars(width: usize, theme: Theme) -> Vec<Line<'static>> {
    let mut spans = vec![Span::raw("  ")];
    for (glyph, ink, name) in GLYPHS {
        spans.push(Span::styled(glyph.to_string().repeat(3), theme.style(ink)));
        spans.push(Span::raw(format!(" {name}   ")));
    }
    let colours = [
        ("user", Ink::User),
        ("system", Ink::System),
        ("irq", Ink::Irq),
        ("steal", Ink::Steal),
        ("idle", Ink::Idle),
        ("lock", Ink::Lock),
        ("run-queue wait", Ink::RunQueue),
        ("throttled", Ink::Throttled),
        ("blocked", Ink::Block),
        ("page fault", Ink::Fault),
        ("stopped", Ink::Stop),
        ("sleep", Ink::Sleep),
        ("most of a CPU", Ink::Warning),
    ];
    let names = colours.chunks(7).filter(|_| !theme.is_mono()).map(|colours| {
        let names = colours
            .iter()
            .flat_map(|(name, ink)| [Span::raw("  "), Span::styled(*name, theme.style(*ink))]);
        Line::from(names.collect::<Vec<_>>())
    });
    let head = title("Bars and colours", theme);
    let mut lines = vec![Line::default(), head, Line::from(spans)];
    lines.extend(state_marks(width, theme));
    let levels: Vec<f32> = (1..=8u8).map(|n| f32::from(n) / 8.0).collect();
    let busy = format!("{}  the part of all CPUs' time that was not idle, in the last windows, the newest to the right. From 32 CPUs on there is one bar a CPU, in the colour of its largest part", graph(&levels, theme));
    lines.extend(entry("busy", &busy, 10, width, theme));
    let sizes = "dim below 1 % of a CPU, bright from 20 %, in the colour of a warning from 80 %";
    lines.extend(entry("figures", sizes, 10, width, theme));
    lines.extend(names);
    lines
}

/// The marks of states, in lines that fit.
fn state_marks(width: usize, theme: Theme) -> Vec<Line<'static>> {
    /// `███ USR   `
    const ENTRY: usize = 10;
    let per_line = (width.saturating_sub(2) / ENTRY).max(1);
    let marks: Vec<_> = states::marks().collect();
    let entry = |mark: &states::Mark| {
        let bar = Span::styled(mark.glyph.to_string().repeat(3), theme.style(mark.ink));
        [bar, Span::raw(format!(" {}   ", mark.name))]
    };
    let line = |marks: &[states::Mark]| {
        let entries = marks.iter().flat_map(entry);
        Line::from([Span::raw("  ")].into_iter().chain(entries).collect::<Vec<_>>())
    };
    marks.chunks(per_line).map(line).collect()
}
