//! Figures that only an otherwise idle machine can give. If other processes used the CPUs, an
//! unexpected figure counts as not measured, which is printed and is no failure. EXACTOP_TEST_QUIET
//! declares the machine idle; then it is a failure.

use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

/// CPU time of others, per cent of one CPU, above which figures are doubted.
const ALLOWED_PCT: f64 = 10.0;

/// Checks figures; `others_pct`: the CPU time that others used meanwhile.
pub fn measured(others_pct: f64, check: impl FnOnce()) {
    let Err(failure) = catch_unwind(AssertUnwindSafe(check)) else { return };
    if others_pct <= ALLOWED_PCT || std::env::var_os("EXACTOP_TEST_QUIET").is_some() {
        resume_unwind(failure);
    }
    println!("not measured: others had {others_pct:.0} % of a CPU");
}

/// Busy CPU time of the whole machine so far, s (/proc/stat, proc(5)).
pub fn busy_s() -> f64 {
    let text = std::fs::read_to_string("/proc/stat").expect("/proc/stat");
    let line = text.lines().next().expect("a line");
    let ticks: Vec<f64> = line.split_whitespace().skip(1).flat_map(str::parse).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal
    let busy: f64 = [0, 1, 2, 5, 6, 7].map(|at| ticks[at]).iter().sum();
    busy / rustix::param::clock_ticks_per_second() as f64
}
