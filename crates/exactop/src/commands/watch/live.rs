//! The live view of a source.

use super::actions::LiveHost;
use super::disk_rates::WithDiskRates;
use super::first_look::FirstLook;
use super::reader::Reader;
use crate::failure::Failure;
use crate::options::resolved::{Live, SourceOptions};
use crate::options::typed::Whose;
use crate::rights::Role;
use crate::source;
use exactop_model::feed::timeline::Timeline;
use exactop_model::{Ask, Feed, Frame, Needs, Row, RowKind};
use exactop_sources::session::Choice;
use exactop_tui::{Begin, ExitReason, TuiError};
use std::cell::RefCell;
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
    let feed = FirstLook::before(Box::new(move || source::open(&source, Role::Live)));
    let unopened = feed.failure();
    let ended = show_with(host, Box::new(feed), live.pids, live.begin);
    unopened.take().map_or(ended, Err)
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
        Some(reader) => Box::new(WithDiskRates::new(feed, Rc::clone(reader))),
        None => feed,
    };
    let mut feed = Only { pids, feed };
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

/// A feed that shows some processes only, with what exited below them. The books stay those of
/// the machine.
struct Only {
    pids: Vec<u32>,
    feed: Box<dyn Feed>,
}

impl Only {
    fn only(&self, mut frame: Frame) -> Frame {
        if !self.pids.is_empty() {
            let wanted = |row: &Row| match row.kind {
                RowKind::Exited => self.pids.contains(&row.ident.ppid),
                _ => self.pids.contains(&row.key.tgid) || self.pids.contains(&row.key.tid),
            };
            frame.rows.retain(wanted);
            frame.exited.retain(wanted);
        }
        frame
    }

    /// A process that sleeps is wanted as much as one that runs.
    fn ask(&self, ask: &Ask) -> Ask {
        let mut ask = ask.clone();
        if !self.pids.is_empty() && ask.options.still != exactop_model::Still::Hide {
            ask.options.still = exactop_model::Still::All;
        }
        ask
    }
}

impl Feed for Only {
    fn at_once(&mut self, ask: &Ask) -> Option<Frame> {
        let frame = self.feed.at_once(&self.ask(ask))?;
        Some(self.only(frame))
    }

    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
        let frame = self.feed.next_frame(&self.ask(ask))?;
        Ok(frame.map(|frame| self.only(frame)))
    }

    fn same_frame(&mut self, ask: &Ask) -> Option<Frame> {
        let frame = self.feed.same_frame(&self.ask(ask))?;
        Some(self.only(frame))
    }

    fn details(&mut self, rows: &mut [&mut Row], needs: Needs) {
        self.feed.details(rows, needs);
    }

    fn forget_details(&mut self) {
        self.feed.forget_details();
    }

    fn timeline(&mut self) -> Option<&mut dyn Timeline> {
        self.feed.timeline()
    }

    fn look_back(&mut self) -> bool {
        self.feed.look_back()
    }

    fn look_on(&mut self) {
        self.feed.look_on();
    }
}
