//! The live view of a source.

use super::actions::LiveHost;
use super::reader::Reader;
use crate::failure::Failure;
use crate::options::resolved::{Live, SourceOptions};
use crate::options::typed::Whose;
use crate::rights::Role;
use crate::source;
use exactop_model::feed::{FirstLook, Only};
use exactop_model::Feed;
use exactop_sources::disk_rates::WithDiskRates;
use exactop_sources::session::{Choice, Session};
use exactop_tui::{Begin, ExitReason, TuiError};
use std::cell::{Cell, RefCell};
use std::io::{self, IsTerminal};
use std::path::Path;
use std::rc::Rc;

/// Runs the live view until someone ends it.
///
/// # Errors
/// Why it ended, unless someone asked for it.
pub fn run(live: Live) -> Result<(), Failure> {
    // Before rights are given up, and before there is anything that another process should not have.
    let root = live.source.root.as_deref().unwrap_or(Path::new("/proc"));
    let reader = Reader::start(root).ok().map(|reader| Rc::new(RefCell::new(reader)));
    let host = LiveHost { reader };
    if !looks_first(&live.source) {
        return show_with(host, source::open(&live.source, Role::Live)?, live.pids, live.begin);
    }
    let source = live.source;
    let unopened = Rc::new(Cell::new(None));
    let refused = Rc::clone(&unopened);
    let open = move || {
        source::open(&source, Role::Live).map_err(|failure| {
            refused.set(Some(failure));
            "the source cannot be opened".to_string()
        })
    };
    let feed = FirstLook::new(Box::new(since_boot), Box::new(open));
    let ended = show_with(host, Box::new(feed), live.pids, live.begin);
    unopened.take().map_or(ended, Err)
}

/// What /proc says of everyone's life so far; a user who cannot read it hears of that from the source.
fn since_boot() -> Option<Box<dyn Feed>> {
    let session = Session::since_boot(Path::new("/proc")).ok()?;
    Some(Box::new(session))
}

/// Shows a feed of nobody who lives until someone ends it; only these processes, unless there are none.
///
/// # Errors
/// As above.
pub fn show(feed: Box<dyn Feed>, pids: Vec<u32>, begin: Begin) -> Result<(), Failure> {
    show_with(LiveHost::default(), feed, pids, begin)
}

fn show_with(
    mut host: LiveHost,
    feed: Box<dyn Feed>,
    pids: Vec<u32>,
    begin: Begin,
) -> Result<(), Failure> {
    let feed = match &host.reader {
        Some(reader) => {
            let reader = Rc::clone(reader);
            Box::new(WithDiskRates::new(feed, Box::new(move |all| reader.borrow_mut().disk(all))))
        }
        None => feed,
    };
    let mut feed = Only::new(pids, feed);
    match exactop_tui::run(&mut feed, &mut host, begin) {
        Ok(ExitReason::Quit | ExitReason::TerminalGone) => Ok(()),
        Ok(ExitReason::Signal(signal)) => Err(Failure::Signal(signal)),
        Err(error @ (TuiError::Feed(_) | TuiError::Terminal(_))) => Err(Failure::failed(error)),
        Err(error) => Err(Failure::usage(error)),
    }
}

/// Whether there is something to be shown before the source is opened. A recording begins with a
/// window; and who has no terminal is told first what is wrong with the source.
fn looks_first(source: &SourceOptions) -> bool {
    let takes_long =
        matches!(source.whose, Whose::Own(Choice::Auto | Choice::Ledger | Choice::Snapshot));
    takes_long && source.root.is_none() && source.record.is_none() && io::stdout().is_terminal()
}
