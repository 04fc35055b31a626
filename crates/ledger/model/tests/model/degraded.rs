//! Detail that a daemon gave up is named in every window that lacks it.

use exactop_model::ledger::joined::Joined;
use exactop_model::ledger::merged::Merged;
use exactop_model::words::degraded::missing;
use exactop_model::{Book, Degraded, Snapshot, SourceKind};
use exactop_testkit::samples;

fn snapshot(at_ns: u64, degraded: Option<Degraded>) -> Snapshot {
    let mut now = samples::snapshot(SourceKind::Ledger, at_ns);
    now.complete = at_ns == 1;
    now.provenance.degraded = degraded;
    now
}

/// Holds the sum of windows with these details, and one snapshot for all.
fn sums_lack(lacks: &[Option<Degraded>], expected: Option<Degraded>) {
    let nothing = Some(Degraded::default());
    let (mut merged, mut book, mut joined) = (Merged::new(), Book::new(), Joined::default());
    for (at_ns, &degraded) in (1..).zip(lacks) {
        let now = snapshot(at_ns, degraded);
        merged.add(now.clone());
        joined.before(&now, &book);
        if let Some(window) = book.advance(now) {
            joined.add(window, &book);
        }
    }
    let sum = joined.window().expect("windows");
    assert_eq!(sum.end.provenance.degraded, expected);
    assert_eq!(merged.take().expect("snapshots").provenance.degraded, expected);
    merged.add(snapshot(9, nothing));
    assert_eq!(merged.take().expect("another").provenance.degraded, nothing);
}

#[test]
fn a_window_of_several_lacks_what_one_of_them_lacks() {
    let all = Some(Degraded { history: true, brief: true, threads: true });
    let history = Some(Degraded { history: true, ..Degraded::default() });
    let nothing = Some(Degraded::default());
    sums_lack(&[nothing, history, all, nothing, nothing], all);
    sums_lack(&[nothing; 3], nothing);
}

#[test]
fn what_one_of_several_windows_does_not_state_is_unknown() {
    let history = Some(Degraded { history: true, ..Degraded::default() });
    let nothing = Some(Degraded::default());
    sums_lack(&[nothing, history, None, nothing], None);
    sums_lack(&[None; 3], None);
}

#[test]
fn what_is_missing_is_named_in_order() {
    let degraded = Degraded::of_names(["brief", "of-a-later-version", "history"]);
    assert_eq!(degraded.names().collect::<Vec<_>>(), ["history", "brief"]);
    assert_eq!(missing(degraded).as_deref(), Some("history, exit rows"));
    assert_eq!(missing(Degraded::default()), None);
}
