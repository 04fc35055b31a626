//! Where CPU time went: the accounts of a slot, and the windows of it that must not be averaged away.

use exactop_model::Books;
use serde::ser::{SerializeSeq, Serializer};
use serde::Serialize;

/// How many accounts there are.
pub(crate) const COUNT: usize = 9;
/// Where those are that nobody uses.
const UNUSED: [usize; 2] = [6, 7];

/// What an account is called, and what it means.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Account {
    id: &'static str,
    title: &'static str,
    help: &'static str,
}

const fn account(id: &'static str, title: &'static str, help: &'static str) -> Account {
    Account { id, title, help }
}

/// The accounts, from the bottom of the picture to its top.
pub(crate) const ACCOUNTS: [Account; COUNT] = [
    account("tasks", "tasks", "Tasks that lived at the window's end."),
    account("exited", "exited", "Tasks that exited in the window."),
    account("outside", "outside", "Tasks outside of the PID namespace that is told of."),
    account("unnamed", "unnamed", "Executing, but nobody knows who."),
    account("irq", "interrupts", "Interrupts, where they are told from whom they hit."),
    account("steal", "steal", "The hypervisor ran others."),
    account("idle", "idle", "Nothing to do."),
    account("offline", "offline", "CPUs that were switched off."),
    account(
        "residual",
        "residual",
        "What is missing for the sum to come out: 0 when the books close.",
    ),
];

/// Figures of all accounts, ns; `None`: not told apart, and part of whom it hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accounts {
    /// CPUs x time: the sum of the others.
    pub capacity_ns: u64,
    /// In the order of [`ACCOUNTS`].
    pub parts: [Option<i64>; COUNT],
}

impl Accounts {
    pub fn of(books: &Books) -> Accounts {
        let part = |ns: u64| i64::try_from(ns).ok();
        Accounts {
            capacity_ns: books.total_ns,
            parts: [
                part(books.tasks_ns),
                part(books.exited_ns),
                books.outside_ns.and_then(part),
                part(books.unnamed_ns),
                books.irq_ns.and_then(part),
                books.steal_ns.and_then(part),
                part(books.idle_ns),
                part(books.offline_ns),
                Some(books.residual_ns),
            ],
        }
    }

    /// Adds those of another window. What was told apart in some windows only is the sum of these.
    pub fn add(&mut self, other: &Accounts) {
        self.capacity_ns = self.capacity_ns.saturating_add(other.capacity_ns);
        for (sum, part) in self.parts.iter_mut().zip(other.parts) {
            *sum = match (*sum, part) {
                (None, part) => part,
                (sum, None) => sum,
                (Some(sum), Some(part)) => Some(sum.saturating_add(part)),
            };
        }
    }

    /// What part of all an account is.
    fn share(&self, account: usize) -> f64 {
        self.parts[account].map_or(0.0, |ns| ns.unsigned_abs() as f64)
            / self.capacity_ns.max(1) as f64
    }

    /// What part of all was in use, whoever used it.
    fn used(&self) -> f64 {
        1.0 - UNUSED.iter().map(|&account| self.share(account)).sum::<f64>()
    }
}

/// A window as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peak {
    /// Its place among the windows of its slot.
    pub at: u32,
    pub from_us: i64,
    pub length_ns: u64,
    pub accounts: Accounts,
}

impl Serialize for Peak {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(3 + COUNT))?;
        seq.serialize_element(&self.from_us)?;
        seq.serialize_element(&self.length_ns)?;
        seq.serialize_element(&self.accounts.capacity_ns)?;
        for part in self.accounts.parts {
            seq.serialize_element(&part)?;
        }
        seq.end()
    }
}

/// The windows of a slot in which some account was largest, and the one in which all that was used was. Where
/// idle was, use was smallest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peaks {
    largest: [Option<Peak>; COUNT + 1],
}

impl Peaks {
    pub fn take(&mut self, peak: Peak) {
        for (account, largest) in self.largest.iter_mut().enumerate() {
            let share =
                |of: &Accounts| if account == COUNT { of.used() } else { of.share(account) };
            let is_more = match largest {
                None => share(&peak.accounts) > 0.0,
                Some(largest) => share(&peak.accounts) > share(&largest.accounts),
            };
            if is_more {
                *largest = Some(peak);
            }
        }
    }

    /// Each of them once, in the order of time.
    pub fn windows(self) -> Vec<Peak> {
        let mut windows: Vec<Peak> = self.largest.into_iter().flatten().collect();
        windows.sort_by_key(|peak| peak.at);
        windows.dedup_by_key(|peak| peak.at);
        windows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peak(at: u32, tasks: i64, steal: i64) -> Peak {
        let mut accounts = Accounts { capacity_ns: 100, parts: [Some(0); COUNT] };
        accounts.parts[0] = Some(tasks);
        accounts.parts[5] = Some(steal);
        accounts.parts[6] = Some(100 - tasks - steal);
        Peak { at, from_us: i64::from(at), length_ns: 50, accounts }
    }

    #[test]
    fn the_windows_in_which_an_account_was_largest_are_kept() {
        let mut peaks = Peaks::default();
        let drawn = [(10, 0), (20, 1), (90, 0), (20, 0), (5, 0), (10, 30), (20, 2)];
        for (at, (tasks, steal)) in (0..).zip(drawn) {
            peaks.take(peak(at, tasks, steal));
        }
        let kept: Vec<u32> = peaks.windows().iter().map(|peak| peak.at).collect();
        assert_eq!(kept, [2, 4, 5], "the busiest, the idlest, the one with most steal");
    }

    #[test]
    fn the_busiest_window_is_kept_though_no_account_was_largest_in_it() {
        let (mut peaks, both) = (Peaks::default(), [(60, 0), (0, 60), (50, 50), (10, 0)]);
        for (at, (tasks, exited)) in (0..).zip(both) {
            let mut window = peak(at, tasks, 0);
            window.accounts.parts[1] = Some(exited);
            window.accounts.parts[6] = Some(100 - tasks - exited);
            peaks.take(window);
        }
        let kept: Vec<u32> = peaks.windows().iter().map(|peak| peak.at).collect();
        assert_eq!(kept, [0, 1, 2, 3]);
    }

    #[test]
    fn unused_are_idle_and_offline() {
        assert_eq!(UNUSED.map(|at| ACCOUNTS[at].id), ["idle", "offline"]);
    }

    #[test]
    fn what_was_told_apart_once_is_in_the_sum() {
        let mut sum = Accounts::default();
        sum.add(&Accounts {
            capacity_ns: 10,
            parts: std::array::from_fn(|at| (at == 0).then_some(10)),
        });
        sum.add(&peak(0, 40, 5).accounts);
        assert_eq!((sum.capacity_ns, sum.parts[0], sum.parts[5]), (110, Some(50), Some(5)));
    }
}
