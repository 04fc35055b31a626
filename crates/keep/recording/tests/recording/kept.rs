//! All later versions read recordings of every earlier format; the files stay in tests/recordings.

use crate::world::{all, machine, Live, Shown};
use exactop_model::blame::sizes::{Sized, WaitKind};
use exactop_model::ledger::snapshot::GroupMove;
use exactop_model::{Blame, Counter, Frame};
use exactop_recording::{cut, Options, Recorder, Recording, Sync, TimeRange};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

fn kept(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/recordings").join(name)
}

fn line(out: &mut String, frame: &Frame) {
    let sum = |c: Counter| -> Option<u64> { frame.rows.iter().map(|row| row.delta.get(c)).sum() };
    let run = |c: Counter| frame.exited.iter().filter_map(|row| row.delta.get(c)).sum::<u64>();
    let names: Vec<String> = frame.rows.iter().map(|row| row.ident.comm.to_string()).collect();
    let _ = writeln!(
        out,
        "({}, {}] rows {} run {:?} sleep {:?} irq {:?} exited {} missed {:?} books {:?} names {}",
        frame.t0_ns,
        frame.t1_ns,
        frame.rows.len(),
        sum(Counter::RunNs),
        sum(Counter::SleepNs),
        sum(Counter::IrqNs),
        run(Counter::RunNs),
        frame.missed_switches,
        frame.books.idle_ns,
        names.join(",")
    );
}

/// A recording as text, without what later versions add.
fn words(name: &str) -> String {
    let (windows, gaps) = all(&kept(name));
    assert_eq!(gaps, []);
    let mut out = String::new();
    for window in &windows {
        line(&mut out, &window.frames[0]);
        for row in &window.rows {
            let detail = &row.detail;
            let _ = writeln!(out, "  {} {:?} {:?}", row.key.tgid, detail.virt, detail.user);
        }
    }
    out
}

/// Counters of a move in the first version that recorded moves.
const TIMES: [Counter; 3] = [Counter::RunNs, Counter::LatNs, Counter::ThrottleNs];

/// A recording as text, with what later versions added.
fn later_words(name: &str) -> String {
    let (windows, gaps) = all(&kept(name));
    let mut out = String::new();
    for gap in &gaps {
        let _ = writeln!(out, "gap {:?} {:?}", gap.why, gap.length_ns);
    }
    for window in &windows {
        let frame = &window.frames[0];
        line(&mut out, frame);
        let held = [&frame.audit.run, &frame.audit.lat]
            .map(|held| held.as_ref().map(|held| (held.max_ns, held.sum_ns, held.bias_ns)));
        let moves = window.moves.iter();
        let of = |m: &GroupMove, counter| m.used.get(counter).unwrap_or(0);
        let moves: Vec<_> = moves
            .map(|m| {
                let [run, lat, throttle] = TIMES.map(|counter| of(m, counter));
                (m.from, m.to, run, lat, throttle)
            })
            .collect();
        let repaired = frame.repaired.tasks;
        let _ = writeln!(out, "  audit {held:?} repaired {repaired:?} moves {moves:?}");
        if let Some(book) = &window.blame {
            let waits: BTreeMap<_, _> = book.waits.iter().collect();
            let pairs: BTreeMap<_, _> = book.pairs.iter().collect();
            let _ = writeln!(out, "  blame {waits:?} {pairs:?}");
            sized(&mut out, book);
        }
    }
    out
}

/// Its histograms, without empty buckets.
fn sized(out: &mut String, book: &Blame) {
    for (party, sizes) in book.sizes.iter().collect::<BTreeMap<_, _>>() {
        let _ = writeln!(out, "  sizes {party:?} {:?}", sizes.waits);
        for kind in WaitKind::ALL {
            let all = sizes.histogram(kind).buckets().iter().enumerate();
            for (bucket, waits) in all.filter(|(_, waits)| **waits != Sized::default()) {
                let _ = writeln!(out, "    {kind:?} {bucket}: {waits:?}");
            }
        }
    }
}

#[test]
fn form_1_is_read() {
    for name in ["form-1-ledger", "form-1-procfs"] {
        let expected = std::fs::read_to_string(kept(&format!("{name}.txt"))).expect("its words");
        assert_eq!(words(&format!("{name}.rec")), expected, "{name}");
    }
}

/// The same format with later tables and columns: moves between groups, the kernel's counts, and a
/// suspend.
#[test]
fn form_1_with_moves_is_read() {
    if std::env::var_os("EXACTOP_KEEP_RECORDING").is_some() {
        keep("form-1-moves", &[("ledger", false), ("procfs", true)]);
    }
    for name in ["form-1-moves-ledger", "form-1-moves-procfs"] {
        let expected = std::fs::read_to_string(kept(&format!("{name}.txt"))).expect("its words");
        assert_eq!(later_words(&format!("{name}.rec")), expected, "{name}");
        assert!(expected.contains("Suspend") && expected.contains("audit"), "{name}");
    }
    let moved = |name| all(&kept(name)).0.iter().map(|window| window.moves.len()).sum::<usize>();
    assert!(moved("form-1-moves-ledger.rec") > 0);
    assert_eq!(moved("form-1-ledger.rec"), 0, "it had no such table");
}

/// The same format with all counters of a move. In files before it only times moved.
#[test]
fn form_1_with_counts_of_moves_is_read() {
    let form = "form-1-counts";
    if std::env::var_os("EXACTOP_KEEP_RECORDING").is_some() {
        keep(form, &[("ledger", false)]);
    }
    let name = format!("{form}-ledger");
    let expected = std::fs::read_to_string(kept(&format!("{name}.txt"))).expect("its words");
    assert_eq!(later_words(&format!("{name}.rec")), expected);
    let dispatches = |name: &str| {
        let moves = |window: &Shown| window.moves.clone();
        let moves = all(&kept(name)).0.iter().flat_map(moves).collect::<Vec<_>>();
        assert!(!moves.is_empty(), "{name}");
        moves.iter().map(|m| m.used.get(Counter::Dispatches)).collect::<Vec<_>>()
    };
    assert!(dispatches(&format!("{name}.rec")).iter().all(|count| count.is_some()));
    assert!(dispatches("form-1-moves-ledger.rec").iter().all(|count| count.is_none()));
}

/// The same format with the blame book.
#[test]
fn form_1_with_a_blame_book_is_read() {
    let form = "form-1-blame";
    if std::env::var_os("EXACTOP_KEEP_RECORDING").is_some() {
        keep(form, &[("ledger", false)]);
    }
    let name = format!("{form}-ledger");
    let expected = std::fs::read_to_string(kept(&format!("{name}.txt"))).expect("its words");
    assert_eq!(later_words(&format!("{name}.rec")), expected);
    let kinds = ["Task", "Interrupts", "Steal", "Idle", "Throttled", "Brief", "Older", "Other"];
    assert!(kinds.iter().all(|kind| expected.contains(kind)), "{expected}");
    for old in ["form-1-ledger.rec", "form-1-moves-ledger.rec"] {
        assert!(all(&kept(old)).0.iter().all(|window| window.blame.is_none()), "{old}");
    }
}

/// The same format with histograms of waits.
#[test]
fn form_1_with_histograms_is_read() {
    let form = "form-1-histograms";
    if std::env::var_os("EXACTOP_KEEP_RECORDING").is_some() {
        keep(form, &[("ledger", false)]);
    }
    let name = format!("{form}-ledger");
    let expected = std::fs::read_to_string(kept(&format!("{name}.txt"))).expect("its words");
    assert_eq!(later_words(&format!("{name}.rec")), expected);
    let sizes = |name: &str| -> usize {
        let (windows, _) = all(&kept(name));
        windows.iter().flat_map(|window| &window.blame).map(|book| book.sizes.len()).sum()
    };
    assert!(sizes("form-1-histograms-ledger.rec") > 0);
    assert_eq!(sizes("form-1-blame-ledger.rec"), 0, "it had no such table");
}

/// A recording of the ledger from before the audit.
#[test]
fn figures_that_a_recording_lacks_are_unknown() {
    let (windows, _) = all(&kept("form-1-ledger.rec"));
    assert!(!windows.is_empty());
    for window in &windows {
        let Frame { audit, repaired, .. } = &window.frames[0];
        assert_eq!((audit.run, audit.lat), (None, None));
        assert_eq!((repaired.tasks, repaired.wait_ns), (None, None));
        assert!(repaired.ns.is_some(), "this it has");
    }
}

/// Recordings from before a daemon dropped detail do not state that it dropped none.
#[test]
fn an_earlier_recording_does_not_state_what_its_daemon_dropped() {
    for name in ["form-1-ledger", "form-1-procfs", "form-1-moves-ledger", "form-1-moves-procfs"] {
        let (windows, _) = all(&kept(&format!("{name}.rec")));
        assert!(!windows.is_empty());
        for window in &windows {
            assert_eq!(window.frames[0].provenance.degraded, None, "{name}");
        }
    }
}

/// Creates the files of a format: done once, and never again.
fn keep(form: &str, sources: &[(&str, bool)]) {
    for &(source, complete) in sources {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("recording");
        let options = Options { sync: Sync::Never, ..Options::default() };
        let mut recorder = Recorder::open(&path, machine("boot"), options).expect("a recorder");
        let mut live = Live::new(4, complete);
        (0..6).for_each(|_| drop(live.window(&mut recorder)));
        live.suspend(3_600_000_000_000);
        (0..6).for_each(|_| drop(live.window(&mut recorder)));
        drop(recorder);
        let name = format!("{form}-{source}.rec");
        assert!(!kept(&name).exists(), "{name} is there, and stays as it is");
        let recording = Recording::open(&path).expect("a recording");
        let mut out = std::fs::File::create(kept(&name)).expect("a file");
        cut(recording, TimeRange::default(), false, &mut out).expect("one file of both");
        let text = later_words(&name);
        std::fs::write(kept(&format!("{form}-{source}.txt")), text).expect("its words");
    }
}
