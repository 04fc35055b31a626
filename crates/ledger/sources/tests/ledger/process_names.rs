//! In windows of on-demand programs a process has the name of its main thread, as in /proc. In
//! these tests other threads do all the work.

use exactop_model::on_demand::syscalls::SyscallsBy;
use exactop_model::on_demand::Choice;
use exactop_model::{SyscallNr, TaskRef};
use exactop_sources::error::SourceError;
use exactop_sources::on_demand::moves::Moves;
use exactop_sources::on_demand::syscalls::Syscalls;
use exactop_sources::on_demand::waits::Waits;
use exactop_sources::on_demand::wakeups::Wakeups;
use exactop_sources::on_demand::Counts;
use exactop_testkit::wait;
use rustix::thread::{sched_setaffinity, CpuSet, Pid};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc};
use std::thread::{self, JoinHandle};

/// Named threads that work until this is dropped.
struct Workers(Arc<AtomicBool>, Vec<JoinHandle<()>>);

impl Workers {
    fn start(n: usize, work: fn()) -> Workers {
        let goes_on = Arc::new(AtomicBool::new(true));
        let one = |_| {
            let goes_on = Arc::clone(&goes_on);
            let run = move || {
                while goes_on.load(Ordering::Relaxed) {
                    work();
                }
            };
            thread::Builder::new().name("a-worker".into()).spawn(run).expect("a thread")
        };
        let threads = (0..n).map(one).collect();
        Workers(goes_on, threads)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
        self.1.drain(..).for_each(|thread| thread.join().expect("it ends"));
    }
}

fn run_on(cpu: usize) {
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    sched_setaffinity(None::<Pid>, &cpus).expect("a CPU");
}

/// Waits for a window with this process, and compares its name with the kernel's.
fn is_named<W>(
    mut window: impl FnMut() -> Result<W, SourceError>,
    found: impl Fn(&W) -> Vec<TaskRef>,
) {
    let pid = std::process::id();
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).expect("its name");
    assert_ne!(name.trim(), "a-worker");
    let seen = wait::find("this process", || {
        let window = window().expect("a window");
        let ours = found(&window).into_iter().filter(|who| who.tgid == pid && who.tid.is_none());
        Some(ours.collect::<Vec<TaskRef>>()).filter(|ours| !ours.is_empty())
    });
    assert!(seen.iter().all(|who| who.comm.to_string() == name.trim()), "{name}: {seen:?}");
}

#[test]
fn a_process_that_ran_instead_has_its_own_name() {
    let Some(_machine) = crate::machine() else { return };
    let mut source = Waits::open(&Choice::of_processes(&[std::process::id()])).expect("programs");
    let _workers = Workers::start(2, || run_on(0));
    is_named(
        || source.window(),
        |waits| {
            let parts = waits.rows.iter().flat_map(|row| &row.ran_instead);
            parts.map(|part| part.who).collect()
        },
    );
}

#[test]
fn a_process_that_wakes_and_is_woken_has_its_own_name() {
    let Some(_machine) = crate::machine() else { return };
    let mut source = Wakeups::open(&Choice::of_processes(&[std::process::id()])).expect("programs");
    let _workers = Workers::start(1, || {
        let (tell, told) = mpsc::channel();
        let waiter = thread::Builder::new().name("a-waiter".into());
        let waiter = waiter.spawn(move || told.recv()).expect("a thread");
        tell.send(()).expect("it waits");
        waiter.join().expect("it ends").expect("told");
    });
    is_named(
        || source.window(),
        |wakeups| {
            let ends = wakeups.edges.iter().flat_map(|edge| [edge.waker, edge.wakee]);
            ends.map(TaskRef::process).collect()
        },
    );
}

#[test]
fn a_process_that_is_moved_has_its_own_name() {
    let Some(_machine) = crate::machine() else { return };
    let mut source = Moves::open(&Choice::of_processes(&[std::process::id()])).expect("programs");
    let _workers = Workers::start(1, || (0..2).for_each(run_on));
    is_named(|| source.window(), |moves| moves.by_process().iter().map(|row| row.who).collect());
}

#[test]
fn a_process_that_is_in_a_call_has_its_own_name() {
    let Some(_machine) = crate::machine() else { return };
    // In the call before the programs are attached, and still in it afterwards.
    let (read, _write) = rustix::pipe::pipe().expect("a pipe");
    let waiter = thread::Builder::new().name("a-worker".into());
    let (begin, began) = mpsc::channel();
    let _waiter = waiter
        .spawn(move || {
            begin.send(rustix::thread::gettid()).expect("told");
            rustix::io::read(&read, &mut [0]).expect("its end")
        })
        .expect("a thread");
    let tid = began.recv().expect("its number").as_raw_nonzero().get() as u32;
    crate::until::in_call(std::process::id(), tid, "read");
    let calls = vec![SyscallNr::named("read").expect("a call")];
    let (by, pids) = (SyscallsBy::Process, vec![std::process::id()]);
    let mut source = Syscalls::open(&Choice { by, pids, calls }).expect("programs");
    is_named(
        || source.window(),
        |calls| {
            calls.rows.iter().filter(|row| row.in_flight > 0).filter_map(|row| row.who).collect()
        },
    );
}
