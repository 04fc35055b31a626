//! What threads wait for, as text, JSON lines and CSV.

use crate::{csv, grid};
use exactop_model::on_demand::waits::{Latency, Other, WaitRow, WaitWindow};
use exactop_model::words::waits::{queue, shares, sleeps};
use serde_json::{json, Value};

/// The version of the JSON schema, raised when a field changes its meaning or goes away.
pub const SCHEMA: u32 = 1;

/// One row a thread, or one a process; those that queued longest for a CPU first.
pub fn rows(waits: &WaitWindow, threads: bool) -> Vec<WaitRow> {
    let mut rows = if threads { waits.rows.clone() } else { waits.by_process() };
    let queued = |r: &WaitRow| r.woken.ns + r.preempted.ns;
    rows.sort_by(|a, b| (queued(b), b.waited_ns(), a.who).cmp(&(queued(a), a.waited_ns(), b.who)));
    rows
}

/// For people: at most `limit` rows.
pub fn text(waits: &WaitWindow, threads: bool, limit: usize) -> String {
    let all = rows(waits, threads);
    let seconds = waits.seconds();
    let mut out = format!("Window {seconds:.3} s: waits of {}\n", noun(threads, all.len()));
    if waits.lost > 0 {
        out += &format!("{} waits are missing: the tables were full\n", waits.lost);
    }
    for row in all.iter().take(limit) {
        out += "\n";
        for line in lines(row, seconds) {
            out += &(line + "\n");
        }
    }
    out + &grid::left_out(all.len(), limit)
}

fn noun(threads: bool, n: usize) -> String {
    match (threads, n) {
        (true, 1) => "1 thread".into(),
        (true, n) => format!("{n} threads"),
        (false, 1) => "1 process".into(),
        (false, n) => format!("{n} processes"),
    }
}

/// A row in a few lines, shares as those of all its threads' time: where it slept, how long it queued, who had the CPU, who woke it. Lines
/// about which there is nothing to say are left out.
pub fn lines(row: &WaitRow, seconds: f64) -> Vec<String> {
    let mut lines = vec![match (row.who.tid, row.threads) {
        (None, threads @ 2..) => format!("{}, {threads} threads", row.who),
        _ => row.who.to_string(),
    }];
    let seconds = seconds * row.threads.max(1) as f64;
    if let Some(sleeps) = sleeps(row, seconds) {
        lines.push(format!("  waits in      {sleeps}"));
    }
    let queues = [("after wake-up", &row.woken), ("after preemption", &row.preempted)];
    let queued: Vec<String> = queues
        .iter()
        .filter(|(_, latency)| latency.count > 0)
        .map(|(after, latency)| format!("{after} {}", queue(latency, seconds)))
        .collect();
    if !queued.is_empty() {
        lines.push(format!("  run queue     {}", queued.join(" · ")));
    }
    if let Some(parts) = shares(&row.ran_instead, true) {
        lines.push(format!("  ran instead   {parts}"));
    }
    if let Some(parts) = shares(&row.woken_by, false) {
        lines.push(format!("  woken by      {parts}"));
    }
    lines
}

/// One JSON object on one line.
pub fn json(waits: &WaitWindow, threads: bool) -> String {
    let object = json!({
        "schema": SCHEMA,
        "window": { "t0_ns": waits.t0_ns, "t1_ns": waits.t1_ns },
        "lost": waits.lost,
        "rows": rows(waits, threads).iter().map(row_json).collect::<Vec<_>>(),
    });
    format!("{object}\n")
}

fn row_json(row: &WaitRow) -> Value {
    let sleeps: Vec<Value> = row
        .sleeps
        .iter()
        .map(|s| {
            json!({
                "state": s.kind.name(),
                "syscall": s.nr.name(),
                "nr": s.nr.0,
                "ended": s.count,
                "ns": s.ns,
                "max_ns": s.max_ns,
            })
        })
        .collect();
    let others = |parts: &[Other], unit: &str| -> Vec<Value> {
        let kernel = |p: &Other| p.who.tgid == 0;
        parts
            .iter()
            .map(|p| {
                json!({
                    "pid": (!kernel(p)).then_some(p.who.tgid),
                    "tid": p.who.tid.filter(|_| !kernel(p)),
                    "comm": p.who.comm.to_string(),
                    unit: p.amount,
                })
            })
            .collect()
    };
    json!({
        "pid": row.who.tgid,
        "tid": row.who.tid,
        "comm": row.who.comm.to_string(),
        "threads": row.threads,
        "sleeps": sleeps,
        "after_wakeup": latency_json(&row.woken),
        "after_preemption": latency_json(&row.preempted),
        "queued": row.queued,
        "ran_instead": others(&row.ran_instead, "ns"),
        "woken_by": others(&row.woken_by, "wakes"),
    })
}

fn latency_json(latency: &Latency) -> Value {
    json!({
        "count": latency.count,
        "ns": latency.ns,
        "p50_ns": latency.quantile_ns(0.5),
        "p99_ns": latency.quantile_ns(0.99),
        "max_ns": latency.max_ns,
    })
}

/// CSV's header line.
pub fn csv_header() -> Vec<u8> {
    let names = [
        "t0_ns", "t1_ns", "pid", "tid", "comm", "what", "detail", "count", "ns", "p99_ns", "max_ns",
    ];
    let mut out = Vec::new();
    csv::line(&mut out, names.into_iter());
    out
}

/// A line for each part of each row: `what` is SLP, LCK, BLK, after_wakeup, after_preemption,
/// ran_instead or woken_by, `detail` the system call or the other process or thread.
pub fn csv(waits: &WaitWindow, threads: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let some = |n: Option<u64>| n.map_or(String::new(), |n| n.to_string());
    for row in rows(waits, threads) {
        let mut line = |what: &str, detail: String, figures: [String; 4]| {
            let who = &row.who;
            let fixed = [
                waits.t0_ns.to_string(),
                waits.t1_ns.to_string(),
                who.tgid.to_string(),
                some(who.tid.map(Into::into)),
                csv::text(&who.comm.to_string()),
                what.to_string(),
                csv::text(&detail),
            ];
            csv::line(&mut out, fixed.into_iter().chain(figures));
        };
        for s in &row.sleeps {
            let figures = [s.count.to_string(), s.ns.to_string(), String::new(), some(s.max_ns)];
            line(s.kind.name(), s.nr.to_string(), figures);
        }
        for (what, l) in [("after_wakeup", &row.woken), ("after_preemption", &row.preempted)] {
            let figures =
                [l.count.to_string(), l.ns.to_string(), some(l.quantile_ns(0.99)), some(l.max_ns)];
            line(what, String::new(), figures);
        }
        let none = String::new;
        for o in &row.ran_instead {
            line("ran_instead", o.who.to_string(), [none(), o.amount.to_string(), none(), none()]);
        }
        for o in &row.woken_by {
            line("woken_by", o.who.to_string(), [o.amount.to_string(), none(), none(), none()]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::on_demand::waits::{Sleep, WaitKind};
    use exactop_model::{CallNr, Comm, Who};

    fn window() -> WaitWindow {
        let who = |tid, name: &[u8]| Who { tgid: 70, tid: Some(tid), comm: Comm::new(name) };
        let sleep = |kind, nr: &str, ns| Sleep {
            kind,
            nr: CallNr::named(nr).unwrap(),
            count: 2,
            ns,
            max_ns: Some(ns),
        };
        let mut woken =
            Latency { count: 3, ns: 90_000, max_ns: Some(60_000), ..Latency::default() };
        woken.buckets[60] = 2;
        woken.buckets[62] = 1;
        let hog = Who { tgid: 99, tid: None, comm: Comm::new(b"h\nog") };
        let row = WaitRow {
            sleeps: vec![
                sleep(WaitKind::Sleep, "accept4", 799_000_000),
                sleep(WaitKind::Lock, "futex", 69_000_000),
                sleep(WaitKind::Sleep, "epoll_wait", 4_000_000),
            ],
            woken,
            ran_instead: vec![Other { who: hog, amount: 80_000 }],
            woken_by: vec![
                Other { who: who(70, b"server"), amount: 99 },
                Other { who: Who::INTERRUPT, amount: 1 },
            ],
            ..WaitRow::new(who(71, b"worker"))
        };
        let idle = WaitRow::new(who(70, b"server"));
        WaitWindow { t0_ns: 0, t1_ns: 1_000_000_000, rows: vec![idle, row], lost: 0 }
    }

    #[test]
    fn text_by_thread() {
        insta::assert_snapshot!(text(&window(), true, 20));
    }

    #[test]
    fn text_by_process_with_losses() {
        insta::assert_snapshot!(text(&WaitWindow { lost: 2, ..window() }, false, 20));
    }

    #[test]
    fn json_and_csv_say_the_same() {
        insta::assert_snapshot!(json(&window(), true));
        let both = [csv_header(), csv(&window(), true)].concat();
        insta::assert_snapshot!(String::from_utf8(both).unwrap());
    }
}
