//! Batch mode: window after window to standard output.

use crate::failure::Failure;
use crate::options::resolved::{Format, Windows};
use crate::output::{not_written, Signals};
use crate::rights::Role;
use crate::source;
use exactop_model::{Ask, Needs};
use exactop_views::{csv, json, ptop, table, Page, Plan};
use std::io;
use std::time::{Duration, Instant};

impl Format {
    /// What it shows of a plan.
    fn ask(self, plan: &Plan) -> Ask {
        let mut ask = plan.ask();
        // Their headers.
        if matches!(self, Format::Text(_) | Format::Json) {
            ask.needs = ask.needs | Needs::MACHINE;
        }
        ask
    }

    /// What comes before the first window.
    fn opening(self, plan: &Plan) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        if self == Format::Csv {
            csv::write_header(&mut out, &plan.columns)?;
        }
        Ok(out)
    }

    /// One window.
    fn window(self, page: &Page, first: bool) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        match self {
            Format::Text(_) | Format::Precise(_) if !first => out.push(b'\n'),
            _ => {}
        }
        match self {
            Format::Text(options) => table::write(&mut out, page, &options)?,
            Format::Precise(rows) => ptop::write(&mut out, page, rows)?,
            Format::Json => json::write(&mut out, page)?,
            Format::Csv => csv::write(&mut out, page)?,
        }
        Ok(out)
    }
}

/// Prints windows until there were enough of them or a signal comes.
///
/// # Errors
/// What failed, or the signal.
pub fn run(wanted: &Windows) -> Result<(), Failure> {
    let Windows { source, plan, format, pace } = wanted;
    let mut feed = source::open(source, Role::Windows)?;
    let signals = Signals::new()?;
    signals.write(&format.opening(plan).map_err(not_written)?)?;
    let ask = format.ask(plan);
    feed.next_frame(&ask).map_err(|error| signals.or(Failure::failed(error)))?;
    let mut due = Instant::now();
    let mut printed = 0;
    while pace.windows.is_none_or(|n| printed < n) {
        due = next_due(due, pace.interval);
        signals.sleep_until(due)?;
        let frame = feed.next_frame(&ask);
        let frame = frame.map_err(|error| signals.or(Failure::failed(error)))?;
        let Some(frame) = frame else { continue };
        let page = plan.page(frame, &mut *feed);
        signals.write(&format.window(&page, printed == 0).map_err(not_written)?)?;
        printed += 1;
    }
    Ok(())
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
