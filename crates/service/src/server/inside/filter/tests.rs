use super::*;
use exactop_model::{Book, Books, Comm, SourceKind, Window};
use exactop_testkit::samples;
use exactop_testkit::snapshot;

/// Those of the made-up machine who are in: a shell, a loop that it runs, and a process of threads.
const IN: [(u32, u32); 3] = [(21_002, 1), (22_417, 7), (22_600, 9)];

struct Some3;

impl Numbers for Some3 {
    fn of(&self, key: &TaskKey) -> Option<(u32, u32)> {
        let (pid, number) = IN.into_iter().find(|(pid, _)| *pid == key.tgid)?;
        Some((number, number + key.tid - pid))
    }
}

/// Everyone's snapshots and those that were told, as windows.
fn windows(all: &[Snapshot]) -> Vec<(Window, Window)> {
    let (mut filter, mut everyone, mut inside) = (Filter::default(), Book::new(), Book::new());
    let windows = all.iter().filter_map(|now| {
        let told = filter.told(now, &Some3);
        everyone.advance(now.clone()).zip(inside.advance(told))
    });
    windows.collect()
}

fn ran(window: &Window) -> u64 {
    let tasks = window.tasks.iter().map(|task| &task.delta);
    let all = tasks.chain(window.exited.iter().map(|exit| &exit.delta));
    all.filter_map(|delta| delta.get(Counter::RunNs)).sum()
}

#[test]
fn the_books_close_with_a_sum_for_all_others() {
    let all: Vec<Snapshot> = (0..4).map(|n| snapshot(SourceKind::Ledger, n, None)).collect();
    let windows = windows(&all);
    assert_eq!(windows.len(), 3);
    for (everyone, inside) in &windows {
        let (all, told) = (Books::of(everyone), Books::of(inside));
        assert_eq!((all.outside_ns, all.residual_ns), (None, 0));
        let outside_ns = told.outside_ns.unwrap();
        assert!(outside_ns > 0 && told.tasks_ns > 0 && told.exited_ns > 0, "{told:?}");
        assert_eq!(told.tasks_ns + told.exited_ns + outside_ns, all.tasks_ns + all.exited_ns);
        let of_all = |books: Books| Books { tasks_ns: 0, exited_ns: 0, outside_ns: None, ..books };
        assert_eq!(of_all(told), of_all(all), "what is no task's is the machine's");
        assert_eq!(ran(inside), told.tasks_ns + told.exited_ns);
    }
}

#[test]
fn those_who_are_in_have_the_numbers_there_and_nobody_else_is_told() {
    let all: Vec<Snapshot> = (0..3).map(|n| snapshot(SourceKind::Ledger, n, Some(813))).collect();
    let mut filter = Filter::default();
    let told: Vec<Snapshot> = all.iter().map(|now| filter.told(now, &Some3)).collect();
    for (now, told) in all.iter().zip(&told) {
        let told_of = |tgid: u32| told.tasks.iter().filter(move |task| task.key.tgid == tgid);
        for (pid, number) in IN {
            let theirs = now.tasks.iter().filter(|task| task.key.tgid == pid);
            for (theirs, told) in theirs.zip(told_of(number)) {
                assert_eq!(told.counters, theirs.counters);
                assert_eq!(told.key.tid - number, theirs.key.tid - pid);
            }
        }
        let pids: FxHashSet<u32> = told.tasks.iter().map(|task| task.key.tgid).collect();
        assert_eq!(pids, [1, 7, 9].into_iter().collect());
        let parents = |tgid| told_of(tgid).map(|task| task.ident.ppid).next();
        assert_eq!(
            (parents(1), parents(7)),
            (Some(0), Some(1)),
            "the host's shell has a parent outside"
        );
        let accounts = told.tasks.iter().map(|task| task.account.0).max();
        assert!(
            accounts <= Some(told.tasks.len() as u64),
            "others' accounts do not show: {accounts:?}"
        );
        let exited: Vec<_> = told
            .exited
            .iter()
            .map(|exit| (exit.comm.to_string(), exit.ancestors[0].tgid))
            .collect();
        assert_eq!(exited, [("true".to_string(), 7), ("ls".to_string(), 7)]);
        assert!(
            told.cpus.iter().all(|cpu| cpu.watched_ns.is_none()),
            "another's process is watched"
        );
        let text = format!("{told:?}");
        for name in ["systemd", "sshd", "postgres", "evil", "22418", "813"] {
            assert!(!text.contains(name), "{name}");
        }
    }
}

/// A snapshot of what changed: so many tasks, by number and CPU time.
fn changed(at_ns: u64, tasks: &[(u32, u64)], gone: &[u64], exited: &[ExitSample]) -> Snapshot {
    let task = |&(tid, run_ns): &(u32, u64)| {
        let key = TaskKey { tgid: tid, tid, start_ns: tid.into() };
        let mut task = samples::task(tid.into(), key, Ident::default());
        task.counters.set(Counter::RunNs, run_ns);
        task
    };
    let gone = gone.iter().map(|&account| AccountId(account)).collect();
    let tasks = tasks.iter().map(task).collect();
    let base = samples::snapshot(SourceKind::Ledger, at_ns);
    Snapshot { complete: at_ns == 1, tasks, gone, exited: exited.to_vec(), ..base }
}

fn exited(account: u64, parent: u32, run_ns: u64) -> ExitSample {
    let mut ancestors = [ProcessRef::default(); 8];
    ancestors[0] = ProcessRef { tgid: parent, start_ns: parent.into() };
    let mut exit = samples::exited(account, ancestors, Comm::new(b"x"));
    exit.counters.set(Counter::RunNs, run_ns);
    exit
}

#[test]
fn who_was_once_outside_stays_there_and_so_do_its_children() {
    let mut filter = Filter::default();
    let outside = |told: &Snapshot| told.outside.map(|outside| outside.run_ns);
    let first = filter.told(&changed(1, &[(21_002, 5), (50, 70)], &[], &[]), &Some3);
    assert_eq!(outside(&first), Some(0), "what was before is not known");
    // The parent is in and exits with its children; another's exits, too.
    let exits = [exited(100, 21_002, 3), exited(101, 50, 11)];
    let then = filter.told(&changed(2, &[(50, 90)], &[21_002], &exits), &Some3);
    assert_eq!(outside(&then), Some(20 + 11));
    assert_eq!((then.gone.len(), then.exited.len()), (1, 1));
    // Of those who exit only now nobody knows that they were in: their parent is gone. Those of whom it
    // was known go on in their group.
    let exits = [exited(100, 21_002, 7), exited(101, 50, 11), exited(102, 21_002, 2)];
    let last = filter.told(&changed(3, &[], &[50], &exits), &Some3);
    assert_eq!(outside(&last), Some(20 + 11 + 2));
    assert_eq!(last.exited.len(), 1);
    assert_eq!(last.exited[0].counters.get(Counter::RunNs), Some(7));
    assert_eq!(last.gone, [], "it was never told of");
}
