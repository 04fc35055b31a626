//! The books as text: a sum whose rounded parts add up to the rounded total.

use crate::frame::{Books, Frame};
use std::cmp::Reverse;

/// An account of the books.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[allow(missing_docs)] // Their names say it.
pub enum Account {
    /// Tasks that are alive at the window's end.
    Tasks,
    /// Tasks that exited in the window.
    Exited,
    /// Tasks outside of the daemon's PID namespace.
    Outside,
    /// CPU time of tasks that are unknown.
    Unnamed,
    /// Interrupts.
    Irq,
    /// Stolen by the hypervisor.
    Steal,
    Idle,
    /// CPUs that were offline.
    Offline,
    /// The CPUs' time less all accounts.
    Residual,
}

impl Account {
    /// The word on the screen.
    pub fn label(self) -> &'static str {
        self.into()
    }
}

/// The books in hundredths of a per cent. The known parts add up to `total` exactly, if it is
/// known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BooksText {
    /// All CPUs: 100.00 for each CPU, or 100.00 for the machine. `None` since boot: the kernel's
    /// ticks since boot do not balance with the clock.
    pub total: Option<i64>,
    /// The accounts in order; `None` if the source does not measure it separately.
    pub parts: Vec<(Account, Option<i64>)>,
}

impl BooksText {
    /// The books of a frame, in per cent of one CPU or of the whole machine. As in the rows, exited
    /// threads of a living process with a row count under tasks. `None` for a window without length
    /// or CPUs.
    pub fn new(frame: &Frame, of_machine: bool) -> Option<BooksText> {
        let books = &frame.books;
        let whole_ns = if of_machine { books.total_ns } else { frame.length_ns() };
        if whole_ns == 0 || books.total_ns == 0 {
            return None;
        }
        let share = |ns: i128| (ns * 10_000 / i128::from(whole_ns)) as i64;
        let parts = accounts(books, frame);
        let known: Vec<i128> = parts.iter().filter_map(|(_, ns)| *ns).collect();
        let total = (!frame.is_since_boot()).then(|| share(books.total_ns.into()));
        let sum = total.unwrap_or_else(|| share(known.iter().sum()));
        let mut shown = round_to_sum(&known, sum).into_iter();
        let parts = parts.iter().map(|&(a, ns)| (a, ns.and_then(|_| shown.next()))).collect();
        Some(BooksText { total, parts })
    }

    /// The line of the books: `CPU 200.00 % = tasks 131.20 + exited 67.10 + irq - + steal 1.21 +
    /// idle 0.49`; without a total `CPU since boot = tasks 131.20 + …`.
    pub fn line(&self) -> String {
        let total = self.total.map_or(SINCE_BOOT.into(), |n| format!("{} %", hundredths(n)));
        let mut line = format!("CPU {total} =");
        for (i, (account, part)) in self.parts.iter().enumerate() {
            let sign = if i == 0 { "" } else { " +" };
            let figure = part.map_or("-".into(), hundredths);
            line.push_str(&format!("{sign} {} {figure}", account.label()));
        }
        line
    }
}

/// The name of the window of figures since boot.
pub const SINCE_BOOT: &str = "since boot";

/// The accounts to show. Accounts that are 0 in most windows are left out when they are 0.
fn accounts(books: &Books, frame: &Frame) -> Vec<(Account, Option<i128>)> {
    let something = |ns: i128| Some(ns).filter(|&ns| ns != 0).map(Some);
    let in_rows = i128::from(frame.exited_in_rows_ns);
    let exited = i128::from(books.exited_ns) - in_rows;
    [
        (Account::Tasks, Some(Some(i128::from(books.tasks_ns) + in_rows))),
        (Account::Exited, Some(frame.died.map(|_| exited))),
        (Account::Outside, books.outside_ns.map(|ns| Some(ns.into()))),
        (Account::Unnamed, something(books.unnamed_ns.into())),
        (Account::Irq, Some(books.irq_ns.map(i128::from))),
        (Account::Steal, Some(books.steal_ns.map(i128::from))),
        (Account::Idle, Some(Some(books.idle_ns.into()))),
        (Account::Offline, something(books.offline_ns.into())),
        // Since boot, the rest is no residual.
        (Account::Residual, frame.residual_ns().and_then(|ns| something(ns.into()))),
    ]
    .into_iter()
    .filter_map(|(account, shown)| Some((account, shown?)))
    .collect()
}

/// Formats a number of hundredths: `-12` is `-0.12`.
pub fn hundredths(n: i64) -> String {
    let sign = if n < 0 { "-" } else { "" };
    let n = n.unsigned_abs();
    format!("{sign}{}.{:02}", n / 100, n % 100)
}

/// Scales `parts` to the sum `total` and rounds them without changing the sum: each part is rounded
/// down, and the parts with the largest remainders get the rest.
pub fn round_to_sum(parts: &[i128], total: i64) -> Vec<i64> {
    let sum: i128 = parts.iter().sum();
    if sum <= 0 {
        return vec![0; parts.len()];
    }
    let scaled = |part: &i128| part * i128::from(total);
    let mut rounded: Vec<i64> =
        parts.iter().map(|part| scaled(part).div_euclid(sum) as i64).collect();
    let left = total - rounded.iter().sum::<i64>();
    if left > 0 {
        let mut by_remainder: Vec<usize> = (0..parts.len()).collect();
        by_remainder.sort_by_cached_key(|&i| Reverse(scaled(&parts[i]).rem_euclid(sum)));
        by_remainder.iter().take(left as usize).for_each(|&i| rounded[i] += 1);
    }
    rounded
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn thirds_add_up() {
        assert_eq!(round_to_sum(&[1, 1, 1], 10_000), [3334, 3333, 3333]);
        assert_eq!(round_to_sum(&[0, 0], 10_000), [0, 0]);
        assert_eq!(round_to_sum(&[7, -1], 600), [700, -100]);
    }

    #[test]
    fn hundredths_have_their_sign() {
        assert_eq!(
            [0, 7, -7, 20_000, -1234].map(hundredths),
            ["0.00", "0.07", "-0.07", "200.00", "-12.34"]
        );
    }

    proptest! {
        #[test]
        fn shown_parts_add_up_and_differ_by_less_than_one_digit(
            parts in prop::collection::vec(0u64..10_000_000_000, 1..9),
        ) {
            let parts: Vec<i128> = parts.iter().map(|&p| p.into()).collect();
            let sum: i128 = parts.iter().sum();
            prop_assume!(sum > 0);
            let shown = round_to_sum(&parts, 20_000);
            prop_assert_eq!(shown.iter().sum::<i64>(), 20_000);
            for (part, shown) in parts.iter().zip(&shown) {
                let exact = *part as f64 * 20_000.0 / sum as f64;
                prop_assert!((exact - *shown as f64).abs() < 1.0);
            }
        }
    }
}
