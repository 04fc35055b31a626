//! Use of all CPUs by window, if windows are short enough to show what happens within a second.

use crate::slots::Slot;

/// Longest window, ns: half a second and a tenth, because windows jitter.
const LONGEST_NS: u64 = 550_000_000;
/// Most windows kept: half an hour. More seconds would not make a readable picture.
const MOST: usize = 3_600;

/// One window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Used {
    pub from_wall_ns: i128,
    pub to_wall_ns: i128,
    pub busy_ns: u64,
    pub capacity_ns: u64,
}

/// All windows, as long as each is short and there are few enough.
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

    /// All windows, and the length of the longest; `None` if one is too long or there are too many.
    pub fn all(&self) -> Option<(&[Used], u64)> {
        (self.longest_ns > 0 && !self.given_up).then_some((&self.windows[..], self.longest_ns))
    }
}
