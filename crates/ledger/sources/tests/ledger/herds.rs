//! A plain C server whose workers all wait at one condition variable (`programs/herd_server.c`)
//! counts the tasks that it woke. `wakeups` and `waits` must find the same numbers and lose
//! nothing.

use exactop_model::on_demand::losses::Losses;
use exactop_model::on_demand::waits::{WaitKind, WaitWindow};
use exactop_model::on_demand::wakeups::{herds, Fan, WakeupWindow};
use exactop_model::TaskRef;
use exactop_sources::on_demand::waits::{self, Waits};
use exactop_sources::on_demand::wakeups::{Options, Wakeups, WORK_NS};
use exactop_sources::on_demand::{Counts, Room};
use exactop_testkit::wait;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// Broadcasts a second; the machine may manage fewer.
const RATE: u64 = 200;

/// The server and its pipe.
struct Server {
    process: Child,
    says: BufReader<ChildStdout>,
    _directory: tempfile::TempDir,
}

/// Path of a built server: an emulated machine has no C compiler.
const BUILT: &str = "EXACTOP_TEST_HERD_SERVER";

/// True if the server can be built or found here; else the test says why it is left out.
fn can_be_had() -> bool {
    std::env::var_os(BUILT).is_some() || !crate::left_out("there is no C compiler in it")
}

/// Builds the server in this directory, with the C compiler that the BPF programs need too.
fn built_in(directory: &Path) -> PathBuf {
    let program = directory.join("herd_server");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ledger/programs/herd_server.c");
    let mut compiler = Command::new("clang");
    compiler.args(["-O2", "-pthread", "-o"]).arg(&program).arg(source);
    assert!(compiler.status().expect("clang").success());
    program
}

/// The server's own counts over some broadcasts.
#[derive(Clone, Copy, Debug)]
struct Said {
    /// Broadcasts at which a worker waited.
    calls: u64,
    /// Waiting workers, summed over broadcasts.
    waiting: u64,
    /// Most waiting workers at one broadcast.
    most: u64,
    /// Number of times a worker found nothing to do.
    futile: u64,
}

impl Server {
    /// Starts the server; all workers are asleep when this returns.
    fn start(threads: usize) -> Server {
        let directory = tempfile::tempdir().expect("a directory");
        let built = std::env::var_os(BUILT).map(PathBuf::from);
        let program = built.unwrap_or_else(|| built_in(directory.path()));
        let mut server = Command::new(program);
        server.arg(threads.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = server.spawn().expect("the server");
        let says = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut server = Server { process, says, _directory: directory };
        assert_eq!(server.line(), "ready");
        server
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.says.read_line(&mut line).expect("a line");
        line.trim().to_string()
    }

    /// Broadcasts `times` times; `per_s` 0: each when all workers are asleep. All are asleep again
    /// when this returns.
    fn broadcast(&mut self, times: u64, per_s: u64) -> Said {
        self.ask(times, per_s);
        let line = self.line();
        let mut numbers = line.split(' ').map(|n| n.parse().expect("a number"));
        let mut next = || numbers.next().expect("four numbers");
        Said { calls: next(), waiting: next(), most: next(), futile: next() }
    }

    /// Sends the request without waiting.
    fn ask(&mut self, times: u64, per_s: u64) {
        let input = self.process.stdin.as_mut().expect("a pipe");
        writeln!(input, "{times} {per_s}").expect("written");
    }

    fn wakeups(&self, room: Room) -> Wakeups {
        // On shared or emulated CPUs, going back to a lock takes long.
        let options = Options {
            pids: vec![self.process.id()],
            work_ns: 1000 * WORK_NS,
            room,
            ..Options::default()
        };
        Wakeups::open_with(&options)
            .unwrap_or_else(|e| panic!("{e} (EXACTOP_NO_LEDGER_TESTS=1 leaves these tests out)"))
    }

    fn waits(&self, room: Room) -> Waits {
        let options = waits::Options { room, ..waits::Options::default() };
        Waits::open_with(&[self.process.id()], &options).expect("the waits' programs")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Sizes of the herd: 1,000 and 5,000, unless emulated.
fn sizes() -> &'static [usize] {
    if crate::emulated() {
        &[100]
    } else {
        &[1_000, 5_000]
    }
}

/// True if both numbers agree within `per_cent`.
fn close(ours: u64, theirs: u64, per_cent: u64) -> bool {
    100 * ours.abs_diff(theirs) <= per_cent * theirs
}

/// The calls that woke the most tasks: those of the condition variable.
fn broadcasts(window: &WakeupWindow) -> &Fan {
    window.fans.iter().max_by_key(|fan| fan.wakeups).expect("someone was woken")
}

/// Wake-ups by the threads of one process, by edges and by calls.
fn by_edges_and_calls(window: &WakeupWindow, pid: u32) -> (u64, u64) {
    let edges = window.edges.iter().filter(|edge| edge.waker.tgid == pid);
    let fans = window.fans.iter().filter(|fan| fan.waker.tgid == pid);
    (edges.map(|edge| edge.wakeups).sum(), fans.map(|fan| fan.wakeups).sum())
}

/// Checks that no wake-up was lost. The kernel hides events in the context of a task that it
/// protects: about one in 200,000, which the window reports.
fn nothing_lost(losses: &Losses, wakeups: u64) {
    few_unseen(losses, wakeups / 1_000);
}

fn few_unseen(losses: &Losses, at_most: u64) {
    assert_eq!(losses.lost, 0, "{losses:?}");
    assert!(losses.unseen <= at_most, "{losses:?}, at most {at_most}");
    assert!(losses.skipped.is_some() && losses.tables_bytes > Some(1 << 20), "{losses:?}");
    if !crate::programs_stand_still() {
        assert_eq!(losses.skipped, Some(0));
    }
}

#[test]
fn a_herd_that_sleeps_is_counted_to_the_thread() {
    let Some(_machine) = crate::machine() else { return };
    if !can_be_had() {
        return;
    }
    let threads = if crate::emulated() { 100 } else { 1_000 };
    let mut server = Server::start(threads);
    let mut source = server.wakeups(Room::default());
    let said = server.broadcast(6, 0);
    let window = source.window().expect("a window");
    let fan = broadcasts(&window);
    println!("{said:?}\n{fan:?}\n{:?}", window.losses);
    nothing_lost(&window.losses, said.waiting);
    let all = threads as u64;
    assert_eq!((said.calls, said.waiting, said.most), (6, 6 * all, all));
    // A task of another process that the kernel wakes within such a call counts too.
    let told = fan.wakeups + window.losses.unseen;
    assert!(fan.calls == 6 && (6 * all..6 * all + 10).contains(&told), "{fan:?}");
    assert!(fan.most.is_some_and(|most| most >= all && most <= all + 10), "{fan:?}");
    assert_eq!(said.futile + 6, said.waiting);
    let found = herds(&window);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].fan, *fan);
    assert_eq!(fan.mean().round() as u64, all);
}

#[test]
fn a_storm_of_broadcasts_loses_no_wakeup() {
    let Some(_machine) = crate::machine() else { return };
    if !can_be_had() {
        return;
    }
    for &threads in sizes() {
        let mut server = Server::start(threads);
        let mut source = server.wakeups(Room::default());
        let said = server.broadcast(2 * RATE, RATE);
        let window = source.window().expect("a window");
        let fan = broadcasts(&window);
        let (edges, calls) = by_edges_and_calls(&window, server.process.id());
        println!(
            "{threads}: {said:?}\n{fan:?}\n{edges} by edges, {calls} by calls, {:?}",
            window.losses
        );
        nothing_lost(&window.losses, said.waiting);
        // A worker that was about to sleep counts as waiting but is not woken. If all were about to
        // sleep, the call wakes none.
        assert!(fan.calls <= said.calls && close(fan.wakeups, said.waiting, 5), "{fan:?} {said:?}");
        // Each wake-up happens in a call, except those by an exit or a page fault.
        assert!(edges >= calls && close(edges, calls, 1), "{edges} {calls}");
        assert!(herds(&window).iter().any(|herd| herd.fan == *fan), "{fan:?}");
    }
}

/// CPU time that the herd of this server cost, ns; `None` if unknown.
fn cost_ns(window: &WakeupWindow, server: u32) -> Option<f64> {
    let of_server = herds(window).into_iter().filter(|herd| herd.fan.waker.tgid == server);
    let cost_pct = of_server.max_by_key(|herd| herd.fan.wakeups)?.cost_pct?;
    Some(cost_pct * window.seconds() * 1e7)
}

/// Number of sleeps of its main thread: one after each broadcast.
fn broadcast_so_far(server: u32) -> u64 {
    crate::wakeups::slept_so_far(&format!("/proc/{server}/task/{server}"))
}

/// Two sources count the same storm: one from before it, the other from its middle on, when many
/// workers already queue for the lock.
#[test]
fn a_herd_seen_late_has_the_same_cost_or_an_unknown_one() {
    let Some(_machine) = crate::machine() else { return };
    if !can_be_had() {
        return;
    }
    let mut server = Server::start(sizes()[0]);
    let pid = server.process.id();
    let more = |calls: u64| {
        let before = broadcast_so_far(pid);
        wait::until("broadcasts", || broadcast_so_far(pid) >= before + calls);
    };
    let mut early = server.wakeups(Room::default());
    server.ask(1_000_000, RATE);
    more(100);
    let mut late = server.wakeups(Room::default());
    early.window().expect("a window");
    // The two are read one after the other, so a window of one contains a part of the other's next
    // window.
    let (mut by_early, mut by_late, mut told) = (0.0, 0.0, 0);
    let mut apart_ns = Vec::new();
    for window in 0..8 {
        more(200);
        let (a, b) = (early.window().expect("a window"), late.window().expect("a window"));
        let costs = (cost_ns(&a, pid), cost_ns(&b, pid));
        println!("{window}: {costs:?}");
        match costs {
            (Some(_), None) if told == 0 => continue,
            (Some(early), Some(late)) => (by_early, by_late) = (by_early + early, by_late + late),
            _ => panic!("the early one knows all, the late one from then on: {costs:?}"),
        }
        apart_ns.push((a.t0_ns.abs_diff(b.t0_ns), a.t1_ns.abs_diff(b.t1_ns)));
        told += 1;
    }
    assert!(told >= 4, "the evidence is there after some broadcasts: {told}");
    // Only one has what was between the two readings at each end of the sum.
    let ends_ns = apart_ns[0].0 + apart_ns[told - 1].1;
    let cpus = std::thread::available_parallelism().expect("CPUs").get();
    let beside = 0.1 * by_early + cpus as f64 * ends_ns as f64;
    assert!((by_late - by_early).abs() <= beside, "{by_early} {by_late} {apart_ns:?}");
}

#[test]
fn pairs_without_room_are_summed_by_process_and_no_wakeup_is_lost() {
    let Some(_machine) = crate::machine() else { return };
    if !can_be_had() {
        return;
    }
    let mut server = Server::start(200);
    let mut source = server.wakeups(Room { fixed: Some(64), more: None });
    let said = server.broadcast(RATE / 2, RATE);
    let window = source.window().expect("a window");
    let (edges, calls) = by_edges_and_calls(&window, server.process.id());
    let folded =
        window.edges.iter().filter(|edge| edge.waker.tid.is_none() && edge.waker.tgid != 0);
    println!("{said:?}, {edges} by edges, {calls} by calls, {} folded", folded.clone().count());
    assert!(folded.count() > 100, "all but 64 pairs");
    assert_eq!(window.losses.lost, 0);
    assert!(edges >= calls && close(edges, calls, 1), "{edges} {calls}");
    assert!(close(broadcasts(&window).wakeups, said.waiting, 5));
}

#[test]
fn wakeups_without_any_room_count_as_lost() {
    let Some(_machine) = crate::machine() else { return };
    if !can_be_had() {
        return;
    }
    let mut server = Server::start(200);
    let room = Room { fixed: Some(16), more: Some(16) };
    let (mut wakeups, mut waits) = (server.wakeups(room), server.waits(room));
    server.broadcast(4, 0);
    let window = wakeups.window().expect("a window");
    assert!(window.losses.lost > 500, "{:?}", window.losses);
    assert!(waits.window().expect("a window").losses.lost > 500);
    // Losses are counted by window.
    assert!(wakeups.window().expect("a window").losses.lost < window.losses.lost);
}

#[test]
fn all_waits_of_a_storm_are_counted() {
    let Some(_machine) = crate::machine() else { return };
    if !can_be_had() {
        return;
    }
    for &threads in sizes() {
        let mut server = Server::start(threads);
        let mut source = server.waits(Room::default());
        let said = server.broadcast(2 * RATE, RATE);
        let window = source.window().expect("a window");
        check_waits(&window, &server, said, threads);
    }
}

/// Each worker that waited at a broadcast ended a wait for the lock, was woken by the server, and
/// queued for a CPU.
fn check_waits(window: &WaitWindow, server: &Server, said: Said, threads: usize) {
    let pid = server.process.id();
    let workers = window.rows.iter().filter(|row| row.who.tgid == pid && row.who.tid != Some(pid));
    let (mut slept, mut queued, mut woken, mut by_main) = (0, 0, 0, 0);
    for row in workers.clone() {
        let locks = row.sleeps.iter().filter(|sleep| sleep.kind == WaitKind::Lock);
        slept += locks.map(|sleep| sleep.count).sum::<u64>();
        queued += row.woken.count;
        woken += row.woken_by.iter().map(|by| by.amount).sum::<u64>();
        let main = |who: &TaskRef| who.tgid == pid && who.tid.is_none_or(|tid| tid == pid);
        by_main += row.woken_by.iter().filter(|by| main(&by.who)).map(|by| by.amount).sum::<u64>();
    }
    println!(
        "{threads}: {said:?}, {slept} waits for locks ended, {queued} queued, {woken} wake-ups, \
         {by_main} by main or unnamed, {:?}",
        window.losses
    );
    // Hidden switches are unseen, too: those from a protected task to a worker that it preempted.
    few_unseen(&window.losses, woken / 50);
    assert_eq!(workers.count(), threads);
    assert!(100 * by_main >= 95 * said.waiting, "{by_main} {said:?}");
    assert!(100 * slept >= 95 * said.waiting, "{slept} {said:?}");
    assert!(close(slept, woken, 2) && close(queued, woken, 2), "{slept} {queued} {woken}");
}
