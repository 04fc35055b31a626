//! `exactop waits --by` an owner: histograms of waits from a ledger of our own, from a daemon's, or
//! from a recording.

use super::super::blame::{shown, BookOf};
use super::super::played::Windows;
use super::windows::{Forms, WindowArgs};
use crate::failure::Failure;
use crate::options::of_recording::OfRecording;
use crate::options::pace::PaceArgs;
use crate::options::resolved::are_there;
use crate::options::typed::WaitBook;
use exactop_model::blame::size_rows::SizedWaits;
use exactop_model::owner::Grouping;
use exactop_views::wait_sizes;

/// The book with its histograms.
fn histograms(by: Grouping, pids: &[u32]) -> BookOf<SizedWaits> {
    let pids = pids.to_vec();
    BookOf {
        split: WaitBook::Histograms.split(),
        form: Box::new(move |window, book, user| {
            let blame = window.blame.as_ref().filter(|blame| !blame.sizes.is_empty())?;
            let sized = SizedWaits::new(blame, (window.t0_ns, window.t1_ns), by, book, user);
            Some(sized.only(shown(by, &pids, &[], book, user)))
        }),
        no_daemon:
            "the source keeps no histograms of waits: set 'histograms = true' in [blame] of \
                    the daemon's settings, or add --source own",
        no_recording:
            "the recording has no histograms of waits: record with --blame histograms, or \
                       set 'histograms = true' in [blame] of the daemon's settings",
    }
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
    let words = pace.resolve()?;
    let pace = look.pace(words)?;
    let book = histograms(by, &look.pid);
    let forms = Forms {
        text: &wait_sizes::text,
        json: &wait_sizes::json,
        csv_header: &wait_sizes::csv_header,
        csv: &wait_sizes::csv,
    };
    if let Some(path) = &of.replay {
        look.not_of_a_recording(words)?;
        let windows = Windows::open(path, of.time.as_deref())?;
        return look.print(pace.windows, windows, |windows| book.recorded(windows), &forms);
    }
    are_there(None, &look.pid)?;
    let open = || look.looking.places()?.open(|socket| book.on_socket(socket), || book.own());
    let interval_ns = pace.interval_ns();
    look.show(pace, open, |session| book.next(session, interval_ns), &forms)
}
