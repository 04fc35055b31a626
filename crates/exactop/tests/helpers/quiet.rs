//! Figures that only a machine of one's own can give: where others had the CPUs meanwhile, one that
//! is not as expected was not measured, which is said and is no failure. EXACTOP_TEST_QUIET says that
//! the machine is quiet: then it is one.

use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

/// What others may have of one CPU, per cent, before figures are doubted.
const ALLOWED_PCT: f64 = 10.0;

/// Checks figures; `others_pct` of a CPU went to others while they were taken.
pub fn measured(others_pct: f64, check: impl FnOnce()) {
    let Err(failure) = catch_unwind(AssertUnwindSafe(check)) else { return };
    if others_pct <= ALLOWED_PCT || std::env::var_os("EXACTOP_TEST_QUIET").is_some() {
        resume_unwind(failure);
    }
    println!("not measured: others had {others_pct:.0} % of a CPU");
}

/// CPU time of the whole machine so far, s, but what is idle (/proc/stat, proc(5)).
pub fn busy_s() -> f64 {
    let text = std::fs::read_to_string("/proc/stat").expect("/proc/stat");
    let line = text.lines().next().expect("a line");
    let ticks: Vec<f64> = line.split_whitespace().skip(1).flat_map(str::parse).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal
    let busy: f64 = [0, 1, 2, 5, 6, 7].map(|at| ticks[at]).iter().sum();
    busy / rustix::param::clock_ticks_per_second() as f64
}
