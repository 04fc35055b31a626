//! A process's panel on a live page: it requests programs while it is open, and shows their
//! reports.

use super::drawn::{Planted, HOSTILE};
use super::driver::Browser;
use super::live::{Machine, UNTIL};
use exactop_testkit::wait;
use serde_json::json;
use std::collections::BTreeMap;

/// Waits until these processes are looked at; true: with system calls.
fn until_wanted(machine: &Machine, wanted: &[(u32, bool)]) {
    let wanted = BTreeMap::from_iter(wanted.iter().copied());
    let look = || (machine.looks.open_processes() == wanted).then_some(());
    wait::find_or_say(&format!("{wanted:?}"), look, || {
        format!("{:?}", machine.looks.open_processes())
    });
}

fn until_shown(browser: &mut Browser, id: &str, words: &str) -> String {
    let shown = format!(
        "new Promise(done => {{ const look = () => {{ const text = document.getElementById('{id}').textContent; \
         text.includes({}) ? done(text) : setTimeout(look, 20); }}; look(); }})",
        json!(words)
    );
    browser.ask(&shown).as_str().expect("text").into()
}

fn tell(machine: &Machine) {
    let latency =
        json!({ "count": 7, "ns": 20_000_000, "p50_ns": 1000, "p99_ns": 2000, "max_ns": 3000 });
    let waits = json!({
        "window": { "t0_ns": 0, "t1_ns": 1_000_000_000 },
        "lost": 3,
        "rows": [{
            "pid": 15, "tid": 16, "comm": HOSTILE, "threads": 1, "queued": 0,
            "sleeps": [{ "state": "SLP", "syscall": "futex", "nr": 202, "ended": 1, "ns": 400_000_000, "max_ns": 1 }],
            "after_wakeup": latency, "after_preemption": latency, "ran_instead": [],
            "woken_by": [
                { "pid": 9, "tid": 9, "comm": HOSTILE, "wakes": 3 }, { "pid": 100, "tid": 100, "comm": "sh", "wakes": 4 },
                { "pid": 101, "tid": 101, "comm": "sh", "wakes": 2 }, { "pid": null, "tid": null, "comm": "interrupt", "wakes": 1 },
            ],
        }],
    });
    machine.looks.tell(15, false, "waits", &waits.to_string());
    let calls = json!({
        "window": { "t0_ns": 0, "t1_ns": 1_000_000_000 },
        "calls": [{
            "syscall": "read", "nr": 0, "calls": 1200, "errors": 3, "total_ns": 5_000_000, "mean_ns": 4000,
            "max_ns": 9000, "in_flight": 1, "errnos": { "EAGAIN": 3 },
        }],
    });
    machine.looks.tell(15, true, "calls", &calls.to_string());
}

#[test]
fn a_panel_tells_waits_wakers_and_calls_while_it_is_open() {
    let Some(mut browser) = Browser::start() else { return };
    let planted = Planted { threads: true, quota: Some(1), ..Planted::default() };
    let mut machine = Machine::serve(planted);
    machine.measure(3);
    machine.open(&mut browser);
    assert_eq!(browser.ask(&UNTIL.replace("WANTED", "3")), 3);
    until_wanted(&machine, &[]);
    let row = "[...document.querySelectorAll('#rows tbody button')].find(button => button.textContent === 'pool')";
    browser.ask(&format!("{row}.click()"));
    until_wanted(&machine, &[(15, false)]);
    machine.measure(1);
    until_shown(&mut browser, "row-threads", &format!("{HOSTILE} 17"));
    tell(&machine);
    let waits = until_shown(&mut browser, "row-waits", "futex");
    assert!(waits.contains("SLP futex 40.0 %"), "{waits}");
    assert!(waits.contains("2.00 %, 7 times, p99 2.0 µs, longest 3.0 µs"), "{waits}");
    let woken = format!("sh × 2 60 % (6), {HOSTILE}/9 30 % (3), interrupt 10 % (1)");
    assert!(waits.contains(&woken), "{waits}");
    until_shown(&mut browser, "row-waits-told", "3 were not counted");
    browser.ask("document.getElementById('row-count-calls').click()");
    until_wanted(&machine, &[(15, true)]);
    tell(&machine);
    let calls = until_shown(&mut browser, "row-calls", "read");
    assert!(calls.contains("1 200") && calls.contains("EAGAIN 3"), "{calls}");
    browser.picture("panel");
    // On a live page a finding also leads to its group.
    browser.ask("document.querySelector('#balance .lane .throttled').click()");
    until_shown(&mut browser, "group-title", "/shop/capped");
    until_shown(&mut browser, "group-facts", "0.40 CPUs by the quota of /shop");
    machine.looks.tell(
        15,
        false,
        "refused",
        &json!({ "what": "waits", "why": format!("no {HOSTILE}") }).to_string(),
    );
    until_shown(&mut browser, "row-waits-told", &format!("no {HOSTILE}"));
    browser.ask("document.getElementById('row-close').click()");
    until_wanted(&machine, &[]);
    let complaints = browser.complaints(&machine.own);
    assert!(complaints.is_empty(), "{complaints:#?}");
}
