//! Use of all CPUs window by window, where windows are so short that they show what happens within a
//! second.

use crate::slots::Slot;

/// Windows of half a second are never quite that long: a tenth more is all right.
const LONGEST_NS: u64 = 550_000_000;
/// So many are kept: half an hour of them. More seconds are no picture any more.
const MOST: usize = 3_600;

/// One window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Used {
    pub from_wall_ns: i128,
    pub to_wall_ns: i128,
    pub busy_ns: u64,
    pub capacity_ns: u64,
}

/// All of them, as long as each is short and they are few enough.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Short {
    windows: Vec<Used>,
    longest_ns: u64,
    given_up: bool,
}

impl Short {
    pub fn take(&mut self, window: &Slot) {
        self.longest_ns = self.longest_ns.max(window.length_ns);
        self.given_up |= self.longest_ns > LONGEST_NS || self.windows.len() == MOST;
        if self.given_up {
            self.windows = Vec::new();
            return;
        }
        self.windows.push(Used {
            from_wall_ns: window.from_wall_ns,
            to_wall_ns: window.to_wall_ns,
            busy_ns: window.accounts.busy_ns(),
            capacity_ns: window.accounts.capacity_ns,
        });
    }

    /// All windows, and how long the longest is; `None`: one is too long, or there are too many.
    pub fn all(&self) -> Option<(&[Used], u64)> {
        (self.longest_ns > 0 && !self.given_up).then_some((&self.windows[..], self.longest_ns))
    }
}
