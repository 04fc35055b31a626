//! Made-up fleets with known changes.

use super::*;
use crate::rows::tests::account;
use crate::rows::{Account, Books, Charged, HostBoot, PreviousWindow, Used};
use crate::FleetError;
use exactop_recording::TimeRange;

const SECOND: u64 = 1_000_000_000;
/// Shares of a host's groups in 6 s of 20 s of CPU time, with small differences between windows and
/// hosts.
const GROUPS: [(&str, u64); 4] = [("web", 3), ("db", 2), ("agent", 1), ("", 0)];

/// CPU time of groups in a window, ns.
type Groups = Vec<(&'static str, u64)>;

/// Rows in memory: each window has a host and a number.
#[derive(Default)]
struct Made {
    windows: Vec<(String, u64, Groups)>,
}

impl Made {
    /// A fleet with windows; `more` returns a group's additional ns in a window.
    fn fleet(
        hosts: &[String],
        windows: std::ops::RangeInclusive<u64>,
        more: impl Fn(&str, u64, &str) -> u64,
    ) -> Made {
        let mut made = Made::default();
        for host in hosts {
            let own: u64 = host.bytes().map(u64::from).sum();
            for n in windows.clone() {
                let noise = (own * 7919 + n * 104_729) % 997;
                let one = |&(name, seconds): &(&'static str, u64)| {
                    let ns = seconds * SECOND + (noise * 100_000 * seconds) + more(host, n, name);
                    (name, ns)
                };
                made.windows.push((host.clone(), n, GROUPS.iter().map(one).collect()));
            }
        }
        made
    }

    fn account<'a>(host: &'a str, n: u64, groups: &[(&str, u64)]) -> Account<'a> {
        let used: u64 = groups.iter().map(|(_, ns)| ns).sum();
        let row = account(host, n);
        let whose = HostBoot { host, ..row.whose };
        let idle_ns = 20 * SECOND - used - 1;
        Account { whose, tasks_ns: used, exited_ns: Some(0), idle_ns, ..row }
    }
}

impl Books for Made {
    fn accounts(&self, when: TimeRange, tell: &mut dyn FnMut(Account)) -> Result<(), FleetError> {
        let rows = self.windows.iter().map(|(host, n, groups)| Made::account(host, *n, groups));
        rows.filter(|row| when.has(row.end_ns.into())).for_each(tell);
        Ok(())
    }

    fn charges(&self, when: TimeRange, tell: &mut dyn FnMut(Charged)) -> Result<(), FleetError> {
        self.accounts(when, &mut |row| {
            let run_ns = row.named_ns();
            tell(Charged { whose: row.whose, t1_ns: row.t1_ns, run_ns });
        })
    }

    fn before(&self, _: i128, _: &mut dyn FnMut(PreviousWindow)) -> Result<(), FleetError> {
        Ok(())
    }

    fn used(
        &self,
        when: TimeRange,
        _: Grouping,
        tell: &mut dyn FnMut(Used),
    ) -> Result<(), FleetError> {
        for (host, n, groups) in &self.windows {
            if when.has(account("a", *n).end_ns.into()) {
                for &(name, ns) in groups.iter().filter(|(_, ns)| *ns > 0) {
                    tell(Used { host, name, run_ns: ns.into() });
                }
            }
        }
        Ok(())
    }
}

fn hosts(n: u64, suffix: &str) -> Vec<String> {
    (0..n).map(|at| format!("h{at}{suffix}")).collect()
}

/// The windows after `from` up to `to`.
fn windows(from: u64, to: u64) -> TimeRange {
    let at = |n| Some(i128::from(account("a", n).end_ns));
    TimeRange { from: at(from), to: at(to) }
}

fn side(books: &Made, when: TimeRange) -> Side {
    let side = Side::read(books, when, Grouping::Command, i128::MAX / 2).expect("rows in memory");
    side.expect("windows")
}

fn measure(changed: Option<&str>) -> Measure {
    Measure { per: Per::Wall, least: Least::USUAL, changed: changed.map(String::from) }
}

/// Compares the halves of 40 windows.
fn halves(books: &Made, changed: Option<&str>) -> Difference {
    let (a, b) = (side(books, windows(0, 20)), side(books, windows(20, 40)));
    closes(Difference::between(a, b, measure(changed)))
}

/// Checks that the change of busy time is the sum of all rows.
fn closes(difference: Difference) -> Difference {
    let rows: i128 = difference.all().map(|row| row.delta_ns).sum();
    assert_eq!(rows, difference.delta(Side::busy_ns));
    let text = page(&difference, 10, &|ns| ns.to_string()).text();
    assert!(text.contains(" sum to the change of busy time, "), "{text}");
    let told: serde_json::Value = serde_json::from_str(&json(&difference)).expect("JSON");
    assert_eq!(told["verdict"], difference.verdict().name());
    assert_eq!(told["books"]["busy_delta_ns"], difference.delta(Side::busy_ns).to_string());
    assert_eq!(told["rows"].as_array().map(Vec::len), Some(difference.rows.len()));
    difference
}

fn beyond(difference: &Difference) -> Vec<&str> {
    difference.beyond().filter_map(|row| row.name.as_deref()).collect()
}

#[test]
fn a_group_that_grew_on_all_hosts_is_the_first_row_with_its_interval() {
    let more = |_: &str, n: u64, name: &str| u64::from(name == "agent" && n > 20) * SECOND / 2;
    let difference = halves(&Made::fleet(&hosts(12, ""), 1..=40, more), None);
    assert_eq!((difference.basis.kind, difference.basis.hosts()), (BasisKind::Pairs, (12, 12)));
    assert_eq!(
        (difference.verdict(), beyond(&difference)),
        (Verdict::BeyondNoise(1), vec!["agent"])
    );
    let row = &difference.rows[0];
    assert_eq!((row.change, row.hosts), (Change::Grew, (12, 12)));
    // Half a second of ten.
    let (low, high) = row.apart.and_then(|apart| apart.interval).expect("an interval");
    assert!(low > 4.0 && low < 5.0 && 5.0 < high && high < 6.0, "{low}..{high}");
    // In the other direction it shrank by as much.
    let books = Made::fleet(&hosts(12, ""), 1..=40, more);
    let (a, b) = (side(&books, windows(20, 40)), side(&books, windows(0, 20)));
    let back = closes(Difference::between(a, b, measure(None)));
    assert_eq!((back.rows[0].change, back.rows[0].delta_ns), (Change::Shrank, -row.delta_ns));
}

#[test]
fn no_change_gives_no_finding() {
    let found = (0..40)
        .filter(|turn| {
            let suffix = format!("-{turn}");
            let difference = halves(&Made::fleet(&hosts(12, &suffix), 1..=40, |_, _, _| 0), None);
            difference.verdict() != Verdict::NothingBeyondNoise
        })
        .count();
    assert!(found <= 2, "{found} of 40");
}

#[test]
fn a_rollout_is_distinguished_from_changes_on_all_hosts() {
    let mut all = hosts(20, "-old");
    all.extend(hosts(8, "-next"));
    // At noon all hosts have more to do; the agent uses more on the new hosts.
    let more = |host: &str, n: u64, name: &str| match name {
        "web" => u64::from(n > 20) * SECOND,
        "agent" => u64::from(n > 20 && host.ends_with("-next")) * SECOND / 5,
        _ => 0,
    };
    let books = Made::fleet(&all, 1..=40, more);
    let difference = halves(&books, Some("-next"));
    assert_eq!((difference.basis.kind, difference.basis.hosts()), (BasisKind::Rollout, (8, 20)));
    assert_eq!(beyond(&difference), ["agent"]);
    let text = page(&difference, 10, &|ns| ns.to_string()).text();
    assert!(
        text.contains("8 hosts with '-next' in their names; their change is compared"),
        "{text}"
    );
    // Over all hosts together only the noon shows.
    assert!(beyond(&halves(&books, None)).contains(&"web"));
    assert_eq!(halves(&books, Some("nobody")).verdict(), Verdict::TooFewHosts);
}

#[test]
fn two_fleets_are_compared() {
    let less = |_: &str, _: u64, name: &str| u64::from(name == "db") * SECOND;
    let (one, other) = (
        Made::fleet(&hosts(10, "-one"), 1..=20, |_, _, _| 0),
        Made::fleet(&hosts(14, "-other"), 1..=20, less),
    );
    let (a, b) = (side(&one, TimeRange::default()), side(&other, TimeRange::default()));
    let difference = closes(Difference::between(a.clone(), b, measure(None)));
    assert_eq!((difference.basis.kind, difference.basis.hosts()), (BasisKind::Sides, (10, 14)));
    assert_eq!(beyond(&difference), ["db"]);
    // More hosts use more time, but not more time each.
    let db = difference.rows.iter().find(|row| row.name.as_deref() == Some("web")).expect("a row");
    assert!(db.delta_ns > 0 && !db.is_beyond(), "{db:?}");
    // Some hosts are on both sides.
    let more = Made::fleet(&hosts(14, "-one"), 21..=40, |_, _, _| 0);
    let difference =
        closes(Difference::between(a, side(&more, TimeRange::default()), measure(None)));
    assert_eq!((difference.basis.kind, difference.basis.hosts()), (BasisKind::Pairs, (10, 10)));
    let text = page(&difference, 10, &|ns| ns.to_string()).text();
    assert!(text.contains("0 in A alone and 4 in B alone"), "{text}");
}

#[test]
fn few_hosts_give_no_verdict_and_small_changes_are_noise() {
    let more = |_: &str, n: u64, name: &str| u64::from(name == "web" && n > 20) * 8 * SECOND;
    let difference = halves(&Made::fleet(&hosts(7, ""), 1..=40, more), None);
    assert_eq!(difference.verdict(), Verdict::TooFewHosts);
    let text = page(&difference, 10, &|ns| ns.to_string()).text();
    assert!(text.contains("With fewer than 8 hosts in both") && text.contains("What changed:"));
    // Equal on all hosts, but below the smallest relevant change.
    let more = |_: &str, n: u64, name: &str| u64::from(name == "db" && n > 20) * SECOND / 1000;
    let difference = halves(&Made::fleet(&hosts(12, ""), 1..=40, more), None);
    assert_eq!(difference.verdict(), Verdict::NothingBeyondNoise);
}

#[test]
fn new_groups_and_unbalanced_books_are_reported() {
    let more = |_: &str, n: u64, name: &str| u64::from(name.is_empty() && n > 20) * SECOND;
    let mut books = Made::fleet(&hosts(12, ""), 1..=40, more);
    let again = books.windows[25].clone();
    books.windows.push(again);
    let difference = halves(&books, None);
    let came = &difference.rows[0];
    assert_eq!((came.change, came.a_ns, came.hosts), (Change::Came, 0, (0, 12)));
    assert_eq!((difference.a.findings, difference.b.findings), (0, 1));
    let text = page(&difference, 10, &|ns| ns.to_string()).text();
    assert!(text.contains("(no command)") && text.contains("findings on 1 host ("), "{text}");
    assert!(text.contains("Not all windows measure") || !text.contains("steal"), "{text}");
}
