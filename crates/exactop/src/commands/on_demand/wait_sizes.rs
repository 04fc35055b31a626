//! `exactop waits --by` an owner: histograms of waits from a ledger of our own.

use super::super::blame::{request, shown, user, NO_WINDOW};
use super::windows::{Forms, Opened, WindowArgs};
use crate::failure::Failure;
use crate::options::of_recording::OfRecording;
use crate::options::pace::PaceArgs;
use crate::options::resolved::are_there;
use exactop_model::blame::size_rows::SizedWaits;
use exactop_model::owner::Grouping;
use exactop_sources::ledger::{Ledger, Options, WaitSizesOptions};
use exactop_sources::session::Session;
use exactop_views::wait_sizes;
use std::path::Path;

fn open() -> Result<Session, Failure> {
    let wait_sizes = Some(WaitSizesOptions::default());
    let options = Options { calibrate: false, wait_sizes, ..Options::default() };
    let ledger = Box::new(Ledger::open(&options).map_err(Failure::failed)?);
    let mut session = Session::new(ledger, Path::new("/proc")).map_err(Failure::failed)?;
    session.name_groups();
    session.advance(&request(None)).map_err(Failure::failed)?;
    Ok(session)
}

/// Ends the window and begins the next.
fn window(session: &mut Session, by: Grouping, pids: &[u32]) -> Result<SizedWaits, String> {
    session.advance(&request(None)).map_err(|error| error.to_string())?;
    let (book, window) = (session.book(), session.window().ok_or(NO_WINDOW)?);
    let blame = window.blame.as_ref().ok_or(NO_WINDOW)?;
    let sized = SizedWaits::new(blame, (window.t0_ns, window.t1_ns), by, book, &mut user);
    Ok(sized.only(shown(by, pids, &[], book, &mut user)))
}

/// Prints windows.
///
/// # Errors
/// The failure, or the signal that ended the command.
pub fn run(
    look: &WindowArgs,
    of: &OfRecording,
    pace: &PaceArgs,
    by: Grouping,
) -> Result<(), Failure> {
    if of.replay.is_some() {
        return Err(Failure::usage(format!(
            "a recording has no histograms of waits: leave --replay or --by {} out",
            by.name()
        )));
    }
    let refusal = format!(
        "the daemon keeps no histograms of waits: leave --source, --socket or --by {} out",
        by.name()
    );
    look.looking.are_own(&refusal)?;
    are_there(None, &look.pid)?;
    let pace = look.pace(pace.resolve()?)?;
    let forms = Forms {
        text: &wait_sizes::text,
        json: &wait_sizes::json,
        csv_header: &wait_sizes::csv_header,
        csv: &wait_sizes::csv,
    };
    let next = |session: &mut Session| window(session, by, &look.pid);
    look.show(pace, || open().map(Opened::own), next, &forms)
}
