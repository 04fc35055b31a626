//! Nothing is lost on the way to the page: areas are all of the time, rows are all of the tasks'
//! time, and single windows keep their peaks.

mod drawn;

use drawn::{json, waits, Planted, CAPPED, CPUS, SECOND, SPIKE_NS, WAITING};
use exactop_model::blame::rows::CulpritRow;
use exactop_model::blame::sizes::BUCKETS;
use exactop_model::text::escape::escape_str;
use exactop_model::words::blame::culprit_name;
use exactop_web::page::Limits;
use serde_json::Value;
use std::collections::BTreeMap;

const FEW: Limits = Limits {
    slots: 20,
    cpu_cells: 10_000,
    row_cells: 160,
    rows: 1000,
    group_cells: 60,
    groups: 10,
    thread_cells: 60,
    threads: 10,
    pairs: 10,
    size_cells: 1000,
    marks: 400,
    gaps: 100,
    weighed: 1000,
};

fn list(value: &Value) -> Vec<i64> {
    let list = value.as_array().expect("a list");
    list.iter().map(|n| n.as_i64().map_or(0, |n| n)).collect()
}

/// Accounts of each slot, and their sums.
fn of_slots(page: &Value) -> (Vec<Vec<i64>>, Vec<i64>) {
    let parts = page["slots"]["parts_ns"].as_array().expect("accounts");
    let parts: Vec<Vec<i64>> = parts.iter().map(list).collect();
    let slots = list(&page["slots"]["capacity_ns"]);
    let sums = (0..slots.len()).map(|slot| parts.iter().map(|part| part[slot]).sum()).collect();
    (parts, sums)
}

/// A column of a row by slot.
fn figures(page: &Value, row: &Value, column: &str) -> Vec<Option<i64>> {
    let columns = page["columns"].as_array().expect("columns");
    let at = columns.iter().position(|c| c["name"] == column).expect("the column");
    let mut by_slot = vec![None; list(&page["slots"]["capacity_ns"]).len()];
    let mut slot = 0;
    for (i, step) in list(&row["slots"]).into_iter().enumerate() {
        slot += step as usize;
        let figure = &row["figures"][at];
        by_slot[slot] = figure.get(i).map_or(figure, |figure| figure).as_i64();
    }
    by_slot
}

fn row<'a>(page: &'a Value, comm: &str) -> &'a Value {
    let rows = page["rows"].as_array().expect("rows");
    rows.iter().find(|row| row["comm"] == comm).expect("it has a row")
}

#[test]
fn areas_are_all_of_the_time() {
    for limits in [FEW, Limits::default()] {
        let planted = Planted { gap: Some(50), ..Planted::default() };
        let page = json(&planted, &limits);
        let (_, sums) = of_slots(&page);
        assert_eq!(sums, list(&page["slots"]["capacity_ns"]));
        // One second is not recorded.
        assert_eq!(sums.iter().sum::<i64>() as u64, CPUS * (planted.windows - 1) * SECOND);
        assert_eq!(list(&page["slots"]["windows"]).iter().sum::<i64>(), 119);
        assert_eq!(page["gaps"][0]["why"], "no recorder ran");
        assert_eq!(page["gaps"].as_array().map(Vec::len), Some(1));
    }
}

#[test]
fn a_spike_of_one_window_keeps_its_height() {
    let page = json(&Planted::default(), &FEW);
    assert!(list(&page["slots"]["windows"]).iter().all(|&windows| windows == 6));
    let peaks = page["slots"]["peaks"].as_array().expect("peaks");
    let most = peaks.iter().map(|peak| list(&peak[1])).max_by_key(|peak| peak[3]).expect("one");
    assert!(most[3] as u64 > SPIKE_NS, "tasks of {most:?}");
    for peak in peaks {
        let peak = list(&peak[1]);
        assert_eq!(peak[3..].iter().sum::<i64>(), peak[2], "{peak:?}");
    }
    let busiest = page["cpus"].as_array().expect("CPUs").iter();
    let busiest: Vec<i64> =
        busiest.map(|cpu| list(&cpu["most_permille"]).into_iter().fold(0, i64::max)).collect();
    assert!(busiest.iter().all(|&permille| permille > 900), "{busiest:?}");
    let spiky = figures(&page, row(&page, "spiky"), "run_ns");
    assert_eq!(spiky.into_iter().flatten().sum::<i64>() as u64, SPIKE_NS);
}

#[test]
fn rows_are_all_of_the_tasks_time() {
    for limits in [FEW, Limits::default()] {
        let page = json(&Planted::default(), &limits);
        let rows = page["rows"].as_array().expect("rows");
        let has_others = rows.iter().any(|row| row["key"] == "other");
        assert_eq!(has_others, limits == FEW);
        let (parts, _) = of_slots(&page);
        for (slot, (tasks, exited)) in parts[0].iter().zip(&parts[1]).enumerate() {
            let run_ns = rows.iter().map(|row| figures(&page, row, "run_ns")[slot]);
            assert_eq!(run_ns.flatten().sum::<i64>(), tasks + exited);
        }
        let busy = page["cpus"].as_array().expect("CPUs").iter();
        let busy: i64 = busy.map(|cpu| list(&cpu["busy_ns"]).iter().sum::<i64>()).sum();
        assert_eq!(busy, parts[..6].iter().flatten().sum::<i64>());
    }
}

#[test]
fn an_idle_task_sleeps_all_the_time() {
    let page = json(&Planted::default(), &Limits::default());
    for (comm, state) in [("init", "sleep_ns"), ("starved", "lat_ns"), ("steady", "sleep_ns")] {
        let row = row(&page, comm);
        let [run, rest, life] = ["run_ns", state, "life_ns"].map(|name| figures(&page, row, name));
        let lived = if comm == "init" { 30..=90 } else { 0..=119 };
        for slot in lived {
            let sum = run[slot].zip(rest[slot]).map(|(run, rest)| run + rest);
            assert_eq!((sum, life[slot]), (Some(SECOND as i64), Some(SECOND as i64)), "{comm}");
        }
    }
}

#[test]
fn a_finding_is_marked_once_and_names_are_escaped() {
    let page = json(&Planted::default(), &FEW);
    let marks = page["marks"].as_array().expect("marks");
    let waiting: Vec<&Value> = marks.iter().filter(|mark| mark["id"] == "waiting").collect();
    assert_eq!(waiting.len(), 1, "{marks:?}");
    assert_eq!(waiting[0]["windows"], 120);
    let true_ = row(&page, "true");
    assert_eq!((&true_["kind"], &true_["parent"]), (&"exited".into(), &"steady".into()));
    let cgroup = true_["cgroup"].as_str().expect("a path");
    assert!(cgroup.ends_with("\\u{2028}") && !cgroup.contains('\u{2028}'), "{cgroup}");
}

#[test]
fn a_page_does_not_grow_with_time() {
    let limits = Limits { slots: 30, cpu_cells: 1000, row_cells: 600, marks: 40, ..FEW };
    let bytes = |windows| {
        let planted = Planted { windows, crowd: 60, ..Planted::default() };
        json(&planted, &limits).to_string().len()
    };
    let (short, long) = (bytes(150), bytes(600));
    assert!(long < 2 * short && long < 200_000, "{short} bytes, then {long}");
}

#[test]
fn tasks_that_waited_all_the_time_without_a_row_count_as_others() {
    let planted = Planted { starving: 30, ..Planted::default() };
    let page = json(&planted, &FEW);
    let rows = page["rows"].as_array().expect("rows");
    assert!(rows.iter().any(|row| row["key"] == "other"));
    let lat = rows.iter().flat_map(|row| figures(&page, row, "lat_ns")).flatten();
    let waiting = 1 + planted.starving;
    assert_eq!(lat.sum::<i64>() as u64, waiting * planted.windows * SECOND);
    // All rows are counted: init, the planted ones, and exited groups.
    let others = page["rows_left_out"]["count"].as_u64().expect("a number");
    let all = 5 + 1 + planted.starving + planted.crowd;
    assert_eq!(others + rows.len() as u64 - 1, all);
    assert_eq!(page["rows_left_out"]["at_most"], false);
}

#[test]
fn large_numbers_of_rows_are_bounded_and_counted() {
    let planted =
        Planted { windows: 60, spike: 30, crowd: 200, far_cpus: true, ..Planted::default() };
    let limits = Limits { cpu_cells: 80, weighed: 40, rows: 3, ..FEW };
    let page = json(&planted, &limits);
    let cpus = page["cpus"].as_array().expect("CPUs");
    let cells: usize = cpus.iter().map(|cpu| list(&cpu["busy_ns"]).len()).sum();
    assert!(cells <= 120 && cpus.len() >= CPUS as usize, "{} CPUs, {cells} cells", cpus.len());
    assert_eq!(page["cpus_left_out"], 1, "each window has one with a number of its own");
    let rows = page["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 4, "three and all others");
    assert!(row(&page, "spiky").is_object() && row(&page, "steady").is_object());
    assert_eq!(page["rows_left_out"]["at_most"], true);
    let (parts, sums) = of_slots(&page);
    assert_eq!(sums, list(&page["slots"]["capacity_ns"]));
    let run: i64 = rows.iter().flat_map(|row| figures(&page, row, "run_ns")).flatten().sum();
    assert_eq!(run, parts[..2].iter().flatten().sum::<i64>());
}

/// The n-th figure of a group, summed over slots.
fn of_group(group: &Value, n: usize) -> Option<i64> {
    let figures = &group["figures"][n];
    let slots = group["slots"].as_array().map_or(0, Vec::len) as i64;
    match figures.as_array() {
        Some(each) => each.iter().map(Value::as_i64).sum(),
        None => figures.as_i64().map(|same| same * slots),
    }
}

#[test]
fn groups_are_charged_with_all_of_the_tasks_time() {
    for limits in [FEW, Limits { groups: 1, ..FEW }, Limits::default()] {
        let planted = Planted { quota: Some(1), ..Planted::default() };
        let page = json(&planted, &limits);
        let (parts, _) = of_slots(&page);
        let all: i64 = parts[..2].iter().flatten().sum();
        let groups = page["groups"].as_array().expect("groups");
        let has_others = groups.iter().any(|group| group["key"] == "other");
        assert_eq!(has_others, limits.groups == 1 || limits.group_cells == 60, "{groups:#?}");
        assert_eq!(groups.iter().filter_map(|group| of_group(group, 0)).sum::<i64>(), all);
        if has_others {
            let others = groups.last().expect("one");
            assert_eq!(of_group(others, 4), None, "counts of the kernel are of all below");
        }
    }
}

#[test]
fn a_group_has_what_its_limit_costs_beside_what_it_may_use() {
    let planted = Planted { quota: Some(41), ..Planted::default() };
    let page = json(&planted, &Limits::default());
    let groups = page["groups"].as_array().expect("groups");
    let of = |path: &str| groups.iter().find(|group| group["path"] == path).expect("a group");
    let (capped, shop) = (of(CAPPED), of("/shop"));
    let second = SECOND as i64;
    assert_eq!((of_group(capped, 0), of_group(capped, 2)), (Some(48 * second), Some(72 * second)));
    // The kernel's files were not read before.
    assert_eq!(of_group(capped, 4), None);
    assert_eq!(capped["figures"][4][39], Value::Null);
    assert_eq!(capped["figures"][4][40].as_i64(), Some(second * 2 / 5));
    assert_eq!(
        capped["limits"][0].as_array().map(|limit| (&limit[0], &limit[2])),
        Some((&40.into(), &2.0.into()))
    );
    assert_eq!(capped["limits"].as_array().map(Vec::len), Some(1), "it did not change");
    assert_eq!((of_group(shop, 4), &shop["limits"][0][2]), (Some(32 * second), &0.4.into()));
    // The finding leads to the group.
    let marks = page["marks"].as_array().expect("marks");
    let mark = marks.iter().find(|mark| mark["id"] == "throttled").expect("a finding");
    assert_eq!(mark["leads"]["group"], capped["key"]);
}

#[test]
fn threads_are_all_of_their_process() {
    let planted = Planted { threads: true, ..Planted::default() };
    for limits in [Limits::default(), Limits { slots: 20, ..Limits::default() }] {
        let page = json(&planted, &limits);
        let threads = page["threads"].as_array().expect("threads");
        assert_eq!(threads.len(), 3, "of no process that has one");
        let process = row(&page, "pool");
        for column in ["run_ns", "sleep_ns", "life_ns"] {
            let of = |row| figures(&page, row, column).into_iter().flatten().sum::<i64>();
            assert_eq!(threads.iter().map(of).sum::<i64>(), of(process), "{column}");
        }
        assert!(threads.iter().all(|thread| thread["process"] == process["key"]));
    }
}

/// `/metrics` has both in the waits of all others.
#[test]
fn a_thread_without_its_main_thread_or_a_known_group_waits_like_any_other() {
    let planted = Planted { headless: true, ..Planted::default() };
    let all = (2 * planted.windows * SECOND) as i64;
    for limits in [Limits::default(), FEW, Limits { groups: 1, ..FEW }] {
        let page = json(&planted, &limits);
        let rows = page["rows"].as_array().expect("rows").iter();
        let lat = rows.flat_map(|row| figures(&page, row, "lat_ns")).flatten();
        assert_eq!(lat.sum::<i64>(), all, "rows");
        let groups = page["groups"].as_array().expect("groups").iter();
        assert_eq!(groups.filter_map(|group| of_group(group, 1)).sum::<i64>(), all, "groups");
    }
}

#[test]
fn pairs_are_those_of_the_blame_books() {
    let (document, books) = drawn::booked();
    let page: Value = serde_json::from_str(&document.json().expect("JSON")).expect("JSON");
    let pairs = page["pairs"].as_array().expect("pairs");
    assert_eq!(list(&page["slots"]["blame_ns"]).iter().sum::<i64>(), books[0].length_ns as i64);
    for book in books {
        let mut told = Vec::new();
        for pair in pairs.iter().filter(|pair| pair["by"] == book.by) {
            let (slots, ns) = (list(&pair["slots"]), &pair["figures"][0]);
            let same = |ns: i64| ns * slots.len() as i64;
            let ns = ns.as_i64().map_or_else(|| list(ns).iter().sum(), same);
            let word = |of: &str| pair[of].as_str().expect("a name").to_string();
            told.push((word("victim"), word("kind"), word("culprit"), ns));
        }
        let culprits = book.rows.iter().flat_map(|row| {
            let of = |culprit: &CulpritRow| {
                let kind = culprit.kind.name().to_string();
                let name = culprit_name(culprit.kind, &culprit.culprit).to_string();
                (row.victim.clone(), kind, name, culprit.booked.ns as i64)
            };
            row.culprits.iter().map(of)
        });
        let mut booked: Vec<_> = culprits.collect();
        booked.sort();
        told.sort();
        assert!(!told.is_empty());
        assert_eq!(told, booked, "{}", book.by);
    }
}

/// Ended waits by owner, and slot, bucket, and 1 for those preempted.
type Counts = BTreeMap<(String, [usize; 3]), u64>;

/// The page's waits by size under a key.
fn sizes(page: &Value, by: &str) -> Counts {
    let owners = page["sizes"].as_array().expect("owners").iter();
    let mut counts = Counts::new();
    for owner in owners.filter(|owner| owner["by"] == by) {
        let (mut place, figures) = (0, &owner["figures"][0]);
        for (i, step) in list(&owner["slots"]).into_iter().enumerate() {
            place += step as usize;
            let count = figures.get(i).map_or(figures, |count| count).as_u64().expect("a count");
            let at = [place / (2 * BUCKETS), place / 2 % BUCKETS, place % 2];
            let name = owner["owner"].as_str().expect("a name").to_string();
            assert_eq!(counts.insert((name, at), count), None);
        }
    }
    counts
}

/// Windows before this one have no histograms.
const SIZED: u64 = 10;

fn sized() -> Planted {
    Planted { windows: 60, quota: Some(1), sized: Some(SIZED), ..Planted::default() }
}

/// The planted waits in the slots of a page.
fn planted_sizes(page: &Value, owner: impl Fn(&(u64, &str, &str)) -> String) -> Counts {
    let mut counts = Counts::new();
    let windows = list(&page["slots"]["windows"]).into_iter().enumerate();
    let slots = windows.flat_map(|(slot, windows)| vec![slot; windows as usize]);
    for (window, slot) in (0..).zip(slots).skip(SIZED as usize) {
        for of in &WAITING {
            for (bucket, kinds) in waits(of.0, window).into_iter().enumerate() {
                for (kind, count) in kinds.into_iter().enumerate().filter(|(_, count)| *count > 0) {
                    *counts.entry((owner(of), [slot, bucket, kind])).or_default() += count;
                }
            }
        }
    }
    counts
}

#[test]
fn waits_by_size_are_those_of_the_recorded_histograms() {
    for slots in [60, 20, 7] {
        let page = json(&sized(), &Limits { slots, ..Limits::default() });
        let group = |of: &(u64, &str, &str)| escape_str(of.1);
        let command = |of: &(u64, &str, &str)| of.2.to_string();
        let (by_group, by_command) = (planted_sizes(&page, group), planted_sizes(&page, command));
        assert!(by_group.len() > 1000 / (60 / slots), "{}", by_group.len());
        assert_eq!(sizes(&page, "cgroup"), by_group, "{slots} slots");
        assert_eq!(sizes(&page, "command"), by_command, "{slots} slots");
        let kept_ns = list(&page["slots"]["sizes_ns"]);
        assert_eq!(kept_ns.iter().sum::<i64>() as u64, (60 - SIZED) * SECOND);
        assert_eq!(kept_ns[0], 0);
    }
}

#[test]
fn waits_by_size_are_bounded_and_sum_to_the_same() {
    let by_place = |counts: &Counts| {
        let mut sums = BTreeMap::new();
        counts.iter().for_each(|((_, at), n)| *sums.entry(*at).or_insert(0) += n);
        sums
    };
    let all = planted_sizes(&json(&sized(), &Limits::default()), |of| escape_str(of.1));
    for size_cells in [0, 200, 1500, 100_000] {
        let page = json(&sized(), &Limits { size_cells, ..Limits::default() });
        let counts = sizes(&page, "cgroup");
        assert_eq!(by_place(&counts), by_place(&all), "{size_cells}");
        let own = |counts: &Counts| -> Counts {
            counts.clone().into_iter().filter(|((owner, _), _)| owner != "~other").collect()
        };
        let (kept, all) = (own(&counts), own(&all));
        assert!(kept.len() <= size_cells, "{} counts of {size_cells}", kept.len());
        // An owner has all of its waits, or is a part of the others.
        let is_kept = |owner: &str| kept.keys().any(|(kept, _)| kept == owner);
        let whole: Counts = all.into_iter().filter(|((owner, _), _)| is_kept(owner)).collect();
        assert_eq!(kept, whole, "{size_cells}");
        assert_eq!(kept.is_empty(), size_cells < 1000, "{size_cells}");
    }
}

#[test]
fn a_kept_recording_has_its_waits_by_size() {
    let text =
        include_str!("../../../keep/recording/tests/recordings/form-1-histograms-ledger.txt");
    // A bucket's line ends with its count: `Woken 9: Sized { ns: 3000, count: 1, max_ns: 3000 }`.
    let mut written: BTreeMap<[usize; 2], u64> = BTreeMap::new();
    for line in text.lines() {
        let Some((name, sized)) = line.split_once(": Sized {") else { continue };
        let count = sized.split("count: ").nth(1).and_then(|of| of.split(',').next());
        let count: u64 = count.and_then(|count| count.parse().ok()).expect("a count");
        let (kind, bucket) = name.trim().split_once(' ').expect("a bucket");
        let at = [bucket.parse().expect("a number"), usize::from(kind == "Preempted")];
        *written.entry(at).or_default() += count;
    }
    written.retain(|_, count| *count > 0);
    let document = drawn::kept_histograms(&Limits::default());
    let page: Value = serde_json::from_str(&document.json().expect("JSON")).expect("JSON");
    for by in ["cgroup", "command"] {
        let mut read: BTreeMap<[usize; 2], u64> = BTreeMap::new();
        for ((_, [_, bucket, kind]), count) in sizes(&page, by) {
            *read.entry([bucket, kind]).or_default() += count;
        }
        assert_eq!(read, written, "{by}");
    }
}
