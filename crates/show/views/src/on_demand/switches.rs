//! Context switches by reason as text, JSON lines and CSV.

use super::losses;
use crate::figure::{self, count, pid, text as word, tid, Figure};
use crate::grid::{Layout, Text};
use crate::Sheet;
use exactop_model::on_demand::switches::{SwitchRow, SwitchWindow};
use exactop_model::words::plural::counted;
use serde_json::json;
use std::cmp::Reverse;

/// Version of the JSON schema; raised when a field changes its meaning or is removed.
pub const SCHEMA: u32 = 1;

const FIGURES: &[Figure<SwitchWindow, SwitchRow>] = &[
    Figure::machine_only("pid", |_, row| pid(&row.who)),
    Figure::machine_only("tid", |_, row| tid(&row.who)),
    Figure::machine_only("comm", |_, row| word(row.who.comm.to_string())),
    Figure::new("SWITCHES", "switches", |_, row| count(row.switches())),
    Figure::new("PREEMPTED", "preempted", |_, row| count(row.preempted)),
    Figure::new("BLOCKED", "blocked", |_, row| count(row.blocked)),
    Figure::new("YIELDED", "yielded", |_, row| count(row.yielded)),
    Figure::new("EXITED", "exited", |_, row| count(row.exited)),
    Figure::shown("WHO", |_, row| word(row.who.to_string())),
];

const LAYOUT: Layout =
    Layout { texts: &[("WHO", Text::Name)], yields: &["EXITED", "YIELDED", "SWITCHES"] };

/// Rows by thread or by process, most switches first.
fn sorted(window: &SwitchWindow, threads: bool) -> Vec<SwitchRow> {
    let mut rows = if threads { window.rows.clone() } else { window.by_process() };
    rows.sort_by_key(|row| (Reverse(row.switches()), row.who));
    rows
}

/// Text for people.
pub fn text(window: &SwitchWindow, threads: bool, sheet: Sheet) -> String {
    let all = window.rows.iter().map(SwitchRow::switches).sum();
    let summary = format!("Window {:.3} s: {}", window.seconds(), counted(all, "switch"));
    let mut out = sheet.line(&summary, 2);
    out += &losses::text(&window.losses, "switch", "unseen", sheet);
    out + &figure::table(FIGURES, window, &sorted(window, threads), sheet, &LAYOUT, &[])
}

/// One JSON object on one line.
pub fn json(window: &SwitchWindow, threads: bool) -> String {
    let mut object = json!({
        "schema": SCHEMA,
        "window": { "t0_ns": window.t0_ns, "t1_ns": window.t1_ns },
        "rows": figure::objects(FIGURES, window, &sorted(window, threads)),
    });
    losses::tell(&window.losses, &mut object);
    format!("{object}\n")
}

/// The CSV header.
pub fn csv_header() -> Vec<u8> {
    figure::csv_header(FIGURES)
}

/// CSV, one line per thread or process.
pub fn csv(window: &SwitchWindow, threads: bool) -> Vec<u8> {
    figure::csv(FIGURES, window, [window.t0_ns, window.t1_ns], &sorted(window, threads))
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::on_demand::losses::Losses;
    use exactop_model::{Comm, TaskRef};
    use serde_json::Value;

    fn window() -> SwitchWindow {
        let row = |tid, preempted, exited| SwitchRow {
            who: TaskRef::thread(70, tid, Comm::new(b"w\x1bk"), Comm::new(b"w\x1bk")),
            preempted,
            blocked: 12,
            yielded: 3,
            exited,
        };
        let losses = Losses { lost: 2, ..Losses::default() };
        let rows = vec![row(70, 0, 0), row(71, 40, 1)];
        SwitchWindow { t0_ns: 0, t1_ns: 1_000_000_000, rows, losses }
    }

    #[test]
    fn text_by_process_and_by_thread() {
        let shown = |threads| text(&window(), threads, Sheet::rows(20));
        insta::assert_snapshot!(shown(false), @r"
        Window 1.000 s: 71 switches
        2 switches missing: the tables were full
        SWITCHES  PREEMPTED  BLOCKED  YIELDED  EXITED  WHO
              71         40       24        6       1  w\x1bk (70)
        ");
        let threads: Vec<String> = shown(true).lines().skip(3).map(String::from).collect();
        assert!(threads[0].starts_with("      56         40       12        3       1  w"));
        assert!(threads[1].starts_with("      15          0       12        3       0  w"));
    }

    #[test]
    fn json_and_csv_say_the_same() {
        let told: Value = serde_json::from_str(&json(&window(), true)).expect("JSON");
        let row = json!({
            "pid": 70, "tid": 71, "comm": "w\\x1bk",
            "switches": 56, "preempted": 40, "blocked": 12, "yielded": 3, "exited": 1,
        });
        assert_eq!((&told["rows"][0], &told["lost"]), (&row, &json!(2)));
        let both = [csv_header(), csv(&window(), true)].concat();
        let both = String::from_utf8(both).expect("text");
        let lines: Vec<&str> = both.lines().collect();
        assert_eq!(lines[0], "t0_ns,t1_ns,pid,tid,comm,switches,preempted,blocked,yielded,exited");
        assert_eq!(lines[1], "0,1000000000,70,71,w\\x1bk,56,40,12,3,1");
    }
}
