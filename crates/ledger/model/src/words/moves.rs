//! Moves to other CPUs as text.

use crate::on_demand::moves::{Cause, MoveSums, MoveWindow};
use crate::words::units::{duration, thousands};

/// Moves by cause, most first: `periodic 4 (waited 13.0ms before, 94.3ms after; 0 of 2 paid) ·
/// wakeup 3`. `None` if no task moved; a new task placed on another CPU has not moved.
pub fn by_cause(moves: &MoveWindow) -> Option<String> {
    let causes = moves.by_cause();
    let counted = causes.iter().filter(|(cause, sums)| cause.is_counted() && sums.moves > 0);
    let texts: Vec<String> = counted.map(|(cause, sums)| describe(*cause, sums)).collect();
    (!texts.is_empty()).then(|| texts.join(" · "))
}

fn describe(cause: Cause, sums: &MoveSums) -> String {
    let before = sums.mean_before_ns().map(|ns| format!("waited {} before", duration(ns)));
    let after = sums.mean_after_ns().map(|ns| format!("{} after", duration(ns)));
    let waited: Vec<String> = before.into_iter().chain(after).collect();
    let judged = cause.could_stay() && sums.paid + sums.unpaid > 0;
    let paid = judged.then(|| format!("{} of {} paid", sums.paid, sums.paid + sums.unpaid));
    let waited = (!waited.is_empty()).then(|| waited.join(", "));
    let facts: Vec<String> = waited.into_iter().chain(paid).collect();
    let count = thousands(sums.moves);
    match facts.is_empty() {
        true => format!("{} {count}", cause.name()),
        false => format!("{} {count} ({})", cause.name(), facts.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::on_demand::losses::Losses;
    use crate::on_demand::moves::MoveRow;
    use crate::{Comm, TaskRef};

    #[test]
    fn causes_have_their_waits_and_births_are_left_out() {
        let who = TaskRef::thread(5, 5, Comm::new(b"loop"), Comm::new(b"loop"));
        let row = |cause, sums| MoveRow { who, from: 0, to: 1, cause, sums };
        let periodic = MoveSums {
            moves: 4,
            queued: 2,
            before_ns: 26_000_000,
            ran: 3,
            after_ns: 30_000_000,
            paid: 1,
            unpaid: 2,
        };
        let one = MoveSums { moves: 1, ..MoveSums::default() };
        let mut moves = MoveWindow {
            t0_ns: 0,
            t1_ns: 1_000,
            rows: vec![
                row(Cause::Affinity, one),
                row(Cause::Periodic, periodic),
                row(Cause::Fork, one),
            ],
            unknown: Vec::new(),
            missed: 0,
            losses: Losses::default(),
            whole: true,
        };
        let told = by_cause(&moves).expect("moves");
        assert_eq!(
            told,
            "periodic 4 (waited 13.0ms before, 10.0ms after; 1 of 3 paid) · affinity 1"
        );
        moves.rows.retain(|row| row.cause == Cause::Fork);
        assert_eq!(by_cause(&moves), None);
    }
}
