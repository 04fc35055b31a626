//! Tests of findings on made-up machines: each finding's figures are compared with those of its
//! tasks.

use exactop_model::blame::{Blame, Booked, Culprit, Party};
use exactop_model::findings::{self, Finding, FindingKind, Leads};
use exactop_model::ledger::named::{GroupName, Named};
use exactop_model::ledger::snapshot::ProcessRef;
use exactop_model::words::findings::{evidence, sentence};
use exactop_model::{
    Book, Comm, Counter, CpuSample, ErrorKind, ExitSample, Ident, MicroState, Snapshot, SourceKind,
    TaskKey, TaskSample, Window,
};
use exactop_testkit::samples;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

const SECOND: u64 = 1_000_000_000;
const T0: u64 = 100 * SECOND;
/// Each task has a CPU of its own.
const CPUS: u32 = 16;
/// A thousandth of the window, which is one second.
const MILLE: u64 = 1_000_000;

/// What a task did in the window, in thousandths of it; for the rest of the window it slept.
#[derive(Clone, Copy, Debug)]
struct Did {
    comm: &'static str,
    group: u64,
    run: u64,
    lat: u64,
    throttle: u64,
}

const NOTHING: Did = Did { comm: "idler", group: 1, run: 0, lat: 0, throttle: 0 };

/// The other content of the window.
#[derive(Clone, Debug, Default)]
struct Drawn {
    tasks: Vec<Did>,
    exited: Vec<ExitSample>,
    steal: u64,
    unnamed: u64,
    residual: u64,
    errors: u64,
}

fn key(n: usize) -> TaskKey {
    TaskKey { tgid: 100 + n as u32, tid: 100 + n as u32, start_ns: 1 + n as u64 }
}

fn task(n: usize, did: &Did) -> TaskSample {
    let comm = Comm::new(did.comm.as_bytes());
    let ident = Ident { comm, cgroup_id: Some(did.group), ..Ident::default() };
    samples::task(n as u64, key(n), ident)
}

/// Exited children of the first task.
fn exited(comm: &str, processes: u64, run_ns: u64, life_ns: u64) -> ExitSample {
    let mut ancestors = [ProcessRef::default(); 8];
    ancestors[0] = ProcessRef { tgid: key(0).tgid, start_ns: key(0).start_ns };
    let mut group = samples::exited(1 << 20, ancestors, Comm::new(comm.as_bytes()));
    (group.processes, group.tasks, group.life_ns) = (processes, processes, life_ns);
    group.counters.set(Counter::RunNs, run_ns);
    group.counters.set(Counter::SleepNs, life_ns - run_ns);
    group
}

/// The first window of the machine.
fn window(drawn: &Drawn) -> (Window, Book) {
    window_of(drawn, &[(1, "/"), (7, "/we\x1bb")])
}

/// The first window of a machine with these groups.
fn window_of(drawn: &Drawn, groups: &[(u64, &str)]) -> (Window, Book) {
    let group = |&(id, path): &(u64, &str)| {
        let (path, named) = (path.as_bytes().to_vec(), Arc::new(Named::default()));
        Arc::new(GroupName { id, path, named })
    };
    let before = Snapshot {
        tasks: drawn.tasks.iter().enumerate().map(|(n, did)| task(n, did)).collect(),
        cpus: (0..CPUS).map(samples::cpu).collect(),
        groups: groups.iter().map(group).collect(),
        ..samples::snapshot(SourceKind::Ledger, T0)
    };
    let mut after = Snapshot { groups: Vec::new(), at_ns: T0 + SECOND, ..before.clone() };
    let mut run_ns: u64 =
        drawn.exited.iter().filter_map(|exit| exit.counters.get(Counter::RunNs)).sum();
    for (task, did) in after.tasks.iter_mut().zip(&drawn.tasks) {
        let rest = 1000 - did.run - did.lat - did.throttle;
        for (counter, mille) in [
            (Counter::RunNs, did.run),
            (Counter::LatNs, did.lat),
            (Counter::ThrottleNs, did.throttle),
            (Counter::SleepNs, rest),
        ] {
            task.counters.set(counter, mille * MILLE);
        }
        run_ns += did.run * MILLE;
    }
    after.exited = drawn.exited.clone();
    let idle = u64::from(CPUS) * SECOND - run_ns;
    let idle = idle - (drawn.steal + drawn.unnamed + drawn.residual) * MILLE;
    let all = CpuSample {
        idle_ns: idle,
        unnamed_ns: drawn.unnamed * MILLE,
        steal_ns: Some(drawn.steal * MILLE),
        steal_idle_ns: Some(drawn.steal * MILLE),
        ..samples::cpu(0)
    };
    after.cpus[0] = all;
    after.errors.add(ErrorKind::Recursion, drawn.errors);
    after.errors.add(ErrorKind::UnseenSwitch, 5);
    let mut book = Book::new();
    book.advance(before);
    let window = book.advance(after).expect("the second snapshot closes a window");
    (window, book)
}

fn found(drawn: &Drawn) -> Vec<Finding> {
    let (window, book) = window(drawn);
    findings::find(&window, &book)
}

/// The sentences of a window with these tasks.
fn said(tasks: &[Did]) -> Vec<String> {
    let drawn = Drawn { tasks: tasks.to_vec(), ..Drawn::default() };
    found(&drawn).iter().map(|finding| sentence(finding, SECOND)).collect()
}

#[test]
fn missed_events_come_first_and_sampled_figures_are_marked() {
    let waits = Did { comm: "dd", lat: 990, run: 10, ..NOTHING };
    let all = found(&Drawn { tasks: vec![waits], errors: 2, ..Drawn::default() });
    let ids: Vec<&str> = all.iter().map(Finding::id).collect();
    assert_eq!(ids, ["missed", "waiting"]);
    let words = |sampled| {
        let finding = Finding { sampled, ..all[1].clone() };
        (sentence(&finding, SECOND), evidence(&finding))
    };
    let (exact, figures) = words(false);
    assert!(!exact.contains('~') && !figures.contains('~'), "{exact} {figures}");
    let (sampled, figures) = words(true);
    assert!(sampled.contains("~99 % waiting"), "{sampled}");
    assert!(figures.starts_with("ran ~10.0ms") && figures.contains("threshold 50 %"), "{figures}");
}

#[test]
fn a_window_without_losses_has_no_findings() {
    let busy = Did { comm: "busy", run: 1000, ..NOTHING };
    assert_eq!(said(&[NOTHING, busy, busy]), [""; 0]);
    // A repair is in the status line and is no finding.
    assert_eq!(found(&Drawn { tasks: vec![busy], ..Drawn::default() }), []);
}

#[test]
fn a_throttled_group_has_its_path_and_its_cpu_time() {
    let held = Did { comm: "serve", group: 7, run: 200, lat: 0, throttle: 300 };
    assert_eq!(
        said(&[NOTHING, held, held]),
        ["throttled: /we\\x1bb got 0.40 CPUs, lost 60 % waiting for its quota"]
    );
    let all = found(&Drawn { tasks: vec![NOTHING, held], ..Drawn::default() });
    assert_eq!(all[0].leads(), Leads::Groups(7));
    let figures = evidence(&all[0]);
    assert!(figures.starts_with("ran 200ms · waited for a CPU 0ns · throttled 300ms"), "{figures}");
    let unread = Did { group: 9, ..held };
    assert!(said(&[unread])[0].starts_with("throttled: the group of serve got 0.20 CPUs"));
}

#[test]
fn groups_below_one_quota_merge_into_its_group() {
    let held = |group| Did { comm: "serve", group, run: 100, lat: 0, throttle: 300 };
    let runs = Did { comm: "log", group: 9, run: 200, ..NOTHING };
    // Groups 7, 8 and 9 are below group 6; 9 only runs. Group 10 is beside 6.
    let drawn = Drawn {
        tasks: vec![NOTHING, held(7), held(8), held(8), runs, held(10)],
        ..Drawn::default()
    };
    let (window, book) =
        window_of(&drawn, &[(7, "/web/a"), (8, "/web/b"), (9, "/web/c"), (10, "/webx")]);
    let quota = |group: &findings::Throttled| {
        let is_below = matches!(group.cgroup_id, 7 | 8);
        let path = b"/web".to_vec();
        is_below.then_some(findings::Quota { cgroup_id: 6, path, cpus: 0.5 })
    };
    let told = findings::by_quota(&window, &book, quota);
    let said: Vec<String> = told.iter().map(|finding| sentence(finding, SECOND)).collect();
    assert_eq!(
        said,
        [
            "throttled: /web may use 0.50 CPUs, lost 64 % waiting for its quota",
            "throttled: /webx got 0.10 CPUs, lost 75 % waiting for its quota",
        ]
    );
    let figures = evidence(&told[0]);
    assert!(figures.starts_with("ran 500ms · waited for a CPU 0ns · throttled 900ms"), "{figures}");
    assert!(figures.contains(" · in 2 groups below it · most of it serve "), "{figures}");
    // Without quotas each group stands for itself.
    let apart = findings::by_quota(&window, &book, |_| None);
    let all: Vec<Finding> = findings::find(&window, &book);
    let throttled = all.into_iter().filter(|finding| finding.id() == "throttled");
    assert_eq!(apart, throttled.collect::<Vec<_>>());
}

#[test]
fn waiting_programs_are_named_whichever_process_waits() {
    let starved = Did { comm: "d\x07d", run: 10, lat: 323, ..NOTHING };
    assert_eq!(
        said(&[NOTHING, starved, starved, starved]),
        ["d\\x07d × 3: 97 % waiting for a CPU"]
    );
    let all = found(&Drawn { tasks: vec![NOTHING, starved], ..Drawn::default() });
    assert_eq!(all[0].leads(), Leads::Process(key(1)));
}

#[test]
fn a_task_that_waits_throughout_is_found_without_an_event() {
    for state in [MicroState::Lat, MicroState::LatPreempt, MicroState::Throttle] {
        let mut snapshot = samples::snapshot(SourceKind::Ledger, T0);
        let mut waiting = task(0, &Did { comm: "dd", group: 7, ..NOTHING });
        waiting.state = state;
        snapshot.tasks = vec![waiting];
        snapshot.cpus = vec![samples::cpu(0)];
        let mut later = Snapshot { at_ns: T0 + SECOND, complete: false, ..snapshot.clone() };
        later.tasks.clear();
        later.cpus[0].idle_ns = SECOND;
        let mut book = Book::new();
        book.advance(snapshot);
        let window = book.advance(later).expect("a window");
        let all = findings::find(&window, &book);
        let said: Vec<String> = all.iter().map(|finding| sentence(finding, SECOND)).collect();
        let lost = match state {
            MicroState::Throttle => "throttled: the group of dd got 0.00 CPUs, lost 100 %",
            _ => "dd: 100 % waiting for a CPU",
        };
        assert!(said.len() == 1 && said[0].starts_with(lost), "{state:?}: {said:?}");
    }
}

#[test]
fn short_lives_are_found_with_their_parent() {
    let shell = Did { comm: "sh", run: 600, ..NOTHING };
    let storm = exited("true", 2_000, 400 * MILLE, 800 * MILLE);
    let drawn = Drawn { tasks: vec![shell], exited: vec![storm], ..Drawn::default() };
    let all = found(&drawn);
    assert_eq!(
        sentence(&all[0], SECOND),
        "40 % in processes that lived < 10 ms: true × 2,000 under sh"
    );
    assert_eq!((all.len(), all[0].leads()), (1, Leads::Totals(Comm::new(b"true"))));
    // The same time in one long life is no finding.
    let long = exited("cc1", 1, 400 * MILLE, 800 * MILLE);
    assert_eq!(found(&Drawn { exited: vec![long], ..drawn }), []);
}

#[test]
fn steal_unnamed_time_and_residual_are_found() {
    let tasks = vec![Did { run: 800, ..NOTHING }];
    let said = |drawn: Drawn| -> Vec<(&'static str, String)> {
        let drawn = Drawn { tasks: tasks.clone(), ..drawn };
        found(&drawn).iter().map(|found| (found.id(), sentence(found, SECOND))).collect()
    };
    let one = |drawn, id, text: &str| assert_eq!(said(drawn), [(id, text.to_string())]);
    let nothing = Drawn::default();
    let steal = "steal 11 %: the hypervisor took 0.10 CPUs";
    one(Drawn { steal: 100, ..nothing.clone() }, "steal", steal);
    let unnamed = "11 % of the CPU time used is unnamed";
    one(Drawn { unnamed: 100, ..nothing.clone() }, "unnamed", unnamed);
    let residual = "residual 3.00ms: the accounts do not add up to the CPUs' time";
    one(Drawn { residual: 3, ..nothing.clone() }, "residual", residual);
    one(
        Drawn { errors: 7, ..nothing.clone() },
        "missed",
        "missed and not repaired: programs skipped 7",
    );
    let all = said(Drawn { steal: 100, unnamed: 200, residual: 3, errors: 7, ..nothing });
    let ids: Vec<&str> = all.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, ["missed", "unnamed", "steal", "residual"], "the worst after what was missed");
}

#[test]
fn a_frame_since_boot_has_no_findings() {
    let starved = Did { run: 10, lat: 900, ..NOTHING };
    let (mut window, book) = window(&Drawn { tasks: vec![starved], ..Drawn::default() });
    assert_eq!(findings::find(&window, &book).len(), 1);
    window.t0_ns = 0;
    assert_eq!(findings::find(&window, &book), []);
}

#[test]
fn an_old_process_that_ends_as_the_window_begins_is_not_short_lived() {
    let shell = Did { comm: "sh", run: 100, ..NOTHING };
    // An old process with many threads has five milliseconds of its life in the window.
    let mut old = exited("java", 1, 400 * MILLE, 1_000 * MILLE);
    old.tasks = 200;
    let drawn = Drawn { tasks: vec![shell], exited: vec![old], ..Drawn::default() };
    assert_eq!(found(&drawn), []);
    let many = ExitSample { processes: findings::SHORT_LIVES, ..old };
    assert_eq!(found(&Drawn { exited: vec![many], ..drawn.clone() })[0].id(), "short-lived");
    // In such a short window every life is short.
    let (mut window, book) = window(&Drawn { exited: vec![many], ..drawn });
    window.t0_ns = window.t1_ns - findings::LEAST_WINDOW_NS + 1;
    assert!(findings::find(&window, &book).iter().all(|found| found.id() != "short-lived"));
}

#[test]
fn a_group_whose_tasks_all_exited_is_still_found_throttled() {
    let mut gone = exited("job", 3, 100 * MILLE, 1_000 * MILLE);
    gone.cgroup_id = Some(7);
    gone.counters.set(Counter::ThrottleNs, 500 * MILLE);
    let drawn = Drawn { tasks: vec![NOTHING], exited: vec![gone], ..Drawn::default() };
    let all = found(&drawn);
    assert!(sentence(&all[0], SECOND).starts_with("throttled: /we\\x1bb got 0.10 CPUs"), "{all:?}");
    assert!(evidence(&all[0]).ends_with("most of it job (exited)"), "{}", evidence(&all[0]));
}

#[test]
fn a_deadline_tasks_own_budget_is_no_quota_of_its_group() {
    const SCHED_DEADLINE: u32 = 6;
    let one = Did { comm: "x", run: 100, throttle: 900, ..NOTHING };
    let of = |by_deadline: &[usize]| {
        let (mut window, book) =
            window(&Drawn { tasks: vec![one, Did { throttle: 100, ..one }], ..Drawn::default() });
        let theirs = window.tasks.iter_mut().enumerate().filter(|(n, _)| by_deadline.contains(n));
        theirs.for_each(|(_, task)| task.sample.ident.policy = SCHED_DEADLINE);
        let found = findings::find(&window, &book);
        found.first().map(|found| found.leads())
    };
    assert!(of(&[]).is_some());
    assert_eq!(of(&[0, 1]), None);
    // The quota holds the other one back: the group lost a third of the time it wanted.
    assert!(of(&[0]).is_some());
}

#[test]
fn the_worst_process_has_the_longest_wait_over_its_threads() {
    let one = Did { comm: "x", run: 0, lat: 500, ..NOTHING };
    let each = Did { lat: 300, ..one };
    let drawn = Drawn { tasks: vec![one, each, each], ..Drawn::default() };
    let of = |threads: bool| {
        let (mut window, book) = window(&drawn);
        if threads {
            // The third task is a thread of the second.
            window.tasks[2].sample.key.tgid = key(1).tgid;
        }
        findings::find(&window, &book)[0].leads()
    };
    assert_eq!(of(false), Leads::Process(key(0)));
    assert_eq!(of(true), Leads::Process(key(1)));
}

/// Where Enter on a finding leads, as the manual says it, with the page's key.
fn opens(leads: Leads) -> &'static str {
    match leads {
        Leads::Groups(_) => "control groups (`g`)",
        Leads::Process(_) => "the page of the process that waited longest",
        Leads::Totals(_) => "totals by command (`K`)",
        Leads::Cpus => "a line for each CPU",
        Leads::Quality => "the window's quality (`h`)",
    }
}

/// The manual's table: each kind of finding as found on a made-up machine.
fn manual() -> String {
    let percent = |part: f64| format!("{:.0} %", 100.0 * part);
    let did = |comm, run, lat, throttle| Did { comm, group: 7, run, lat, throttle };
    let of = |drawn: Drawn| found(&drawn);
    let tasks = |tasks: &[Did]| Drawn { tasks: tasks.to_vec(), ..Drawn::default() };
    let busy = || tasks(&[did("batch", 800, 0, 0)]);
    let (window, book) = window_of(&tasks(&[did("serve", 400, 0, 600)]), &[(7, "/web")]);
    let (own, unnamed) = (percent(findings::UNNAMED), percent(findings::UNNAMED_BY_TICKS));
    let quota = |_: &findings::Throttled| {
        Some(findings::Quota { cgroup_id: 7, path: b"/web".to_vec(), cpus: 0.4 })
    };
    let lives = findings::SHORT_LIFE_NS / MILLE;
    let storm = exited("true", 2_238, 400 * MILLE, 800 * MILLE);
    let rows = [
        (
            findings::by_quota(&window, &book, quota),
            format!("{} of the time that the group wanted to run", percent(findings::THROTTLED)),
        ),
        (
            blamed(&[("batch", 9, 71), ("web", 1, 29)], &tasks(&[did("web", 10, 412, 0)])),
            format!(
                "{} of the time they wanted to run and {} of the window",
                percent(findings::WAITED),
                percent(findings::WAITED_OF_WINDOW)
            ),
        ),
        (
            of(Drawn { exited: vec![storm], ..tasks(&[did("sh", 600, 0, 0)]) }),
            format!(
                "{} of CPU time, from {} or more processes living under {lives} ms",
                percent(findings::SHORT_LIVED),
                findings::SHORT_LIVES
            ),
        ),
        (
            of(Drawn { steal: 110, ..busy() }),
            format!("{} of the time in which CPUs were not idle", percent(findings::STOLEN)),
        ),
        (
            of(Drawn { unnamed: 100, ..busy() }),
            format!("{own} of CPU time; {unnamed} with a source other than the ledger"),
        ),
        (of(Drawn { residual: 3, ..busy() }), "1 ns, with the ledger".into()),
        (of(Drawn { errors: 7, ..busy() }), "once".into()),
    ];
    let mut table =
        String::from("| finding | example | threshold | Enter opens |\n|---|---|---|---|\n");
    for (found, threshold) in rows {
        let [finding] = &found[..] else { panic!("{found:?}") };
        let (id, opens) = (finding.id(), opens(finding.leads()));
        table += &format!("| {id} | `{}` | {threshold} | {opens} |\n", sentence(finding, SECOND));
    }
    table
}

#[test]
fn every_finding_and_every_threshold_is_documented() {
    let (document, table) = (include_str!("../../../../../docs/reference/findings.md"), manual());
    assert!(document.contains(&table), "docs/reference/findings.md needs this table:\n{table}");
    let least = 100.0 * findings::LEAST_OF_A_CPU;
    let least = format!("A finding covers at least {least:.0} % of a CPU");
    assert!(document.contains(&least), "{least}");
}

const NAMES: [&str; 4] = ["dd", "make", "cc1", "x"];

prop_compose! {
    fn did()(
        name in 0usize..NAMES.len(), group in 5u64..9, run in 0u64..=400, lat in 0u64..=300,
        throttle in 0u64..=300,
    ) -> Did {
        Did { comm: NAMES[name], group, run, lat, throttle }
    }
}

/// What the tasks did, summed by `by`.
fn sums<K: Ord>(tasks: &[Did], by: impl Fn(&Did) -> K) -> BTreeMap<K, [u64; 3]> {
    let mut sums: BTreeMap<K, [u64; 3]> = BTreeMap::new();
    for did in tasks {
        let sum = sums.entry(by(did)).or_default();
        for (sum, mille) in sum.iter_mut().zip([did.run, did.lat, did.throttle]) {
            *sum += mille * MILLE;
        }
    }
    sums
}

proptest! {
    /// A finding's figures are those of its tasks. A finding exists exactly if they exceed its
    /// threshold.
    #[test]
    fn figures_are_the_tasks_own(tasks in prop::collection::vec(did(), 0..14)) {
        let all = found(&Drawn { tasks: tasks.clone(), ..Drawn::default() });
        let groups = sums(&tasks, |did| did.group);
        let programs = sums(&tasks, |did| Comm::new(did.comm.as_bytes()));
        let mut told = (0, 0);
        for finding in &all {
            match &finding.what {
                FindingKind::Throttled(group) => {
                    let figures = [group.run_ns, group.lat_ns, group.throttle_ns];
                    prop_assert_eq!(figures, groups[&group.cgroup_id]);
                    prop_assert_eq!(finding.about_ns, group.throttle_ns);
                    told.0 += 1;
                }
                FindingKind::Waited(program) => {
                    let figures = [program.run_ns, program.lat_ns, program.throttle_ns];
                    prop_assert_eq!(figures, programs[&program.comm]);
                    prop_assert_eq!(finding.about_ns, program.lat_ns);
                    told.1 += 1;
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
        prop_assert!(all.windows(2).all(|two| two[0].about_ns >= two[1].about_ns), "the worst first");
        let is_part = |part_ns: u64, [run, lat, throttle]: [u64; 3], least: f64| {
            part_ns as f64 / (run + lat + throttle).max(1) as f64 >= least
        };
        let least = |part: f64| (part * SECOND as f64) as u64;
        let held = groups.values().filter(|&&sum| {
            sum[2] >= least(findings::LEAST_OF_A_CPU) && is_part(sum[2], sum, findings::THROTTLED)
        });
        let waiting = programs.values().filter(|&&sum| {
            sum[1] >= least(findings::WAITED_OF_WINDOW) && is_part(sum[1], sum, findings::WAITED)
        });
        let most = findings::MOST_OF_A_KIND;
        prop_assert_eq!(told, (held.count().min(most), waiting.count().min(most)));
    }
}

/// The first window with a blame book in which `web` waited.
fn blamed(culprits: &[(&str, u64, u64)], drawn: &Drawn) -> Vec<Finding> {
    let (mut window, book) = window(drawn);
    let party = |comm: &str, cgroup_id| Party {
        cgroup_id,
        uid: 0,
        session: 1,
        comm: Comm::new(comm.as_bytes()),
        kthread: false,
    };
    let mut blame = Blame::default();
    for &(comm, group, ns) in culprits {
        let culprit = Culprit::Task(party(comm, group));
        blame.book(Some(party("web", 1)), culprit, Booked { ns, times: 1 });
    }
    blame.book(Some(party("web", 1)), Culprit::Throttled, Booked { ns: 1 << 30, times: 1 });
    blame.book(Some(party("batch", 7)), Culprit::Idle, Booked { ns: 1 << 30, times: 1 });
    window.blame = Some(blame);
    findings::find(&window, &book)
}

#[test]
fn a_waiting_program_names_its_culprits() {
    let web = Did { comm: "web", run: 10, lat: 412, ..NOTHING };
    let drawn = Drawn { tasks: vec![web], ..Drawn::default() };
    let found = blamed(&[("batch", 7, 71), ("web", 1, 22), ("other", 9, 7)], &drawn);
    assert_eq!(
        sentence(&found[0], SECOND),
        "web waited 412ms: 71 % behind batch (cgroup /we\\x1bb), 22 % own threads"
    );
    assert_eq!(said(&[web]), ["web: 98 % waiting for a CPU"], "without a book");
}

#[test]
fn a_cause_stands_above_its_symptom() {
    let web = Did { comm: "web", run: 10, lat: 900, ..NOTHING };
    let storm = exited("true", 100, 400 * MILLE, 500 * MILLE);
    let drawn = Drawn { tasks: vec![web], exited: vec![storm], ..Drawn::default() };
    let ids = |culprit| -> Vec<&str> {
        blamed(&[(culprit, 7, 9)], &drawn).iter().map(Finding::id).collect()
    };
    assert_eq!(ids("true"), ["short-lived", "waiting"]);
    assert_eq!(ids("batch"), ["waiting", "short-lived"]);
}
