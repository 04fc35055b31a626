//! The Ackermann function by plain recursion: much CPU time, little memory, and a known result.

use super::since;
use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Instant;

/// Largest first argument: with 4 the second result would not fit anywhere.
pub const MAX_M: u64 = 3;
/// Largest second argument: more would exceed the stack.
pub const MAX_N: u64 = 16;

/// Most stack of one call, bytes, also without optimisation.
const FRAME_BYTES: usize = 256;

/// Threads that compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// One thread for all results in order.
    Single,
    /// One thread for each result.
    PerTask,
    /// This number of threads; each takes the next result.
    Number(usize),
}

/// One result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// First argument.
    pub m: u64,
    /// Second argument.
    pub n: u64,
    /// ackermann(m, n).
    pub value: u64,
    /// True if the closed form gives the same.
    pub right: bool,
    /// Time it took, ns.
    pub elapsed_ns: u64,
}

/// Computes ackermann(m, 0) to ackermann(m, n), each twice on request, and sends each answer at
/// once.
///
/// # Errors
/// A thread cannot be started.
pub fn start(
    m: u64,
    n: u64,
    twice: bool,
    threads: Threads,
    tell: &Sender<Answer>,
) -> io::Result<Vec<JoinHandle<()>>> {
    let each = if twice { 2 } else { 1 };
    let jobs: Arc<Vec<u64>> = Arc::new((0..=n).flat_map(|n| vec![n; each]).collect());
    let next = Arc::new(AtomicUsize::new(0));
    let workers = match threads {
        Threads::Single => 1,
        Threads::PerTask => jobs.len(),
        Threads::Number(number) => number.clamp(1, jobs.len()),
    };
    let stack = FRAME_BYTES * depth(m, n) + 256 * 1024;
    let start = |_| {
        let (jobs, next, tell) = (jobs.clone(), next.clone(), tell.clone());
        Builder::new().stack_size(stack).spawn(move || {
            while let Some(&n) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                // The receiver is gone: the program ends.
                if tell.send(answer(m, n)).is_err() {
                    return;
                }
            }
        })
    };
    (0..workers).map(start).collect()
}

/// Depth of the recursion, which is about the result.
fn depth(m: u64, n: u64) -> usize {
    usize::try_from(closed_form(m, n)).unwrap_or(usize::MAX / FRAME_BYTES / 2)
}

fn answer(m: u64, n: u64) -> Answer {
    let began = Instant::now();
    let value = ackermann(black_box(m), black_box(n));
    Answer { m, n, value, right: value == closed_form(m, n), elapsed_ns: since(began) }
}

fn ackermann(m: u64, n: u64) -> u64 {
    if m == 0 {
        n + 1
    } else if n == 0 {
        ackermann(m - 1, 1)
    } else {
        ackermann(m - 1, ackermann(m, n - 1))
    }
}

/// The result by its closed form, for m up to 3.
fn closed_form(m: u64, n: u64) -> u64 {
    match m {
        0 => n + 1,
        1 => n + 2,
        2 => 2 * n + 3,
        _ => (1 << (n + 3)) - 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn answers_are_right_with_any_threads() {
        for threads in [Threads::Single, Threads::PerTask, Threads::Number(3)] {
            for m in 0..=MAX_M {
                let (tell, told) = channel();
                let workers = start(m, 5, true, threads, &tell).unwrap();
                drop(tell);
                let answers: Vec<Answer> = told.iter().collect();
                assert_eq!(answers.len(), 12);
                assert!(answers.iter().all(|a| a.right), "{answers:?}");
                let worker_count = match threads {
                    Threads::Single => 1,
                    Threads::PerTask => 12,
                    Threads::Number(n) => n,
                };
                assert_eq!(workers.len(), worker_count);
            }
        }
        assert_eq!(closed_form(3, 13), 65_533);
    }
}
