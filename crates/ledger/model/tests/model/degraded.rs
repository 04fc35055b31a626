//! Detail that a daemon gave up is named in every window that lacks it.

use exactop_model::ledger::joined::Joined;
use exactop_model::ledger::merged::Merged;
use exactop_model::words::degraded::missing;
use exactop_model::{Book, Degraded, Snapshot, SourceKind};
use exactop_testkit::samples;

fn snapshot(at_ns: u64, degraded: Degraded) -> Snapshot {
    let mut now = samples::snapshot(SourceKind::Ledger, at_ns);
    now.complete = at_ns == 1;
    now.provenance.degraded = degraded;
    now
}

#[test]
fn a_window_of_several_lacks_what_one_of_them_lacks() {
    let all = Degraded { history: true, brief: true, threads: true };
    let history = Degraded { history: true, ..Degraded::default() };
    let lacks = [Degraded::default(), history, all, Degraded::default(), Degraded::default()];
    let (mut merged, mut book, mut joined) = (Merged::new(), Book::new(), Joined::default());
    for (at_ns, degraded) in (1..).zip(lacks) {
        let now = snapshot(at_ns, degraded);
        merged.add(now.clone());
        joined.before(&now, &book);
        if let Some(window) = book.advance(now) {
            joined.add(window, &book);
        }
    }
    let sum = joined.window().expect("windows");
    assert_eq!(sum.end.provenance.degraded, all);
    assert_eq!(merged.take().expect("snapshots").provenance.degraded, all);
    merged.add(snapshot(9, Degraded::default()));
    assert_eq!(merged.take().expect("another").provenance.degraded, Degraded::default());
}

#[test]
fn what_is_missing_is_named_in_order() {
    let degraded = Degraded::of_names(["brief", "of-a-later-version", "history"]);
    assert_eq!(degraded.names().collect::<Vec<_>>(), ["history", "brief"]);
    assert_eq!(missing(degraded).as_deref(), Some("history, brief rows"));
    assert_eq!(missing(Degraded::default()), None);
}
