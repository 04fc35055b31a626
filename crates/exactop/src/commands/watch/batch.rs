//! Batch mode: window after window to standard output.

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
    /// What it shows of a plan.
    pub fn ask(self, plan: &Plan) -> Ask {
        let mut ask = plan.ask();
        if let Format::Sums(by, _) = self {
            ask.options = FrameOptions { by: Some(by), ..FrameOptions::default() };
            ask.groups = by.is_of_group();
            // A source that has no time of waits in its own figures reads it then.
            ask.needs = ask.needs | Needs::SCHEDSTAT;
        }
        // Their headers, and in CSV the wall clock.
        if !matches!(self, Format::Precise(_)) {
            ask.needs = ask.needs | Needs::MACHINE;
        }
        ask
    }

    /// What comes before the first window.
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

    /// What a format that has no lines above its rows cannot say.
    pub fn beside(self, frame: &Frame) -> Option<String> {
        use Format::{Json, Sums, Text};
        let has_a_place_for_it =
            matches!(self, Text(_) | Json | Sums(_, Shape::Text | Shape::Json));
        (!has_a_place_for_it).then(|| without_place(frame)).flatten()
    }

    /// One window over those before; what its rows cannot say is its first line.
    fn draw(self, page: &Page, screen: &mut Screen) -> Result<(), Failure> {
        let limit = match self {
            Format::Precise(rows) => rows,
            _ => None,
        };
        let text = |sheet: Sheet| {
            let beside = self.beside(&page.frame).map(|line| line + "\n");
            // Memory does not refuse what is written to it.
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

    /// One window.
    ///
    /// # Errors
    /// As above.
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

/// Of a daemon that ended and another that came, or of one that let us go.
const BEGUN_ANEW: &str =
    "the connection to the daemon was made anew: from the last window to the next one nothing is told";

/// Prints windows until there were enough of them, somebody wants no more or a signal comes.
///
/// # Errors
/// The failure, or the signal that ended the command.
pub fn run(wanted: &Windows) -> Result<(), Failure> {
    let Windows { source, plan, format, pace, check, draws } = wanted;
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
    // What was drawn goes with the screen it was drawn on.
    if let Some(page) = last.filter(|_| screen.is_drawn()) {
        screen.leave();
        screen.write(&format.window(&page, true).map_err(not_written)?)?;
    }
    check.verdict()
}

/// The source, and who reads what it may not where that is asked for.
fn opened(source: &SourceOptions, needs: Needs) -> Result<Box<dyn Feed>, Failure> {
    // Before rights are given up.
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

/// On a fixed grid, so that windows do not drift; beats that were missed are left out.
fn next_due(last: Instant, interval: Duration) -> Instant {
    let due = last + interval;
    let now = Instant::now();
    if due + interval < now {
        now + interval
    } else {
        due
    }
}
