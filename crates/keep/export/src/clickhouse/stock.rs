//! The windows of a host that the store has.

use super::batch::HostBoot;
use super::client::Client;
use super::StoreError;
use crate::TableName;
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// Windows of a host and boot in some time: in the store, or in a batch that is being built.
#[derive(Debug)]
pub(super) struct Stock {
    /// Beginning of the time that was asked for, CLOCK_MONOTONIC ns.
    from_ns: u64,
    /// Beginning of each window, by its end.
    windows: BTreeMap<u64, u64>,
    /// Ends of windows whose rows are in a table that is sent before `accounts`.
    parts: [(TableName, FxHashSet<u64>); 2],
}

/// What the store has at the time of a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WindowSlot {
    /// The window itself.
    Taken,
    /// Other windows that overlap it.
    Overlaps,
    /// Nothing; after an interrupted export perhaps its rows of these tables.
    Free { there: Vec<TableName> },
}

impl Stock {
    fn new(from_ns: u64) -> Stock {
        let parts =
            [TableName::Blame, TableName::Charges].map(|table| (table, FxHashSet::default()));
        Stock { from_ns, windows: BTreeMap::new(), parts }
    }

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
        let mut stock = Stock::new(from_ns);
        for (t0_ns, t1_ns) in pairs(&client.select(&accounts, &given)?)? {
            stock.windows.insert(t1_ns, t0_ns);
        }
        for (table, ends) in &mut stock.parts {
            let table = table.name();
            let part =
                format!("SELECT t1_ns, t1_ns FROM {table} {of_whose} GROUP BY t1_ns FORMAT TSV");
            ends.extend(pairs(&client.select(&part, &given)?)?.into_iter().map(|(t1_ns, _)| t1_ns));
        }
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
        let there = self.parts.iter().filter(|(_, ends)| ends.contains(&t1_ns));
        WindowSlot::Free { there: there.map(|(table, _)| *table).collect() }
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
        let mut stock = Stock::new(5);
        stock.windows.extend([(20, 10), (30, 20)]);
        stock.parts[1].1.insert(40);
        assert!(stock.knows(5) && !stock.knows(4));
        assert_eq!(stock.place(10, 20), WindowSlot::Taken);
        for (t0, t1) in [(5, 11), (12, 18), (15, 25), (5, 40), (29, 31), (20, 29), (10, 30)] {
            assert_eq!(stock.place(t0, t1), WindowSlot::Overlaps, "({t0}, {t1}]");
        }
        let there = vec![TableName::Charges];
        assert_eq!(stock.place(30, 40), WindowSlot::Free { there });
        assert_eq!(stock.place(5, 10), WindowSlot::Free { there: Vec::new() });
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
