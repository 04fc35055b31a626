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
        // One request: a store that fails often still answers it.
        let of_each = TableName::FLEET.map(|table| {
            let table = table.name();
            format!("SELECT DISTINCT '{table}', t1_ns - length_ns, t1_ns FROM {table} {of_whose}")
        });
        let sql = format!("{} FORMAT TSV", of_each.join(" UNION ALL "));
        let mut stock = Stock::new(from_ns);
        for (table, t0_ns, t1_ns) in windows(&client.select(&sql, &given)?)? {
            match stock.parts.iter_mut().find(|(part, _)| part.name() == table) {
                Some((_, ends)) => drop(ends.insert(t1_ns)),
                None => drop(stock.windows.insert(t1_ns, t0_ns)),
            }
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

/// Parses a table, a beginning and an end per line.
fn windows(text: &str) -> Result<Vec<(&str, u64, u64)>, StoreError> {
    let window = |line| -> Option<(&str, u64, u64)> {
        let (table, times) = str::split_once(line, '\t')?;
        let (a, b) = times.split_once('\t')?;
        let is_known = TableName::FLEET.iter().any(|known| known.name() == table);
        is_known.then_some((table, a.parse().ok()?, b.parse().ok()?))
    };
    text.lines().map(|line| window(line).ok_or_else(|| StoreError::answer(line))).collect()
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
        let two = "accounts\t1\t2\nblame\t3\t18446744073709551615\n";
        assert_eq!(windows(two).expect("two"), [("accounts", 1, 2), ("blame", 3, u64::MAX)]);
        assert_eq!(windows("").expect("none"), []);
        let wrongs =
            ["blame\t1", "blame\t1 2", "blame\tx\t1", "other\t1\t2", "Code: 60. no table\n"];
        for wrong in wrongs {
            assert!(windows(wrong).is_err(), "{wrong}");
        }
    }
}
