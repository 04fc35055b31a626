//! Batch mode: prints window after window to standard output.

use super::check::Check;
use super::reader::Reader;
use crate::failure::{complain, Failure};
use crate::options::resolved::{Format, Shape, SourceOptions, Windows};
use crate::output::not_written;
use crate::output::screen::{Mode, Screen, Woken};
use crate::rights::Role;
use crate::source;
use exactop_model::words::audit::without_place;
use exactop_model::{Ask, Feed, Frame, FrameOptions, Needs};
use exactop_sources::disk_rates::WithDiskRates;
use exactop_views::{by, csv, json, ptop, table, Page, Plan, Sheet};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

impl Format {
    /// The figures that this format needs for a plan.
    pub fn ask(self, plan: &Plan) -> Ask {
        let mut ask = plan.ask();
        if let Format::Sums(by, _) = self {
            ask.options = FrameOptions { by: Some(by), ..FrameOptions::default() };
            ask.groups = by.is_of_group();
            // A source that does not measure waiting time itself reads it then.
            ask.needs = ask.needs | Needs::SCHEDSTAT;
        }
        // The headers need these, and CSV needs the wall clock.
        if !matches!(self, Format::Precise(_)) {
            ask.needs = ask.needs | Needs::MACHINE;
        }
        ask
    }

    /// The output before the first window.
    ///
    /// # Errors
    /// Writing fails.
    pub fn opening(self, plan: &Plan) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        match self {
            Format::Csv => csv::write_header(&mut out, &plan.columns)?,
            Format::Sums(_, Shape::Csv) => out = by::csv_header(),
            _ => {}
        }
        Ok(out)
    }

    /// A note that a format without lines above its rows cannot hold.
    pub fn beside(self, frame: &Frame) -> Option<String> {
        use Format::{Json, Sums, Text};
        let has_a_place_for_it =
            matches!(self, Text(_) | Json | Sums(_, Shape::Text | Shape::Json));
        (!has_a_place_for_it).then(|| without_place(frame)).flatten()
    }

    /// Draws a window over the previous one; notes are its first line.
    fn draw(self, page: &Page, screen: &mut Screen) -> Result<(), Failure> {
        let limit = match self {
            Format::Precise(rows) => rows,
            _ => None,
        };
        let text = |sheet: Sheet| {
            let beside = self.beside(&page.frame).map(|line| line + "\n");
            // Writing to memory cannot fail.
            let mut window = Vec::new();
            let drawn = match self {
                Format::Precise(_) => {
                    ptop::write_on(&mut window, page, Some(sheet.rows), sheet.width)
                }
                format => format.window(page, true).map(|bytes| window = bytes),
            };
            if let Err(error) = drawn {
                window = error.to_string().into();
            }
            beside.unwrap_or_default() + &String::from_utf8_lossy(&window)
        };
        screen.draw_fitting(limit, &text)
    }

    /// One window as text, JSON or CSV.
    ///
    /// # Errors
    /// Writing fails.
    pub fn window(self, page: &Page, first: bool) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        match self {
            Format::Text(_) | Format::Precise(_) | Format::Sums(_, Shape::Text) if !first => {
                out.push(b'\n');
            }
            _ => {}
        }
        match self {
            Format::Text(options) => table::write(&mut out, page, &options)?,
            Format::Precise(rows) => ptop::write(&mut out, page, rows)?,
            Format::Json => json::write(&mut out, page)?,
            Format::Csv => csv::write(&mut out, page)?,
            Format::Sums(_, Shape::Text) => by::text(&mut out, page)?,
            Format::Sums(_, Shape::Json) => by::json(&mut out, page)?,
            Format::Sums(_, Shape::Csv) => out.extend(by::csv(page)),
        }
        Ok(out)
    }
}

/// Note after a restart of the daemon, or after it disconnected this reader.
const BEGUN_ANEW: &str =
    "reconnected to the daemon: the time from the last window to the next one is lost";

/// Prints windows until the count is reached, the user quits or a signal comes.
///
/// # Errors
/// The failure, or the signal that ended the command.
pub fn run(windows: &Windows) -> Result<(), Failure> {
    let Windows { source, plan, format, pace, check, draws } = windows;
    let mut check = Check::new(*check);
    let mut feed = opened(source, format.ask(plan).needs)?;
    let mut screen = Screen::open(if *draws { Mode::Whole } else { Mode::Plain })?;
    screen.write(&format.opening(plan).map_err(not_written)?)?;
    let ask = Ask { interval_ns: Some(pace.interval_ns()), ..format.ask(plan) };
    feed.next_frame(&ask).map_err(|error| screen.or(Failure::failed(error)))?;
    let mut due = Instant::now();
    let mut printed = 0;
    let mut last = None;
    while pace.windows.is_none_or(|n| printed < n) {
        due = next_due(due, pace.interval);
        if screen.wait(due)? == Woken::Quit {
            return check.verdict();
        }
        let frame = feed.next_frame(&ask);
        let frame = frame.map_err(|error| screen.or(Failure::failed(error)))?;
        let Some(frame) = frame else {
            if !screen.is_drawn() {
                complain(BEGUN_ANEW);
            }
            continue;
        };
        let page = plan.page(frame, &mut *feed);
        if screen.is_drawn() {
            format.draw(&page, &mut screen)?;
        } else {
            screen.write(&format.window(&page, printed == 0).map_err(not_written)?)?;
        }
        if let Some(line) = format.beside(&page.frame).filter(|_| !screen.is_drawn()) {
            complain(&line);
        }
        check.look(&page.frame);
        printed += 1;
        last = Some(page);
    }
    // The last window is printed again, because its drawing disappears with the screen.
    if let Some(page) = last.filter(|_| screen.is_drawn()) {
        screen.leave();
        screen.write(&format.window(&page, true).map_err(not_written)?)?;
    }
    check.verdict()
}

/// Opens the source, and a reader for files that the source may not read, if needed.
fn opened(source: &SourceOptions, needs: Needs) -> Result<Box<dyn Feed>, Failure> {
    // The reader starts before rights are given up.
    let root = source.root.as_deref().unwrap_or(Path::new("/proc"));
    let reader = needs.has(Needs::DISK).then(|| Reader::start(root).ok()).flatten();
    let feed = source::open(source, Role::Windows)?;
    Ok(match reader {
        Some(mut reader) => {
            Box::new(WithDiskRates::new(feed, Box::new(move |all| reader.disk(all))))
        }
        None => feed,
    })
}

/// The next time on a fixed grid, so that windows do not drift; missed times are skipped.
fn next_due(last: Instant, interval: Duration) -> Instant {
    let due = last + interval;
    let now = Instant::now();
    if due + interval < now {
        now + interval
    } else {
        due
    }
}
