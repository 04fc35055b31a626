//! Observer of everything that a session measures, such as a recording.

use crate::cgroups::GroupSample;
use crate::frame::row::Row;
use crate::ledger::book::Book;
use crate::ledger::snapshot::Snapshot;
use crate::on_demand::waits::WaitWindow;
use std::cell::RefCell;
use std::rc::Rc;

/// Receives everything that a session measures.
pub trait Tap {
    /// The next snapshot, before the book takes it. An implementation keeps its errors and reports
    /// them elsewhere: they do not stop the session.
    fn snapshot(&mut self, now: &Snapshot, before: &Book);

    /// The waits of the process whose page is open, in the window that the last snapshot closed, or
    /// the reason why they are missing.
    fn waits(&mut self, _tgid: u32, _waits: &Result<WaitWindow, String>) {}

    /// The files of control groups at the start and the end of that window. Called while a view
    /// shows control groups.
    fn groups(&mut self, _before: &[GroupSample], _after: &[GroupSample]) {}

    /// A row of the window that the last snapshot closed, after its details were read.
    fn details(&mut self, row: &Row);

    /// The name of a user in that window.
    fn user(&mut self, _uid: u32, _name: &str) {}
}

/// A tap shared with its owner, who reads the results.
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

    fn user(&mut self, uid: u32, name: &str) {
        self.borrow_mut().user(uid, name);
    }
}
