//! Waits of threads as text, JSON lines and CSV.

use super::losses;
use crate::figure::{self, count, ns, pid, text as word, tid, Figure};
use crate::{grid, Sheet};
use exactop_model::on_demand::namesakes::Party;
use exactop_model::on_demand::waits::{by_name, Latency, OtherShare, Sleep, WaitRow, WaitWindow};
use exactop_model::words::plural::counted;
use exactop_model::words::waits::{queue, shares, sleeps};
use exactop_model::{Datum, TaskRef, Value as Shown};
use serde_json::{json, Value};

/// Version of the JSON schema; raised when a field changes its meaning or is removed.
pub const SCHEMA: u32 = 1;

/// One row per thread or process; the longest in run queues first.
pub fn rows(waits: &WaitWindow, threads: bool) -> Vec<WaitRow> {
    let mut rows = if threads { waits.rows.clone() } else { waits.by_process() };
    let queued = |r: &WaitRow| r.woken.ns + r.preempted.ns;
    rows.sort_by(|a, b| (queued(b), b.waited_ns(), a.who).cmp(&(queued(a), a.waited_ns(), b.who)));
    rows
}

/// Text for people.
pub fn text(waits: &WaitWindow, threads: bool, sheet: Sheet) -> String {
    let all = rows(waits, threads);
    let seconds = waits.seconds();
    let rows = counted(all.len() as u64, if threads { "thread" } else { "process" });
    let mut out = sheet.line(&format!("Window {seconds:.3} s: waits of {rows}"), 2);
    let unseen = "ended unseen: the queueing for a CPU after it counts as sleep";
    out += &losses::text(&waits.losses, "wait", unseen, sheet);
    for row in all.iter().take(sheet.rows) {
        out += "\n";
        for line in lines(row, seconds) {
            out += &sheet.line(&line, LABEL);
        }
    }
    out + &grid::left_out(all.len(), sheet)
}

/// Column at which a line's figures begin, right of its label.
const LABEL: usize = 16;

/// A row in a few lines: the calls it slept in, its time in run queues, the tasks that had the CPU,
/// the tasks that woke it. Shares are of the time of all its threads. Empty lines are left out.
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

/// Figures of a row besides its parts.
const ROWS: &[Figure<(), WaitRow>] = &[
    Figure::json("pid", |_, row| pid(&row.who)),
    Figure::json("tid", |_, row| tid(&row.who)),
    Figure::json("comm", |_, row| word(row.who.comm.to_string())),
    Figure::json("threads", |_, row| count(row.threads as u64)),
    Figure::json("queued", |_, row| count(row.queued)),
];

const SLEEPS: &[Figure<(), Sleep>] = &[
    Figure::json("state", |_, sleep| word(sleep.kind.name().to_string())),
    Figure::json("syscall", |_, sleep| word(sleep.nr.name().map(String::from))),
    Figure::json("nr", |_, sleep| Shown::Known(Datum::Int(sleep.nr.0.into()))),
    Figure::json("ended", |_, sleep| count(sleep.count)),
    Figure::json("ns", |_, sleep| ns(sleep.ns)),
    Figure::json("max_ns", |_, sleep| ns(sleep.max_ns)),
];

const QUEUES: &[Figure<(), Latency>] = &[
    Figure::json("count", |_, queue| count(queue.count)),
    Figure::json("ns", |_, queue| ns(queue.ns)),
    Figure::json("p50_ns", |_, queue| ns(queue.quantile_ns(0.5))),
    Figure::json("p99_ns", |_, queue| ns(queue.quantile_ns(0.99))),
    Figure::json("max_ns", |_, queue| ns(queue.max_ns)),
];

const OTHERS: &[Figure<(), Party>] = &[
    Figure::json("pid", |_, party| pid(&party.who)),
    Figure::json("tid", |_, party| tid(&party.who)),
    Figure::json("comm", |_, party| word(party.who.comm.to_string())),
    Figure::json("processes", |_, party| count(party.processes)),
];

/// One JSON object on one line. `ran_instead` and `woken_by` sum processes of one name.
pub fn json(waits: &WaitWindow, threads: bool) -> String {
    object(waits, threads, by_name)
}

/// The same for threads, with each thread in `ran_instead` and `woken_by`, for readers that sum
/// rows themselves.
pub fn json_of_threads(waits: &WaitWindow) -> String {
    object(waits, true, |parts| {
        let each = |part: &OtherShare| {
            let processes = u64::from(part.who.tgid != 0);
            (Party { who: part.who, processes }, part.amount)
        };
        parts.iter().map(each).collect()
    })
}

fn object(
    waits: &WaitWindow,
    threads: bool,
    parties: fn(&[OtherShare]) -> Vec<(Party, u64)>,
) -> String {
    let rows = rows(waits, threads);
    let mut told = figure::objects(ROWS, &(), &rows);
    for (object, row) in told.iter_mut().zip(&rows) {
        object["sleeps"] = figure::objects(SLEEPS, &(), &row.sleeps).into();
        object["after_wakeup"] = figure::object(QUEUES, &(), &row.woken);
        object["after_preemption"] = figure::object(QUEUES, &(), &row.preempted);
        object["ran_instead"] = others(&parties(&row.ran_instead), "ns");
        object["woken_by"] = others(&parties(&row.woken_by), "wakes");
    }
    let mut object = json!({
        "schema": SCHEMA,
        "window": { "t0_ns": waits.t0_ns, "t1_ns": waits.t1_ns },
        "rows": told,
    });
    losses::tell(&waits.losses, &mut object);
    format!("{object}\n")
}

fn others(parts: &[(Party, u64)], unit: &str) -> Value {
    let object = |(party, amount): &(Party, u64)| {
        let mut object = figure::object(OTHERS, &(), party);
        object[unit] = (*amount).into();
        object
    };
    parts.iter().map(object).collect()
}

/// A line of CSV: `what` is SLP, LCK, BLK, THR, after_wakeup, after_preemption, ran_instead or
/// woken_by; `detail` is the system call or the other thread, process, or processes of one name.
struct Part {
    who: TaskRef,
    what: &'static str,
    detail: String,
    count: Option<u64>,
    ns: Option<u64>,
    p99_ns: Option<u64>,
    max_ns: Option<u64>,
}

const PARTS: &[Figure<(), Part>] = &[
    Figure::csv("pid", |_, part| pid(&part.who)),
    Figure::csv("tid", |_, part| tid(&part.who)),
    Figure::csv("comm", |_, part| word(part.who.comm.to_string())),
    Figure::csv("what", |_, part| word(part.what.to_string())),
    Figure::csv("detail", |_, part| word(part.detail.clone())),
    Figure::csv("count", |_, part| count(part.count)),
    Figure::csv("ns", |_, part| ns(part.ns)),
    Figure::csv("p99_ns", |_, part| ns(part.p99_ns)),
    Figure::csv("max_ns", |_, part| ns(part.max_ns)),
];

fn parts(row: &WaitRow) -> Vec<Part> {
    let part = |what, detail: String, count, ns| {
        let (p99_ns, max_ns) = (None, None);
        Part { who: row.who, what, detail, count, ns, p99_ns, max_ns }
    };
    let sleep = |s: &Sleep| Part {
        max_ns: s.max_ns,
        ..part(s.kind.name(), s.nr.to_string(), Some(s.count), Some(s.ns))
    };
    let queue = |(what, l): (_, &Latency)| Part {
        p99_ns: l.quantile_ns(0.99),
        max_ns: l.max_ns,
        ..part(what, String::new(), Some(l.count), Some(l.ns))
    };
    let queues = [("after_wakeup", &row.woken), ("after_preemption", &row.preempted)];
    let ran = |(party, ns): (Party, u64)| part("ran_instead", party.to_string(), None, Some(ns));
    let woke = |(party, n): (Party, u64)| part("woken_by", party.to_string(), Some(n), None);
    let asleep = row.sleeps.iter().map(sleep).chain(queues.into_iter().map(queue));
    let others = by_name(&row.ran_instead).into_iter().map(ran);
    asleep.chain(others).chain(by_name(&row.woken_by).into_iter().map(woke)).collect()
}

/// The CSV header.
pub fn csv_header() -> Vec<u8> {
    figure::csv_header(PARTS)
}

/// CSV, one line per part of each row.
pub fn csv(waits: &WaitWindow, threads: bool) -> Vec<u8> {
    let parts: Vec<Part> = rows(waits, threads).iter().flat_map(parts).collect();
    figure::csv(PARTS, &(), [waits.t0_ns, waits.t1_ns], &parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::on_demand::losses::Losses;
    use exactop_model::on_demand::waits::WaitKind;
    use exactop_model::{Comm, SyscallNr};

    fn window() -> WaitWindow {
        let who = |tid, name: &[u8]| TaskRef::thread(70, tid, Comm::new(name), Comm::new(name));
        let sleep = |kind, nr: &str, ns| Sleep {
            kind,
            nr: SyscallNr::named(nr).unwrap(),
            count: 2,
            ns,
            max_ns: Some(ns),
        };
        let mut woken =
            Latency { count: 3, ns: 90_000, max_ns: Some(60_000), ..Latency::default() };
        woken.buckets[60] = 2;
        woken.buckets[62] = 1;
        let hog = TaskRef::thread(99, 99, Comm::new(b"h\nog"), Comm::default()).process();
        let row = WaitRow {
            sleeps: vec![
                sleep(WaitKind::Sleep, "accept4", 799_000_000),
                sleep(WaitKind::Lock, "futex", 69_000_000),
                sleep(WaitKind::Sleep, "epoll_wait", 4_000_000),
            ],
            woken,
            ran_instead: vec![OtherShare { who: hog, amount: 80_000 }],
            woken_by: vec![
                OtherShare { who: who(70, b"server"), amount: 99 },
                OtherShare { who: TaskRef::INTERRUPT, amount: 1 },
            ],
            ..WaitRow::new(who(71, b"worker"))
        };
        let idle = WaitRow::new(who(70, b"server"));
        WaitWindow {
            t0_ns: 0,
            t1_ns: 1_000_000_000,
            rows: vec![idle, row],
            losses: Losses::default(),
        }
    }

    #[test]
    fn text_by_thread() {
        insta::assert_snapshot!(text(&window(), true, Sheet::rows(20)));
    }

    #[test]
    fn text_by_process_with_losses() {
        insta::assert_snapshot!(text(
            &WaitWindow { losses: Losses { lost: 2, ..Losses::default() }, ..window() },
            false,
            Sheet::rows(20)
        ));
    }

    #[test]
    fn a_narrow_screen_has_more_lines() {
        let narrow = |width| crate::sheet::fits(width, |sheet| text(&window(), true, sheet));
        insta::assert_snapshot!([40, 60, 80].map(narrow).join("\n---\n\n"));
    }

    #[test]
    fn json_and_csv_say_the_same() {
        insta::assert_snapshot!(json(&window(), true));
        let both = [csv_header(), csv(&window(), true)].concat();
        insta::assert_snapshot!(String::from_utf8(both).unwrap());
    }

    #[test]
    fn processes_of_one_name_are_one_object_with_their_number() {
        let sh = |pid| OtherShare {
            who: TaskRef::thread(pid, pid, Comm::new(b"sh"), Comm::new(b"sh")),
            amount: 2,
        };
        let mut window = window();
        window.rows.truncate(1);
        window.rows[0].woken_by = vec![sh(100), sh(101), sh(102)];
        let woken_by = |json: String| {
            let told: Value = serde_json::from_str(&json).expect("JSON");
            told["rows"][0]["woken_by"].clone()
        };
        let all = json!([{ "pid": null, "tid": null, "comm": "sh", "processes": 3, "wakes": 6 }]);
        assert_eq!(woken_by(json(&window, true)), all);
        let each = woken_by(json_of_threads(&window));
        assert_eq!(each.as_array().map(Vec::len), Some(3));
        assert_eq!((&each[2]["pid"], &each[2]["processes"]), (&json!(102), &json!(1)));
        assert!(String::from_utf8_lossy(&csv(&window, true)).contains(",woken_by,sh × 3,6,"));
    }
}
