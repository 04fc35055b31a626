//! Lists the time ranges and files of a recording, and checks them.

use crate::failure::Failure;
use crate::options::time::{now, shown};
use crate::output;
use crate::rights::{self, Origin, Role};
use exactop_model::text::escape::{escape_str, harmless};
use exactop_recording::{Gap, Part, Recording};
use std::fmt::Write;
use std::path::Path;

/// Lists the files and the time range of each.
///
/// # Errors
/// No file can be read.
pub fn list(path: &Path) -> Result<(), Failure> {
    rights::reduce(Role::Text, Origin::None, &[path]);
    let recording = Recording::open(path).map_err(Failure::failed)?;
    let now = now();
    let time = |ns: Option<i128>| ns.map_or("-".into(), |ns| shown(ns, &now));
    let mut text =
        format!("{:<20} {:<20} {:>12}  {:<24} {}\n", "FROM", "TO", "BYTES", "FILE", "HOST");
    for part in recording.parts() {
        let Part { name, bytes, host, .. } = part;
        let (from, to) = (time(part.from_wall_ns), time(part.to_wall_ns));
        let open = if part.sealed { "" } else { ", not closed" };
        let (name, host) = (escape_str(name), escape_str(host));
        let _ = writeln!(text, "{from:<20} {to:<20} {bytes:>12}  {name:<24} {host}{open}");
    }
    for error in recording.unreadable() {
        let _ = writeln!(text, "{}", harmless(&error.to_string()));
    }
    output::print(text)
}

/// Checks every byte.
///
/// # Errors
/// No file can be read, or something is damaged.
pub fn verify(path: &Path) -> Result<(), Failure> {
    rights::reduce(Role::Text, Origin::None, &[path]);
    let report = exactop_recording::verify(path).map_err(Failure::failed)?;
    let now = now();
    let mut text = String::new();
    for file in &report.files {
        let name = escape_str(&file.name);
        let damage = match file.damaged_bytes {
            0 => "whole".into(),
            bytes => format!("{bytes} bytes DAMAGED"),
        };
        let open = if file.sealed { "" } else { ", not closed" };
        let _ = writeln!(
            text,
            "{name}: {} frames in {} bytes, {damage}{open}",
            file.frames, file.bytes
        );
    }
    report.unreadable.iter().for_each(|why| text.push_str(&format!("{}\n", harmless(why))));
    if report.unread_bytes > 0 && report.files.iter().all(|file| file.damaged_bytes == 0) {
        let _ = writeln!(text, "{} bytes are invalid: DAMAGED", report.unread_bytes);
    }
    for gap in &report.gaps {
        let _ = writeln!(text, "{}", gap_words(gap, &now));
    }
    let seconds = report.windows_ns as f64 / 1e9;
    let time = |ns: Option<i128>| ns.map_or("-".into(), |ns| shown(ns, &now));
    let (from, to) = (time(report.from_wall_ns), time(report.to_wall_ns));
    let windows = counted(report.windows, "window");
    let gaps = counted(report.gaps.len() as u64, "gap");
    let _ = writeln!(text, "{windows}, {seconds:.1} s together, {from} to {to}; {gaps}");
    output::print(text)?;
    match report.is_whole() {
        true => Ok(()),
        false => Err(Failure::Reported),
    }
}

/// A number with its noun.
pub fn counted(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// A gap in one line.
pub fn gap_words(gap: &Gap, now: &jiff::Zoned) -> String {
    let (from, to) = (shown(gap.from_wall_ns, now), shown(gap.to_wall_ns, now));
    let length = gap.length_ns.map_or("".into(), |ns| format!(" ({:.1} s)", ns as f64 / 1e9));
    format!("gap from {from} to {to}{length}: {}", gap.why.text())
}
