//! The live view of a source.

use super::actions::LiveHost;
use super::reader::Reader;
use crate::failure::Failure;
use crate::options::resolved::{Live, SourceOptions};
use crate::options::typed::FigureSource;
use crate::rights::Role;
use crate::source;
use exactop_model::feed::{FirstLook, ProcessFilter};
use exactop_model::Feed;
use exactop_sources::disk_rates::WithDiskRates;
use exactop_sources::session::{Choice, Session};
use exactop_tui::{Begin, ExitReason, TuiError};
use std::cell::{Cell, RefCell};
use std::io::{self, IsTerminal};
use std::path::Path;
use std::rc::Rc;

/// Runs the live view until the user quits or a signal ends it.
///
/// # Errors
/// The failure, unless the user quit.
pub fn run(live: Live) -> Result<(), Failure> {
    // The reader starts before rights are given up, and before other descriptors exist that it
    // should not have.
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
            "cannot open the source".to_string()
        })
    };
    let feed = FirstLook::new(Box::new(since_boot), Box::new(open));
    let ended = show_with(host, Box::new(feed), live.pids, live.begin);
    unopened.take().map_or(ended, Err)
}

/// Totals since boot from /proc. If the user may not read /proc, the source reports that.
fn since_boot() -> Option<Box<dyn Feed>> {
    let session = Session::since_boot(Path::new("/proc")).ok()?;
    Some(Box::new(session))
}

/// Shows a recording's feed until the user quits; `pids`: only these processes, all if empty.
///
/// # Errors
/// The failure, unless the user quit.
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
    let mut feed = ProcessFilter::new(pids, feed);
    match exactop_tui::run(&mut feed, &mut host, begin) {
        Ok(ExitReason::Quit | ExitReason::TerminalGone) => Ok(()),
        Ok(ExitReason::Signal(signal)) => Err(Failure::Signal(signal)),
        Err(error @ (TuiError::Feed(_) | TuiError::Terminal(_))) => Err(Failure::failed(error)),
        Err(error) => Err(Failure::usage(error)),
    }
}

/// True if the live view starts before the source is open. A recording begins with a window;
/// without a terminal the source's error comes first.
fn looks_first(source: &SourceOptions) -> bool {
    let takes_long =
        matches!(source.whose, FigureSource::Own(Choice::Auto | Choice::Ledger | Choice::Snapshot));
    takes_long && source.root.is_none() && source.record.is_none() && io::stdout().is_terminal()
}
