//! Groups with a place, groups that lose it, and sums that stay complete.

use crate::made::{ran, Cgroups, Did, Made, SECOND};
use exactop_metrics::{Format, Settings};
use exactop_model::ledger::samples;
use exactop_model::owner::{CgroupNames, Grouping};
use exactop_model::Counter;

const MS: u64 = 1_000_000;

fn by_command(groups: usize) -> Settings {
    Settings { by: vec![Grouping::Command], groups, ..Settings::default() }
}

const OTHER: &str = "command=\"~other\"";
const LEFT: &str = "command=\"~left\"";

#[test]
fn a_new_group_stands_at_0_for_one_scrape_and_loses_nothing() {
    let mut made = Made::new(by_command(10), Cgroups::default());
    made.window(&[ran("a", 500 * MS)]);
    made.window(&[ran("a", 100 * MS)]);
    let first = made.groups();
    assert_eq!(first["command=\"a\""], 0);
    assert_eq!(first[OTHER], (600 * MS).into(), "what it did before is not its");
    made.window(&[ran("a", 7)]);
    let second = made.groups();
    assert_eq!((second["command=\"a\""], second[OTHER]), (7, (600 * MS).into()));
}

#[test]
fn several_readers_see_the_0_where_that_is_set() {
    let settings = Settings { zero_for_ns: 2 * SECOND, ..by_command(10) };
    let mut made = Made::new(settings, Cgroups::default());
    made.window(&[ran("a", 5)]);
    let standing: Vec<i128> = (0..4)
        .map(|_| {
            let now = made.groups()["command=\"a\""];
            made.window(&[ran("a", 5)]);
            now
        })
        .collect();
    assert_eq!(standing, [0, 0, 0, 5]);
    assert_eq!(made.groups().values().sum::<i128>(), made.named_ns().into());
}

#[test]
fn the_largest_groups_have_places_and_a_returning_group_starts_again() {
    let mut made = Made::new(by_command(2), Cgroups::default());
    made.window(&[ran("a", 50 * MS), ran("b", 20 * MS), ran("c", 10 * MS)]);
    assert_eq!(
        made.groups().keys().collect::<Vec<_>>(),
        ["command=\"a\"", "command=\"b\"", LEFT, OTHER]
    );
    made.window(&[ran("a", 50 * MS), ran("b", 20 * MS), ran("c", 60 * MS)]);
    assert!(made.groups().contains_key("command=\"b\""), "c is larger, but not twice");
    made.window(&[ran("c", 200 * MS)]);
    let groups = made.groups();
    assert_eq!((groups.get("command=\"b\""), groups["command=\"c\""]), (None, 0));
    assert_eq!(groups[LEFT], (20 * MS).into());
    assert_eq!(groups[OTHER], ((50 + 20 + 10 + 60 + 200) * MS).into());
    made.window(&[ran("b", SECOND)]);
    let page = made.scrape(Format::OpenMetrics);
    assert!(
        page.contains("exactop_group_cpu_seconds_total{command=\"b\"} 0.000000000\n"),
        "{page}"
    );
    assert!(
        page.contains("exactop_group_cpu_seconds_created{command=\"b\"} 1700000104.000000000\n"),
        "{page}"
    );
    assert_eq!(made.groups().values().sum::<i128>(), made.named_ns().into());
}

#[test]
fn a_storm_of_names_adds_no_series_and_displaces_no_group() {
    let mut made = Made::new(by_command(100), Cgroups::default());
    let steady: Vec<Did> = (0..50).map(|n| ran(&format!("steady{n}"), 20 * MS)).collect();
    made.window(&steady);
    made.groups();
    let (mut series, mut held) = (Vec::new(), Vec::new());
    for round in 0..20 {
        let names = (0..5000).map(|n| ran(&format!("x{}", round * 5000 + n), 1000 * n as u64 % 77));
        made.window(&steady.iter().cloned().chain(names).collect::<Vec<_>>());
        let groups = made.groups();
        assert!(groups.len() <= 102, "{}", groups.len());
        for n in 0..50 {
            assert!(groups.contains_key(&format!("command=\"steady{n}\"")), "{n} in {round}");
        }
        assert_eq!(groups.values().sum::<i128>(), made.named_ns().into());
        series.push(made.scrape(Format::Prometheus).lines().count());
        held.push(format!("{:?}", made.metrics).len());
    }
    // Of 100,000 names only those with a place, or watched for one, are kept.
    let most = |of: &[usize]| of.iter().copied().max().unwrap_or(0);
    assert!(most(&series[5..]) <= most(&series[..5]), "{series:?}");
    assert!(most(&held[5..]) <= most(&held[..5]) + most(&held[..5]) / 10, "{held:?}");
}

#[test]
fn places_change_hands_no_faster_than_all_of_them_in_an_hour() {
    let mut made = Made::new(by_command(10), Cgroups::default());
    let mut seen = std::collections::BTreeSet::new();
    for round in 0..200 {
        // Each round is ten times as large as the previous one, again and again.
        let size = 10_u64.pow(round % 6);
        let names: Vec<Did> = (0..10).map(|n| ran(&format!("r{round}n{n}"), 300 * size)).collect();
        made.window(&names);
        seen.extend(made.groups().into_keys());
    }
    // The initial places, as many again at once, and one every six minutes.
    assert!(seen.len() > 12 && seen.len() <= 10 + 10 + 1 + 2, "{}", seen.len());
}

#[test]
fn groups_have_the_labels_of_the_settings() {
    let names = Cgroups::pod_and_unit();
    let did = |cgroup| Did { comm: b"sh".to_vec(), cgroup, run_ns: 5, lat_ns: 0 };
    let all = [did(Some(1)), did(Some(2)), did(Some(3)), did(None)];
    let mut made = Made::new(Settings::default(), names.clone());
    made.window(&all);
    let groups: Vec<String> = made.groups().into_keys().filter(|l| !l.contains("~other")).collect();
    let unknown = "namespace=\"~unknown\",pod=\"~unknown\",container=\"~unknown\",unit=\"~unknown\",command=\"sh\"";
    for wanted in [
        "namespace=\"shop\",pod=\"cart-1\",container=\"web\",command=\"sh\"",
        "unit=\"cron.service\",command=\"sh\"",
        unknown,
    ] {
        assert!(groups.iter().any(|labels| labels == wanted), "{wanted}: {groups:?}");
    }
    assert_eq!(groups.len(), 4, "and ~left: {groups:?}");
    let settings = Settings { by: vec![Grouping::Pod, Grouping::Pod], ..Settings::default() };
    let mut made = Made::new(settings, names);
    made.window(&all);
    let groups: Vec<String> = made.groups().into_keys().collect();
    assert_eq!(
        groups,
        ["", "pod=\"cart-1\"", "pod=\"~left\"", "pod=\"~other\"", "pod=\"~unknown\""]
    );
}

#[test]
fn without_dimensions_all_is_one_group() {
    let mut made =
        Made::new(Settings { by: Vec::new(), ..Settings::default() }, Cgroups::default());
    for _ in 0..3 {
        made.window(&[ran("a", 5), ran("b", 6)]);
        let page = made.scrape(Format::Prometheus);
        let lines = page.lines().filter(|l| l.starts_with("exactop_group_cpu_seconds_total"));
        let total = format!("exactop_group_cpu_seconds_total 0.{:09}", made.named_ns());
        assert_eq!(lines.collect::<Vec<_>>(), [total]);
    }
}

#[test]
fn a_name_cannot_pass_for_another_nor_write_lines() {
    let mut made = Made::new(by_command(20), Cgroups::default());
    let hostile: [&[u8]; 8] = [
        b"~other",
        b"~left",
        b"a\"} 1\nb 2",
        b"\\",
        b"\xff\xfe",
        b"\x1b[2J",
        "\u{202e}txt".as_bytes(),
        b"# EOF",
    ];
    let did = |comm: &&[u8]| Did { comm: comm.to_vec(), cgroup: None, run_ns: 10, lat_ns: 0 };
    made.window(&hostile.iter().map(did).collect::<Vec<_>>());
    made.groups();
    made.window(&hostile.iter().map(did).collect::<Vec<_>>());
    let groups = made.groups();
    assert_eq!(groups.len(), hostile.len() + 2, "{groups:?}");
    assert_eq!(groups[OTHER], 80);
    assert_eq!(groups["command=\"\\\\~other\""], 10);
    assert_eq!(groups["command=\"a\\\"} 1\\\\x0ab 2\""], 10);
    let page = made.scrape(Format::OpenMetrics);
    assert!(page.chars().all(|c| c == '\n' || !c.is_control()));
}

#[test]
fn time_before_a_change_of_group_stays_with_the_old_group() {
    let named = |unit: &str| CgroupNames { unit: Some(unit.into()), ..CgroupNames::default() };
    let names = Cgroups([(1, named("a")), (2, named("b"))].into());
    let settings = Settings { by: vec![Grouping::Unit], ..Settings::default() };
    let mut made = Made::new(settings, names);
    let both = [Did { cgroup: Some(1), ..ran("x", 100) }, Did { cgroup: Some(2), ..ran("x", 100) }];
    made.window(&both);
    made.groups();
    let moved = samples::moved(1, 2, [(Counter::RunNs, 30)]);
    made.told_otherwise(&both, |snapshot| snapshot.moves.push(moved));
    let groups = made.groups();
    assert_eq!((groups["unit=\"a\""], groups["unit=\"b\""]), (130, 70));
    // More time than exists cannot have moved.
    let all = samples::moved(1, 2, [(Counter::RunNs, 1_000_000)]);
    made.told_otherwise(&both, |snapshot| snapshot.moves.push(all));
    let groups = made.groups();
    assert_eq!((groups["unit=\"a\""], groups["unit=\"b\""]), (330, 70));
    assert_eq!(groups.values().sum::<i128>(), made.named_ns().into());
}

#[test]
fn exited_tasks_count_for_their_user_if_known() {
    let settings = Settings { by: vec![Grouping::User], ..Settings::default() };
    let mut made = Made::new(settings, Cgroups::default());
    let all = [("a", 5), ("b", 7), ("c", 9)].map(|(name, run_ns)| crate::made::ran(name, run_ns));
    for _ in 0..2 {
        made.told_otherwise(&all, |snapshot| {
            for (uid, exit) in [None, Some(0), Some(33)].into_iter().zip(&mut snapshot.exited) {
                exit.uid = uid;
            }
        });
        made.groups();
    }
    let groups: Vec<String> = made.groups().into_keys().collect();
    for wanted in ["user=\"0\"", "user=\"33\"", "user=\"~unknown\""] {
        assert!(groups.iter().any(|labels| labels == wanted), "{wanted}: {groups:?}");
    }
}
