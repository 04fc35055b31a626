//! The live view of a source.

use super::actions::LiveHost;
use crate::failure::Failure;
use crate::options::resolved::Live;
use crate::rights::Role;
use crate::source;
use exactop_model::{Ask, Feed, Frame, Needs, Row, RowKind};
use exactop_tui::{ExitReason, TuiError};

/// Runs the live view until someone ends it.
///
/// # Errors
/// Why it ended, unless someone asked for it.
pub fn run(live: Live) -> Result<(), Failure> {
    let feed = source::open(&live.source, Role::Live)?;
    let mut feed = Only { pids: live.pids, feed };
    match exactop_tui::run(&mut feed, &mut LiveHost, live.settings) {
        Ok(ExitReason::Quit | ExitReason::TerminalGone) => Ok(()),
        Ok(ExitReason::Signal(signal)) => Err(Failure::Signal(signal)),
        Err(error @ (TuiError::Feed(_) | TuiError::Terminal(_))) => Err(Failure::failed(error)),
        Err(error) => Err(Failure::usage(error)),
    }
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
}
