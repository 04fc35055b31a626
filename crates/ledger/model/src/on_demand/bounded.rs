//! How much memory a window takes, and what is left of one that has to be shorter.

use super::losses::Losses;
use super::moves::{MoveRow, Unknown};
use super::shared::Looked;
use super::syscalls::{Dispatches, Failures, SyscallRow};
use super::waits::{Other, Sleep, WaitRow};
use super::wakeups::{Edge, Fan};
use std::cmp::Reverse;
use std::mem::size_of;

impl Looked {
    /// Memory that its rows take, bytes: a row of waits has lists of its own.
    pub fn bytes(&self) -> usize {
        match self {
            Looked::Syscalls(window) => {
                window.rows.len() * size_of::<SyscallRow>()
                    + window.failures.len() * size_of::<Failures>()
                    + window.dispatches.len() * size_of::<Dispatches>()
            }
            Looked::Wakeups(window) => {
                window.edges.len() * size_of::<Edge>() + window.fans.len() * size_of::<Fan>()
            }
            Looked::Waits(window) => window.rows.iter().map(bytes_of).sum(),
            Looked::Moves(window) => {
                let words = |unknown: &Unknown| size_of::<Unknown>() + unknown.why.len();
                window.rows.len() * size_of::<MoveRow>()
                    + window.unknown.iter().map(words).sum::<usize>()
            }
        }
    }

    /// Leaves out rows until it has `keep` of each `of`, those with most; its losses say how many.
    pub fn cut(&mut self, keep: usize, of: usize) {
        let before = self.rows();
        let most = |rows: usize| (rows as u128 * keep as u128 / of.max(1) as u128) as usize;
        match self {
            Looked::Syscalls(window) => {
                leave(&mut window.rows, most, |row| (row.total_ns, row.calls, row.in_flight));
                leave(&mut window.failures, most, |one| one.count);
                leave(&mut window.dispatches, most, |one| one.count);
            }
            Looked::Wakeups(window) => {
                leave(&mut window.edges, most, |edge| edge.wakeups);
                leave(&mut window.fans, most, |fan| fan.wakeups);
            }
            Looked::Waits(window) => leave(&mut window.rows, most, WaitRow::waited_ns),
            Looked::Moves(window) => leave(&mut window.rows, most, |row| row.sums.moves),
        }
        let gone = before - self.rows();
        if let (Looked::Moves(window), 1..) = (&mut *self, gone) {
            window.whole = false;
        }
        self.losses_mut().left_out += gone as u64;
    }

    /// What it is missing.
    pub fn losses(&self) -> &Losses {
        match self {
            Looked::Syscalls(window) => &window.losses,
            Looked::Wakeups(window) => &window.losses,
            Looked::Waits(window) => &window.losses,
            Looked::Moves(window) => &window.losses,
        }
    }

    fn losses_mut(&mut self) -> &mut Losses {
        match self {
            Looked::Syscalls(window) => &mut window.losses,
            Looked::Wakeups(window) => &mut window.losses,
            Looked::Waits(window) => &mut window.losses,
            Looked::Moves(window) => &mut window.losses,
        }
    }
}

fn bytes_of(row: &WaitRow) -> usize {
    size_of::<WaitRow>()
        + row.sleeps.len() * size_of::<Sleep>()
        + (row.ran_instead.len() + row.woken_by.len()) * size_of::<Other>()
}

/// Leaves as many as `most` says of so many.
fn leave<T, K: Ord>(rows: &mut Vec<T>, most: impl Fn(usize) -> usize, by: impl Fn(&T) -> K) {
    rows.sort_by_key(|row| Reverse(by(row)));
    rows.truncate(most(rows.len()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::key::Who;
    use crate::on_demand::waits::{WaitKind, WaitWindow};
    use crate::on_demand::SyscallNr;
    use crate::Comm;

    /// Thread 1 slept for 1 ns, thread 2 for 2, and so on.
    fn waits(threads: u32) -> Looked {
        let row = |tid: u32| {
            let mut row = WaitRow::new(Who::thread(1, tid, Comm::new(b"x"), Comm::new(b"x")));
            let ns = u64::from(tid);
            let nr = SyscallNr(0);
            row.add_sleep(Sleep { kind: WaitKind::Sleep, nr, count: 1, ns, max_ns: None });
            row
        };
        let rows = (1..=threads).map(row).collect();
        Looked::Waits(WaitWindow { t0_ns: 0, t1_ns: 1, rows, losses: Losses::default() })
    }

    #[test]
    fn those_with_most_stay_and_how_many_went_is_told() {
        let mut looked = waits(10);
        looked.cut(3, 10);
        let Looked::Waits(window) = &looked else { panic!("waits") };
        let left: Vec<_> = window.rows.iter().map(|row| row.who.tid).collect();
        assert_eq!(left, [Some(10), Some(9), Some(8)]);
        assert_eq!(looked.losses().left_out, 7);
        looked.cut(1, 2);
        assert_eq!((looked.rows(), looked.losses().left_out), (1, 9));
        looked.then(waits(2));
        assert_eq!(looked.losses().left_out, 9, "of both windows");
        looked.cut(5, 1);
        assert_eq!((looked.rows(), looked.losses().left_out), (3, 9), "no more than there are");
    }

    #[test]
    fn a_row_with_long_lists_takes_more_than_one_without() {
        let (few, many) = (waits(10).bytes(), waits(20).bytes());
        assert_eq!(many, 2 * few);
        let Looked::Waits(mut window) = waits(10) else { panic!("waits") };
        let other = Other { who: Who::INTERRUPT, amount: 1 };
        window.rows[0].woken_by = vec![other; 1000];
        assert!(Looked::Waits(window).bytes() > few + 10_000);
    }
}
