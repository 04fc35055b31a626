//! Pairs of threads that pass one byte back and forth over two pipes.

use super::{desk, number};
use crate::children;
use crate::error::Refusal;
use rustix::io::{read, write};
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use std::convert::Infallible;
use std::io::{self, PipeReader, PipeWriter};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, RwLock};
use std::thread;

/// Stack of a thread, bytes: it does next to nothing, and there are thousands.
const STACK: usize = 64 * 1024;

/// Two pipes with two ends each.
const FILES_PER_PAIR: u64 = 4;

/// Reserve for other open files of the process.
const SPARE_FILES: u64 = 32;

/// Two pipes, each as read end and write end, and the number of round trips.
struct Pair {
    ping: (PipeReader, PipeWriter),
    pong: (PipeReader, PipeWriter),
    rounds: AtomicU64,
}

pub(super) fn run(args: &[String]) -> Result<Infallible, Refusal> {
    let pairs = number(args, 0)?.div_ceil(2);
    allow_files(pairs as u64 * FILES_PER_PAIR + SPARE_FILES)?;
    let gate = Arc::new(RwLock::new(()));
    let shut = gate.write();
    let mut running = Vec::with_capacity(pairs);
    for _ in 0..pairs {
        let pair = Pair::start(&gate);
        running.push(pair.map_err(|e| children::too_few(2 * running.len(), 2 * pairs, &e))?);
    }
    // Start the pairs only now, or the first ones would slow the creation of the others. Use one
    // system call, because this thread must then wait for its turn among them.
    drop(shut);
    desk::serve([], |request| {
        let rounds = running.iter().map(|pair| pair.rounds.load(Relaxed)).sum();
        (request == "rounds").then(|| vec![rounds])
    })
}

/// Raises the limit of open files to `needed`: the soft one as any user, the hard one as root.
fn allow_files(needed: u64) -> Result<(), Refusal> {
    let found = getrlimit(Resource::Nofile);
    if found.current.is_none_or(|limit| limit >= needed) {
        return Ok(());
    }
    let enough = found.maximum.is_none_or(|limit| limit >= needed);
    let maximum = if enough { found.maximum } else { Some(needed) };
    setrlimit(Resource::Nofile, Rlimit { current: Some(needed), maximum }).map_err(|_| {
        let most = found.maximum.or(found.current).unwrap_or_default();
        Refusal::TooFewFiles { found: most, needed }
    })
}

impl Pair {
    /// Creates the pipes and the threads, which begin when the gate opens.
    fn start(gate: &Arc<RwLock<()>>) -> io::Result<Arc<Self>> {
        let pair = Self { ping: io::pipe()?, pong: io::pipe()?, rounds: AtomicU64::new(0) };
        let pair = Arc::new(pair);
        let (there, back) = (Arc::clone(&pair), Arc::clone(&pair));
        let thread = || thread::Builder::new().stack_size(STACK);
        thread().spawn(move || pass(&there.ping.0, &there.pong.1, || {}))?;
        let gate = Arc::clone(gate);
        thread().spawn(move || {
            drop(gate.read());
            // A failed write shows as missing rounds.
            let _ = write(&back.ping.1, b"*");
            pass(&back.pong.0, &back.ping.1, || {
                back.rounds.fetch_add(1, Relaxed);
            });
        })?;
        Ok(pair)
    }
}

/// Passes bytes on until a pipe breaks, which happens only when the process ends.
fn pass(from: &PipeReader, to: &PipeWriter, mut each: impl FnMut()) {
    let mut byte = [0];
    while read(from, &mut byte) == Ok(1) && write(to, &byte) == Ok(1) {
        each();
    }
}
