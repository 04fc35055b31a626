//! Moves between switches that a kernel hides.

use super::{bind, has_two, open, text};
use exactop_sources::on_demand::moves::Options;
use exactop_sources::on_demand::Counts;
use std::fs;
use std::sync::mpsc::{self, TryRecvError};
use std::thread::{self, sleep};
use std::time::Duration;

const NAPS: u64 = 100;
const NAP: Duration = Duration::from_millis(20);

/// A task whose last switches were hidden has not waited since the last one that was shown.
#[test]
fn a_sleep_between_hidden_switches_is_no_wait_for_a_cpu() {
    let Some(_machine) = crate::machine() else { return };
    if !has_two() {
        return;
    }
    let options = Options { hide_one_in: 2, ..Options::default() };
    let mut source = open(&[std::process::id()], &options);
    let (tell, told_tid) = mpsc::channel();
    let (stop, stopped) = mpsc::channel::<()>();
    let sleeper = thread::spawn(move || {
        tell.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).expect("told");
        while stopped.try_recv() == Err(TryRecvError::Empty) {
            sleep(NAP);
        }
        let stat = fs::read_to_string("/proc/thread-self/schedstat").expect("its waits");
        stat.split(' ').nth(1).and_then(|ns| ns.parse::<u64>().ok()).expect("a number")
    });
    let tid = told_tid.recv().expect("told");
    // Bound in its sleep, it moves at its wake-up.
    for n in 0..NAPS as usize {
        bind(tid, &[n % 2]);
        sleep(NAP);
    }
    drop(stop);
    let waited = sleeper.join().expect("joined");
    let window = source.window().expect("a window");
    let theirs = window.rows.iter().filter(|row| row.who.tid == Some(tid));
    let (moves, before_ns) =
        theirs.fold((0, 0), |(moves, ns), row| (moves + row.sums.moves, ns + row.sums.before_ns));
    println!("{moves} moves after {before_ns} ns of waits, {waited} ns by schedstat");
    assert!(moves > NAPS / 10, "{}", text(&window));
    let naps_ns = NAPS * NAP.as_nanos() as u64;
    assert!(before_ns <= waited + naps_ns / 50, "{before_ns} ns of {waited} ns");
}
