//! System calls as text, the same in every view.

use crate::on_demand::syscalls::{Failures, SyscallWindow};
use crate::words::plural::things;
use crate::words::units::{rate, thousands};

/// Number of errors shown for a row.
const ERRORS: usize = 3;

/// Note on calls whose entry was not seen.
pub const UNSEEN: &str = "without a seen entry: counted, not timed";

/// `EAGAIN 1200, ENOENT 3`.
pub fn failed(failures: &[Failures]) -> String {
    let told = |f: &Failures| format!("{} {}", f.name(), f.count);
    let mut words: Vec<String> = failures.iter().take(ERRORS).map(told).collect();
    words.extend((failures.len() > ERRORS).then(|| "...".into()));
    words.join(", ")
}

/// `75,312 calls (37,600 a second), 2 failed, 3 in flight`.
pub fn sum(calls: &SyscallWindow) -> String {
    let of = |figure: fn(&crate::on_demand::syscalls::SyscallRow) -> u64| -> u64 {
        calls.rows.iter().map(figure).sum()
    };
    let (all, errors, open) = (of(|r| r.calls), of(|r| r.errors), of(|r| r.in_flight));
    let rate = rate(all, calls.seconds());
    let mut text = format!(
        "{} {} ({rate} a second), {} failed",
        thousands(all),
        things(all, "call"),
        thousands(errors)
    );
    if open > 0 {
        text += &format!(", {} in flight", thousands(open));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::on_demand::losses::Losses;
    use crate::on_demand::syscalls::{SyscallRow, SyscallsBy};
    use crate::on_demand::SyscallNr;

    fn window(calls: u64) -> SyscallWindow {
        let row = SyscallRow {
            who: None,
            nr: SyscallNr(0),
            calls,
            untimed: 0,
            errors: 1,
            total_ns: 0,
            max_ns: None,
            in_flight: 0,
            oldest_ns: None,
        };
        SyscallWindow {
            t0_ns: 0,
            t1_ns: 1_000_000_000,
            by: SyscallsBy::Call,
            rows: vec![row],
            failures: Vec::new(),
            dispatches: Vec::new(),
            losses: Losses::default(),
        }
    }

    #[test]
    fn one_call_is_not_several() {
        assert!(sum(&window(1)).starts_with("1 call ("), "{}", sum(&window(1)));
        assert!(sum(&window(1_200)).starts_with("1,200 calls ("), "{}", sum(&window(1_200)));
    }
}
