//! Whoever is told of everything that is measured, as it is: a recording.

use crate::cgroups::GroupSample;
use crate::frame::row::Row;
use crate::ledger::book::Book;
use crate::ledger::snapshot::Snapshot;
use crate::on_demand::waits::WaitWindow;
use std::cell::RefCell;
use std::rc::Rc;

/// Gets what a session gets.
pub trait Tap {
    /// The next snapshot, before the book takes it. What goes wrong here is no reason to stop
    /// measuring: it is kept, and told another way.
    fn snapshot(&mut self, now: &Snapshot, before: &Book);

    /// What the process whose page is open waited for in the window that the last snapshot closed, or why
    /// that is not known.
    fn waits(&mut self, _tgid: u32, _waits: &Result<WaitWindow, String>) {}

    /// What the files of control groups said at both ends of that window, while somebody looked at them.
    fn groups(&mut self, _before: &[GroupSample], _after: &[GroupSample]) {}

    /// A row of the window that the last snapshot closed, once its details were read.
    fn details(&mut self, row: &Row);
}

/// One that others ask what it was told.
impl<T: Tap> Tap for Rc<RefCell<T>> {
    fn snapshot(&mut self, now: &Snapshot, before: &Book) {
        self.borrow_mut().snapshot(now, before);
    }

    fn waits(&mut self, tgid: u32, waits: &Result<WaitWindow, String>) {
        self.borrow_mut().waits(tgid, waits);
    }

    fn groups(&mut self, before: &[GroupSample], after: &[GroupSample]) {
        self.borrow_mut().groups(before, after);
    }

    fn details(&mut self, row: &Row) {
        self.borrow_mut().details(row);
    }
}
