//! The accounts of a slot, and the windows of it that must not be averaged away.

use exactop_model::{Books, SourceKind};
use serde::ser::{SerializeSeq, Serializer};
use serde::Serialize;

/// Number of accounts.
pub(crate) const COUNT: usize = 9;
/// Indexes of the accounts that a window may not measure separately.
pub(crate) const IRQ: usize = 4;
pub(crate) const STEAL: usize = 5;
/// Indexes of the unused accounts: idle and offline.
const UNUSED: [usize; 2] = [6, 7];

/// Name and meaning of an account.
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
    account("outside", "outside", "Tasks outside of the PID namespace that the daemon reports on."),
    account("unnamed", "unnamed", "CPU time of tasks that are unknown."),
    account(
        "irq",
        "interrupts",
        "Time in interrupts. - : the source counts it under the tasks they interrupted.",
    ),
    account("steal", "steal", "Time in which the hypervisor ran something else on these CPUs."),
    account("idle", "idle", "Time in which the CPUs had no task to run."),
    account("offline", "offline", "Time in which CPUs were offline."),
    account(
        "residual",
        "residual",
        "The CPUs' time minus the sum of all accounts. It is 0 unless a charge is lost.",
    ),
];

/// Figures of all accounts, ns; `None`: not measured separately, and part of the tasks that it hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accounts {
    /// CPUs x time: the sum of the accounts.
    pub capacity_ns: u64,
    /// In the order of [`ACCOUNTS`].
    pub parts: [Option<i64>; COUNT],
}

impl Accounts {
    /// The accounts of a window from this source.
    pub fn from_books(books: &Books, source: SourceKind) -> Accounts {
        let part = |ns: u64| i64::try_from(ns).ok();
        Accounts {
            capacity_ns: books.total_ns,
            parts: [
                part(books.tasks_ns),
                source.exited(books.exited_ns).and_then(part),
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

    /// Adds another window. An account that only some windows measure separately is the sum of
    /// these.
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

    /// Part of the whole that an account has.
    fn share(&self, account: usize) -> f64 {
        self.parts[account].map_or(0.0, |ns| ns.unsigned_abs() as f64)
            / self.capacity_ns.max(1) as f64
    }

    /// Part of the whole that was in use.
    fn used(&self) -> f64 {
        1.0 - UNUSED.iter().map(|&account| self.share(account)).sum::<f64>()
    }
}

/// A single window of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peak {
    /// Its index among the windows of its slot.
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

/// The windows of a slot with the largest figure of each account, and the one with the most used
/// time. The window with the most idle time is the one with the least use.
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

    /// Each window once, in the order of time.
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
    fn indexes_are_those_of_their_accounts() {
        assert_eq!(UNUSED.map(|at| ACCOUNTS[at].id), ["idle", "offline"]);
        assert_eq!([IRQ, STEAL].map(|at| ACCOUNTS[at].id), ["irq", "steal"]);
    }

    #[test]
    fn an_account_measured_once_is_in_the_sum() {
        let mut sum = Accounts::default();
        sum.add(&Accounts {
            capacity_ns: 10,
            parts: std::array::from_fn(|at| (at == 0).then_some(10)),
        });
        sum.add(&peak(0, 40, 5).accounts);
        assert_eq!((sum.capacity_ns, sum.parts[0], sum.parts[5]), (110, Some(50), Some(5)));
    }
}
