//! Pressure (waiting for CPU, I/O, memory) and disk I/O: beside the memory if there is room, or in
//! its place.

use super::text::Piece;
use super::theme::{Ink, Theme};
use crate::app::App;
use exactop_model::words::units::size;
use exactop_model::Frame;

/// `PSI cpu 18.6 io 0.0 mem -`: per cent of the last ten seconds in which some task waited for
/// each.
pub(super) fn pressure(frame: &Frame, theme: Theme, ranks: [u8; 2]) -> Vec<Piece> {
    let Some(pressure) = frame.system.pressure else { return Vec::new() };
    let figure = |pct: Option<f64>| pct.map_or("-".into(), |pct| format!("{pct:.1}"));
    let [first, rest] = ranks;
    let part = |rank, text: &str, pct: Option<f64>| {
        let ink = if pct.is_some_and(|pct| pct > 0.0) { Ink::Strong } else { Ink::Dim };
        Piece::new(rank, theme, Ink::Plain, format!("{text} ")).and(theme, ink, figure(pct))
    };
    vec![
        part(first, "PSI cpu", pressure.cpu),
        part(rest, "io", pressure.io),
        part(rest, "mem", pressure.memory),
    ]
}

/// The line that replaces the memory.
pub(super) fn line(app: &App, frame: &Frame, theme: Theme) -> Vec<Piece> {
    let mut pieces = pressure(frame, theme, [9, 8]);
    if pieces.is_empty() {
        pieces.push(Piece::new(9, theme, Ink::Dim, "PSI -"));
    }
    let head = Piece::new(7, theme, Ink::Plain, "· Disk");
    pieces.push(match frame.system.disk {
        None => head.and(theme, Ink::Dim, format!(" - ({})", why_no_disk(app))),
        Some(disk) => {
            let rate = |bytes: f64| format!(" {}/s", size(bytes.max(0.0) as u64));
            head.and(theme, Ink::Strong, rate(disk.read))
                .and(theme, Ink::Plain, " read")
                .and(theme, Ink::Strong, rate(disk.written))
                .and(theme, Ink::Plain, " written")
        }
    });
    pieces
}

/// Why disk I/O is missing: it is a difference of two reads, and is read only while it is shown.
fn why_no_disk(app: &App) -> &'static str {
    match (&app.past, app.is_paused()) {
        (Some(past), _) if past.kept => "not read for earlier windows",
        (Some(_), _) => "not recorded",
        (None, true) => "paused: shown from the second window on",
        (None, false) => "shown from the next window on",
    }
}
