//! Wake-ups as text, JSON lines and CSV, with verdicts where the evidence suffices.

use super::losses;
use crate::figure::{self, count, ns, pid, text as word, tid, Figure};
use crate::grid::{Layout, Text};
use crate::json::Cell;
use crate::Sheet;
use exactop_model::on_demand::wakeups::{herds, Edge, Fan, Herd, ProcessWakeups, WakeupWindow};
use exactop_model::words::plural::counted;
use exactop_model::words::units::{duration, rate};
use exactop_model::{Datum, SyscallNr, TaskRef, Value as Shown};
use serde_json::{json, Value};

/// Version of the JSON schema; raised when a field changes its meaning or is removed.
pub const SCHEMA: u32 = 1;

/// Figures of an edge between threads.
const EDGES: &[Figure<WakeupWindow, Edge>] = &[
    Figure::csv("waker_pid", |_, edge| pid(&edge.waker)),
    Figure::csv("waker_tid", |_, edge| tid(&edge.waker)),
    Figure::csv("waker", |_, edge| word(edge.waker.comm.to_string())),
    Figure::csv("wakee_pid", |_, edge| pid(&edge.wakee)),
    Figure::csv("wakee_tid", |_, edge| tid(&edge.wakee)),
    Figure::csv("wakee", |_, edge| word(edge.wakee.comm.to_string())),
    Figure::machine_only("wakes", |_, edge| count(edge.wakeups)),
    Figure::machine_only("known", |_, edge| count(edge.chains)),
    Figure::machine_only("unproductive", |_, edge| count(edge.unproductive)),
    Figure::machine_only("unproductive_ns", |_, edge| ns(edge.unproductive_ns)),
];

/// Figures for people of the edges between two processes.
const BETWEEN: &[Figure<WakeupWindow, ProcessWakeups>] = &[
    Figure::shown("WAKES", |_, of| count(of.sum.wakeups)),
    Figure::shown("WAKES/s", |window, of| word(rate(of.sum.wakeups, window.seconds()))),
    Figure::shown("NOTHING", |_, of| count(of.sum.unproductive)),
    Figure::shown("FOR", |_, of| ns(of.sum.unproductive_ns)),
    Figure::shown("THREADS", |_, of| count(of.threads as u64)),
    Figure::shown("WAKER", |_, of| word(of.waker.to_string())),
    Figure::shown("WAKEE", |_, of| word(of.wakee.to_string())),
];

/// Figures of one thread's calls of one kind.
const FANS: &[Figure<WakeupWindow, Fan>] = &[
    Figure::new("CALLS", "calls", |_, fan| count(fan.calls)),
    Figure::new("WAKES", "wakes", |_, fan| count(fan.wakeups)),
    Figure::new("MEAN", "mean", |_, fan| Shown::Known(Datum::Real(fan.mean()))),
    Figure::new("MAX", "max", |_, fan| count(fan.most)),
    Figure::machine_only("known", |_, fan| count(fan.chains)),
    Figure::new("NOTHING", "unproductive", |_, fan| count(fan.unproductive)),
    Figure::machine_only("unproductive_ns", |_, fan| ns(fan.unproductive_ns)),
    Figure::machine_only("syscall", |_, fan| word(fan.nr.name().map(String::from))),
    Figure::machine_only("nr", |_, fan| Shown::Known(Datum::Int(fan.nr.0.into()))),
    Figure::json("futex", |_, fan| word(fan.futex.map(|address| format!("{address:#x}")))),
    Figure::machine_only("back_to", |_, fan| word(fan.home.name().map(String::from))),
    Figure::shown("WAKER", |_, fan| word(fan.waker.to_string())),
    Figure::shown("CALL", |_, fan| word(called(fan))),
];

/// Name of a call with its lock's address: `futex 0x7f3a5c0`.
fn called(fan: &Fan) -> String {
    match fan.futex {
        Some(address) => format!("{} {address:#x}", fan.nr),
        None => fan.nr.to_string(),
    }
}

/// Text for people: verdicts, then the edges, then the calls that wake most.
pub fn text(wakeups: &WakeupWindow, _: bool, sheet: Sheet) -> String {
    let seconds = wakeups.seconds();
    let total: u64 = wakeups.edges.iter().map(|e| e.wakeups).sum();
    let nothing: u64 = wakeups.edges.iter().map(|e| e.unproductive).sum();
    let cost: u64 = wakeups.edges.iter().map(|e| e.unproductive_ns).sum();
    let summary = format!(
        "Window {seconds:.3} s: {} ({} a second), {nothing} for nothing ({})",
        counted(total, "wake-up"),
        rate(total, seconds),
        of_a_cpu(cost, seconds),
    );
    let mut out = sheet.line(&summary, 2);
    let unseen = "came unseen: the waker is not known";
    out += &losses::text(&wakeups.losses, "wake-up", unseen, sheet);
    for herd in herds(wakeups) {
        out += &sheet.line(&verdict(&herd), 2);
    }
    out += "\n";
    out += &edges(wakeups, sheet);
    out += "\n";
    out += &fans(wakeups, sheet);
    out
}

fn of_a_cpu(ns: u64, seconds: f64) -> String {
    format!("{:.1} % of a CPU", 100.0 * ns as f64 / (seconds.max(1e-9) * 1e9))
}

/// A thundering herd in words, with the evidence.
pub fn verdict(herd: &Herd) -> String {
    let Fan { waker, nr, calls, chains, unproductive, home, .. } = herd.fan;
    let woke = herd.fan.mean();
    let back = woke * unproductive as f64 / chains.max(1) as f64;
    let what = if home.is_futex() { "the same lock" } else { "the same wait" };
    let place = if home.is_futex() { String::new() } else { format!(" ({home})") };
    format!(
        "thundering herd: each {} by {waker} woke {woke:.0} threads, {back:.0} went back to {what}\
         {place} without doing anything; {} ({calls} calls, {unproductive} of {chains} wake-ups for \
         nothing)",
        call(nr),
        cost(herd),
    )
}

fn cost(herd: &Herd) -> String {
    match herd.cost_pct {
        Some(cost_pct) => format!("these runs cost {cost_pct:.1} % of a CPU"),
        None => format!(
            "their cost is not known: threads that were awake or in a lock when counting began used \
             {} since",
            duration(herd.late_ns)
        ),
    }
}

fn call(nr: SyscallNr) -> String {
    if nr.is_futex() {
        "futex wake".into()
    } else {
        nr.to_string()
    }
}

const LAYOUT: Layout = Layout {
    texts: &[("WAKER", Text::Name), ("WAKEE", Text::Name), ("CALL", Text::Name)],
    yields: &["THREADS", "FOR", "MAX", "WAKES/s", "MEAN", "CALLS", "NOTHING"],
};

fn edges(wakeups: &WakeupWindow, sheet: Sheet) -> String {
    let mut sums = wakeups.between_processes();
    sums.sort_by_key(|of| (std::cmp::Reverse(of.sum.wakeups), of.waker, of.wakee));
    figure::table(BETWEEN, wakeups, &sums, sheet, &LAYOUT, &[])
}

fn fans(wakeups: &WakeupWindow, sheet: Sheet) -> String {
    let mut fans = wakeups.fans.clone();
    fans.sort_by(|a, b| {
        let rank = |f: &Fan| (f.wakeups, f.most);
        rank(b).cmp(&rank(a)).then((a.waker, a.nr).cmp(&(b.waker, b.nr)))
    });
    figure::table(FANS, wakeups, &fans, sheet, &LAYOUT, &[])
}

/// One JSON object on one line. Edges are between threads.
pub fn json(wakeups: &WakeupWindow, _: bool) -> String {
    let edges = sorted(&wakeups.edges);
    let mut told = figure::objects(EDGES, wakeups, &edges);
    for (object, edge) in told.iter_mut().zip(&edges) {
        object["waker"] = task_json(&edge.waker);
        object["wakee"] = task_json(&edge.wakee);
    }
    let mut fans = wakeups.fans.clone();
    fans.sort_by_key(|f| (std::cmp::Reverse(f.wakeups), f.waker, f.nr));
    let verdict = |herd: &Herd| {
        json!({
            "kind": "thundering_herd",
            "text": verdict(herd),
            "cost_pct": herd.cost_pct,
            "late_ns": herd.late_ns,
            "evidence": fans_json(wakeups, &[herd.fan])[0],
        })
    };
    let mut object = json!({
        "schema": SCHEMA,
        "window": { "t0_ns": wakeups.t0_ns, "t1_ns": wakeups.t1_ns },
        "verdicts": herds(wakeups).iter().map(verdict).collect::<Vec<_>>(),
        "edges": told,
        "fans": fans_json(wakeups, &fans),
    });
    losses::tell(&wakeups.losses, &mut object);
    format!("{object}\n")
}

fn sorted(edges: &[Edge]) -> Vec<Edge> {
    let mut sorted = edges.to_vec();
    sorted.sort_by_key(|e| (std::cmp::Reverse(e.wakeups), e.waker, e.wakee));
    sorted
}

fn task_json(who: &TaskRef) -> Value {
    json!({ "pid": Cell(pid(who)), "tid": Cell(tid(who)), "comm": who.comm.to_string() })
}

fn fans_json(wakeups: &WakeupWindow, fans: &[Fan]) -> Vec<Value> {
    let mut told = figure::objects(FANS, wakeups, fans);
    for (object, fan) in told.iter_mut().zip(fans) {
        object["waker"] = task_json(&fan.waker);
    }
    told
}

/// The CSV header.
pub fn csv_header() -> Vec<u8> {
    figure::csv_header(EDGES)
}

/// CSV, one line per edge between threads.
pub fn csv(wakeups: &WakeupWindow, _: bool) -> Vec<u8> {
    figure::csv(EDGES, wakeups, [wakeups.t0_ns, wakeups.t1_ns], &sorted(&wakeups.edges))
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::on_demand::losses::Losses;
    use exactop_model::Comm;

    fn window() -> WakeupWindow {
        let process = Comm::new(b"tserver");
        let who = |tid, name: &[u8]| TaskRef::thread(70, tid, Comm::new(name), process);
        let futex = SyscallNr::named("futex").unwrap();
        let server = who(70, b"tserver");
        let edge = |wakee, wakeups, unproductive| Edge {
            waker: server,
            wakee,
            wakeups,
            chains: wakeups,
            unproductive,
            unproductive_ns: unproductive * 3_000,
            late_ns: 0,
        };
        let fan = Fan {
            waker: server,
            nr: futex,
            futex: Some(0x55d0_c0de_1040),
            calls: 10,
            wakeups: 9980,
            most: Some(999),
            chains: 9980,
            unproductive: 9970,
            unproductive_ns: 29_000_000,
            home: futex,
        };
        let one = Fan {
            nr: SyscallNr::named("write").unwrap(),
            futex: None,
            wakeups: 10,
            most: Some(1),
            chains: 10,
            unproductive: 0,
            home: SyscallNr::NONE,
            ..fan
        };
        WakeupWindow {
            t0_ns: 0,
            t1_ns: 1_000_000_000,
            edges: vec![
                edge(who(71, b"w\x1b[2J"), 4990, 4985),
                edge(who(72, b"worker"), 4990, 4985),
                Edge { waker: TaskRef::INTERRUPT, wakeups: 3, ..edge(server, 3, 0) },
            ],
            fans: vec![one, fan],
            losses: Losses::default(),
        }
    }

    #[test]
    fn a_herd_in_words() {
        insta::assert_snapshot!(text(&window(), false, Sheet::rows(20)));
    }

    #[test]
    fn an_unknown_cost_is_reported_as_unknown() {
        let mut window = window();
        window.edges[0].late_ns = 350_000_000;
        let herds = herds(&window);
        let words = verdict(&herds[0]);
        let late = "threads that were awake or in a lock when counting began used 350ms since";
        assert!(words.contains(&format!("; their cost is not known: {late} (10 calls")), "{words}");
        let told: Value = serde_json::from_str(&json(&window, false)).expect("JSON");
        let verdict = &told["verdicts"][0];
        assert_eq!(
            (&verdict["cost_pct"], &verdict["late_ns"]),
            (&Value::Null, &json!(350_000_000))
        );
    }

    #[test]
    fn no_verdict_without_evidence_and_losses_are_told() {
        let window = WakeupWindow {
            fans: vec![window().fans[0]],
            losses: Losses { lost: 5, ..Losses::default() },
            ..window()
        };
        insta::assert_snapshot!(text(&window, false, Sheet::rows(1)));
    }

    #[test]
    fn a_narrow_screen_leaves_out_what_matters_least() {
        let mut window = window();
        let worker =
            |tgid, name: &[u8]| TaskRef::thread(tgid, tgid, Comm::new(name), Comm::new(name));
        window.edges.push(Edge {
            waker: worker(27_051, b"kworker/1:1-mm_p"),
            wakee: worker(1_234_567, b"kworker/1:1-events"),
            ..window.edges[0]
        });
        let narrow = |width| crate::sheet::fits(width, |sheet| text(&window, false, sheet));
        insta::assert_snapshot!([40, 60, 80].map(narrow).join("\n---\n\n"));
    }

    #[test]
    fn json_and_csv_say_the_same() {
        insta::assert_snapshot!(json(&window(), false));
        let both = [csv_header(), csv(&window(), false)].concat();
        insta::assert_snapshot!(String::from_utf8(both).unwrap());
    }
}
