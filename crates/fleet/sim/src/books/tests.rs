//! The balance of a simulated fleet finds exactly the simulated errors.

use super::*;
use crate::options;
use crate::options::begins;
use crate::recorded;
use exactop_fleet::check::{check, Balance, Host, Tolerance};
use exactop_fleet::Parquet;
use exactop_recording::TimeRange;
use std::path::Path;

fn args(output: &Path, hosts: u32, hours: f64) -> Args {
    let begin = Some("2026-11-22T00:00:00Z".parse().expect("a time"));
    Args { begin, ..Args::sound(hosts, hours, 10, 7, output.into()) }
}

fn balance(args: &Args) -> Balance {
    let books = Parquet::open(&args.output).expect("tables");
    let now_ns = begins(args).as_nanosecond() + 86_400_000_000_000;
    check(&books, TimeRange::default(), &Tolerance::default(), now_ns).expect("readable")
}

fn capacity(delivered: &[Delivered]) -> u128 {
    delivered.iter().map(|host| host.capacity_ns).sum()
}

#[test]
fn a_fleet_without_errors_balances() {
    let dir = tempfile::tempdir().expect("a directory");
    let args = Args { regression: Some((50.0, 20.0)), ..args(&dir.path().join("books"), 12, 0.1) };
    let delivered = simulate(&args).expect("made");
    let balance = balance(&args);
    assert!(balance.holds(), "{:?}", balance.hosts.iter().find(|host| !host.is_well()));
    assert_eq!((balance.windows(), balance.quality.inexact), (12 * 36, 0));
    assert_eq!(balance.sums.cpus_x_time_ns, capacity(&delivered));
    assert_eq!(balance.sums.charged_ns, balance.sums.named_ns());
    assert!(balance.sums.exited_ns > 0 && balance.sums.tasks_ns > 0 && balance.sums.idle_ns > 0);
    assert!(balance.sums.irq_ns > 0 && balance.sums.steal_ns > 0);
    assert_eq!(balance.hosts.iter().filter(|host| host.name.ends_with("-next")).count(), 6);
}

#[test]
fn windows_have_the_requested_length_and_are_recent() {
    let dir = tempfile::tempdir().expect("a directory");
    let args = Args { window: 60, begin: None, ..args(&dir.path().join("books"), 4, 0.5) };
    simulate(&args).expect("made");
    let books = Parquet::open(&args.output).expect("tables");
    let now_ns = Timestamp::now().as_nanosecond();
    let balance =
        check(&books, TimeRange::default(), &Tolerance::default(), now_ns).expect("readable");
    // No clock is ahead of now.
    assert!(balance.holds(), "{:?}", balance.hosts.iter().find(|host| !host.is_well()));
    assert_eq!(balance.windows(), 4 * 30);
    let (first, last) = (balance.hosts.iter().map(|host| host.first_ns), 2 * 86_400_000_000_000);
    assert!(first.min().is_some_and(|first_ns| now_ns - i128::from(first_ns) < last));
    assert!(Plan::from_args(&Args { window: 0, ..args.clone() }).is_err());
    assert!(Plan::from_args(&Args { window: 601, ..args }).is_err());
}

#[test]
fn the_balance_finds_the_simulated_errors() {
    let dir = tempfile::tempdir().expect("a directory");
    let made = args(&dir.path().join("books"), 24, 0.5);
    let args =
        Args { doubled: 8.0, late: 10.0, lost: 16.0, skewed: 3, dead: 2, restarted: 5, ..made };
    let delivered = simulate(&args).expect("made");
    let plan = Plan::from_args(&args).expect("a plan");
    let balance = balance(&args);
    assert!(!balance.holds());
    assert_eq!(
        (balance.sums.windows, balance.hosts.len()),
        (delivered.iter().map(|d| d.rows).sum(), 24)
    );
    assert_eq!(balance.sums.cpus_x_time_ns, capacity(&delivered));
    assert_eq!((balance.sums.charged_ns, balance.quality.open), (balance.sums.named_ns(), 0));
    let of = |name: &str| -> &Host {
        balance.hosts.iter().find(|host| host.name == name).expect("it is there")
    };
    let (mut doubled, mut gaps, mut late) = (0, 0, 0);
    for (host, told) in plan.hosts.iter().zip(&delivered) {
        let found = of(&host.name);
        assert_eq!(
            (found.windows, found.doubled),
            (told.windows, told.rows - told.windows),
            "{}",
            host.name
        );
        assert_eq!(
            (found.gaps.count, found.gaps.length_ns),
            (told.gaps, told.gaps_ns.into()),
            "{}",
            host.name
        );
        assert_eq!(
            (found.boots, found.jumps, found.different),
            (told.boots, 0, 0),
            "{}",
            host.name
        );
        // Two minutes exceed the clocks' tolerance.
        match host.skew_ns > 0 {
            true => assert!(found.later_ns.is_some() || told.last_is_lost, "{}", host.name),
            false => assert_eq!(found.later_ns, None, "{}", host.name),
        }
        if host.away.is_none() && host.dead_at.is_none() {
            lost(&plan, host, told, found);
        }
        if host.dead_at.is_some_and(|at| at + 31 < plan.windows) {
            assert!(found.silent_ns.is_some(), "{}", host.name);
        }
        (doubled, gaps, late) = (doubled + found.doubled, gaps + told.gaps, late + told.late);
    }
    assert!(
        doubled > 0 && gaps > 0 && late > 0,
        "the seed draws some of each: {doubled} {gaps} {late}"
    );
    assert_eq!(plan.hosts.iter().filter(|host| host.away.is_some()).count(), 5);
}

/// Checks that all lost windows are gaps or at an end.
fn lost(plan: &Plan, host: &crate::plan::Host, told: &Delivered, found: &Host) {
    let begins = plan.begin_ns + i128::from(host.phase_ns) + i128::from(host.skew_ns);
    let ends = begins + i128::from(plan.windows * plan.window_ns);
    let edges = i128::from(found.first_ns) - begins + ends - i128::from(found.last_ns);
    let gaps = i128::try_from(found.gaps.length_ns).expect("a length");
    assert_eq!(edges + gaps, i128::from(told.lost * plan.window_ns), "{}", host.name);
}

#[test]
fn the_same_seed_makes_the_same_figures() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut files = Vec::new();
    for (n, seed) in [1, 1, 2].into_iter().enumerate() {
        let made = args(&dir.path().join(n.to_string()), 3, 0.05);
        let args = Args { seed, lost: 20.0, doubled: 20.0, ..made };
        simulate(&args).expect("made");
        let told = std::fs::read_to_string(args.output.join("simulated.json")).expect("a file");
        files.push((told, balance(&args).sums));
    }
    assert_eq!(files[0], files[1]);
    assert_ne!(files[0].1, files[2].1);
}

#[test]
fn a_directory_that_is_not_empty_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("mine"), "text").expect("a file");
    let error = simulate(&args(dir.path(), 1, 0.05)).expect_err("not empty").to_string();
    assert!(error.contains("is not empty"), "{error}");
    assert!(
        options::regression("5,20").is_ok()
            && options::regression("5").is_err()
            && options::regression("5,x").is_err()
    );
}

/// A recording of the tests' machine.
fn recording(path: &Path) {
    use exactop_recording::{Clocks, Machine, Options, Recorder, Sync};
    let machine = Machine {
        host: "one".into(),
        boot_id: "boot".into(),
        kernel: "6.18.0".into(),
        architecture: "x86_64".into(),
        exactop: "0.2.0".into(),
    };
    let options = Options { sync: Sync::Never, ..Options::default() };
    let mut recorder = Recorder::open(path, machine, options).expect("a recorder");
    let mut book = exactop_model::Book::new();
    for n in 0..20 {
        let now = exactop_testkit::snapshot(exactop_model::SourceKind::Ledger, n, None);
        recorder.record(&now, &book, Clocks { wall_offset_ns: 0, suspended_ns: 0 });
        book.advance(now);
    }
}

#[test]
fn hosts_run_the_recorded_services() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("My shop");
    recording(&path);
    let out = dir.path().join("books");
    let args = Args { mix_from: vec![path.clone()], ..args(&out, 3, 0.1) };
    let plan = Plan::from_args(&args).expect("a plan");
    assert!(
        plan.hosts.iter().all(|host| host.name.starts_with("myshop-")),
        "{}",
        plan.hosts[0].name
    );
    let ran = recorded::all(&[path]).expect("a recording");
    let postgres = ran[0].services.iter().find(|service| service.command == "postgres");
    assert!(postgres.is_some_and(|service| service.share > 1), "{:?}", ran[0].services);
    let delivered = simulate(&args).expect("made");
    let balance = balance(&args);
    assert!(balance.holds());
    assert_eq!(balance.sums.cpus_x_time_ns, capacity(&delivered));
    // A recording without windows is no mix.
    assert!(recorded::all(&[dir.path().join("nothing")]).is_err());
}
