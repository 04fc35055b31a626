//! The waits of pairs: their sum is all that was booked, and the number of pairs is bounded.

use crate::made::{Cgroups, Made, SECOND};
use exactop_metrics::{Format, Settings};
use exactop_model::blame::{Blame, Booked, Culprit, Party};
use exactop_model::owner::Grouping;
use exactop_model::Comm;
use std::collections::BTreeMap;

pub fn party(n: u64) -> Party {
    let comm = Comm::new(format!("of{n}").as_bytes());
    Party { cgroup_id: n, uid: 0, session: 1, comm, kthread: false }
}

/// A blame book: the victim's number, its culprit, and ns.
pub fn book(pairs: &[(u64, Culprit, u64)]) -> Blame {
    let mut blame = Blame::default();
    for &(victim, culprit, ns) in pairs {
        blame.book(Some(party(victim)), culprit, Booked { ns, times: 1 });
    }
    blame
}

fn made(groups: usize) -> Made {
    let settings = Settings { blame_by: Grouping::Command, groups, ..Settings::default() };
    Made::new(settings, Cgroups::default())
}

/// Waits by pair as scraped, ns.
fn scraped(made: &mut Made) -> BTreeMap<String, u64> {
    let text = made.scrape(Format::Prometheus);
    let lines = text.lines().filter_map(|l| l.strip_prefix("exactop_wait_by_seconds_total"));
    let pair = |line: &str| {
        let (labels, value) = line.rsplit_once(' ').expect("a value");
        (labels.to_string(), value.replace('.', "").parse().expect("ns"))
    };
    lines.map(pair).collect()
}

fn label(victim: &str, culprit: &str) -> String {
    format!("{{victim=\"{victim}\",culprit=\"{culprit}\"}}")
}

#[test]
fn pairs_have_series_and_a_culprit_that_is_no_other_group_has_a_mark() {
    let mut made = made(10);
    let pairs = [
        (1, Culprit::Task(party(2)), 5 * SECOND),
        (1, Culprit::Task(party(1)), 2 * SECOND),
        (1, Culprit::Throttled, 1),
    ];
    made.told_otherwise(&[], |now| now.blame = Some(book(&pairs)));
    assert!(scraped(&mut made).values().sum::<u64>() == 7 * SECOND + 1);
    made.told_otherwise(&[], |now| now.blame = Some(book(&pairs)));
    let told = scraped(&mut made);
    assert_eq!(told[&label("of1", "of2")], 5 * SECOND, "it counts since its first page");
    assert_eq!(told[&label("of1", "~own")], 2 * SECOND);
    assert_eq!(told[&label("of1", "~throttled")], 1);
    assert_eq!(told[&label("~other", "~other")], 7 * SECOND + 1);
}

#[test]
fn the_number_of_pairs_is_bounded_and_no_wait_is_lost() {
    let mut made = made(3);
    let mut all = 0;
    for window in 1..20 {
        let pairs: Vec<_> = (1..40).map(|n| (n, Culprit::Task(party(n + 1)), n * window)).collect();
        all += pairs.iter().map(|(_, _, ns)| ns).sum::<u64>();
        made.told_otherwise(&[], |now| now.blame = Some(book(&pairs)));
        let told = scraped(&mut made);
        assert!(told.len() <= 5, "{told:?}");
        assert_eq!(told.values().sum::<u64>(), all);
    }
}

#[test]
fn without_a_book_there_is_no_such_family() {
    let mut made = made(3);
    made.window(&[]);
    assert!(!made.scrape(Format::Prometheus).contains("wait_by"));
}
