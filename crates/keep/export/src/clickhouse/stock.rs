//! The windows of a host that the store has.

use super::batch::HostBoot;
use super::client::Client;
use super::StoreError;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// Windows of a host and boot in some time: in the store, or in a batch that is being built.
#[derive(Debug, Default)]
pub(super) struct Stock {
    /// Beginning of the time that was asked for, CLOCK_MONOTONIC ns.
    from_ns: u64,
    /// Beginning of each window, by its end.
    windows: BTreeMap<u64, u64>,
    /// Ends of windows whose charges are in the store.
    charged: FxHashSet<u64>,
}

/// What the store has at the time of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WindowSlot {
    /// The window itself.
    Taken,
    /// Other windows that overlap it.
    Overlaps,
    /// Nothing; after an interrupted export perhaps its charges.
    Free { charged: bool },
}

impl Stock {
    /// Asks the store for the windows in (from, to).
    pub fn ask(
        client: &Client,
        whose: &HostBoot,
        from_ns: u64,
        to_ns: u64,
    ) -> Result<Stock, StoreError> {
        let of_whose = "WHERE host = {host:String} AND boot_id = {boot:String} \
                        AND t1_ns > {from:UInt64} AND t1_ns - length_ns < {to:UInt64}";
        let (from, to) = (from_ns.to_string(), to_ns.to_string());
        let given =
            [("host", &*whose.host), ("boot", &whose.boot_id), ("from", &from), ("to", &to)];
        let accounts =
            format!("SELECT t1_ns - length_ns, t1_ns FROM accounts {of_whose} FORMAT TSV");
        let charges =
            format!("SELECT t1_ns, t1_ns FROM charges {of_whose} GROUP BY t1_ns FORMAT TSV");
        let mut stock = Stock { from_ns, ..Stock::default() };
        for (t0_ns, t1_ns) in pairs(&client.select(&accounts, &given)?)? {
            stock.windows.insert(t1_ns, t0_ns);
        }
        let charged = pairs(&client.select(&charges, &given)?)?;
        stock.charged = charged.into_iter().map(|(t1_ns, _)| t1_ns).collect();
        Ok(stock)
    }

    /// True if the time that was asked for includes `t0_ns`.
    pub fn knows(&self, t0_ns: u64) -> bool {
        t0_ns >= self.from_ns
    }

    /// Looks up a window; a free place is taken by it.
    pub fn place(&mut self, t0_ns: u64, t1_ns: u64) -> WindowSlot {
        if self.windows.get(&t1_ns) == Some(&t0_ns) {
            return WindowSlot::Taken;
        }
        if self.windows.range(t0_ns + 1..).any(|(_, &begins)| begins < t1_ns) {
            return WindowSlot::Overlaps;
        }
        self.windows.insert(t1_ns, t0_ns);
        WindowSlot::Free { charged: self.charged.contains(&t1_ns) }
    }
}

/// Parses two numbers per line.
fn pairs(text: &str) -> Result<Vec<(u64, u64)>, StoreError> {
    let pair = |line: &str| {
        let (a, b) = line.split_once('\t')?;
        Some((a.parse().ok()?, b.parse().ok()?))
    };
    let read = |line: &str| pair(line).ok_or_else(|| StoreError::answer(line));
    text.lines().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_takes_its_place_only_once() {
        let mut stock = Stock { from_ns: 5, ..Stock::default() };
        stock.windows.extend([(20, 10), (30, 20)]);
        stock.charged.insert(40);
        assert!(stock.knows(5) && !stock.knows(4));
        assert_eq!(stock.place(10, 20), WindowSlot::Taken);
        for (t0, t1) in [(5, 11), (12, 18), (15, 25), (5, 40), (29, 31), (20, 29), (10, 30)] {
            assert_eq!(stock.place(t0, t1), WindowSlot::Overlaps, "({t0}, {t1}]");
        }
        assert_eq!(stock.place(30, 40), WindowSlot::Free { charged: true });
        assert_eq!(stock.place(5, 10), WindowSlot::Free { charged: false });
        assert_eq!(
            (stock.place(30, 40), stock.place(5, 10)),
            (WindowSlot::Taken, WindowSlot::Taken)
        );
    }

    #[test]
    fn an_answer_is_numbers_or_none() {
        assert_eq!(pairs("1\t2\n3\t18446744073709551615\n").expect("two"), [(1, 2), (3, u64::MAX)]);
        assert_eq!(pairs("").expect("none"), []);
        for wrong in ["1", "1 2", "x\t1", "Code: 60. DB::Exception: no table\n"] {
            assert!(pairs(wrong).is_err(), "{wrong}");
        }
    }
}
