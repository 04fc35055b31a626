//! Rows of the two tables, from any source.

use crate::FleetError;
use crate::Grouping;
use exactop_recording::TimeRange;
use std::path::PathBuf;

/// Host and boot of a row, escaped as in the tables. Empty if the recording did not name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // Their names say it.
pub struct HostBoot<'a> {
    pub host: &'a str,
    pub boot_id: &'a str,
}

/// A row of `accounts`: a window of a host. Fields are named like the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // Their names say it.
pub struct Account<'a> {
    pub whose: HostBoot<'a>,
    /// End of the window by the host's wall clock, ns since the epoch.
    pub end_ns: i64,
    /// End of the window by CLOCK_MONOTONIC, ns.
    pub t1_ns: u64,
    pub length_ns: u64,
    pub cpus: u64,
    pub capacity_ns: u64,
    pub tasks_ns: u64,
    pub exited_ns: Option<u64>,
    pub unnamed_ns: u64,
    pub irq_ns: Option<u64>,
    pub steal_ns: Option<u64>,
    pub idle_ns: u64,
    pub offline_ns: u64,
    pub residual_ns: i64,
    pub exact: bool,
    pub missed_switches: Option<u64>,
    /// True if the row came while the books were read. Its charges may be incomplete, so it does
    /// not count.
    pub is_new: bool,
}

impl Account<'_> {
    /// Required sum of the window's `charges`, ns.
    pub fn named_ns(&self) -> u128 {
        u128::from(self.tasks_ns) + self.exited_ns.map_or(0, u128::from)
    }

    /// Sum of all accounts, including the residual, ns.
    pub fn sum_ns(&self) -> i128 {
        let others = [self.unnamed_ns, self.idle_ns, self.offline_ns];
        let told = self.irq_ns.into_iter().chain(self.steal_ns);
        let sum: u128 = others.into_iter().chain(told).map(u128::from).sum();
        (self.named_ns() + sum) as i128 + i128::from(self.residual_ns)
    }

    /// True if the accounts equal CPUs x length and the row's own capacity.
    pub fn closes(&self) -> bool {
        let capacity = u128::from(self.cpus) * u128::from(self.length_ns);
        capacity == u128::from(self.capacity_ns) && self.sum_ns() == i128::from(self.capacity_ns)
    }
}

/// CPU time of a window in `charges`: one row, or the sum of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Charged<'a> {
    pub whose: HostBoot<'a>,
    pub t1_ns: u64,
    pub run_ns: u128,
}

/// CPU time of a group on a host: one row of `charges`, or the sum of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Used<'a> {
    pub host: &'a str,
    /// The requested name; empty if the group has none.
    pub name: &'a str,
    pub run_ns: u128,
}

/// A window that ended before a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct PreviousWindow<'a> {
    pub whose: HostBoot<'a>,
    pub t1_ns: u64,
    pub end_ns: i64,
}

/// A file or a directory that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// Its path.
    pub path: PathBuf,
    /// The error, with the path.
    pub error: String,
}

/// A source of a fleet's books.
pub trait Books {
    /// Passes `charges` of a time to `tell`, in no order.
    fn charges(&self, when: TimeRange, tell: &mut dyn FnMut(Charged)) -> Result<(), FleetError>;

    /// Passes the rows of `accounts` of a time to `tell`, in no order. Call it after `charges`,
    /// which are sent first: then each row has its charges, unless it is new.
    fn accounts(&self, when: TimeRange, tell: &mut dyn FnMut(Account)) -> Result<(), FleetError>;

    /// Passes to `tell`, for each host, the last window that ends at or before `wall_ns`, and
    /// perhaps earlier ones.
    fn before(&self, wall_ns: i128, tell: &mut dyn FnMut(PreviousWindow))
        -> Result<(), FleetError>;

    /// Files that could not be read so far and were skipped; empty if such files are fatal.
    fn unread(&self) -> Vec<Unread> {
        Vec::new()
    }

    /// Passes the CPU time of groups in a time to `tell`, in no order, without new windows.
    fn used(
        &self,
        when: TimeRange,
        by: Grouping,
        tell: &mut dyn FnMut(Used),
    ) -> Result<(), FleetError>;
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A balanced window of 10 s on two CPUs. It ends at `n` x 10 s, and 1,000,000 s later by the
    /// wall clock.
    pub fn account(host: &str, n: u64) -> Account<'_> {
        let second = 1_000_000_000;
        Account {
            whose: HostBoot { host, boot_id: "boot" },
            end_ns: ((1_000_000 + n * 10) * second) as i64,
            t1_ns: n * 10 * second,
            length_ns: 10 * second,
            cpus: 2,
            capacity_ns: 20 * second,
            tasks_ns: 5 * second,
            exited_ns: Some(second),
            unnamed_ns: 0,
            irq_ns: Some(1),
            steal_ns: None,
            idle_ns: 14 * second - 1,
            offline_ns: 0,
            residual_ns: 0,
            exact: true,
            missed_switches: Some(0),
            is_new: false,
        }
    }

    #[test]
    fn a_row_balances_if_all_its_accounts_do() {
        let row = account("a", 1);
        assert!(row.closes());
        for wrong in [
            Account { idle_ns: row.idle_ns + 1, ..row },
            Account { cpus: 3, ..row },
            Account { irq_ns: None, ..row },
            Account { residual_ns: -1, ..row },
        ] {
            assert!(!wrong.closes(), "{wrong:?}");
        }
        // A residual counts as a part of the sum.
        assert!(Account { idle_ns: row.idle_ns + 7, residual_ns: -7, ..row }.closes());
        let largest = Account {
            tasks_ns: u64::MAX,
            exited_ns: Some(u64::MAX),
            idle_ns: u64::MAX,
            cpus: u64::MAX,
            length_ns: u64::MAX,
            ..row
        };
        assert!(!largest.closes());
    }
}
