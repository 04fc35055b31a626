//! System calls as text, JSON lines and CSV.

use super::losses;
use crate::figure::{self, count, ns, text as word, Figure};
use crate::grid::{Layout, Text};
use crate::Sheet;
use exactop_model::on_demand::syscalls::{CallRow, Failures, SyscallWindow, SyscallsBy};
use exactop_model::words::plural::counted;
use exactop_model::words::{syscalls::failed, syscalls::UNSEEN, units::rate};
use exactop_model::{Datum, Value as Shown};
use serde_json::{json, Value};

/// Version of the JSON schema; raised when a field changes its meaning or is removed.
pub const SCHEMA: u32 = 1;

const FIGURES: &[Figure<SyscallWindow, CallRow>] = &[
    Figure::new("PID", "pid", |_, call| count(call.row.who.map(|w| w.tgid.into()))),
    Figure::machine_only("tid", |_, call| count(call.row.who.and_then(|w| w.tid).map(u64::from))),
    Figure::new("NAME", "comm", |_, call| word(call.row.who.map(|w| w.comm.to_string()))),
    Figure::shown("NAME/TID", |_, call| word(call.row.who.map(|w| w.to_string()))),
    Figure::shown("DISP/s", |window, call| {
        word(call.dispatches.map(|count| rate(count, window.seconds())))
    }),
    Figure::machine_only("syscall", |_, call| word(call.row.nr.name().map(String::from))),
    Figure::machine_only("nr", |_, call| Shown::Known(Datum::Int(call.row.nr.0.into()))),
    Figure::new("CALLS", "calls", |_, call| count(call.row.calls)),
    Figure::shown("CALLS/s", |window, call| word(rate(call.row.calls, window.seconds()))),
    Figure::machine_only("untimed", |_, call| count(call.row.untimed)),
    Figure::new("ERRORS", "errors", |_, call| count(call.row.errors)),
    Figure::new("TOTAL", "total_ns", |_, call| ns(call.row.timed_ns())),
    Figure::new("MEAN", "mean_ns", |_, call| ns(call.row.mean_ns())),
    Figure::new("MAX", "max_ns", |_, call| ns(call.row.max_ns)),
    Figure::new("IN", "in_flight", |_, call| count(call.row.in_flight)),
    Figure::machine_only("oldest_in_flight_ns", |_, call| ns(call.row.oldest_ns)),
    Figure::shown("SYSCALL", |_, call| word(call.row.nr.to_string())),
    Figure::shown("FAILED WITH", |_, call| word(failed(&call.failures))),
    Figure::csv("errnos", |_, call| {
        let text = |f: &Failures| format!("{}:{}", f.name(), f.count);
        word(call.failures.iter().map(text).collect::<Vec<_>>().join(" "))
    }),
];

const LAYOUT: Layout = Layout {
    texts: &[
        ("NAME", Text::Name),
        ("NAME/TID", Text::Name),
        ("SYSCALL", Text::Name),
        ("FAILED WITH", Text::List),
    ],
    yields: &[
        "CALLS/s",
        "IN",
        "MAX",
        "PID",
        "DISP/s",
        "MEAN",
        "FAILED WITH",
        "ERRORS",
        "TOTAL",
        "SYSCALL",
    ],
};

/// Text for people: the calls that took longest first.
pub fn text(calls: &SyscallWindow, _: bool, sheet: Sheet) -> String {
    let sorted = calls.longest_first();
    let seconds = calls.seconds();
    let total: u64 = sorted.iter().map(|r| r.row.calls).sum();
    let errors: u64 = sorted.iter().map(|r| r.row.errors).sum();
    let summary = format!(
        "Window {seconds:.3} s: {} ({} a second), {errors} failed",
        counted(total, "call"),
        rate(total, seconds)
    );
    let mut out = sheet.line(&summary, 2);
    out += &losses::text(&calls.losses, "call", UNSEEN, sheet);
    let hidden: &[&str] = match calls.by {
        SyscallsBy::Call => &["PID", "NAME", "NAME/TID", "DISP/s"],
        SyscallsBy::Process => &["NAME/TID"],
        SyscallsBy::Thread => &["NAME"],
    };
    out + &figure::table(FIGURES, calls, &sorted, sheet, &LAYOUT, hidden)
}

/// One JSON object on one line.
pub fn json(calls: &SyscallWindow, _: bool) -> String {
    let mut dispatches = calls.dispatches.clone();
    dispatches.sort_by_key(|d| d.who);
    let dispatches: Vec<Value> = dispatches
        .iter()
        .map(|d| {
            json!({
                "pid": d.who.tgid,
                "tid": d.who.tid,
                "comm": d.who.comm.to_string(),
                "dispatches": d.count,
            })
        })
        .collect();
    let rows = calls.longest_first();
    let mut objects = figure::objects(FIGURES, calls, &rows);
    for (object, row) in objects.iter_mut().zip(&rows) {
        let errnos = row.failures.iter().map(|f| (f.name(), f.count.into()));
        object["errnos"] = Value::Object(errnos.collect());
    }
    let mut object = json!({
        "schema": SCHEMA,
        "window": { "t0_ns": calls.t0_ns, "t1_ns": calls.t1_ns },
        "by": by(calls.by),
        "calls": objects,
        "dispatches": dispatches,
    });
    losses::tell(&calls.losses, &mut object);
    format!("{object}\n")
}

fn by(by: SyscallsBy) -> &'static str {
    match by {
        SyscallsBy::Call => "call",
        SyscallsBy::Process => "process",
        SyscallsBy::Thread => "thread",
    }
}

/// The CSV header.
pub fn csv_header() -> Vec<u8> {
    figure::csv_header(FIGURES)
}

/// CSV, one line per row.
pub fn csv(calls: &SyscallWindow, _: bool) -> Vec<u8> {
    figure::csv(FIGURES, calls, [calls.t0_ns, calls.t1_ns], &calls.longest_first())
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::on_demand::losses::Losses;
    use exactop_model::on_demand::syscalls::{Dispatches, SyscallRow};
    use exactop_model::{Comm, SyscallNr, TaskRef};

    fn window(by: SyscallsBy) -> SyscallWindow {
        let who = |tid| TaskRef::thread(70, tid, Comm::new(b"ev\x1bil"), Comm::new(b"ev\x1bil"));
        let whose = |tid| match by {
            SyscallsBy::Call => None,
            SyscallsBy::Process => Some(who(tid).process()),
            SyscallsBy::Thread => Some(who(tid)),
        };
        let row = SyscallRow {
            calls: 1500,
            errors: 3,
            total_ns: 3_000_000,
            max_ns: Some(12_345),
            ..SyscallRow::new(whose(71), SyscallNr::named("close").unwrap())
        };
        let asleep = SyscallRow {
            in_flight: 1,
            ..SyscallRow::new(whose(72), SyscallNr::named("accept4").unwrap())
        };
        let unknown =
            SyscallRow { calls: 1, untimed: 1, ..SyscallRow::new(whose(71), SyscallNr(99_999)) };
        let dispatches = match by {
            SyscallsBy::Call => Vec::new(),
            _ => vec![Dispatches { who: whose(71).unwrap(), count: 9 }],
        };
        let failed = [(9, 2), (4, 1)].map(|(errno, count)| Failures {
            who: whose(71),
            nr: SyscallNr::named("close").unwrap(),
            errno,
            count,
        });
        SyscallWindow {
            t0_ns: 0,
            t1_ns: 2_000_000_000,
            by,
            failures: failed.into(),
            rows: vec![asleep, row, unknown],
            dispatches,
            losses: Losses::default(),
        }
    }

    #[test]
    fn text_by_call() {
        insta::assert_snapshot!(text(&window(SyscallsBy::Call), false, Sheet::rows(20)));
    }

    #[test]
    fn text_by_thread_and_with_losses() {
        let window = SyscallWindow {
            losses: Losses { lost: 7, ..Losses::default() },
            ..window(SyscallsBy::Thread)
        };
        insta::assert_snapshot!(text(&window, false, Sheet::rows(2)));
    }

    #[test]
    fn a_narrow_screen_leaves_out_what_matters_least() {
        for by in [SyscallsBy::Call, SyscallsBy::Process, SyscallsBy::Thread] {
            let mut window = window(by);
            window.failures.push(Failures { errno: 110, count: 12_345, ..window.failures[0] });
            let narrow = |width| crate::sheet::fits(width, |sheet| text(&window, false, sheet));
            insta::assert_snapshot!([40, 60, 80].map(narrow).join("\n---\n\n"));
        }
    }

    #[test]
    fn json_and_csv_say_the_same() {
        let window = window(SyscallsBy::Process);
        insta::assert_snapshot!(json(&window, false));
        let both = [csv_header(), csv(&window, false)].concat();
        insta::assert_snapshot!(String::from_utf8(both).unwrap());
    }
}
