//! The page of a process's system calls: count, time and errors of each.

use super::figures::{joined, widths};
use super::text::{cut, cut_to_part, put, wrapped};
use super::theme::Ink;
use super::view::View;
use exactop_model::on_demand::syscalls::{CallRow, SyscallWindow};
use exactop_model::text::escape::harmless;
use exactop_model::words::units::{duration, rate, thousands};
use exactop_model::words::{losses, syscalls};
use ratatui_core::buffer::Buffer;
use ratatui_core::text::Line;
use unicode_width::UnicodeWidthStr;

const HEADING: [&str; 8] = ["CALLS", "CALLS/s", "ERRORS", "TOTAL", "MEAN", "MAX", "IN", "SYSCALL"];
/// Columns in the order in which a narrow screen leaves them out.
const GIVE_WAY: [&str; 3] = ["IN", "CALLS/s", "MEAN"];

pub(super) fn draw(view: &View, mut y: u16, buf: &mut Buffer) {
    let room = usize::from(buf.area.width);
    let calls = match view.frame.subjects.get::<SyscallWindow>() {
        Some(Ok(calls)) => calls,
        none => {
            let text = match none {
                Some(Err(why)) => format!("no system calls: {}", harmless(why)),
                _ => "system calls: shown from the next window on".into(),
            };
            let lines = (y..view.end_y).zip(wrapped(&text, 0, room));
            let dim = view.theme.style(Ink::Dim);
            return lines.for_each(|(y, line)| put(buf, 0, y, u16::MAX, &line.style(dim)));
        }
    };
    let lost = losses::lines(&calls.losses, "call", syscalls::UNSEEN);
    let age = view.age(calls.t1_ns).map_or(String::new(), |age| format!(" · {age}"));
    let sum = format!("calls    {}{age}", syscalls::sum(calls));
    put(buf, 0, y, u16::MAX, &Line::raw(cut_to_part(&sum, room)));
    for line in lost {
        y += 1;
        put(buf, 0, y, u16::MAX, &Line::styled(cut(&line, room), view.theme.style(Ink::Alarm)));
    }
    table(view, calls, y + 1, buf);
}

fn table(view: &View, calls: &SyscallWindow, y: u16, buf: &mut Buffer) {
    let width = usize::from(buf.area.width);
    let room = usize::from(view.end_y.saturating_sub(y + 1));
    let rows = calls.longest_first();
    let name = rows.iter().map(|call| call.row.nr.to_string().width()).max().unwrap_or(0).max(12);
    let top = view.app.first_line(view.page.top, rows.len(), room);
    let shown = rows.iter().skip(top).take(room);
    let texts: Vec<Vec<String>> = shown
        .map(|CallRow { row, failures, .. }| {
            let time = |ns: Option<u64>| ns.map_or("-".into(), duration);
            let failed = syscalls::failed(failures);
            let call = format!("{:<name$}  {failed}", row.nr.to_string());
            vec![
                thousands(row.calls),
                rate(row.calls, calls.seconds()),
                thousands(row.errors),
                time(row.timed_ns()),
                time(row.mean_ns()),
                time(row.max_ns),
                thousands(row.in_flight),
                call.trim_end().into(),
            ]
        })
        .collect();
    let mut heading = HEADING.map(String::from);
    heading[HEADING.len() - 1] = format!("{:<name$}  FAILED WITH", "SYSCALL");
    let widths = widths(&heading, &texts, &GIVE_WAY, width);
    let line = |texts: &[String]| cut(&joined(texts, &widths), width);
    put(buf, 0, y, u16::MAX, &Line::styled(line(&heading), view.theme.style(Ink::Heading)));
    for (y, text) in (y + 1..).zip(&texts) {
        put(buf, 0, y, u16::MAX, &Line::raw(line(text)));
    }
    if rows.is_empty() {
        let none = Line::styled("no system call in this window", view.theme.style(Ink::Dim));
        put(buf, 0, y + 1, u16::MAX, &none);
    }
}
