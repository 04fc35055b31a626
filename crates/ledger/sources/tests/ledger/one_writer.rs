//! One account has one writer. Tasks move from CPU to CPU while every tenth switch is lost: the CPU
//! that a task left unseen notices this at the moment when the task comes onto the other CPU.

use crate::books::{life_fault, Books};
use exactop_model::ErrorKind;
use exactop_sources::ledger::{Loss, LostEvent, Options};
use rustix::thread::{sched_getaffinity, sched_setaffinity, CpuSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Threads that move themselves to the next CPU as often as they can. The kernel's stopper takes a
/// thread off its CPU and runs there while the thread comes onto the other.
struct Nomads {
    stop: Arc<AtomicBool>,
    moves: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Nomads {
    /// Starts the threads; `None` on a machine with one CPU.
    fn start(count: usize) -> Option<Nomads> {
        let allowed = sched_getaffinity(None).expect("this thread's CPUs");
        let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
        if cpus.len() < 2 {
            return None;
        }
        let (stop, moves) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let threads = (0..count)
            .map(|first| {
                let (stop, moves, cpus) = (Arc::clone(&stop), Arc::clone(&moves), cpus.clone());
                std::thread::spawn(move || {
                    for cpu in cpus.iter().cycle().skip(first) {
                        if stop.load(Ordering::Relaxed) {
                            return;
                        }
                        let mut only = CpuSet::new();
                        only.set(*cpu);
                        sched_setaffinity(None, &only).expect("a CPU that it may use");
                        moves.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        Some(Nomads { stop, moves, threads })
    }

    fn moves(&self) -> u64 {
        self.moves.load(Ordering::Relaxed)
    }
}

impl Drop for Nomads {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().expect("a thread that only moves");
        }
    }
}

#[test]
fn a_moving_task_is_charged_once_while_switches_are_lost() {
    let Some(_machine) = crate::machine() else { return };
    let lose = Some(Loss { event: LostEvent::Switch, one_in: 10, in_a_row: 1 });
    let mut books = Books::open(&Options { lose, ..Options::default() });
    let Some(nomads) = Nomads::start(4) else {
        eprintln!("left out: no task can move on one CPU");
        return;
    };
    let _ = books.close();
    let lost_before = books.ledger.lost_on_purpose();
    let (mut without_name, mut unnamed_ns) = (0, 0);
    for _ in 0..40 {
        std::thread::sleep(Duration::from_millis(50));
        let window = books.close().expect("a window is open");
        if window.errors.get(ErrorKind::Late) > 0 {
            continue;
        }
        let faults: Vec<_> = window.tasks.iter().filter_map(life_fault).collect();
        assert!(faults.is_empty(), "{faults:?}");
        let frame = books.threads(&window);
        assert_eq!(frame.books.residual_ns, 0, "{:?}", frame.books);
        without_name += window.errors.get(ErrorKind::MissedSwitch);
        unnamed_ns += frame.books.unnamed_ns;
    }
    let lost = books.ledger.lost_on_purpose() - lost_before;
    println!(
        "{} moves, {lost} switches lost, {without_name} times on a CPU without a name, {unnamed_ns} ns",
        nomads.moves()
    );
    assert!(nomads.moves() > 100 && lost > 100, "{} moves, {lost} lost", nomads.moves());
}
