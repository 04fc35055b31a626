//! System calls in words, the same in every view.

use crate::on_demand::syscalls::{Failures, SyscallWindow};
use crate::words::units::{rate, thousands};

/// Errors that are shown of a row.
const ERRORS: usize = 3;

/// What is known of calls that returned without having been seen to begin.
pub const UNSEEN: &str = "returned unseen: counted without a time";

/// `EAGAIN 1200, ENOENT 3`.
pub fn failed(failures: &[Failures]) -> String {
    let told = |f: &Failures| format!("{} {}", f.name(), f.count);
    let mut words: Vec<String> = failures.iter().take(ERRORS).map(told).collect();
    words.extend((failures.len() > ERRORS).then(|| "...".into()));
    words.join(", ")
}

/// `75,312 calls (37,600 a second), 2 failed, 3 have not returned`.
pub fn sum(calls: &SyscallWindow) -> String {
    let of = |figure: fn(&crate::on_demand::syscalls::SyscallRow) -> u64| -> u64 {
        calls.rows.iter().map(figure).sum()
    };
    let (all, errors, open) = (of(|r| r.calls), of(|r| r.errors), of(|r| r.in_flight));
    let rate = rate(all, calls.seconds());
    let mut text =
        format!("{} calls ({rate} a second), {} failed", thousands(all), thousands(errors));
    if open > 0 {
        text += &format!(", {} not returned yet", thousands(open));
    }
    text
}
