//! The pages of a process's environment and of its open files.

use super::figures::{joined, widths};
use super::text::{cut, folded, put, wrapped};
use super::theme::Ink;
use super::view::View;
use exactop_model::frame::holdings::{Environment, File, Files, Holdings, Part};
use exactop_model::text::escape::{escape, harmless};
use exactop_model::words::holdings::{
    kind, mode, name, not_recorded, sum_of_environment, sum_of_files,
};
use exactop_model::words::units::{size, thousands};
use ratatui_core::buffer::Buffer;
use ratatui_core::text::Line;

const HEADING: [&str; 6] = ["FD", "TYPE", "MODE", "SIZE", "POS", "NAME"];
/// Columns in the order in which a narrow screen leaves them out.
const GIVE_WAY: [&str; 2] = ["SIZE", "POS"];
/// Indentation of continuation lines, so that they begin below the name but not at its first
/// character.
const INDENT: usize = 2;

pub(super) fn draw(view: &View, part: Part, y: u16, buf: &mut Buffer) {
    match view.app.held_by(view.page) {
        Some(Ok(Holdings::Environment(environment))) => variables(view, environment, y, buf),
        Some(Ok(Holdings::Files(files))) => table(view, files, y, buf),
        Some(Err(why)) => reason(view, &harmless(why), y, buf),
        None if view.app.past.is_some() => reason(view, &not_recorded(part), y, buf),
        None => reason(view, &format!("{}: being read", name(part)), y, buf),
    }
}

/// Draws the reason why there is nothing.
fn reason(view: &View, text: &str, y: u16, buf: &mut Buffer) {
    let dim = view.theme.style(Ink::Dim);
    for (y, line) in (y..view.end_y).zip(wrapped(text, 0, view.room)) {
        put(buf, 0, y, u16::MAX, &line.style(dim));
    }
}

fn headed(view: &View, text: &str, y: u16, buf: &mut Buffer) {
    put(buf, 0, y, u16::MAX, &Line::raw(cut(text, view.room)));
}

/// The first visible line of `lines`, on a page with `room` lines.
fn first(view: &View, lines: usize, room: usize) -> usize {
    view.app.first_line(view.page.top, lines, room)
}

fn variables(view: &View, environment: &Environment, y: u16, buf: &mut Buffer) {
    headed(view, &format!("environ  {}", sum_of_environment(environment)), y, buf);
    let lines: Vec<String> = environment
        .variables
        .iter()
        .flat_map(|variable| folded(&escape(variable), view.room, INDENT))
        .collect();
    let room = usize::from(view.end_y.saturating_sub(y + 1));
    let shown = lines.iter().skip(first(view, lines.len(), room)).take(room);
    for (y, line) in (y + 1..).zip(shown) {
        put(buf, 0, y, u16::MAX, &Line::raw(line.as_str()));
    }
}

fn table(view: &View, files: &Files, y: u16, buf: &mut Buffer) {
    headed(view, &format!("files    {}", sum_of_files(files)), y, buf);
    let room = usize::from(view.end_y.saturating_sub(y + 2));
    let from = first(view, files.files.len(), room);
    let texts: Vec<Vec<String>> = files.files.iter().skip(from).take(room).map(texts).collect();
    let heading = HEADING.map(String::from);
    let widths = widths(&heading, &texts, &GIVE_WAY, view.room);
    let line = |texts: &[String]| cut(&joined(texts, &widths), view.room);
    put(buf, 0, y + 1, u16::MAX, &Line::styled(line(&heading), view.theme.style(Ink::Heading)));
    for (y, text) in (y + 2..).zip(&texts) {
        put(buf, 0, y, u16::MAX, &Line::raw(line(text)));
    }
}

fn texts(file: &File) -> Vec<String> {
    let or_none = |text: Option<String>| text.unwrap_or("-".into());
    vec![
        file.number.to_string(),
        kind(file.kind).into(),
        or_none(file.flags.map(mode)),
        or_none(file.size.map(size)),
        or_none(file.position.map(thousands)),
        escape(&file.name),
    ]
}
