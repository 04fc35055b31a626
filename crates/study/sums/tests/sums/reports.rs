//! A report shows the sums, in every form, and escapes every name.

use crate::drawn::{read, record, stretch, Drawn, Planted};
use exactop_recording::{Recording, TimeRange};
use exactop_sums::{report, Grouping, Stretch};

pub fn clock(ns: i128) -> String {
    format!("t{}", ns / 1_000_000_000)
}

fn side() -> Stretch {
    side_with(false)
}

fn side_with(no_irq: bool) -> Stretch {
    stretch(
        1,
        Planted { worker_ns: 300_000_000, runs: 20, no_irq, ..Planted::default() },
        40,
        Grouping::Command,
        None,
    )
    .0
}

#[test]
fn all_forms_of_a_report_agree() {
    let side = side();
    let page = report::page(&side, 5, true, &clock).expect("a page");
    let worker = side.rows.iter().find(|row| row.group.name == "worker").expect("it");
    let said =
        format!("{:.1}", 100.0 * worker.sum.run_ns as f64 / side.accounts.capacity_ns as f64);
    for form in [page.html(), page.markdown(), page.text()] {
        assert!(form.contains("worker") && form.contains(&said), "{said} in {form}");
        assert!(form.contains("others"), "rows that are left out are summed");
    }
    let html = page.html();
    assert_eq!(html.matches("<svg").count(), 3);
    for elsewhere in ["src=", "@import", "url(", "<script", "https://"] {
        assert!(!html.contains(elsewhere), "{elsewhere}");
    }
    assert!(!page.text().contains("svg"));
    let plain = report::page(&side, 5, false, &clock).expect("a page");
    assert!(!plain.html().contains("<svg"));
}

#[test]
fn interrupts_that_were_not_measured_have_no_area_and_a_line_that_says_so() {
    for no_irq in [false, true] {
        let page = report::page(&side_with(no_irq), 5, true, &clock).expect("a page").html();
        let has = |text: &str| page.contains(text);
        assert_eq!(has(">\ninterrupts: not measured\n<"), no_irq, "{page}");
        assert_eq!(has(">\ninterrupts\n<"), !no_irq, "{page}");
        assert_eq!(has("Not measured in every window: interrupts."), no_irq, "{page}");
        // Stolen time was measured.
        assert!(has(">\nstolen\n<"), "{page}");
    }
}

#[test]
fn a_report_says_how_many_windows_measured_interrupts() {
    for (measured, words) in [
        (20, "only 20 of 30 windows measure the time of interrupts separately: tasks and idle contain it"),
        (0, "the time of interrupts is not measured separately"),
    ] {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("recording");
        let mut drawn = Drawn::new(1, Planted::default());
        if measured > 0 {
            record(&path, &mut drawn, measured);
        }
        drawn.planted.no_irq = true;
        record(&path, &mut drawn, 30 - measured);
        let side = read(&path, Grouping::Command, None);
        let text = report::page(&side, 5, false, &clock).expect("a page").text();
        assert!(text.replace('\n', " ").contains(words), "{words}: {text}");
        let told: serde_json::Value = serde_json::from_str(&report::json(&side)).expect("JSON");
        let told = &told["stretch"];
        assert_eq!((&told["windows"], &told["steal_windows"]), (&30.into(), &30.into()), "{told}");
        assert_eq!((&told["irq_ns"], &told["irq_windows"]), (&().into(), &measured.into()), "{told}");
        assert!(side.accounts.closes(), "{:?}", side.accounts);
    }
}

/// A source that reads /proc does not see exits: that none was seen does not mean that none was.
#[test]
fn exits_that_no_source_saw_are_unknown() {
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../../keep/recording/tests/recordings");
    for (source, is_seen) in [("procfs", false), ("ledger", true)] {
        let path = format!("{kept}/form-1-{source}.rec");
        let recording = Recording::open(path.as_ref()).expect("a recording");
        let side = Stretch::read(recording, TimeRange::default(), Grouping::Command, None);
        let side = side.expect("a stretch");
        let told: serde_json::Value = serde_json::from_str(&report::json(&side)).expect("JSON");
        let rows = told["rows"].as_array().expect("rows");
        assert!(!rows.is_empty());
        let exits: Vec<Option<u64>> =
            rows.iter().map(|row| row["exited_processes"].as_u64()).collect();
        assert_eq!(exits.contains(&None), !is_seen, "{exits:?}");
        // Joined windows may have some that were seen after all.
        assert!(is_seen || !exits.contains(&Some(0)), "{exits:?}");
        let text = report::page(&side, 5, false, &clock).expect("a page").text();
        let dashes = text.lines().filter(|line| line.trim_end().ends_with(" -")).count();
        assert!(is_seen || dashes > 0, "{text}");
    }
}

#[test]
fn json_sums_up() {
    let side = side();
    let told: serde_json::Value = serde_json::from_str(&report::json(&side)).expect("JSON");
    let ns = |value: &serde_json::Value| value.as_i64().expect("ns");
    let rows = told["rows"].as_array().expect("rows");
    let pieces = told["pieces"].as_array().expect("pieces");
    let sum: i64 = rows.iter().map(|row| ns(&row["run_ns"])).sum();
    assert_eq!(sum + ns(&told["stretch"]["unnamed_ns"]), ns(&told["stretch"]["busy_ns"]));
    for (at, row) in rows.iter().enumerate() {
        assert_eq!(
            pieces.iter().map(|piece| ns(&piece["run_ns"][at])).sum::<i64>(),
            ns(&row["run_ns"])
        );
    }
    for piece in pieces {
        let used: i64 = piece["run_ns"].as_array().expect("rows").iter().map(ns).sum();
        let others = ["unnamed_ns", "idle_ns", "irq_ns", "steal_ns", "offline_ns", "residual_ns"];
        let others: i64 = others.iter().map(|key| ns(&piece[*key])).sum();
        assert_eq!(used + others, ns(&piece["capacity_ns"]));
    }
}

#[test]
fn names_are_no_markup() {
    let mut side = side();
    for row in &mut side.rows {
        row.group.name = "<script>alert(1)</script>|[x](http://x)\"'&".into();
    }
    if let Some(machine) = &mut side.machine {
        machine.host = "<img src=x>\x1b[2J".into();
    }
    let page = report::page(&side, 5, true, &clock).expect("a page");
    let (html, markdown) = (page.html(), page.markdown());
    for form in [&html, &markdown] {
        assert!(!form.contains("<script") && !form.contains("<img") && !form.contains('\x1b'));
    }
    assert!(!markdown.contains("[x]") && html.contains("&lt;script&gt;"));
    assert!(!page.text().contains('\x1b'));
}
