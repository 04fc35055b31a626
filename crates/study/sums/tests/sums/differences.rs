//! Sums are true, the rows of a difference sum up to the change of busy time, planted changes are
//! found, and nothing else is.

use crate::drawn::{self, stretch, Drawn, Planted, Truth};
use exactop_recording::TimeRange;
use exactop_sums::{json, text, Change, Difference, Grouping, Least, Per, Stretch, Verdict, Work};
use proptest::prelude::*;

const BYS: [Grouping; 6] = [
    Grouping::Command,
    Grouping::Cgroup,
    Grouping::Unit,
    Grouping::User,
    Grouping::Process,
    Grouping::Session,
];

fn named(stretch: &Stretch) -> u64 {
    stretch.rows.iter().map(|row| row.sum.run_ns).sum()
}

/// Checks the identities in the JSON output.
fn books_come_out(difference: &Difference) {
    let told: serde_json::Value =
        serde_json::from_str(&json::difference(difference)).expect("JSON");
    let of = |key: &str| {
        let value = &told["books"][key];
        value.as_i64().or(value.is_null().then_some(0)).expect(key)
    };
    let rows = told["rows"].as_array().expect("rows");
    let sum: i64 = rows.iter().map(|row| row["delta_ns"].as_i64().expect("ns")).sum();
    assert_eq!(sum + of("unnamed_delta_ns"), of("busy_delta_ns"));
    let others = ["idle_delta_ns", "steal_delta_ns", "irq_delta_ns", "offline_delta_ns"];
    let others: i64 = others.into_iter().map(of).sum();
    let missing = of("capacity_delta_ns") - of("residual_delta_ns");
    assert_eq!(of("busy_delta_ns"), missing - others);
    for row in rows {
        let ns = |key: &str| row[key].as_i64().expect("ns");
        assert_eq!(ns("b_ns") - ns("a_ns"), ns("delta_ns"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_are_the_change_of_busy_time(
        seeds in any::<(u32, u32)>(),
        windows in (1usize..12, 1usize..12),
        planted in (0u64..200_000_000, 0u64..50, any::<(bool, bool)>()),
        by in 0usize..BYS.len(),
        per in 0usize..3,
    ) {
        let (worker_ns, runs, (irq_a, irq_b)) = planted;
        let work = Work::Events(exactop_model::Counter::Dispatches);
        let per = [Per::Cpu, Per::Wall, Per::Work(work)][per];
        let side = |seed: u32, windows, no_irq| {
            let planted = Planted { worker_ns, runs, no_irq, ..Planted::default() };
            stretch(seed.into(), planted, windows, BYS[by], per.work())
        };
        let ((a, in_a), (b, in_b)) = (side(seeds.0, windows.0, irq_a), side(seeds.1, windows.1, irq_b));
        for (side, truth) in [(&a, &in_a), (&b, &in_b)] {
            prop_assert!(side.accounts.closes());
            prop_assert_eq!(side.accounts.residual_ns, 0);
            prop_assert_eq!(named(side), side.accounts.named_ns);
            prop_assert_eq!(side.accounts.named_ns, truth.by_command.values().sum::<u64>());
            prop_assert_eq!(side.accounts.idle_ns, truth.idle_ns);
            prop_assert_eq!(side.accounts.unnamed_ns, truth.unnamed_ns);
            prop_assert_eq!(side.accounts.steal_ns(), Some(truth.steal_ns));
        }
        let difference = Difference::between(a, b, per);
        prop_assert_eq!(difference.a.accounts.irq_ns(), (!irq_a && !irq_b).then_some(in_a.irq_ns));
        books_come_out(&difference);
        let clock = |ns: i128| ns.to_string();
        prop_assert!(text::difference(&difference, 20, &clock).contains(" sum to the change of busy time, "));
    }
}

#[test]
fn every_command_has_its_cpu_time() {
    let planted = Planted { worker_ns: 50_000_000, runs: 3, no_irq: false, ..Planted::default() };
    let (side, Truth { by_command, .. }) = stretch(3, planted, 40, Grouping::Command, None);
    let told = side.rows.iter().filter(|row| row.sum.run_ns > 0);
    let told = told.map(|row| (row.group.name.clone(), row.sum.run_ns)).collect();
    assert_eq!(by_command, told);
    let cc1 = side.rows.iter().find(|row| row.group.name == "cc1").expect("it");
    assert_eq!(cc1.exits, 3 * 40);
}

#[test]
fn pieces_of_time_sum_up_to_the_whole() {
    // More windows than pieces, and not a multiple of them.
    let (side, _) = stretch(4, Planted::default(), 1111, Grouping::Command, None);
    assert!(side.slots.len() <= 480 && side.slots.len() > 200, "{}", side.slots.len());
    assert_eq!(side.slots.iter().map(|slot| slot.windows).sum::<u64>(), 1111);
    let joined = side.slots.iter().map(|slot| slot.accounts.idle_ns).sum::<u64>();
    assert_eq!(joined, side.accounts.idle_ns);
    for (number, row) in (0..).zip(&side.rows) {
        let pieces = side.slots.iter().filter_map(|slot| slot.rows.get(&number));
        assert_eq!(pieces.map(|sum| sum.run_ns).sum::<u64>(), row.sum.run_ns);
    }
    for pair in side.slots.windows(2) {
        assert_eq!(pair[0].to_wall_ns, pair[1].from_wall_ns);
    }
}

#[test]
fn a_stretch_has_the_windows_that_end_in_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let mut machine = Drawn::new(5, Planted::default());
    drawn::record(&path, &mut machine, 100);
    let whole = drawn::read(&path, Grouping::Command, None);
    let (from, to) = whole.spans.expect("windows");
    let middle = from + (to - from) / 3;
    let part = |from, to| drawn::read_when(&path, TimeRange { from, to }, Grouping::Command, None);
    let (before, after) = (part(None, Some(middle)), part(Some(middle), None));
    assert_eq!(before.windows + after.windows, 100);
    assert!(before.windows > 30 && after.windows > 60);
    assert_eq!(before.accounts.idle_ns + after.accounts.idle_ns, whole.accounts.idle_ns);
    assert_eq!(before.spans.expect("windows").1, after.spans.expect("windows").0);
    assert_eq!(part(Some(to), None).windows, 0, "after all of it");
}

const USUAL: Planted = Planted {
    worker_ns: 100_000_000,
    runs: 1,
    run_ns: 0,
    nobody_brief: false,
    unnamed_ns: 0,
    no_irq: false,
};

#[test]
fn a_planted_regression_is_the_first_two_rows() {
    for seed in 0..10 {
        let planted = Planted { worker_ns: 120_000_000, runs: 100, ..USUAL };
        let (a, _) = stretch(2 * seed, USUAL, 30, Grouping::Command, None);
        let (b, _) = stretch(2 * seed + 1, planted, 30, Grouping::Command, None);
        let difference = Difference::between(a, b, Per::Cpu);
        let first: Vec<_> = difference.rows[..2]
            .iter()
            .map(|row| {
                assert!(
                    row.apart.expect("weighed").beyond && row.change == Change::Grew,
                    "{row:?}"
                );
                row.group.as_ref().expect("a name").name.as_str()
            })
            .collect();
        assert_eq!(first, ["cc1", "worker"]);
    }
}

#[test]
fn the_work_measure_distinguishes_slower_from_more_often() {
    let planted = Planted { worker_ns: 100_000_000, runs: 100, ..USUAL };
    let side = |seed, planted| stretch(seed, planted, 30, Grouping::Command, Some(Work::Exits)).0;
    let difference = Difference::between(side(1, USUAL), side(2, planted), Per::Work(Work::Exits));
    let cc1 =
        difference.rows.iter().find(|row| row.group.as_ref().is_some_and(|g| g.name == "cc1"));
    let cc1 = cc1.expect("it");
    let (a, b) = (cc1.a.expect("ns a run"), cc1.b.expect("ns a run"));
    assert!(cc1.b_ns > 90 * cc1.a_ns && (b / a - 1.0).abs() < 0.1, "{a} {b}");
    let daemon = difference.rows.iter().find(|row| row.b_ns > 0 && row.b.is_none());
    assert!(daemon.is_some(), "who never exits has no figure");
    // More runs at the same cost are no difference per run: tested, and within noise.
    let cc1 = cc1.apart.expect("weighed");
    assert!(!cc1.beyond && difference.verdict() == Verdict::NothingBeyondNoise, "{cc1:?}");
    let slower = Planted { run_ns: 1_300_000, ..planted };
    let difference = Difference::between(side(1, planted), side(2, slower), Per::Work(Work::Exits));
    assert_eq!(difference.verdict(), Verdict::BeyondNoise(1));
    let beyond = difference.beyond().next().and_then(|row| row.group.as_ref()).expect("a row");
    assert_eq!(beyond.name, "cc1");
}

#[test]
fn without_tested_rows_no_row_is_called_noise() {
    // Only processes of one command exit, and on one side not even those.
    let none = Planted { runs: 0, nobody_brief: true, ..USUAL };
    let side = |seed, planted| stretch(seed, planted, 30, Grouping::Command, Some(Work::Exits)).0;
    let difference = Difference::between(side(1, none), side(2, none), Per::Work(Work::Exits));
    assert!(difference.can_tell());
    assert_eq!(difference.verdict(), Verdict::NothingWeighed);
    let told: serde_json::Value =
        serde_json::from_str(&json::difference(&difference)).expect("JSON");
    assert_eq!(told["verdict"], "nothing_weighed");
    let said = text::difference(&difference, 100, &|ns| ns.to_string());
    assert!(!said.contains("ithin noise") && !said.contains("Nothing beyond"), "{said}");
    assert!(said.contains("\nNot tested:\n") && said.contains("Nothing could be tested"), "{said}");
}

#[test]
fn unnamed_time_beyond_noise_is_listed_with_the_differing_rows() {
    let unnamed = Planted { unnamed_ns: 50_000_000, ..USUAL };
    let side = |seed, planted| stretch(seed, planted, 30, Grouping::Command, None).0;
    let difference = Difference::between(side(1, USUAL), side(2, unnamed), Per::Cpu);
    assert!(difference.beyond().any(|row| row.group.is_none()));
    let said = text::difference(&difference, 100, &|ns| ns.to_string());
    let (told, within) = said
        .split_once("Within noise, or less than 0.2 % of a CPU or 3 % of the row:")
        .expect("both");
    assert!(told.contains("(unnamed)") && !within.contains("(unnamed)"), "{said}");
}

#[test]
fn a_change_below_the_limit_of_a_cpu_is_noise() {
    // Windows of a second: 0.05 % of a CPU.
    let side = |seed, unnamed_ns| {
        stretch(seed, Planted { unnamed_ns, ..USUAL }, 30, Grouping::Command, None).0
    };
    let sides = || (side(1, 0), side(2, 500_000));
    let beyond = |difference: &Difference| difference.beyond().any(|row| row.group.is_none());
    let ((a, b), (c, d)) = (sides(), sides());
    assert!(!beyond(&Difference::between(a, b, Per::Cpu)));
    let least = Least { of_cpu_pct: 0.04, ..Least::USUAL };
    let asked = Difference::from_least(c, d, Per::Cpu, least);
    assert!(beyond(&asked), "{:?}", asked.unnamed);
    let told: serde_json::Value = serde_json::from_str(&json::difference(&asked)).expect("JSON");
    assert_eq!(told["least_pct"], 0.04);
    assert_eq!(told["least_of_row_pct"], 3.0);
}

#[test]
fn a_change_below_the_limit_of_its_row_is_noise() {
    // Half of a CPU, and 2 % more of it.
    let side = |seed, unnamed_ns| {
        stretch(seed, Planted { unnamed_ns, ..USUAL }, 30, Grouping::Command, None).0
    };
    let sides = || (side(1, 500_000_000), side(2, 510_000_000));
    let beyond = |of_row_pct| {
        let (a, b) = sides();
        let least = Least { of_row_pct, ..Least::USUAL };
        let difference = Difference::from_least(a, b, Per::Cpu, least);
        let is_beyond = difference.beyond().any(|row| row.group.is_none());
        is_beyond
    };
    assert!(!beyond(Least::USUAL.of_row_pct));
    assert!(beyond(1.5));
}

#[test]
fn equal_loads_show_no_difference_in_95_of_100() {
    let quiet = (0..100)
        .filter(|seed| {
            let side = |seed| stretch(seed, USUAL, 20, Grouping::Command, None).0;
            let difference =
                Difference::between(side(1000 + 2 * seed), side(1001 + 2 * seed), Per::Cpu);
            let said = text::difference(&difference, 5, &|ns| ns.to_string());
            let quiet = difference.beyond().next().is_none();
            assert_eq!(said.contains("Nothing beyond noise"), quiet);
            quiet
        })
        .count();
    assert!(quiet >= 95, "{quiet} of 100");
}

#[test]
fn too_few_windows_are_reported() {
    let side = |seed| stretch(seed, USUAL, 3, Grouping::Command, None).0;
    let difference = Difference::between(side(1), side(2), Per::Cpu);
    assert!(!difference.can_tell());
    let told = json::difference(&difference);
    assert!(
        told.contains("\"too_few_windows\"") && told.contains("\"beyond_noise\":null"),
        "{told}"
    );
}
