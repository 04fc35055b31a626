//! Tests of totals by container, pod, namespace, unit and user: they contain each nanosecond of
//! task time once.

use exactop_model::cgroups::{self, GroupSample, Groups};
use exactop_model::frame::belonging::Belonging;
use exactop_model::frame::named_sums::{NamedSum, NamedSums};
use exactop_model::ledger::named::{GroupName, Named, Runtime, UNKNOWN};
use exactop_model::ledger::samples;
use exactop_model::ledger::snapshot::{GroupMove, ProcessRef};
use exactop_model::owner::Grouping;
use exactop_model::words::named_sums::{lost, without_groups};
use exactop_model::{
    Book, Books, Counter, Frame, FrameOptions, IdleRows, Snapshot, SourceKind, Window,
};
use exactop_testkit::snapshot as made_up;
use std::sync::Arc;

fn name(id: u64, unit: Option<&str>, container: Option<(&str, &str)>) -> Arc<GroupName> {
    let named = Named {
        unit: unit.map(String::from),
        container: container.map(|(_, name)| name.into()),
        pod: container.map(|(pod, _)| pod.into()),
        namespace: container.map(|_| "shop".into()),
        runtime: container.map(|_| Runtime::Containerd),
    };
    Arc::new(GroupName { id, path: Vec::new(), named: Arc::new(named) })
}

/// The made-up machine, its tasks spread over four control groups; group 104 has no name.
fn snapshot(n: u64) -> Snapshot {
    let mut snapshot = made_up(SourceKind::Ledger, n, None);
    for (at, task) in (0..).zip(&mut snapshot.tasks) {
        task.ident.cgroup_id = Some(101 + at % 4);
    }
    for (at, exit) in (0..).zip(&mut snapshot.exited) {
        exit.cgroup_id = (at % 5 > 0).then_some(101 + at % 5 - 1);
    }
    if n == 0 {
        snapshot.groups = vec![
            name(101, Some("a.scope"), Some(("web-0", "app"))),
            name(102, Some("b.scope"), Some(("web-1", "app"))),
            name(103, Some("cron\x1b.service"), None),
        ];
    }
    snapshot
}

fn window(moves: &[GroupMove]) -> (Window, Book) {
    let mut book = Book::new();
    book.advance(snapshot(0));
    let next = Snapshot { moves: moves.to_vec(), ..snapshot(1) };
    let window = book.advance(next).expect("a window");
    (window, book)
}

fn row<'a>(sums: &'a NamedSums, name: &str) -> &'a NamedSum {
    let found = sums.rows.iter().find(|row| row.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", sums.rows))
}

#[test]
fn rows_are_tasks_and_exited_to_the_nanosecond() {
    let moved = |from, to, run_ns| samples::moved(from, to, [(Counter::RunNs, run_ns)]);
    for moves in [vec![], vec![moved(101, 102, 1_000), moved(102, 101, 7), moved(104, 103, 40)]] {
        let (window, book) = window(&moves);
        let books = Books::from_window(&window);
        for by in Grouping::MACHINE {
            let sums = NamedSums::from_window(&window, &book, by);
            let all: u64 = sums.rows.iter().map(|row| row.run_ns).sum();
            assert_eq!(all, books.tasks_ns + books.exited_ns, "{by}");
            let exited: u64 = sums.rows.iter().filter_map(|row| row.exited).sum();
            assert_eq!(exited, window.exited.iter().map(|e| e.processes).sum::<u64>(), "{by}");
        }
    }
}

#[test]
fn moved_time_counts_in_the_group_where_it_was_used() {
    let run = |moves: &[GroupMove], name| {
        let (window, book) = window(moves);
        row(&NamedSums::from_window(&window, &book, Grouping::Unit), name).run_ns
    };
    let moved = [samples::moved(101, 102, [(Counter::RunNs, 1_000)])];
    assert_eq!(run(&moved, "a.scope"), run(&[], "a.scope") + 1_000);
    assert_eq!(run(&moved, "b.scope"), run(&[], "b.scope") - 1_000);
}

#[test]
fn each_kind_of_sum_has_its_rest() {
    let (window, book) = window(&[]);
    let names = |by| {
        let sums = NamedSums::from_window(&window, &book, by);
        let mut names: Vec<(String, bool)> =
            sums.rows.iter().map(|row| (row.name.clone(), row.is_rest)).collect();
        names.sort();
        names
    };
    let named = |name: &str| (name.to_string(), false);
    let rest = |name: &str| (name.to_string(), true);
    let pods = [rest("(control group not read)"), rest("(in no pod)")];
    let expected = pods.into_iter().chain([named("shop/web-0"), named("shop/web-1")]);
    assert_eq!(names(Grouping::Pod), expected.collect::<Vec<_>>());
    assert!(names(Grouping::Unit).contains(&named("cron\\x1b.service")), "escaped");
    assert!(names(Grouping::Namespace).contains(&named("shop")));
    assert!(names(Grouping::Container).contains(&named("shop/web-1/app")));
    assert!(names(Grouping::User).contains(&named("0")));
    assert!(names(Grouping::Unit).contains(&rest(UNKNOWN)));
}

#[test]
fn exited_time_belongs_to_its_user_if_known() {
    let told = |n| {
        let mut snapshot = snapshot(n);
        for exit in &mut snapshot.exited {
            (exit.of, exit.uid) = (ProcessRef::default(), Some(4711));
        }
        snapshot
    };
    let mut book = Book::new();
    book.advance(told(0));
    let window = book.advance(told(1)).expect("a window");
    let sums = NamedSums::from_window(&window, &book, Grouping::User);
    let theirs = row(&sums, "4711");
    let exited_ns = Books::from_window(&window).exited_ns;
    assert!(exited_ns > 0 && !theirs.is_rest);
    assert_eq!(theirs.run_ns, exited_ns);
    assert!(sums.rows.iter().all(|row| !row.is_rest), "{:?}", sums.rows);
    // And so do the rows of a frame.
    let frame = Frame::new(&window, &book, &FrameOptions::default());
    assert!(frame.exited.iter().all(|row| row.uid() == Some(4711)));
}

#[test]
fn a_sessions_members_are_its_living_and_exited_tasks() {
    let at = |n| {
        let mut snapshot = snapshot(n);
        for task in &mut snapshot.tasks {
            task.ident.session = Some(if task.key.tgid.is_multiple_of(2) { 0 } else { 1 });
        }
        for (exit, session) in snapshot.exited.iter_mut().zip([Some(1), None].into_iter().cycle()) {
            (exit.of, exit.session) = (ProcessRef::default(), session);
        }
        snapshot
    };
    let mut book = Book::new();
    book.advance(at(0));
    let window = book.advance(at(1)).expect("a window");
    let options = FrameOptions {
        still: IdleRows::All,
        threads: true,
        by: Some(Grouping::Session),
        ..FrameOptions::default()
    };
    let frame = Frame::new(&window, &book, &options);
    let sums = frame.sums.as_ref().expect("totals were requested");
    let names: Vec<&str> = sums.rows.iter().map(|row| row.name.as_str()).collect();
    assert!(names.contains(&"0") && names.contains(&"1 systemd"), "{names:?}");
    assert_eq!(row(sums, "-").is_rest, window.exited.len() > 1);
    for sum in &sums.rows {
        let total =
            Belonging::Sum { by: Grouping::Session, name: sum.name.clone(), is_rest: sum.is_rest };
        let members = total.among(&frame);
        let rows = frame.rows.iter().chain(&frame.exited).filter(|row| members.has(row));
        let run_ns: u64 = rows.filter_map(|row| row.delta.get(Counter::RunNs)).sum();
        assert_eq!(run_ns, sum.run_ns, "{}", sum.name);
    }
}

#[test]
fn a_name_outlives_its_group_and_is_in_a_books_whole_snapshot() {
    let (window, book) = window(&[]);
    let whole = book.whole().expect("a book that is open");
    assert_eq!(whole.groups.len(), 3);
    let mut other = Book::new();
    other.advance(whole);
    assert_eq!(other.named(Some(102)), book.named(Some(102)));
    assert!(window.end.groups.is_empty(), "told once");
    assert_eq!((other.named(Some(104)), other.named(None)), (None, None));
}

/// Groups as in /sys/fs/cgroup: a pod's quota is above its container's weight.
fn groups() -> Groups {
    let group = |name: &str, id, weight, cpus, periods| GroupSample {
        name: name.into(),
        id: Some(id),
        weight,
        allowed_cpus: cpus,
        stat: exactop_model::run::CpuStat {
            nr_periods: Some(periods),
            nr_throttled: Some(periods / 2),
            ..Default::default()
        },
        ..GroupSample::default()
    };
    let after = [
        group("/", 1, None, None, 0),
        group("/pod", 7, Some(50), Some(0.5), 4),
        group("/pod/app", 101, Some(200), Some(2.0), 8),
        group("/pod/app/inside", 110, Some(9), Some(0.1), 2),
        group("/cron", 103, Some(100), None, 0),
    ];
    let rows = cgroups::rows(&[], &after, None);
    Groups { t0_ns: 0, t1_ns: 1, cpus: Some(2), no_ledger: None, rows }
}

#[test]
fn limits_stand_beside_the_use() {
    let (window, mut book) = window(&[]);
    let mut late = snapshot(2);
    late.groups = vec![name(110, None, Some(("web-0", "app")))];
    book.advance(late);
    let mut sums = NamedSums::from_window(&window, &book, Grouping::Container);
    sums.beside(&groups(), &book);
    let may = row(&sums, "shop/web-0/app").may.clone().expect("its group is there");
    assert_eq!((may.weight, may.cpus), (Some(200), Some(0.5)), "the pod's quota is tighter");
    assert_eq!(
        (may.periods, may.throttled),
        (Some(8), Some(4)),
        "of its own group, not of a group below"
    );
    assert_eq!(row(&sums, "shop/web-1/app").may, None, "its group is gone");
    let mut units = NamedSums::from_window(&window, &book, Grouping::Unit);
    units.beside(&groups(), &book);
    let cron = row(&units, "cron\\x1b.service").may.clone().expect("there");
    assert_eq!((cron.weight, cron.cpus), (Some(100), None));
}

#[test]
fn lost_time_is_explained_in_words() {
    let (window, book) = window(&[]);
    let options = FrameOptions { by: Some(Grouping::Container), ..FrameOptions::default() };
    let frame = Frame::new(&window, &book, &options);
    let length = frame.length_ns();
    let sums = frame.sums.clone().expect("asked for");
    let said = |run, lat, throttle| {
        let row = NamedSum {
            run_ns: length * run / 10,
            lat_ns: Some(length * lat / 10),
            throttle_ns: Some(length * throttle / 10),
            may: Some(exactop_model::frame::named_sums::May {
                weight: Some(100),
                cpus: Some(0.4),
                ..Default::default()
            }),
            ..row(&sums, "shop/web-0/app").clone()
        };
        lost(&sums, &frame, &row)
    };
    let throttled =
        "container shop/web-0/app asked for 1.9 CPUs and got 0.4: throttled 79 % of that \
                     time by a quota of 0.4";
    assert_eq!(said(4, 0, 15).as_deref(), Some(throttled));
    let starved =
        "container shop/web-0/app asked for 2.0 CPUs and got 0.5: waited for a CPU 75 % of \
                   that time at a weight of 100";
    assert_eq!(said(5, 15, 0).as_deref(), Some(starved));
    assert_eq!((said(10, 1, 0), said(0, 0, 0)), (None, None), "nothing worth a word");
    assert_eq!(without_groups(&sums, &frame), None);
}

#[test]
fn a_source_without_groups_is_reported() {
    let mut book = Book::new();
    book.advance(made_up(SourceKind::Procfs, 0, None));
    let mut next = made_up(SourceKind::Procfs, 1, None);
    next.tasks.iter_mut().for_each(|task| task.ident.cgroup_id = None);
    let window = book.advance(next).expect("a window");
    let options = FrameOptions { by: Some(Grouping::Unit), ..FrameOptions::default() };
    let frame = Frame::new(&window, &book, &options);
    let sums = frame.sums.as_ref().expect("asked for");
    assert!(sums.rows.iter().all(|row| row.lat_ns.is_none() && row.exited.is_none()));
    assert!(without_groups(sums, &frame).is_some_and(|why| why.contains("the source procfs")));
    let run: u64 = window.tasks.iter().filter_map(|task| task.delta.get(Counter::RunNs)).sum();
    assert_eq!(sums.rows.iter().map(|row| row.run_ns).sum::<u64>(), run);
}

#[test]
fn by_command_a_program_is_one_row_for_all_parents_and_threads() {
    let (window, book) = window(&[]);
    let sums = NamedSums::from_window(&window, &book, Grouping::Command);
    let run = |delta: &exactop_model::Counters| delta.get(Counter::RunNs).expect("it is known");
    let exits = window.exited.iter().filter(|exit| exit.sample.comm.bytes() == b"true");
    let told = exits.fold((0, 0), |(ns, n), exit| (ns + run(&exit.delta), n + exit.tasks));
    let row_of = |name: &str| row(&sums, name);
    assert_eq!((row_of("true").run_ns, row_of("true").exited), (told.0, Some(told.1)));
    assert_eq!((told.1, row_of("true").processes), (3511, 0), "of two shells");
    let threads = window.tasks.iter().filter(|task| task.sample.key.tgid == 813);
    let others = window.tasks.iter().filter(|task| task.sample.key.tgid == 812);
    let all: u64 = threads.chain(others).map(|task| run(&task.delta)).sum();
    assert_eq!((row_of("postgres").run_ns, row_of("postgres").processes), (all, 2));
    assert!(sums.rows.iter().any(|row| row.name == "evil\\x1b[2J,\"x\""), "escaped: {sums:?}");
    assert!(sums.rows.iter().all(|row| !row.is_rest && row.may.is_none()));
}

#[test]
fn kernel_workers_sum_by_pool_and_threads_by_process() {
    let mut book = Book::new();
    let named = |n: u64| {
        let mut snapshot = snapshot(n);
        for task in &mut snapshot.tasks {
            // A thread may choose any name; only kernel threads are workers.
            match (task.key.tgid, task.key.is_leader()) {
                (14, _) | (311, _) => task.ident.comm = exactop_model::Comm::new(b"kworker/1:2-ev"),
                (_, false) => task.ident.comm = exactop_model::Comm::new(b"own-name"),
                _ => {}
            }
        }
        snapshot
    };
    book.advance(named(0));
    let window = book.advance(named(1)).expect("a window");
    let sums = NamedSums::from_window(&window, &book, Grouping::Command);
    assert_eq!(row(&sums, "kworker (each CPU's)").processes, 1);
    assert_eq!(row(&sums, "kworker/1:2-ev").processes, 1, "a process that only has the name");
    assert!(sums.rows.iter().all(|row| row.name != "own-name"), "{sums:?}");
}

#[test]
fn by_control_group_each_row_has_its_path() {
    let mut opened = snapshot(0);
    let path = |id, path: &[u8]| {
        Arc::new(GroupName { id, path: path.to_vec(), named: Arc::new(Named::default()) })
    };
    opened.groups = vec![path(101, b"/a"), path(102, b"/a/b\x1b")];
    let mut book = Book::new();
    book.advance(opened);
    let window = book.advance(snapshot(1)).expect("a window");
    let sums = NamedSums::from_window(&window, &book, Grouping::Cgroup);
    let names: Vec<(&str, bool)> =
        sums.rows.iter().map(|row| (row.name.as_str(), row.is_rest)).collect();
    for wanted in [("/a", false), ("/a/b\\x1b", false), (UNKNOWN, true)] {
        assert!(names.contains(&wanted), "{wanted:?} is not in {names:?}");
    }
    assert_eq!(names.len(), 3, "{names:?}");
}

#[test]
fn the_root_has_one_name_everywhere_without_a_source() {
    let in_root = |n| {
        let mut snapshot = snapshot(n);
        snapshot.groups.clear();
        snapshot.tasks.iter_mut().for_each(|task| task.ident.cgroup_id = Some(1));
        snapshot.exited.iter_mut().for_each(|exit| exit.cgroup_id = Some(1));
        snapshot
    };
    let mut book = Book::new();
    book.advance(in_root(0));
    let window = book.advance(in_root(1)).expect("a window");
    let sums = NamedSums::from_window(&window, &book, Grouping::Cgroup);
    assert_eq!(sums.rows.len(), 1, "{sums:?}");
    assert!(sums.rows[0].name == "/" && !sums.rows[0].is_rest);
    let units = NamedSums::from_window(&window, &book, Grouping::Unit);
    assert_eq!(units.rows[0].name, Grouping::Unit.none(), "it is in no unit");
    let mut frame = Frame::new(&window, &book, &FrameOptions::default());
    assert!(!frame.exited.is_empty());
    for row in frame.exited.iter_mut().chain(&mut frame.rows) {
        row.name_group(&book);
        assert_eq!(row.detail.cgroup, Ok(b"/".to_vec()));
    }
}
