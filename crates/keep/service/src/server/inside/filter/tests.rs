use super::*;
use exactop_model::blame::rows::{Blamed, OTHER_USERS};
use exactop_model::blame::{Booked, Culprit, Waits};
use exactop_model::owner::Grouping;
use exactop_model::{Book, Books, Comm, Frame, FrameOptions, SourceKind, Window};
use exactop_testkit::samples;
use exactop_testkit::snapshot;

/// The tasks of the made-up machine that are inside: a shell, its loop, and a process with threads.
const IN: [(u32, u32); 3] = [(21_002, 1), (22_417, 7), (22_600, 9)];

struct Some3;

impl Numbers for Some3 {
    fn numbers(&self, key: &TaskKey) -> Option<(u32, u32)> {
        let (pid, number) = IN.into_iter().find(|(pid, _)| *pid == key.tgid)?;
        Some((number, number + key.tid - pid))
    }
}

/// Numbers by a function.
struct NumbersFn<F>(F);

impl<F: Fn(&TaskKey) -> Option<(u32, u32)>> Numbers for NumbersFn<F> {
    fn numbers(&self, key: &TaskKey) -> Option<(u32, u32)> {
        (self.0)(key)
    }
}

/// Windows of all snapshots, and of the filtered ones.
fn windows(all: &[Snapshot]) -> Vec<(Window, Window)> {
    let (mut filter, mut everyone, mut inside) = (Filter::default(), Book::new(), Book::new());
    let windows = all.iter().filter_map(|now| {
        let told = filter.filtered(now, &Some3);
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
fn the_books_balance_with_one_sum_for_all_tasks_outside() {
    let all: Vec<Snapshot> = (0..4).map(|n| snapshot(SourceKind::Ledger, n, None)).collect();
    let windows = windows(&all);
    assert_eq!(windows.len(), 3);
    for (everyone, inside) in &windows {
        let (all, told) = (Books::from_window(everyone), Books::from_window(inside));
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
fn only_tasks_inside_are_sent_with_their_numbers_there() {
    let all: Vec<Snapshot> = (0..3).map(|n| snapshot(SourceKind::Ledger, n, Some(813))).collect();
    let mut filter = Filter::default();
    let told: Vec<Snapshot> = all.iter().map(|now| filter.filtered(now, &Some3)).collect();
    for (now, told) in all.iter().zip(&told) {
        let told_of = |tgid: u32| told.tasks.iter().filter(move |task| task.key.tgid == tgid);
        for (pid, number) in IN {
            let theirs: Vec<_> = now.tasks.iter().filter(|task| task.key.tgid == pid).collect();
            let told: Vec<_> = told_of(number).collect();
            assert!(!theirs.is_empty() && theirs.len() == told.len(), "{pid}: {told:?}");
            for (theirs, told) in theirs.iter().zip(told) {
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
        let accounts: FxHashSet<u64> = told.tasks.iter().map(|task| task.account.0).collect();
        let first: FxHashSet<u64> = (1..=told.tasks.len() as u64).collect();
        assert_eq!(accounts, first, "others' accounts do not show");
        let exited: Vec<_> = told
            .exited
            .iter()
            .map(|exit| (exit.comm.to_string(), exit.ancestors[0].tgid))
            .collect();
        assert_eq!(exited, [("true".to_string(), 7), ("ls".to_string(), 7)]);
        let is_watched = |now: &Snapshot| now.cpus.iter().any(|cpu| cpu.watched_ns.is_some());
        assert!(is_watched(now) && !is_watched(told), "another's process is watched");
        let (all, text) = (format!("{now:?}"), format!("{told:?}"));
        for name in ["systemd", "sshd", "postgres", "evil", "tgid: 22418", "tgid: 813"] {
            assert!(all.contains(name), "the host's snapshot has {name}");
            assert!(!text.contains(name), "{name}");
        }
    }
}

/// A process by account, PID and start, and parent.
fn ran_task(account: u64, (pid, start_ns): (u32, u64), ppid: u32, run_ns: u64) -> TaskSample {
    let key = TaskKey { tgid: pid, tid: pid, start_ns };
    let mut task = samples::task(account, key, Ident { ppid, ..Ident::default() });
    task.counters.set(Counter::RunNs, run_ns);
    task
}

/// A snapshot of changed tasks, by number and CPU time.
fn changed(at_ns: u64, tasks: &[(u32, u64)], gone: &[u64], exited: &[ExitSample]) -> Snapshot {
    let task = |&(tid, run_ns): &(u32, u64)| ran_task(tid.into(), (tid, tid.into()), 0, run_ns);
    let gone = gone.iter().map(|&account| AccountId(account)).collect();
    let tasks = tasks.iter().map(task).collect();
    let base = samples::snapshot(SourceKind::Ledger, at_ns);
    Snapshot { complete: at_ns == 1, tasks, gone, exited: exited.to_vec(), ..base }
}

fn exited(account: u64, parent: u32, run_ns: u64) -> ExitSample {
    below(account, &[(parent, parent.into())], run_ns)
}

/// A group that exited below these ancestors (PID and start), nearest first.
fn below(account: u64, above: &[(u32, u64)], run_ns: u64) -> ExitSample {
    let mut ancestors = [ProcessRef::default(); 8];
    for (ancestor, &(tgid, start_ns)) in ancestors.iter_mut().zip(above) {
        *ancestor = ProcessRef { tgid, start_ns };
    }
    let mut exit = samples::exited(account, ancestors, Comm::new(b"x"));
    exit.counters.set(Counter::RunNs, run_ns);
    exit
}

#[test]
fn only_processes_inside_get_a_name() {
    let [inside, outside] = [&b"inside"[..], b"outside"].map(Comm::new);
    let leader_names = vec![(21_002, inside), (50, outside), (51, outside)];
    let now = Snapshot { leader_names, ..changed(1, &[(21_002, 5), (50, 70)], &[], &[]) };
    assert_eq!(Filter::default().filtered(&now, &Some3).leader_names, [(1, inside)]);
}

#[test]
fn a_task_outside_stays_outside() {
    let mut filter = Filter::default();
    let everyone = NumbersFn(|key: &TaskKey| Some((key.tgid, key.tid)));
    let first = filter.filtered(&changed(1, &[(21_002, 5), (50, 70)], &[], &[]), &Some3);
    assert_eq!(first.tasks.len(), 1);
    let then = filter.filtered(&changed(2, &[(21_002, 6), (50, 90)], &[], &[]), &everyone);
    assert_eq!((then.tasks.len(), then.outside.map(|outside| outside.run_ns)), (1, Some(20)));
    let nobody = NumbersFn(|_: &TaskKey| None);
    let last = filter.filtered(&changed(3, &[(21_002, 9), (50, 90)], &[], &[]), &nobody);
    assert_eq!((last.tasks[0].key.tgid, last.tasks.len()), (1, 1), "who is in stays in");
}

#[test]
fn children_of_an_unknown_parent_keep_their_ancestors_places() {
    let (mut filter, mut book) = (Filter::default(), Book::new());
    let first = filter.filtered(&changed(1, &[(21_002, 5)], &[], &[]), &Some3);
    book.advance(first);
    // Their parent was born and exited since.
    let exit = below(100, &[(77, 77), (21_002, 21_002)], 3);
    let exits = [ExitSample { processes: 1, tasks: 1, ..exit }];
    let then = filter.filtered(&changed(2, &[], &[], &exits), &Some3);
    let above = then.exited[0].ancestors.map(|ancestor| ancestor.tgid);
    assert_eq!(above, [0, 1, 0, 0, 0, 0, 0, 0], "each in its place");
    let window = book.advance(then).unwrap();
    let frame = Frame::new(&window, &book, &FrameOptions::default());
    assert_eq!(frame.exited[0].ident.ppid, 1, "the nearest who lives");
}

#[test]
fn a_pid_reused_within_a_window_is_two_processes() {
    for second in [Some((5, 5)), None] {
        let by_start = NumbersFn(move |key: &TaskKey| match (key.tgid, key.start_ns) {
            (21_002, 10) => Some((1, 1)),
            (21_002, _) => second,
            (pid, _) => Some((pid, pid)),
        });
        let mut filter = Filter::default();
        let of = |at_ns, tasks: Vec<TaskSample>, gone: &[u64], exits: &[ExitSample]| Snapshot {
            tasks,
            ..changed(at_ns, &[], gone, exits)
        };
        filter.filtered(&of(1, vec![ran_task(1, (21_002, 10), 0, 5)], &[], &[]), &by_start);
        let tasks = vec![ran_task(2, (21_002, 20), 0, 7), ran_task(3, (30, 30), 21_002, 1)];
        let exits = [below(100, &[(21_002, 10)], 3), below(101, &[(21_002, 20)], 2)];
        let then = filter.filtered(&of(2, tasks, &[1], &exits), &by_start);
        let told: Vec<_> = then.tasks.iter().map(|task| (task.key.tgid, task.ident.ppid)).collect();
        let parents: Vec<_> = then.exited.iter().map(|exit| exit.ancestors[0].tgid).collect();
        match second {
            Some(_) => assert_eq!((told, parents), (vec![(5, 0), (30, 5)], vec![1, 5])),
            None => assert_eq!((told, parents), (vec![(30, 0)], vec![1])),
        }
        assert_eq!(then.gone.len(), 1);
        // A later exit cannot belong to the first process.
        let exits = [exits[0], exits[1], below(102, &[(21_002, 10)], 3)];
        let last = filter.filtered(&of(3, Vec::new(), &[], &exits), &by_start);
        assert!(last.exited.iter().all(|exit| exit.ancestors[0].tgid != 0));
        assert_eq!(last.exited.len(), then.exited.len());
    }
}

#[test]
fn children_of_a_task_outside_are_outside() {
    let mut filter = Filter::default();
    let outside = |told: &Snapshot| told.outside.map(|outside| outside.run_ns);
    let first = filter.filtered(&changed(1, &[(21_002, 5), (50, 70)], &[], &[]), &Some3);
    assert_eq!(outside(&first), Some(0), "what was before is not known");
    // The parent is inside and exits with its children; an outside parent's child exits, too.
    let exits = [exited(100, 21_002, 3), exited(101, 50, 11)];
    let then = filter.filtered(&changed(2, &[(50, 90)], &[21_002], &exits), &Some3);
    assert_eq!(outside(&then), Some(20 + 11));
    assert_eq!((then.gone.len(), then.exited.len()), (1, 1));
    // The parent is gone, so children that exit only now are not known to be inside. Those already
    // known stay in their group.
    let exits = [exited(100, 21_002, 7), exited(101, 50, 11), exited(102, 21_002, 2)];
    let last = filter.filtered(&changed(3, &[], &[50], &exits), &Some3);
    assert_eq!(outside(&last), Some(20 + 11 + 2));
    assert_eq!(last.exited.len(), 1);
    assert_eq!(last.exited[0].counters.get(Counter::RunNs), Some(7));
    assert_eq!(last.gone, [], "it was never sent");
}

/// Command, PID, and session of a process; its party's group is 9.
type Named = (&'static [u8], u32, u32);

const INSIDE: Named = (b"inside", 21_002, 21_002);
const OUTSIDE: Named = (b"outside", 50, 50);

fn party_of((comm, _, session): Named) -> Party {
    Party { cgroup_id: 9, uid: 0, session, comm: Comm::new(comm), kthread: false }
}

/// The same as the namespace has it.
fn seen((comm, _, session): Named) -> Party {
    Party { cgroup_id: 0, uid: 0, session, comm: Comm::new(comm), kthread: false }
}

/// A snapshot of these processes, in which each party waited 10 ns for each.
fn waiting(at_ns: u64, processes: &[Named], gone: &[u64], parties: &[Named]) -> Snapshot {
    let task = |&(comm, pid, session): &Named| {
        let ident = Ident {
            comm: Comm::new(comm),
            cgroup_id: Some(9),
            session: Some(session),
            ..Ident::default()
        };
        samples::task(pid.into(), TaskKey { tgid: pid, tid: pid, start_ns: pid.into() }, ident)
    };
    let mut book = Blame::default();
    let kernel = Party { kthread: true, ..party_of((b"kworker/0:0", 0, 0)) };
    let victims = parties.iter().map(|&named| Some(party_of(named))).chain([Some(kernel), None]);
    for victim in victims {
        for culprit in parties.iter().map(|&named| party_of(named)).chain([kernel]) {
            book.book(victim, Culprit::Task(culprit), Booked { ns: 10, times: 1 });
        }
        book.book(victim, Culprit::Brief, Booked { ns: 3, times: 2 });
        let lat_ns = 10 * (parties.len() as i64 + 1) + 3;
        book.wait(victim, Waits { lat_ns, dispatches: 1, in_flight_delta_ns: 0 });
    }
    assert_eq!(book.residual_ns(), 0);
    let tasks = processes.iter().map(task).collect();
    Snapshot { tasks, blame: Some(book), ..changed(at_ns, &[], gone, &[]) }
}

/// Filters and returns the names of victims.
fn victims(filter: &mut Filter, now: &Snapshot) -> Vec<String> {
    let book = filter.filtered(now, &Some3).blame.expect("a book");
    assert_eq!(book.residual_ns(), 0, "{book:?}");
    let mut names: Vec<String> = book.waits.keys().flatten().map(|v| v.comm.to_string()).collect();
    names.sort();
    names
}

#[test]
fn the_blame_book_has_victims_inside_and_one_culprit_for_all_others() {
    let mut filter = Filter::default();
    let first = filter.filtered(&waiting(1, &[INSIDE, OUTSIDE], &[], &[]), &Some3);
    assert_eq!(first.blame, Some(Blame::default()));
    // The session's number inside is its leader's.
    let inside = seen((b"inside", 1, 1));
    let then = filter.filtered(&waiting(2, &[INSIDE], &[], &[INSIDE, OUTSIDE]), &Some3);
    let mut book = then.blame.expect("a book");
    let mut expected = Blame::default();
    expected.wait(Some(inside), Waits { lat_ns: 33, dispatches: 1, in_flight_delta_ns: 0 });
    for (culprit, ns, times) in
        [(Culprit::Task(inside), 10, 1), (Culprit::Hidden, 20, 2), (Culprit::Brief, 3, 2)]
    {
        expected.book(Some(inside), culprit, Booked { ns, times });
    }
    assert_eq!(book, expected);
    assert!(then.tasks.iter().all(|task| Party::from_ident(&task.ident) == inside));
    let rows = Blamed::new(&book, (1, 2), Grouping::Command, &(), &mut |_| None).rows;
    let told: Vec<_> = rows[0].culprits.iter().map(|c| (&*c.culprit, c.kind.name())).collect();
    assert_eq!(told, [(OTHER_USERS, "group"), ("inside", "own"), ("brief", "brief")]);
    book.pairs.remove(&(Some(inside), Culprit::Hidden)).expect("a pair");
    assert_eq!(book.residual_ns(), 20, "a lost culprit is a residual");
}

#[test]
fn a_party_with_a_process_outside_is_hidden_in_its_windows() {
    let mut filter = Filter::default();
    let twin = (INSIDE.0, 51, INSIDE.2);
    victims(&mut filter, &waiting(1, &[INSIDE, OUTSIDE], &[], &[]));
    assert_eq!(victims(&mut filter, &waiting(2, &[], &[], &[INSIDE, OUTSIDE])), ["inside"]);
    assert_eq!(victims(&mut filter, &waiting(3, &[twin], &[], &[INSIDE, OUTSIDE])), [""; 0]);
    // It ends: its waits until then are in this window's book.
    assert_eq!(victims(&mut filter, &waiting(4, &[], &[51], &[INSIDE])), [""; 0]);
    assert_eq!(victims(&mut filter, &waiting(5, &[], &[], &[INSIDE])), ["inside"]);
}

#[test]
fn a_process_that_execs_waits_as_both_parties_in_that_window() {
    let mut filter = Filter::default();
    let renamed = (&b"renamed"[..], INSIDE.1, INSIDE.2);
    victims(&mut filter, &waiting(1, &[INSIDE, OUTSIDE], &[], &[]));
    let both = waiting(2, &[renamed], &[], &[INSIDE, renamed]);
    assert_eq!(victims(&mut filter, &both), ["inside", "renamed"]);
    let later = waiting(3, &[], &[], &[INSIDE, renamed]);
    assert_eq!(victims(&mut filter, &later), ["renamed"], "no process has the old name");
}

#[test]
fn exited_processes_are_victims_in_the_window_of_their_exit() {
    let mut filter = Filter::default();
    let brief = (&b"x"[..], 0, 0);
    let with = |mut now: Snapshot, above, tasks| {
        let exit = exited(100, above, 3);
        now.exited = vec![ExitSample { cgroup_id: Some(9), uid: Some(0), tasks, ..exit }];
        now
    };
    for (above, expected) in [(21_002, vec!["x"]), (50, Vec::new())] {
        let mut filter = Filter::default();
        victims(&mut filter, &waiting(1, &[INSIDE, OUTSIDE], &[], &[]));
        let exits = with(waiting(2, &[], &[], &[brief]), above, 1);
        assert_eq!(victims(&mut filter, &exits), expected);
    }
    victims(&mut filter, &waiting(1, &[INSIDE, OUTSIDE], &[], &[]));
    victims(&mut filter, &with(waiting(2, &[], &[], &[brief]), 21_002, 1));
    let same = with(waiting(3, &[], &[], &[brief]), 21_002, 1);
    assert_eq!(victims(&mut filter, &same), [""; 0], "none exited in this window");
    let more = with(waiting(4, &[], &[], &[brief]), 21_002, 2);
    assert_eq!(victims(&mut filter, &more), ["x"]);
}
