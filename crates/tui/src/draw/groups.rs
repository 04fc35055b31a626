//! The page of control groups: a tree with what each uses, wants and may use.

use super::text::{cell, put};
use super::theme::{Ink, Theme};
use crate::app::App;
use crate::layout::Screen;
use exactop_model::cgroups::Groups;
use exactop_model::words::cgroups::{cost, line, HEADING};
use exactop_model::Frame;
use ratatui::buffer::Buffer;
use ratatui::text::Line;
use unicode_width::UnicodeWidthStr;

/// Columns of [`HEADING`] by what gives way first where the screen is narrow.
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

/// Columns that a group's name gets at least.
const NAME: usize = 20;

pub(super) fn draw(app: &App, frame: &Frame, screen: &Screen, theme: Theme, buf: &mut Buffer) {
    let (y, height) = (screen.heading_y, buf.area.height);
    let Some(groups) = &frame.groups else {
        let text = "control groups are known from the next window on, where the kernel has any";
        return put(buf, 0, y, u16::MAX, &Line::styled(text, theme.style(Ink::Dim)));
    };
    let words = words(groups, usize::from(height.saturating_sub(y + 2)) / 3);
    let rows = usize::from(height.saturating_sub(y + 1)).saturating_sub(words.len()).max(1);
    let at = app.selected_group();
    let first = (at.unwrap_or(0) + 1).saturating_sub(rows);
    let texts: Vec<Vec<String>> =
        groups.rows.iter().skip(first).take(rows).map(|row| line(groups, row)).collect();
    let widths = widths(&texts, usize::from(buf.area.width));
    let heading: Vec<String> = HEADING.iter().map(ToString::to_string).collect();
    put(buf, 0, y, u16::MAX, &Line::styled(joined(&heading, &widths), theme.style(Ink::Heading)));
    for ((y, text), index) in (y + 1..height).zip(&texts).zip(first..) {
        let ink = if Some(index) == at { Ink::Selected } else { Ink::Plain };
        let text = cell(&joined(text, &widths), usize::from(buf.area.width), true);
        put(buf, 0, y, u16::MAX, &Line::styled(text, theme.style(ink)));
    }
    let below = y + 1 + u16::try_from(texts.len()).unwrap_or(0);
    for (y, text) in (below..height).zip(words) {
        put(buf, 0, y, u16::MAX, &Line::styled(text, theme.style(Ink::Dim)));
    }
}

/// What limits cost, dearest first as the rows are.
fn words(groups: &Groups, most: usize) -> Vec<String> {
    groups.rows.iter().filter_map(|row| cost(groups, row)).take(most).collect()
}

/// The width of each column, 0 for those that gave way; the name takes what is left.
fn widths(texts: &[Vec<String>], room: usize) -> Vec<usize> {
    let last = HEADING.len() - 1;
    let widest = |i: usize| texts.iter().map(|t| t[i].width()).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..last).map(|i| widest(i).max(HEADING[i].width()) + 1).collect();
    for title in GIVE_WAY {
        if widths.iter().sum::<usize>() + NAME <= room {
            break;
        }
        if let Some(i) = HEADING.iter().position(|h| *h == title) {
            widths[i] = 0;
        }
    }
    widths
}

fn joined(texts: &[String], widths: &[usize]) -> String {
    let mut out = String::new();
    for (text, &width) in texts.iter().zip(widths).filter(|(_, width)| **width > 0) {
        out += &cell(text, width - 1, false);
        out.push(' ');
    }
    out + texts.last().map_or("", String::as_str)
}
