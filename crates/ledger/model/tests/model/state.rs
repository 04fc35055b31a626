//! Tests of a window's exactness.

use exactop_model::ledger::audit::AuditFigure;
use exactop_model::ledger::exactness::WindowState;
use exactop_model::{SourceKind, Window};

/// The state of a window after `change`.
fn state(change: impl Fn(&mut Window)) -> WindowState {
    let (mut window, _) = exactop_testkit::window(SourceKind::Ledger, 1, None);
    change(&mut window);
    window.state()
}

fn off(window: &mut Window) {
    window.audit.run = Some(AuditFigure { max_ns: 1, sum_ns: 1, ..AuditFigure::default() });
}

#[test]
fn a_window_with_a_run_time_difference_in_its_audit_is_not_exact() {
    assert_eq!(state(|_| ()), WindowState::Exact);
    assert_eq!(state(off), WindowState::Inexact);
    let repaired = state(|window| {
        off(window);
        window.repaired_tasks = Some(1);
    });
    assert_eq!(repaired, WindowState::Repaired, "the repair explains it");
    let of_waits = AuditFigure { max_ns: 9_000, sum_ns: 9_000, ..AuditFigure::default() };
    assert_eq!(state(|window| window.audit.lat = Some(of_waits)), WindowState::Exact);
    assert_eq!(state(|window| window.audit.run = None), WindowState::Exact, "no such count");
}
