//! Details that a daemon drops at its memory bound.

use crate::daemon::Daemon;
use crate::helpers::processes::{send, Load, HUP, TERM};
use crate::helpers::run::without_ledger;
use crate::helpers::terminal::Terminal;
use crate::metrics::{adds_up, page, port};
use exactop_testkit::wait;
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Number of details that a page reports as dropped; fails unless they follow the documented order.
fn given_up(page: &BTreeMap<String, i128>) -> usize {
    let all = ["history", "brief", "threads"];
    let all = all.map(|what| page[&format!("exactop_degraded{{what=\"{what}\"}}")]);
    let count = all.iter().filter(|&&value| value == 1).count();
    assert!((0..3).all(|n| all[n] == i128::from(n < count)), "out of order: {all:?}");
    count
}

/// Reads pages until `count` details are dropped; each page adds up.
fn pages_until(port: u16, first: &BTreeMap<String, i128>, count: usize) {
    wait::until(&format!("{count} details given up"), || {
        let now = page(port);
        adds_up(first, &now);
        given_up(&now) == count
    });
}

/// Names of a window's rows of tasks or exited processes. An exited group may count no processes:
/// if one exited before its window ended, the earlier time counts there.
fn names(window: &Value, rows: &str, pid: Option<u32>) -> Vec<String> {
    let rows = window[rows].as_array().expect("rows").iter();
    let rows = rows.filter(|row| row["kind"] == "task" || row["exited"] != 0);
    let rows = rows.filter(|row| pid.is_none_or(|pid| row["tgid"] == pid));
    rows.map(|row| row["comm"].as_str().expect("a name").to_string()).collect()
}

/// Checks that the accounts of a window are CPUs x time, and that its rows sum to the accounts of
/// tasks.
fn closes(window: &Value) {
    let mut books = window["books"].as_object().expect("accounts").clone();
    let total = books.remove("total_ns").expect("CPUs x time");
    let accounts: i64 = books.values().filter_map(Value::as_i64).sum();
    assert_eq!(Some(accounts), total.as_i64(), "{}", window["books"]);
    let rows = ["tasks", "exited"].map(|kind| window[kind].as_array().expect("rows"));
    let rows: i64 = rows.into_iter().flatten().filter_map(|row| row["run_ns"].as_i64()).sum();
    let of_rows = ["tasks_ns", "exited_ns"].map(|name| books[name].as_i64().expect("an account"));
    assert_eq!(rows, of_rows.iter().sum::<i64>(), "{}", window["books"]);
}

/// Threads of this process that run a little, again and again, until this is dropped.
struct Busy(std::sync::Arc<AtomicBool>);

impl Busy {
    fn start() -> Busy {
        let ends = std::sync::Arc::new(AtomicBool::new(false));
        for n in 0..4 {
            let (ends, name) = (ends.clone(), format!("ticker-{n}"));
            let thread = std::thread::Builder::new().name(name).spawn(move || {
                while !ends.load(Relaxed) {
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
            thread.expect("a thread");
        }
        Busy(ends)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn details_drop_in_order_at_the_bound_and_return_while_books_close() {
    if without_ledger() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let config = dir.path().join("config.toml");
    fs::write(&config, "memory = \"64G\"\n").expect("settings");
    let (port, path) = (port(), config.to_str().expect("UTF-8").to_string());
    let address = format!("127.0.0.1:{port}");
    let options = ["--config", &path, "--metrics", &address];
    let mut daemon = Daemon::start_in(dir, &options, None);
    let (_storm, _busy) = (Load::forks(), Busy::start());
    let bound = |memory: &str| {
        fs::write(&config, format!("memory = \"{memory}\"\n")).expect("settings");
        send(daemon.load.pid(), HUP);
    };
    let own = Some(std::process::id());
    let look = || daemon.windows(&["--threads", "-n", "3", "-d", "0.5"]);
    let first = page(port);
    assert_eq!(given_up(&first), 0);
    bound("1M");
    pages_until(port, &first, 3);
    let terminal = Terminal::new(120, 20, &["XDG_CONFIG_HOME=/nonexistent"]);
    terminal.start(&format!("-d 0.5 --source daemon --socket {}", daemon.socket().display()));
    terminal.shows("no history, exit rows, thread rows · daemon at its memory bound");
    for window in look() {
        closes(&window);
        assert_eq!(window["source"]["degraded"], json!(["history", "brief", "threads"]));
        let tasks = names(&window, "tasks", own);
        assert!(!tasks.iter().any(|name| name.starts_with("ticker-")), "{tasks:?}");
        assert_eq!(tasks.iter().filter(|name| *name == "(threads)").count(), 1, "{tasks:?}");
        let exited = names(&window, "exited", None);
        assert!(
            exited.contains(&"(brief)".into()) && !exited.contains(&"true".into()),
            "{exited:?}"
        );
    }
    bound("64G");
    pages_until(port, &first, 0);
    // Windows from before the change are no longer sent.
    page(port);
    terminal.passes(|screen| match screen.contains("memory bound") {
        true => Err("the view still names what is missing".into()),
        false => Ok(()),
    });
    drop(terminal);
    for window in look() {
        closes(&window);
        assert_eq!(window["source"]["degraded"], json!([]));
        let tasks = names(&window, "tasks", own);
        let tickers = tasks.iter().filter(|name| name.starts_with("ticker-")).count();
        assert_eq!((tickers, tasks.contains(&"(threads)".into())), (4, false), "{tasks:?}");
        let exited = names(&window, "exited", None);
        assert!(
            exited.contains(&"true".into()) && !exited.contains(&"(brief)".into()),
            "{exited:?}"
        );
    }
    assert_eq!(daemon.end(TERM), Some(0), "{}", daemon.said());
    let said = daemon.said();
    let lines = said.lines().filter_map(|line| Some(line.split_once("the daemon ")?.1));
    let lines: Vec<String> = lines
        .map(|line| line.split([':', '(']).next().expect("words").trim().to_string())
        .collect();
    let order = ["drops history", "drops exit rows", "drops rows of threads"];
    let back = ["restores rows of threads", "restores exit rows", "restores history"];
    assert_eq!(lines, [order, back].concat(), "{said}");
    assert!(daemon.verified().code == Some(0), "{}", daemon.verified().err);
}
