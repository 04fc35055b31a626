//! Small fleets with one error each: the balance reports it, and nothing else.

use super::*;
use crate::rows::tests::account;
use crate::rows::{HostBoot, PreviousWindow, Used};
use crate::Grouping;
use std::collections::BTreeMap;
use std::time::Duration;

const SECOND: u64 = 1_000_000_000;
/// Windows of each host.
const WINDOWS: u64 = 100;

/// Rows in memory.
#[derive(Default)]
struct Made {
    accounts: Vec<Account<'static>>,
    charges: Vec<Charged<'static>>,
}

impl Books for Made {
    fn accounts(&self, when: TimeRange, tell: &mut dyn FnMut(Account)) -> Result<(), FleetError> {
        self.accounts.iter().filter(|row| when.has(row.end_ns.into())).for_each(|row| tell(*row));
        Ok(())
    }

    fn charges(&self, when: TimeRange, tell: &mut dyn FnMut(Charged)) -> Result<(), FleetError> {
        let of = |whose: HostBoot<'static>, t1_ns| (whose.host, whose.boot_id, t1_ns);
        let ends = self.accounts.iter().map(|row| (of(row.whose, row.t1_ns), row.end_ns));
        let ends: BTreeMap<_, _> = ends.collect();
        let end = |row: &Charged<'static>| ends.get(&of(row.whose, row.t1_ns));
        let is_of = |row: &&Charged<'static>| end(row).is_none_or(|&end| when.has(end.into()));
        self.charges.iter().filter(is_of).for_each(|row| tell(*row));
        Ok(())
    }

    fn before(
        &self,
        wall_ns: i128,
        tell: &mut dyn FnMut(PreviousWindow),
    ) -> Result<(), FleetError> {
        let earlier = self.accounts.iter().filter(|row| i128::from(row.end_ns) <= wall_ns);
        earlier.for_each(|row| {
            tell(PreviousWindow { whose: row.whose, t1_ns: row.t1_ns, end_ns: row.end_ns });
        });
        Ok(())
    }

    fn used(&self, _: TimeRange, _: Grouping, _: &mut dyn FnMut(Used)) -> Result<(), FleetError> {
        Ok(())
    }
}

impl Made {
    /// Three hosts without errors.
    fn well() -> Made {
        let mut made = Made::default();
        for host in ["a", "b", "c"] {
            (1..=WINDOWS).for_each(|n| made.window(account(host, n)));
        }
        made
    }

    /// Adds a window with its charges in two rows.
    fn window(&mut self, row: Account<'static>) {
        self.accounts.push(row);
        let parts = [row.named_ns() / 3, row.named_ns() - row.named_ns() / 3];
        let charged = |run_ns| Charged { whose: row.whose, t1_ns: row.t1_ns, run_ns };
        self.charges.extend(parts.map(charged));
    }

    fn leave_out(&mut self, host: &str, windows: std::ops::RangeInclusive<u64>) {
        let is_out = |whose: HostBoot, t1: u64| {
            whose.host == host && windows.contains(&(t1 / (10 * SECOND)))
        };
        self.accounts.retain(|row| !is_out(row.whose, row.t1_ns));
        self.charges.retain(|row| !is_out(row.whose, row.t1_ns));
    }

    fn balance(&self) -> Balance {
        self.at(i128::from(account("a", WINDOWS + 6).end_ns))
    }

    /// Balance of the windows after `from` up to `to`.
    fn part(&self, from: u64, to: u64) -> Balance {
        let at = |n| Some(i128::from(account("a", n).end_ns));
        let now = i128::from(account("a", WINDOWS + 6).end_ns);
        let when = TimeRange { from: at(from), to: at(to) };
        check(self, when, &Tolerance::default(), now).expect("rows in memory")
    }

    fn at(&self, now_ns: i128) -> Balance {
        let tolerance = Tolerance::default();
        check(self, TimeRange::default(), &tolerance, now_ns).expect("rows in memory")
    }
}

fn of<'a>(balance: &'a Balance, name: &str) -> &'a Host {
    balance.hosts.iter().find(|host| host.name == name).expect("it is there")
}

/// Findings of a host; the others must have none.
fn said(balance: &Balance, name: &str) -> Vec<String> {
    let unwell = balance.hosts.iter().filter(|host| !host.is_well());
    assert_eq!(unwell.map(|host| &*host.name).collect::<Vec<_>>(), [name]);
    assert!(!balance.holds());
    let text = page(balance, 10, &|ns| ns.to_string()).text();
    let lines = page::findings(of(balance, name), &|ns| ns.to_string());
    assert!(!lines.is_empty() && lines.iter().all(|line| text.contains(line)), "{text}");
    assert!(text.contains("does not hold: findings on 1 of"), "{text}");
    lines
}

#[test]
fn a_fleet_without_errors_has_no_findings() {
    let mut made = Made::well();
    // Rows come in any order.
    made.accounts.reverse();
    made.charges.sort_by_key(|row| row.run_ns);
    let balance = made.balance();
    assert!(balance.holds(), "{balance:?}");
    assert_eq!((balance.windows(), balance.sums.windows), (3 * WINDOWS, 3 * WINDOWS));
    let all = u128::from(3 * WINDOWS * 20 * SECOND);
    assert_eq!((balance.sums.cpus_x_time_ns, balance.sums.accounts_ns()), (all, all as i128));
    assert_eq!(balance.sums.charged_ns, balance.sums.named_ns());
    let text = page(&balance, 10, &|ns| ns.to_string()).text();
    assert!(
        text.contains("The balance holds.") && text.contains("charges = tasks + exited: equal\n"),
        "{text}"
    );
    assert!(text.contains("steal") && text.contains('-'), "not told, not 0: {text}");
}

#[test]
fn a_duplicate_batch_is_reported_with_its_excess() {
    let mut made = Made::well();
    (11..=15).for_each(|n| made.window(account("b", n)));
    let balance = made.balance();
    let lines = said(&balance, "b");
    assert_eq!(lines, ["5 duplicate rows: 100 s of CPU time too much"]);
    let host = of(&balance, "b");
    assert_eq!((host.windows, host.sums.windows, host.different), (WINDOWS, WINDOWS + 5, 0));
    // Both tables have the duplicate: those sums are equal.
    assert_eq!(host.uneven, 0);
    // The duplicate is in one table only.
    made.accounts.pop();
    let balance = made.balance();
    let host = of(&balance, "b");
    assert_eq!((host.doubled, host.uneven, host.uneven_ns), (4, 1, u128::from(6 * SECOND)));
}

#[test]
fn errors_of_a_duplicate_window_count_once() {
    let row = Account { missed_switches: Some(7), residual_ns: -3, ..account("b", 50) };
    let mut made = Made::well();
    made.accounts.retain(|other| (other.whose, other.t1_ns) != (row.whose, row.t1_ns));
    made.accounts.extend([row; 3]);
    let quality = of(&made.balance(), "b").quality;
    assert_eq!((quality.missed, quality.missed_switches), (1, 7));
    assert_eq!((quality.residual, quality.residual_ns), (1, 3));
    // Whichever copy comes first: an error of one copy is an error of the window.
    let rows = made.accounts.len();
    for (well, different) in [(rows - 1, 1), (rows - 3, 2)] {
        let mut made = Made { accounts: made.accounts.clone(), ..Made::default() };
        made.accounts[well] = account("b", 50);
        let host = of(&made.balance(), "b").clone();
        assert_eq!((host.quality.missed, host.quality.residual), (1, 1));
        assert_eq!((host.doubled, host.different), (2, different));
    }
}

#[test]
fn a_duplicate_window_with_other_figures_is_reported() {
    let row = account("a", 50);
    for other in [
        Account { tasks_ns: row.tasks_ns - 1, idle_ns: row.idle_ns + 1, ..row },
        Account { irq_ns: None, idle_ns: row.idle_ns + 1, ..row },
        Account { exact: false, ..row },
    ] {
        let mut made = Made::well();
        made.window(other);
        let lines = said(&made.balance(), "a");
        assert!(lines[0].contains("1 of them with other figures"), "{lines:?}");
    }
}

#[test]
fn missing_windows_are_a_gap_with_its_length() {
    let mut made = Made::well();
    made.leave_out("c", 20..=22);
    made.leave_out("c", 40..=40);
    let balance = made.balance();
    let lines = said(&balance, "c");
    let from = account("c", 19).end_ns;
    assert_eq!(
        lines,
        [format!("time without windows: 2 times, 40.0 s together, the first 30.0 s from {from}")]
    );
    assert_eq!(of(&balance, "c").gaps.length_ns, u128::from(40 * SECOND));
    // Missing windows at the ends are no gap.
    let mut made = Made::well();
    made.leave_out("c", 1..=5);
    assert!(made.balance().holds());
}

#[test]
fn overlapping_windows_are_reported() {
    let row = account("a", 50);
    for (t1, length, both) in
        [(505, 10, 10), (508, 20, 20), (498, 3, 3), (520, 40, 40), (500, 5, 5)]
    {
        let mut made = Made::well();
        let (t1_ns, length_ns) = (t1 * SECOND, length * SECOND);
        let end_ns = (1_000_000 * SECOND + t1_ns) as i64;
        let capacity_ns = 2 * length_ns;
        let busy = row.capacity_ns - row.idle_ns;
        let idle_ns = capacity_ns.saturating_sub(busy);
        let tasks_ns = if idle_ns == 0 { capacity_ns - SECOND - 1 } else { row.tasks_ns };
        made.window(Account { t1_ns, length_ns, end_ns, capacity_ns, idle_ns, tasks_ns, ..row });
        let balance = made.balance();
        let lines = said(&balance, "a");
        assert!(lines[0].starts_with("overlapping windows"), "{t1}: {lines:?}");
        let told = of(&balance, "a").overlaps.length_ns;
        assert!(told >= u128::from(both * SECOND), "{t1}: {told}");
        assert_eq!(of(&balance, "a").gaps.count, 0, "{t1}");
    }
}

#[test]
fn a_clock_set_is_reported_and_a_slewed_clock_is_not() {
    let shifted = |by: i64, from: u64| {
        let mut made = Made::well();
        for row in made
            .accounts
            .iter_mut()
            .filter(|row| row.whose.host == "b" && row.t1_ns >= from * 10 * SECOND)
        {
            row.end_ns += by;
        }
        made.balance()
    };
    for by in [30_000_000_000, -30_000_000_000] {
        let lines = said(&shifted(by, 60), "b");
        let sign = if by < 0 { "-" } else { "+" };
        assert!(lines[0].contains(&format!("jumped once: by {sign}30.0 s at ")), "{lines:?}");
    }
    // As far as NTP slews in 10 s, and a little more.
    assert!(shifted(900_000_000, 60).holds());
}

#[test]
fn a_host_ahead_is_reported_and_does_not_make_the_others_silent() {
    let mut made = Made::well();
    let of_b = |row: &&mut Account| row.whose.host == "b";
    made.accounts.iter_mut().filter(of_b).for_each(|row| row.end_ns += 7200 * SECOND as i64);
    let lines = said(&made.balance(), "b");
    assert!(lines[0].starts_with("clock ahead by "), "{lines:?}");
    // A day later it may have been exported after the others: reported, but not a finding.
    let balance = made.at(i128::from(account("a", WINDOWS).end_ns) + 86_400 * i128::from(SECOND));
    assert!(balance.holds(), "{balance:?}");
    assert_eq!(of(&balance, "b").later_ns, Some(7200 * i128::from(SECOND)));
    let text = page(&balance, 10, &|ns| ns.to_string()).text();
    assert!(text.contains("Later than most, 1 host: b: exported after the others"), "{text}");
}

#[test]
fn a_host_without_recent_windows_is_silent() {
    let mut made = Made::well();
    made.leave_out("c", 60..=WINDOWS);
    let balance = made.balance();
    let lines = said(&balance, "c");
    assert!(lines[0].starts_with("silent for 410 s, since "), "{lines:?}");
    let tolerance = Tolerance { silent: Duration::from_secs(500), ..Tolerance::default() };
    let now = i128::from(account("a", WINDOWS).end_ns);
    assert!(check(&made, TimeRange::default(), &tolerance, now).expect("rows").holds());
}

#[test]
fn a_host_without_windows_in_the_time_is_reported_if_it_had_earlier_ones() {
    let mut made = Made::well();
    made.leave_out("c", 40..=70);
    let balance = made.part(45, 65);
    let last = account("c", 39).end_ns;
    assert_eq!(
        said(&balance, "c"),
        [format!("no window in this time: the last before it ends at {last}")]
    );
    let text = page(&balance, 10, &|ns| ns.to_string()).text();
    assert!(text.starts_with("2 hosts, 2 boots, 40 windows"), "{text}");
    let told: serde_json::Value = serde_json::from_str(&json(&balance)).expect("JSON");
    assert_eq!(
        (&told["hosts"][2]["absent_since_wall_ns"], &told["hosts"][2]["windows"]),
        (&last.into(), &0.into())
    );
    // A gap at the beginning of the time is found, though the window before it is outside.
    let lines = said(&made.part(60, 100), "c");
    assert_eq!(lines, [format!("time without windows: 310 s from {last}")]);
    let host = made.part(30, 100);
    assert_eq!(of(&host, "c").gaps.count, 1);
    assert!(made.part(10, 39).holds() && made.part(71, 100).holds());
    // A host that came later was absent before; a host with only new windows does not count yet.
    made.leave_out("c", 1..=39);
    assert!(made.part(45, 65).holds());
    let mut made = Made::well();
    made.leave_out("c", 60..=WINDOWS);
    made.window(Account { is_new: true, ..account("c", 91) });
    assert!(made.part(90, 95).holds(), "{:?}", made.part(90, 95));
}

/// Windows lost before a boot look as if the machine was off: the finding names both.
#[test]
fn a_long_time_without_windows_around_a_boot_is_reported() {
    let boot = |off: u64, begun: u64| {
        let mut made = Made::well();
        made.leave_out("a", 50..=WINDOWS);
        for n in (50 + off)..=WINDOWS {
            let row = account("a", n);
            let t1_ns = row.t1_ns - (49 + off - begun) * 10 * SECOND;
            made.window(Account { whose: HostBoot { host: "a", boot_id: "next" }, t1_ns, ..row });
        }
        made
    };
    assert!(boot(30, 2).balance().holds(), "five minutes are not much");
    let made = boot(31, 2);
    let from = account("a", 49).end_ns;
    let expected = format!(
        "no windows around a boot: 310 s from {from}, the last 20.0 s of it after the boot (the machine was off, or its \
         last windows are lost)"
    );
    assert_eq!(said(&made.balance(), "a"), [&*expected]);
    // Found even if the boot before is outside the time; without a boot there is no finding.
    assert_eq!(said(&made.part(60, WINDOWS), "a"), [&*expected]);
    assert!(made.part(85, WINDOWS).holds());
    let told: serde_json::Value = serde_json::from_str(&json(&made.balance())).expect("JSON");
    let start = &told["hosts"][0]["starts"]["first"][0];
    assert_eq!(
        (&start["length_ns"], &start["since_start_ns"]),
        (&(310 * SECOND).into(), &(20 * SECOND).into())
    );
    // All of it is after the boot: the boot's first windows are missing.
    assert!(said(&boot(40, 45).balance(), "a")[0].contains("the last 400 s of it after the boot"));
}

/// Changes a row.
type Wrong = fn(&mut Account);

#[test]
fn figures_that_do_not_match_are_reported() {
    let wrong: [(&str, Wrong); 4] = [
        ("1 window with accounts that are not CPUs x time", |row| row.idle_ns += 1),
        ("1 window with accounts that are not CPUs x time", |row| row.cpus = 3),
        ("1 window with a residual, 5 ns together", |row| {
            (row.residual_ns, row.idle_ns) = (-5, row.idle_ns + 5)
        }),
        ("1 window with missed switches, 7 together", |row| row.missed_switches = Some(7)),
    ];
    for (expected, wrong) in wrong {
        let mut made = Made::well();
        let row = made.accounts.iter_mut().find(|row| row.whose.host == "b").expect("a row");
        wrong(row);
        assert_eq!(said(&made.balance(), "b"), [expected]);
    }
    // A lost charge, and an export that ended between the two tables.
    let mut made = Made::well();
    made.charges.pop();
    let lines = said(&made.balance(), "c");
    assert!(
        lines[0].contains("1 window with charges that are not tasks + exited, 4000000000 ns apart"),
        "{lines:?}"
    );
    let mut made = Made::well();
    made.accounts.pop();
    let lines = said(&made.balance(), "c");
    assert!(lines[0].contains("1 window with charges and no accounts"), "{lines:?}");
}

#[test]
fn a_boot_is_no_finding_and_two_machines_of_one_name_are() {
    let boot = |from: u64| {
        let mut made = Made::well();
        for n in from..from + 3 {
            let row = account("a", n);
            // CLOCK_MONOTONIC starts over from 0.
            let t1_ns = row.t1_ns - (from - 1) * 10 * SECOND;
            made.window(Account { whose: HostBoot { host: "a", boot_id: "next" }, t1_ns, ..row });
        }
        made.balance()
    };
    let balance = boot(WINDOWS + 2);
    assert!(balance.holds() && of(&balance, "a").boots == 2, "{balance:?}");
    let lines = said(&boot(50), "a");
    assert!(
        lines[0].starts_with("two boots at once") && lines[0].contains("30.0 s from"),
        "{lines:?}"
    );
}

#[test]
fn windows_without_a_witness_are_counted_separately() {
    let mut made = Made::well();
    made.accounts[0].missed_switches = None;
    made.accounts[1].exact = false;
    let balance = made.balance();
    assert!(balance.holds());
    let text = page(&balance, 10, &|ns| ns.to_string()).text();
    assert!(text.contains("without that witness: 1; not exact: 1"), "{text}");
}

/// A sum of some windows is not called the whole.
#[test]
fn interrupts_that_only_some_windows_measure_are_named() {
    let note = "Not all windows measure interrupts separately";
    let mut made = Made::well();
    let text = |made: &Made| page(&made.balance(), 10, &|ns| ns.to_string()).text();
    assert!(!text(&made).contains(note));
    let row = &mut made.accounts[0];
    row.idle_ns += row.irq_ns.take().expect("measured");
    assert!(made.balance().holds() && text(&made).contains(note), "{}", text(&made));
}

#[test]
fn names_are_harmless_and_json_has_all_of_it() {
    let mut made = Made::well();
    let hostile = "evil\x1b[2J<script>\u{202e}";
    (1..=5).for_each(|n| made.window(account(hostile, n)));
    let balance = made.balance();
    let text = page(&balance, 10, &|ns| ns.to_string()).text();
    assert!(
        !text.contains('\x1b') && !text.contains('\u{202e}') && text.contains("evil"),
        "{text:?}"
    );
    let told: serde_json::Value = serde_json::from_str(&json(&balance)).expect("JSON");
    assert_eq!(told["holds"], false);
    assert_eq!(told["hosts"].as_array().map(Vec::len), Some(4));
    let all = (3 * WINDOWS + 5) * 20 * SECOND;
    assert_eq!(told["sums"]["cpus_x_time_ns"], all.to_string());
    assert_eq!(told["sums"]["steal_ns"], serde_json::Value::Null);
    // JSON alone escapes only control characters below 0x20.
    let harmless = exactop_model::text::escape::harmless(hostile);
    assert_eq!(told["hosts"][3]["host"], harmless);
    assert!(!harmless.contains(['\x1b', '\u{202e}']), "{harmless:?}");
}

/// A store keeps accepting rows. Charges come first; a window whose accounts came later is left out
/// with them.
#[test]
fn rows_that_arrive_during_the_read_do_not_count() {
    let mut made = Made::well();
    let next = account("a", WINDOWS + 1);
    made.window(Account { is_new: true, ..next });
    // Some of its charges were there, and all charges of another window.
    made.charges.pop();
    made.window(Account { is_new: true, whose: HostBoot { host: "d", ..next.whose }, ..next });
    let balance = made.balance();
    assert!(balance.holds(), "{balance:?}");
    assert_eq!((balance.windows(), balance.hosts.len()), (3 * WINDOWS, 3));
    assert_eq!(balance.sums.charged_ns, balance.sums.named_ns());
}

/// Rows of charges may come sorted by name, not by window.
#[test]
fn charges_in_any_order_take_no_more_memory_than_windows() {
    let mut boot = Boot::default();
    for _ in 0..50 {
        (0..3000).for_each(|t1_ns| boot.charge(t1_ns, 2));
    }
    assert!(boot.charged.len() <= 6000, "{}", boot.charged.len());
    boot.merge();
    assert_eq!(boot.charged.len(), 3000);
    assert!(boot.charged.iter().all(|(_, sum)| *sum == 100));
}

/// 10,000 hosts of 64 CPUs exceed 2^64 ns in 8 hours.
#[test]
fn sums_outgrow_64_bits() {
    let mut sums = Sums::default();
    let row =
        Account { cpus: 1 << 32, length_ns: 1 << 31, capacity_ns: 1 << 63, ..account("a", 1) };
    (0..3).for_each(|_| sums.add(&row));
    assert_eq!((sums.capacity_ns, sums.cpus_x_time_ns), (3 << 63, 3 << 63));
}
