//! A feed of some processes, with what exited below them.

use super::{Ask, Feed};
use crate::frame::{Frame, Row, RowKind, Still};

/// A feed that shows some processes only, with what exited below them. The books stay those of
/// the machine.
pub struct Only {
    pids: Vec<u32>,
    feed: Box<dyn Feed>,
}

impl Only {
    /// The rows of these processes or threads; without a number, of all.
    pub fn new(pids: Vec<u32>, feed: Box<dyn Feed>) -> Only {
        Only { pids, feed }
    }

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
        if !self.pids.is_empty() && ask.options.still != Still::Hide {
            ask.options.still = Still::All;
        }
        ask
    }
}

impl Feed for Only {
    fn inner(&mut self) -> Option<&mut dyn Feed> {
        Some(&mut *self.feed)
    }

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
}
