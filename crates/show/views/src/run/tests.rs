//! Golden reports.

use super::*;
use exactop_model::ledger::exactness::WindowState;
use exactop_model::run::{CpuStat, End, Exited, Rusage, Single, Slowest};
use exactop_model::{Comm, Counters};

fn single(command: Option<&[u8]>) -> Single {
    Single {
        pid: 4711,
        ppid: 12,
        comm: Comm::new(b"c\x1bc1"),
        command: command.map(<[u8]>::to_vec),
        elapsed_ns: 3_410_000_000,
        run_ns: 7_250_000,
    }
}

fn report() -> RunReport {
    let mut delta = Counters::zero();
    for (counter, ns) in [
        (Counter::RunNs, 8_720_000_000),
        (Counter::UserNs, 8_690_000_000),
        (Counter::SystemNs, 30_000_000),
        (Counter::LatNs, 576_000_000),
        (Counter::ThrottleNs, 34_500_000_000),
        (Counter::SleepNs, 4_180_000_000),
        (Counter::Vcx, 12_345),
        (Counter::Migrations, 14),
    ] {
        delta.set(counter, ns);
    }
    delta.forget(Counter::IrqNs);
    let exited = [(b"cc1" as &[u8], 1204, 6_810_000_000), (b"e\x1bvil", 3, 310_000_000)];
    let tree = Tree {
        delta,
        life_ns: 47_976_000_000,
        exited: exited
            .into_iter()
            .map(|(name, processes, run_ns)| (Comm::new(name), Exited { processes, run_ns }))
            .collect(),
        slowest: Ok(Slowest {
            list: vec![single(Some(b"cc1 -quiet \x1b[2J x.c")), single(None)],
            lost: 2,
            max_resident_kib: Some(5000),
        }),
        cpus: Some([(0, 6_000_000_000), (1, 2_720_000_000)].into()),
        ..Tree::default()
    };
    RunReport {
        command: vec!["make".into(), "-j2".into()],
        end: End::Exited(2),
        elapsed_ns: 21_800_000_000,
        rusage: Rusage {
            user_ns: 8_000_000_000,
            system_ns: 20_000_000,
            max_resident_kib: 7248,
            minor_faults: 1560,
            vcx: 9,
            icx: 8,
            ..Rusage::default()
        },
        resident_floor_kib: 4000,
        tree: Ok(tree),
        group: Some(RunGroup {
            path: "/exactop-run-7".into(),
            stat: CpuStat {
                usage_ns: Some(8_722_000_000),
                nr_periods: Some(218),
                nr_throttled: Some(217),
                throttled_ns: Some(13_100_000_000),
                ..CpuStat::default()
            },
            allowed_cpus: Some(0.4),
            own: true,
        }),
    }
}

fn without_ledger() -> RunReport {
    RunReport { tree: Err("not permitted to load BPF programs".into()), group: None, ..report() }
}

#[test]
fn in_words() {
    insta::assert_snapshot!(text(&report()));
}

#[test]
fn in_words_without_the_ledger() {
    insta::assert_snapshot!(text(&without_ledger()));
}

#[test]
fn unnamed_time_of_hidden_switches_is_reported() {
    let mut report = report();
    let Ok(tree) = &mut report.tree else { panic!("a tree") };
    tree.unnamed_ns = 2_000_000;
    assert_eq!(nameless(tree), None, "everybody had a place");
    let said = text(&report);
    let line = said.lines().find(|line| line.starts_with("exact")).expect("a line");
    let words =
        "missed switches 0   0.002000 s of the machine's CPU time without a name, perhaps its";
    assert_eq!(line.split_once("  ").map(|(_, text)| text.trim()), Some(words), "{said}");
    assert!(said.starts_with("elapsed"), "{said}");
}

#[test]
fn a_short_run_is_in_microseconds_and_not_compared_with_its_group() {
    let mut report = report();
    report.elapsed_ns = 3_412_345;
    report.group.as_mut().expect("a group").stat.usage_ns = Some(2_000_000);
    let Ok(tree) = &mut report.tree else { panic!("a tree") };
    tree.delta.set(Counter::RunNs, 2_500_000);
    let said = text(&report);
    assert!(said.starts_with("elapsed 0.003412 s   cpu 0.002500 s (73.3 %)"), "{said}");
    assert!(said.contains("usage 0.002000 s") && !said.contains("apart"), "{said}");
    let long = text(&super::tests::report());
    assert!(long.contains("% apart"), "{long}");
}

#[test]
fn the_reason_for_inexactness_is_reported() {
    let said = |change: fn(&mut Tree)| {
        let mut report = report();
        let Ok(tree) = &mut report.tree else { panic!("a tree") };
        (tree.exact, tree.state) = (false, WindowState::Inexact);
        change(tree);
        let said = text(&report);
        let line = said.lines().find(|line| line.contains("missed switches")).expect("a line");
        line.split_once("missed switches 0").expect("none").1.trim().to_owned()
    };
    let open = said(|tree| tree.residual_ns = 1_500);
    assert_eq!(open, "the books do not close: 1.50us are missing");
    let late = said(|tree| tree.late_tasks = 2);
    assert_eq!(late, "2 of its threads seen late: what they did before is not in it");
}

#[test]
fn repairs_are_one_short_line() {
    let mut report = report();
    let Ok(tree) = &mut report.tree else { panic!("a tree") };
    tree.state = WindowState::Repaired;
    tree.repaired.tasks = Some(3);
    tree.errors.add(exactop_model::ErrorKind::UnseenSwitch, 10);
    tree.delta.set(Counter::Migrations, 1);
    let said = text(&report);
    let line = said.lines().find(|line| line.starts_with("repaired ")).expect("a line");
    assert!(line.ends_with("missed switches 0   3 tasks of the machine repaired"), "{line}");
    assert!(line.len() <= 80 && !said.contains("unseen_switch"), "{said}");
    assert!(!said.contains("audit") && said.contains("   1 migration\n"), "{said}");
    assert_eq!(json(&report)["tree"]["errors"]["unseen_switch"], 10);
}

#[test]
fn the_slowest_stand_below_each_other() {
    let mut report = report();
    let Ok(Slowest { list, .. }) = &mut report.tree.as_mut().expect("a tree").slowest else {
        panic!("a list")
    };
    list[0].run_ns = 12_000_000_000;
    (list[1].elapsed_ns, list[1].run_ns) = (610_000_000, 300_000_000);
    let rows = |report: &RunReport| {
        let said = text(report);
        let rows = said.lines().skip_while(|line| !line.starts_with("slowest")).take(2);
        rows.map(|line| line[22..].split("   ").take(2).collect::<Vec<_>>().join("|"))
            .collect::<Vec<_>>()
    };
    assert_eq!(rows(&report), ["3.410 s|CPU ~12.000 s", "0.610 s|CPU  ~0.300 s"]);
    let Ok(Slowest { list, .. }) = &mut report.tree.as_mut().expect("a tree").slowest else {
        panic!("a list")
    };
    list[1].elapsed_ns = 6_689_000;
    assert_eq!(rows(&report), ["3.410000 s|CPU ~12.000 s", "0.006689 s|CPU  ~0.300 s"]);
}

#[test]
fn unnamed_time_is_reported() {
    let mut report = report();
    let Ok(tree) = &mut report.tree else { panic!("a tree") };
    tree.exact = false;
    tree.unnamed_ns = 1_500_000_000;
    tree.errors.add(exactop_model::ErrorKind::NoGroup, 6809);
    tree.errors.add(exactop_model::ErrorKind::UnseenSwitch, 3);
    let said = text(&report);
    let first = said.lines().next().expect("a line");
    let words =
        "1.500 s of the machine's CPU time without a name, perhaps its   tables full 6,809 \
                 times";
    assert_eq!(first.split_once("  ").map(|(_, text)| text.trim()), Some(words), "{said}");
    let line = said.lines().find(|line| line.starts_with("inexact")).expect("a line");
    let words = "missed switches 0   exits without a slot 6,809";
    assert_eq!(line.split_once("  ").map(|(_, text)| text.trim()), Some(words), "{said}");
    let errors = &json(&report)["tree"]["errors"];
    assert_eq!((&errors["no_group"], &errors["unseen_switch"]), (&6809.into(), &3.into()));
}

#[test]
fn as_json() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&json(&report())).unwrap());
}

#[test]
fn as_posix_has_it() {
    assert_eq!(posix(&report()), "real 21.80\nuser 8.69\nsys 0.03\n");
    assert_eq!(posix(&without_ledger()), "real 21.80\nuser 8.00\nsys 0.02\n");
}

#[test]
fn in_letters() {
    let text = |format: &str| gnu::text(format, &report());
    let head = "Command exited with non-zero status 2\n";
    assert_eq!(
        text("%e %E %U\\t%P %M %C %x%%"),
        Ok(format!("{head}21.80 0:21.80 8.69\t40% 7248 make -j2 2%\n"))
    );
    let small = RunReport { resident_floor_kib: 9000, ..report() };
    assert_eq!(gnu::text("%M", &small), Ok(format!("{head}-\n")), "it may be exactop's own");
    assert!(
        super::text(&small).contains("max resident - (under exactop's own 8.8M)"),
        "{}",
        super::text(&small)
    );
    let exits = |lost| {
        let mut report = small.clone();
        let Ok(tree) = &mut report.tree else { panic!("a tree") };
        tree.slowest.as_mut().expect("some").lost = lost;
        report.max_resident_kib()
    };
    assert_eq!([exits(0), exits(1)], [Some(5000), None], "its own, if all of them are known");
    assert!(text("%q").is_err() && text("%").is_err() && text("\\q").is_err());
    let killed = RunReport { end: End::Killed(9), elapsed_ns: 3_723_000_000_000, ..report() };
    assert_eq!(
        gnu::text("%E %x", &killed),
        Ok("Command terminated by signal 9\n1:02:03 137\n".into())
    );
    for letter in "CDEFIKMOPRSUWXZcekprstwx%".chars() {
        assert!(text(&format!("%{letter}")).is_ok(), "{letter}");
    }
}

#[test]
fn large_numbers_have_commas() {
    let texts = [0, 999, 1000, 1_234_567].map(thousands);
    assert_eq!(texts, ["0", "999", "1,000", "1,234,567"]);
}

#[test]
fn repeated_runs_have_medians_intervals_and_ratios() {
    use repeat::Series;
    let run = |ms: u64| RunReport { elapsed_ns: ms * 1_000_000, ..report() };
    let series = |label: &str, times: &[u64]| Series {
        label: label.into(),
        runs: times.iter().map(|&ms| run(ms)).collect(),
    };
    let all = [
        series("nice=0", &[1000, 1010, 990, 1005, 995, 1000]),
        series("nice=5", &[2000, 2020, 1980, 2010, 1990, 2002]),
    ];
    insta::assert_snapshot!(repeat::text(&all));
    let few = [series("", &[10, 20])];
    let text = repeat::text(&few);
    assert!(text.contains("0.015 ") && text.contains("six runs"), "{text}");
    let json = repeat::json(&all);
    assert_eq!(json["conditions"][1]["ratio_to_first"]["elapsed"]["median"], 2.0);
    assert_eq!(json["conditions"][0]["summary"]["elapsed_s"]["median"], 1.0);
    assert_eq!(json["conditions"][0]["runs"].as_array().map(Vec::len), Some(6));
}
