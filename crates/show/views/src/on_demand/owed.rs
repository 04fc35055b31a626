//! Waits beside idle CPUs as text, JSON lines and CSV: by group and cause.

use super::losses;
use crate::figure::{self, count, ns, text as word, Figure};
use crate::grid::{Layout, Text};
use crate::Sheet;
use exactop_model::on_demand::owed::{GroupWait, OwedWindow};
use exactop_model::words::units::duration;
use serde_json::json;

/// Version of the JSON schema; raised when a field changes its meaning or is removed.
pub const SCHEMA: u32 = 1;

const FIGURES: &[Figure<OwedWindow, GroupWait>] = &[
    Figure::machine_only("group", |_, row| word(row.group.clone())),
    Figure::new("CAUSE", "cause", |_, row| word(row.cause.name().to_string())),
    Figure::new("WAIT", "ns", |_, row| ns(row.ns)),
    Figure::new("TIMES", "times", |_, row| count(row.times)),
    Figure::shown("MEANING", |_, row| word(row.cause.meaning().to_string())),
    Figure::shown("GROUP", |_, row| word(row.group.clone())),
];

const LAYOUT: Layout = Layout {
    texts: &[("CAUSE", Text::Words), ("MEANING", Text::Words), ("GROUP", Text::Name)],
    yields: &["MEANING", "TIMES"],
};

/// Text for people.
pub fn text(window: &OwedWindow, _: bool, sheet: Sheet) -> String {
    let (seconds, idle, owed) = (window.seconds(), window.idle_ns, window.owed_ns);
    let idle = format!("idle {} (owed {})", duration(idle), duration(owed));
    let mut out = sheet.line(&format!("Window {seconds:.3} s: {idle}"), 2);
    out += &losses::text(&window.losses, "wait", "not booked: its begin or end was hidden", sheet);
    out + &figure::table(FIGURES, window, &window.by_group(), sheet, &LAYOUT, &[])
}

/// One JSON object on one line.
pub fn json(window: &OwedWindow, _: bool) -> String {
    let mut object = json!({
        "schema": SCHEMA,
        "window": { "t0_ns": window.t0_ns, "t1_ns": window.t1_ns },
        "idle_ns": window.idle_ns,
        "owed_ns": window.owed_ns,
        "rows": figure::objects(FIGURES, window, &window.by_group()),
    });
    losses::tell(&window.losses, &mut object);
    format!("{object}\n")
}

/// The CSV header.
pub fn csv_header() -> Vec<u8> {
    figure::csv_header(FIGURES)
}

/// CSV, one line per group and cause.
pub fn csv(window: &OwedWindow, _: bool) -> Vec<u8> {
    figure::csv(FIGURES, window, [window.t0_ns, window.t1_ns], &window.by_group())
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::on_demand::losses::Losses;
    use exactop_model::on_demand::owed::{Cause, OwedRow};
    use exactop_model::{Comm, TaskRef};
    use serde_json::Value;

    fn window() -> OwedWindow {
        let row = |tgid, group: &str, cause, ns, times| OwedRow {
            who: TaskRef::thread(tgid, tgid, Comm::new(b"w"), Comm::new(b"w")).process(),
            wait: GroupWait { group: group.into(), cause, ns, times },
        };
        let rows = vec![
            row(1, "/batch", Cause::Busy, 50_000_000, 9),
            row(2, "/web\\x1b", Cause::Balance, 1_500_000, 3),
            row(3, "/web\\x1b", Cause::Balance, 500_000, 1),
            row(1, "/batch", Cause::Affinity, 70_000_000, 2),
        ];
        let (idle_ns, owed_ns, losses) = (900_000_000, 2_000_000, Losses::default());
        OwedWindow { t0_ns: 0, t1_ns: 1_000_000_000, idle_ns, owed_ns, rows, losses }
    }

    #[test]
    fn text_names_the_group_and_the_cause_and_leaves_the_meaning_out_last() {
        insta::assert_snapshot!(text(&window(), false, Sheet::rows(20)));
        let narrow = text(&window(), false, Sheet { rows: 20, width: Some(40) });
        assert!(!narrow.contains("MEANING") && narrow.contains("/web\\x1b"), "{narrow}");
    }

    #[test]
    fn json_and_csv_say_the_same() {
        let told: Value = serde_json::from_str(&json(&window(), false)).expect("JSON");
        let row = json!({ "group": "/web\\x1b", "cause": "balance", "ns": 2_000_000, "times": 4 });
        assert_eq!((&told["rows"][0], &told["owed_ns"]), (&row, &json!(2_000_000)));
        assert_eq!(
            (&told["rows"][1]["cause"], &told["idle_ns"]),
            (&"affinity".into(), &json!(900_000_000))
        );
        let both = [csv_header(), csv(&window(), false)].concat();
        let both = String::from_utf8(both).expect("text");
        let lines: Vec<&str> = both.lines().collect();
        assert_eq!(lines[0], "t0_ns,t1_ns,group,cause,ns,times");
        assert_eq!(lines[1], "0,1000000000,/web\\x1b,balance,2000000,4");
    }
}
