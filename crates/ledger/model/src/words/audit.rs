//! Repairs and the audit as text.

use super::books::SINCE_BOOT;
use super::units::{duration, thousands};
use crate::frame::Frame;
use crate::ledger::audit::{Audit, AuditFigure, Worst};
use crate::ledger::exactness::{Repairs, WindowState};

/// `3 tasks: ran 2.40ms, waited 175ms`; times of 0 are left out.
pub fn repaired(repairs: &Repairs) -> String {
    let tasks = match repairs.tasks {
        Some(1) => "1 task".into(),
        Some(n) => format!("{} tasks", thousands(n)),
        None => "- tasks".into(),
    };
    let times: Vec<String> = [("ran", repairs.ns), ("waited", repairs.wait_ns)]
        .into_iter()
        .filter(|(_, ns)| *ns != Some(0))
        .map(|(did, ns)| format!("{did} {}", ns.map_or("-".into(), duration)))
        .collect();
    if times.is_empty() {
        return tasks;
    }
    format!("{tasks}: {}", times.join(", "))
}

/// The exactness of a frame in a word; for repairs with the number of tasks. [`state`] and
/// [`events`] have the rest. A frame since boot has no exactness.
pub fn grade(frame: &Frame) -> String {
    if frame.is_since_boot() {
        return SINCE_BOOT.into();
    }
    let word = match (frame.exact, frame.state, frame.repaired.tasks) {
        (false, ..) => WindowState::Inexact.name().into(),
        (true, WindowState::Repaired, Some(tasks)) if tasks > 0 => {
            format!("{} {}", WindowState::Repaired.name(), thousands(tasks))
        }
        (true, state, _) => state.name().into(),
    };
    match frame.provenance.source.keeps_books() {
        true => with_witness(frame, word),
        false => word,
    }
}

fn with_witness(frame: &Frame, words: String) -> String {
    match frame.missed_switches {
        Some(_) => words,
        None => format!("{words} (no witness)"),
    }
}

/// The exactness of a frame in words, with repairs. Without the kernel's count of switches it says
/// that missed events are not known. A source without books has none.
pub fn state(frame: &Frame) -> Option<String> {
    let words = match (frame.exact, frame.state) {
        (false, _) if frame.provenance.source.keeps_books() => WindowState::Inexact.name().into(),
        (false, _) => return None,
        (true, WindowState::Repaired) => format!("repaired ({})", repaired(&frame.repaired)),
        (true, state) => state.name().into(),
    };
    Some(with_witness(frame, words))
}

/// Each kind of missed or impossible event with its count, the kernel's count of switches first.
pub fn events(frame: &Frame) -> impl Iterator<Item = String> + '_ {
    let missed = frame.missed_switches.filter(|&n| n > 0).map(|n| ("switches missed", n));
    let kinds = frame.errors.nonzero().map(|(kind, n)| (kind.short(), n));
    missed.into_iter().chain(kinds).map(|(what, n)| format!("{what} {}", thousands(n)))
}

/// Says that time of tasks without a place in a table is in no row, with the count of each kind.
/// `None` if every task had a place.
pub fn without_place(frame: &Frame) -> Option<String> {
    let kinds = frame.errors.nonzero().filter(|(kind, _)| kind.leaves_no_place());
    let kinds: Vec<_> =
        kinds.map(|(kind, n)| format!("{} {}", kind.short(), thousands(n))).collect();
    let unnamed = duration(frame.books.unnamed_ns);
    (!kinds.is_empty())
        .then(|| format!("{}: {unnamed} of CPU time is unnamed, in no row", kinds.join(", ")))
}

/// One line for each figure that the audit compares with the kernel's count.
pub fn lines(audit: &Audit) -> [String; 2] {
    [line("Run time", audit.run.as_ref()), line("Wait for a CPU", audit.lat.as_ref())]
}

fn line(what: &str, held: Option<&AuditFigure>) -> String {
    let Some(held) = held else {
        return format!("{what}: not compared, because the kernel has no count");
    };
    let worst =
        held.worst.as_ref().map_or(String::new(), |worst| format!(" ({})", worst_name(worst)));
    format!(
        "{what}, compared with the kernel's count: largest difference {}{worst}, sum {}; clock \
         offsets explain another {}",
        duration(held.max_ns),
        duration(held.sum_ns),
        duration(held.bias_ns),
    )
}

/// The task with the largest difference; names are escaped.
fn worst_name(worst: &Worst) -> String {
    match (worst.exited, worst.key.tid) {
        (true, _) => format!("{}, exited", worst.comm),
        (false, tid) => format!("{} {tid}", worst.comm),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::key::{Comm, TaskKey};

    #[test]
    fn the_task_with_the_largest_difference_is_named_and_escaped() {
        let key = TaskKey { tgid: 7, tid: 8, start_ns: 1 };
        let comm = Comm::new(b"e\x1bvil");
        let worst = Worst { key, comm, exited: false, error_ns: 1_500 };
        let held =
            AuditFigure { max_ns: 1_500, sum_ns: 2_000, bias_ns: 3_000_000, worst: Some(worst) };
        let [run, lat] = lines(&Audit { run: Some(held), lat: None });
        assert!(
            run.contains(
                "largest difference 1.50us (e\\x1bvil 8), sum 2.00us; clock offsets explain another \
                 3.00ms"
            ),
            "{run}"
        );
        assert!(lat.ends_with("has no count"), "{lat}");
    }

    #[test]
    fn repairs_are_counted_in_tasks_and_times() {
        let repairs = Repairs {
            events: Some(4),
            tasks: Some(1),
            ns: Some(2_000_000),
            wait_ns: Some(175_000_000),
        };
        assert_eq!(repaired(&repairs), "1 task: ran 2.00ms, waited 175ms");
        let only = |ns, wait_ns| repaired(&Repairs { ns, wait_ns, ..repairs });
        assert_eq!(only(Some(2_000_000), Some(0)), "1 task: ran 2.00ms");
        assert_eq!(only(Some(0), Some(400_000)), "1 task: waited 400us");
        assert_eq!(only(Some(0), Some(0)), "1 task");
        assert_eq!(only(None, Some(400_000)), "1 task: ran -, waited 400us");
        assert_eq!(
            repaired(&Repairs { tasks: None, ..repairs }),
            "- tasks: ran 2.00ms, waited 175ms"
        );
    }
}
