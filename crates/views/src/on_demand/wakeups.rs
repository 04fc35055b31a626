//! Wake-ups as text, JSON lines and CSV, with verdicts where the evidence is there.

use crate::{csv, grid};
use exactop_model::on_demand::wakeups::{herds, Edge, Fan, Herd, WakeupWindow};
use exactop_model::words::units::duration;
use exactop_model::{CallNr, Who};
use serde_json::{json, Value};

/// The version of the JSON schema, raised when a field changes its meaning or goes away.
pub const SCHEMA: u32 = 1;

/// For people: verdicts, then who wakes whom, then the calls that wake most, at most `rows` each.
pub fn text(wakeups: &WakeupWindow, rows: usize) -> String {
    let seconds = wakeups.seconds();
    let total: u64 = wakeups.edges.iter().map(|e| e.wakeups).sum();
    let nothing: u64 = wakeups.edges.iter().map(|e| e.unproductive).sum();
    let cost: u64 = wakeups.edges.iter().map(|e| e.unproductive_ns).sum();
    let mut out = format!(
        "Window {seconds:.3} s: {total} wake-ups ({} a second), {nothing} for nothing ({})\n",
        grid::rate(total, seconds),
        of_a_cpu(cost, seconds),
    );
    if wakeups.lost > 0 {
        out += &format!("{} wake-ups are missing: the tables were full\n", wakeups.lost);
    }
    for herd in herds(wakeups) {
        out += &(verdict(&herd) + "\n");
    }
    out += "\n";
    out += &edges(wakeups, rows);
    out += "\n";
    out += &fans(wakeups, rows);
    out
}

fn of_a_cpu(ns: u64, seconds: f64) -> String {
    format!("{:.1} % of a CPU", 100.0 * ns as f64 / (seconds.max(1e-9) * 1e9))
}

/// A thundering herd in plain words, with the evidence.
pub fn verdict(herd: &Herd) -> String {
    let Fan { waker, nr, calls, chains, unproductive, home, .. } = herd.fan;
    let woke = herd.fan.mean();
    let back = woke * unproductive as f64 / chains.max(1) as f64;
    let what = if home.is_futex() { "the same lock" } else { "the same wait" };
    let place = if home.is_futex() { String::new() } else { format!(" ({home})") };
    format!(
        "thundering herd: each {} by {waker} woke {woke:.0} threads, {back:.0} went back to {what}\
         {place} without doing anything; these runs cost {:.1} % of a CPU ({calls} calls, \
         {unproductive} of {chains} wake-ups for nothing)",
        call(nr),
        herd.cost_pct,
    )
}

fn call(nr: CallNr) -> String {
    if nr.is_futex() {
        "futex wake".into()
    } else {
        nr.to_string()
    }
}

fn edges(wakeups: &WakeupWindow, rows: usize) -> String {
    let mut sums = wakeups.between_processes();
    sums.sort_by(|(a, _), (b, _)| {
        (b.wakeups, a.waker, a.wakee).cmp(&(a.wakeups, b.waker, b.wakee))
    });
    let seconds = wakeups.seconds();
    let lines = sums.iter().take(rows).map(|(edge, threads)| {
        vec![
            edge.wakeups.to_string(),
            grid::rate(edge.wakeups, seconds),
            edge.unproductive.to_string(),
            duration(edge.unproductive_ns),
            threads.to_string(),
            edge.waker.to_string(),
            edge.wakee.to_string(),
        ]
    });
    let heading = ["WAKES", "WAKES/s", "NOTHING", "FOR", "THREADS", "WAKER", "WAKEE"];
    grid::text(&heading, &["WAKER", "WAKEE"], lines.collect()) + &grid::left_out(sums.len(), rows)
}

fn fans(wakeups: &WakeupWindow, rows: usize) -> String {
    let mut fans = wakeups.fans.clone();
    fans.sort_by(|a, b| {
        let rank = |f: &Fan| (f.wakeups, f.most);
        rank(b).cmp(&rank(a)).then((a.waker, a.nr).cmp(&(b.waker, b.nr)))
    });
    let lines = fans.iter().take(rows).map(|fan| {
        vec![
            fan.calls.to_string(),
            fan.wakeups.to_string(),
            format!("{:.1}", fan.mean()),
            fan.most.map_or("-".into(), |most| most.to_string()),
            fan.unproductive.to_string(),
            fan.waker.to_string(),
            fan.nr.to_string(),
        ]
    });
    let heading = ["CALLS", "WAKES", "MEAN", "MAX", "NOTHING", "WAKER", "CALL"];
    grid::text(&heading, &["WAKER", "CALL"], lines.collect()) + &grid::left_out(fans.len(), rows)
}

/// One JSON object on one line. Edges are those between threads.
pub fn json(wakeups: &WakeupWindow) -> String {
    let edges: Vec<Value> = sorted(&wakeups.edges).iter().map(|e| edge_json(e)).collect();
    let mut fans = wakeups.fans.clone();
    fans.sort_by_key(|f| (std::cmp::Reverse(f.wakeups), f.waker, f.nr));
    let fans: Vec<Value> = fans.iter().map(fan_json).collect();
    let verdicts: Vec<Value> = herds(wakeups)
        .iter()
        .map(|herd| {
            json!({
                "kind": "thundering_herd",
                "text": verdict(herd),
                "cost_pct": herd.cost_pct,
                "evidence": fan_json(&herd.fan),
            })
        })
        .collect();
    let object = json!({
        "schema": SCHEMA,
        "window": { "t0_ns": wakeups.t0_ns, "t1_ns": wakeups.t1_ns },
        "lost": wakeups.lost,
        "verdicts": verdicts,
        "edges": edges,
        "fans": fans,
    });
    format!("{object}\n")
}

fn sorted(edges: &[Edge]) -> Vec<&Edge> {
    let mut sorted: Vec<&Edge> = edges.iter().collect();
    sorted.sort_by_key(|e| (std::cmp::Reverse(e.wakeups), e.waker, e.wakee));
    sorted
}

fn who(who: &Who) -> Value {
    if who.tgid == 0 {
        return json!({ "pid": null, "tid": null, "comm": who.comm.to_string() });
    }
    json!({ "pid": who.tgid, "tid": who.tid, "comm": who.comm.to_string() })
}

fn edge_json(edge: &Edge) -> Value {
    json!({
        "waker": who(&edge.waker),
        "wakee": who(&edge.wakee),
        "wakes": edge.wakeups,
        "known": edge.chains,
        "unproductive": edge.unproductive,
        "unproductive_ns": edge.unproductive_ns,
    })
}

fn fan_json(fan: &Fan) -> Value {
    json!({
        "waker": who(&fan.waker),
        "syscall": fan.nr.name(),
        "nr": fan.nr.0,
        "calls": fan.calls,
        "wakes": fan.wakeups,
        "mean": fan.mean(),
        "max": fan.most,
        "known": fan.chains,
        "unproductive": fan.unproductive,
        "unproductive_ns": fan.unproductive_ns,
        "back_to": fan.home.name(),
    })
}

/// CSV's header line.
pub fn csv_header() -> Vec<u8> {
    let names = [
        "t0_ns",
        "t1_ns",
        "waker_pid",
        "waker_tid",
        "waker",
        "wakee_pid",
        "wakee_tid",
        "wakee",
        "wakes",
        "known",
        "unproductive",
        "unproductive_ns",
    ];
    let mut out = Vec::new();
    csv::line(&mut out, &names.map(String::from));
    out
}

/// A line for each edge between threads.
pub fn csv(wakeups: &WakeupWindow) -> Vec<u8> {
    let mut out = Vec::new();
    let id = |n: u32| if n == 0 { String::new() } else { n.to_string() };
    for edge in sorted(&wakeups.edges) {
        let fields = [
            wakeups.t0_ns.to_string(),
            wakeups.t1_ns.to_string(),
            id(edge.waker.tgid),
            id(edge.waker.tid.unwrap_or(0)),
            csv::text(&edge.waker.comm.to_string()),
            id(edge.wakee.tgid),
            id(edge.wakee.tid.unwrap_or(0)),
            csv::text(&edge.wakee.comm.to_string()),
            edge.wakeups.to_string(),
            edge.chains.to_string(),
            edge.unproductive.to_string(),
            edge.unproductive_ns.to_string(),
        ];
        csv::line(&mut out, &fields);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::Comm;

    fn window() -> WakeupWindow {
        let who = |tid, name: &[u8]| Who { tgid: 70, tid: Some(tid), comm: Comm::new(name) };
        let futex = CallNr::named("futex").unwrap();
        let server = who(70, b"tserver");
        let edge = |wakee, wakeups, unproductive| Edge {
            waker: server,
            wakee,
            wakeups,
            chains: wakeups,
            unproductive,
            unproductive_ns: unproductive * 3_000,
        };
        let fan = Fan {
            waker: server,
            nr: futex,
            calls: 10,
            wakeups: 9980,
            most: Some(999),
            chains: 9980,
            unproductive: 9970,
            unproductive_ns: 29_000_000,
            home: futex,
        };
        let one = Fan {
            nr: CallNr::named("write").unwrap(),
            wakeups: 10,
            most: Some(1),
            chains: 10,
            unproductive: 0,
            home: CallNr::NONE,
            ..fan
        };
        WakeupWindow {
            t0_ns: 0,
            t1_ns: 1_000_000_000,
            edges: vec![
                edge(who(71, b"w\x1b[2J"), 4990, 4985),
                edge(who(72, b"worker"), 4990, 4985),
                Edge { waker: Who::INTERRUPT, wakeups: 3, ..edge(server, 3, 0) },
            ],
            fans: vec![one, fan],
            lost: 0,
        }
    }

    #[test]
    fn a_herd_in_words() {
        insta::assert_snapshot!(text(&window(), 20));
    }

    #[test]
    fn no_verdict_without_evidence_and_losses_are_told() {
        let window = WakeupWindow { fans: vec![window().fans[0]], lost: 5, ..window() };
        insta::assert_snapshot!(text(&window, 1));
    }

    #[test]
    fn json_and_csv_say_the_same() {
        insta::assert_snapshot!(json(&window()));
        let both = [csv_header(), csv(&window())].concat();
        insta::assert_snapshot!(String::from_utf8(both).unwrap());
    }
}
