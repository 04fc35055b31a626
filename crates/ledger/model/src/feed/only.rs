//! A feed of selected processes and their exited descendants.

use super::{Ask, Feed};
use crate::frame::{Frame, IdleRows, Row, RowKind};

/// A feed that shows selected processes and their exited descendants. The books stay those of the
/// whole machine.
pub struct ProcessFilter {
    pids: Vec<u32>,
    feed: Box<dyn Feed>,
}

impl ProcessFilter {
    /// Selects these processes or threads; with no `pids`, all.
    pub fn new(pids: Vec<u32>, feed: Box<dyn Feed>) -> ProcessFilter {
        ProcessFilter { pids, feed }
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

    /// Ask for still tasks too: a selected process may sleep.
    fn ask(&self, ask: &Ask) -> Ask {
        let mut ask = ask.clone();
        if !self.pids.is_empty() && ask.options.still != IdleRows::Hide {
            ask.options.still = IdleRows::All;
        }
        ask
    }
}

impl Feed for ProcessFilter {
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
