//! System calls as text, JSON lines and CSV.

use crate::{csv, grid};
use exactop_model::on_demand::syscalls::{SyscallRow, SyscallWindow, SyscallsBy};
use exactop_model::words::units::duration;
use serde_json::{json, Value};

/// The version of the JSON schema, raised when a field changes its meaning or goes away.
pub const SCHEMA: u32 = 1;

/// For people: the calls that took longest first, at most `rows`.
pub fn text(calls: &SyscallWindow, rows: usize) -> String {
    let sorted = sorted(calls);
    let seconds = calls.seconds();
    let total: u64 = sorted.iter().map(|r| r.calls).sum();
    let errors: u64 = sorted.iter().map(|r| r.errors).sum();
    let mut out = format!(
        "Window {seconds:.3} s: {total} calls ({} a second), {errors} failed\n",
        grid::rate(total, seconds)
    );
    if calls.lost > 0 {
        out += &format!("{} calls are missing: the tables were full\n", calls.lost);
    }
    let whose: &[&str] = match calls.by {
        SyscallsBy::Call => &[],
        SyscallsBy::Process => &["PID", "NAME", "DISP/s"],
        SyscallsBy::Thread => &["PID", "NAME/TID", "DISP/s"],
    };
    let figures = ["CALLS", "CALLS/s", "ERRORS", "TOTAL", "MEAN", "MAX", "IN", "SYSCALL"];
    let heading: Vec<&str> = whose.iter().copied().chain(figures).collect();
    let lines = sorted.iter().take(rows).map(|row| line(calls, row)).collect();
    out += &grid::text(&heading, &["NAME", "NAME/TID", "SYSCALL"], lines);
    out + &grid::left_out(sorted.len(), rows)
}

fn line(calls: &SyscallWindow, row: &SyscallRow) -> Vec<String> {
    let time = |ns: Option<u64>| ns.map_or("-".into(), duration);
    let seconds = calls.seconds();
    let mut cells = Vec::new();
    if let Some(who) = &row.who {
        cells.push(who.tgid.to_string());
        cells.push(match who.tid {
            Some(_) => who.to_string(),
            None => who.comm.to_string(),
        });
        cells.push(grid::rate(calls.dispatches_of(who), seconds));
    }
    cells.extend([
        row.calls.to_string(),
        grid::rate(row.calls, seconds),
        row.errors.to_string(),
        time(Some(row.total_ns).filter(|_| row.calls > row.untimed)),
        time(row.mean_ns()),
        time(row.max_ns),
        row.in_flight.to_string(),
        row.nr.to_string(),
    ]);
    cells
}

/// By total time, then by count, those in flight, and name.
fn sorted(calls: &SyscallWindow) -> Vec<SyscallRow> {
    let mut rows = calls.rows.clone();
    let rank = |r: &SyscallRow| (r.total_ns, r.calls, r.in_flight);
    rows.sort_by(|a, b| rank(b).cmp(&rank(a)).then((a.who, a.nr).cmp(&(b.who, b.nr))));
    rows
}

/// One JSON object on one line.
pub fn json(calls: &SyscallWindow) -> String {
    let rows: Vec<Value> = sorted(calls)
        .iter()
        .map(|row| {
            json!({
                "pid": row.who.map(|w| w.tgid),
                "tid": row.who.and_then(|w| w.tid),
                "comm": row.who.map(|w| w.comm.to_string()),
                "syscall": row.nr.name(),
                "nr": row.nr.0,
                "calls": row.calls,
                "untimed": row.untimed,
                "errors": row.errors,
                "total_ns": row.total_ns,
                "mean_ns": row.mean_ns(),
                "max_ns": row.max_ns,
                "in_flight": row.in_flight,
                "oldest_in_flight_ns": row.oldest_ns,
            })
        })
        .collect();
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
    let object = json!({
        "schema": SCHEMA,
        "window": { "t0_ns": calls.t0_ns, "t1_ns": calls.t1_ns },
        "by": by(calls.by),
        "lost": calls.lost,
        "calls": rows,
        "dispatches": dispatches,
    });
    format!("{object}\n")
}

fn by(by: SyscallsBy) -> &'static str {
    match by {
        SyscallsBy::Call => "call",
        SyscallsBy::Process => "process",
        SyscallsBy::Thread => "thread",
    }
}

/// CSV's header line.
pub fn csv_header() -> Vec<u8> {
    let names = [
        "t0_ns",
        "t1_ns",
        "pid",
        "tid",
        "comm",
        "syscall",
        "nr",
        "calls",
        "untimed",
        "errors",
        "total_ns",
        "mean_ns",
        "max_ns",
        "in_flight",
        "oldest_in_flight_ns",
    ];
    let mut out = Vec::new();
    csv::line(&mut out, &names.map(String::from));
    out
}

/// A line for each row.
pub fn csv(calls: &SyscallWindow) -> Vec<u8> {
    let mut out = Vec::new();
    let some = |n: Option<u64>| n.map_or(String::new(), |n| n.to_string());
    for row in sorted(calls) {
        let fields = [
            calls.t0_ns.to_string(),
            calls.t1_ns.to_string(),
            some(row.who.map(|w| w.tgid.into())),
            some(row.who.and_then(|w| w.tid).map(Into::into)),
            row.who.map_or(String::new(), |w| csv::text(&w.comm.to_string())),
            csv::text(row.nr.name().unwrap_or_default()),
            row.nr.0.to_string(),
            row.calls.to_string(),
            row.untimed.to_string(),
            row.errors.to_string(),
            row.total_ns.to_string(),
            some(row.mean_ns()),
            some(row.max_ns),
            row.in_flight.to_string(),
            some(row.oldest_ns),
        ];
        csv::line(&mut out, &fields);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::on_demand::syscalls::Dispatches;
    use exactop_model::{CallNr, Comm, Who};

    fn window(by: SyscallsBy) -> SyscallWindow {
        let who = |tid| Who { tgid: 70, tid: Some(tid), comm: Comm::new(b"ev\x1bil") };
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
            ..SyscallRow::new(whose(71), CallNr::named("close").unwrap())
        };
        let asleep = SyscallRow {
            in_flight: 1,
            ..SyscallRow::new(whose(72), CallNr::named("accept4").unwrap())
        };
        let unknown =
            SyscallRow { calls: 1, untimed: 1, ..SyscallRow::new(whose(71), CallNr(99_999)) };
        let dispatches = match by {
            SyscallsBy::Call => Vec::new(),
            _ => vec![Dispatches { who: whose(71).unwrap(), count: 9 }],
        };
        SyscallWindow {
            t0_ns: 0,
            t1_ns: 2_000_000_000,
            by,
            rows: vec![asleep, row, unknown],
            dispatches,
            lost: 0,
        }
    }

    #[test]
    fn text_by_call() {
        insta::assert_snapshot!(text(&window(SyscallsBy::Call), 20));
    }

    #[test]
    fn text_by_thread_and_with_losses() {
        let window = SyscallWindow { lost: 7, ..window(SyscallsBy::Thread) };
        insta::assert_snapshot!(text(&window, 2));
    }

    #[test]
    fn json_and_csv_say_the_same() {
        let window = window(SyscallsBy::Process);
        insta::assert_snapshot!(json(&window));
        let both = [csv_header(), csv(&window)].concat();
        insta::assert_snapshot!(String::from_utf8(both).unwrap());
    }
}
