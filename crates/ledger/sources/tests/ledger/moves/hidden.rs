//! Moves between switches that a kernel hides.

use super::{bind, has_two, open};
use exactop_model::on_demand::moves::Cause;
use exactop_sources::on_demand::moves::Options;
use exactop_sources::on_demand::Counts;
use exactop_testkit::wait;
use exactop_workloads::workloads::Spin;
use std::thread::{self, sleep};
use std::time::Duration;

/// Sleeps this number of times, beside a crowd on CPU 0; a thread on CPU 1 ends each sleep.
fn sleep_beside_a_crowd(times: u32) {
    let sleeper = thread::spawn(move || {
        for _ in 0..times {
            bind(0, &[0]);
            bind(0, &[0, 1]);
            thread::park();
        }
    });
    let waker = thread::spawn(move || {
        bind(0, &[1]);
        while !sleeper.is_finished() {
            sleep(Duration::from_millis(2));
            sleeper.thread().unpark();
        }
    });
    waker.join().expect("joined");
}

/// A task that wakes has slept, whatever the last switch was that a program saw.
#[test]
fn a_sleep_between_hidden_switches_is_no_wait_for_a_cpu() {
    let Some(_machine) = crate::machine() else { return };
    if !has_two() {
        return;
    }
    let _crowd = Spin::start(8, Some(&[0])).expect("busy threads");
    let options = Options { hide_one_in: 2, ..Options::default() };
    let mut source = open(&[std::process::id()], &options);
    let mut woken = 0;
    wait::until("60 moves at a wake-up", || {
        sleep_beside_a_crowd(20);
        let window = source.window().expect("a window");
        for row in window.rows.iter().filter(|row| row.cause == Cause::Wakeup) {
            woken += row.sums.moves;
            assert_eq!(row.sums.queued, 0, "{row:?}, {woken} moves so far");
        }
        println!("{woken} moves at a wake-up, {:?}", window.losses);
        woken >= 60
    });
}
