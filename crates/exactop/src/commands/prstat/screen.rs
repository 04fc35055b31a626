//! Reports on a screen: the lines of each list, and their look.

use crate::failure::{complain, Failure};
use crate::output::screen::Screen;
use exactop_views::prstat::{Report, ReportSections, Room};

/// Lines of the lists in a report with `beside` further lines.
///
/// # Errors
/// The terminal is too small.
pub fn room(screen: &Screen, lists: ReportSections, beside: usize) -> Result<Room, Failure> {
    const PRINTED: Room = Room { top: 15, bottom: 5 };
    let Some(rows) = screen.rows() else { return Ok(PRINTED) };
    fitting(rows, lists, beside).ok_or_else(|| {
        Failure::failed("the terminal has too few lines: enlarge it, or set the lines with -n")
    })
}

/// Prints a report, below or over the last one. Its notes (`unsaid`) are its last line on a screen.
/// Reports for programs have no such line, so the notes go to standard error.
///
/// # Errors
/// Standard output cannot be written, or a signal came first.
pub fn show(
    screen: &mut Screen,
    report: &Report,
    date: Option<&str>,
    unsaid: Option<&str>,
) -> Result<(), Failure> {
    if screen.is_drawn() {
        return screen.draw(&drawn(report, date, unsaid));
    }
    let text = date.map(|date| format!("{date}\n")).unwrap_or_default() + &report.text();
    screen.write(text.as_bytes())?;
    unsaid.into_iter().for_each(complain);
    Ok(())
}

/// Three lines are for headings and the total, and `beside` for the rest. Of two lists, the upper
/// gets three quarters.
fn fitting(rows: usize, lists: ReportSections, beside: usize) -> Option<Room> {
    let lines = rows.checked_sub(3 + beside).filter(|&n| n > 0)?;
    match lists {
        ReportSections::Both(_) if lines < 8 => None,
        ReportSections::Both(_) => {
            let top = lines / 4 * 3;
            Some(Room { top, bottom: lines - 1 - top })
        }
        _ => Some(Room { top: lines, bottom: lines }),
    }
}

/// A report with underlined headings and lists of full length.
fn drawn(report: &Report, date: Option<&str>, unsaid: Option<&str>) -> Vec<String> {
    let mut lines: Vec<String> = date.map(String::from).into_iter().collect();
    for part in &report.parts {
        lines.push(format!("\x1b[4m{}\x1b[24m", part.header));
        lines.extend(part.lines.iter().cloned());
        lines.extend((part.lines.len()..part.room).map(|_| String::new()));
    }
    lines.push(report.total.clone());
    lines.extend(unsaid.map(String::from));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_views::prstat::{GroupBy, Part};

    #[test]
    fn lists_share_the_screen_as_prstats_do() {
        let fit = |rows, lists| fitting(rows, lists, 0).map(|room| (room.top, room.bottom));
        assert_eq!(fit(24, ReportSections::Rows), Some((21, 21)));
        assert_eq!(fit(24, ReportSections::Both(GroupBy::User)), Some((15, 5)));
        assert_eq!(fit(11, ReportSections::Both(GroupBy::User)), Some((6, 1)));
        assert_eq!(fit(10, ReportSections::Both(GroupBy::User)), None);
        assert_eq!(fit(4, ReportSections::Rows), Some((1, 1)));
        assert_eq!(fit(3, ReportSections::Rows), None);
        assert_eq!(fitting(24, ReportSections::Rows, 1), Some(Room { top: 20, bottom: 20 }));
        assert_eq!(fitting(24, ReportSections::Rows, 2), Some(Room { top: 19, bottom: 19 }));
    }

    #[test]
    fn notes_are_the_last_line_of_the_screen() {
        let part = Part { header: "PID".into(), lines: vec!["  7".into()], room: 2 };
        let report = Report { parts: vec![part], total: "Total: 1".into() };
        let shown = |unsaid| {
            let lines = drawn(&report, Some("today"), unsaid);
            (lines.len(), lines.last().expect("a line").clone())
        };
        assert_eq!(shown(None), (5, "Total: 1".into()));
        assert_eq!(shown(Some("2 times no place")), (6, "2 times no place".into()));
    }
}
