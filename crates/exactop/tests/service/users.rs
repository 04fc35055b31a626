//! Users of exited processes, in the daemon's log and for its readers.

use crate::daemon::{parsed, Daemon, Looking};
use crate::helpers::processes::{Load, TERM};
use crate::helpers::run::{run, without_ledger};
use exactop_testkit::wait;
use serde_json::Value;

/// A uid that no other process has.
const UID: u32 = 543_210;
/// Number of processes that exit under it.
const PROCESSES: u64 = 100;

/// Sum of a figure of this user in all windows.
fn theirs(windows: &[Value], figure: &str) -> u64 {
    let rows = windows.iter().flat_map(|window| window["rows"].as_array().expect("rows"));
    let name = UID.to_string();
    let of_them = rows.filter(|row| row["name"] == name.as_str());
    of_them.map(|row| row[figure].as_u64().expect("a number")).sum()
}

#[test]
fn exited_processes_belong_to_their_last_user() {
    if without_ledger() {
        return;
    }
    let mut daemon = Daemon::start(&[]);
    let reader = Looking::start(&daemon, "by", &["--by", "user", "-d", "0.3"]);
    wait::until("a window", || reader.count() > 0);
    // Each process starts as root.
    let work = format!(
        "i=0; while [ $i -lt {PROCESSES} ]; do setpriv --reuid={UID} --clear-groups /bin/true; i=$((i+1)); done"
    );
    let mut load = Load::shell(&work);
    wait::until("the load ends", || load.0.try_wait().expect("a child").is_some());
    let before = reader.count();
    wait::until("windows that cover the load", || reader.count() > before + 1);
    assert_eq!(theirs(&reader.stop(), "exited_processes"), PROCESSES);
    assert_eq!(daemon.end(TERM), Some(0), "{}", daemon.said());
    let log = daemon.log();
    let log = log.to_str().expect("UTF-8");
    let logged = parsed(&run(&["replay", log, "--json", "--by", "user"]).fine());
    assert_eq!(theirs(&logged, "exited_processes"), PROCESSES);
    let used_ns = theirs(&logged, "run_ns");
    assert!(used_ns > 0);
    let report: Value =
        serde_json::from_str(&run(&["report", log, "--by", "user", "--json"]).fine())
            .expect("JSON");
    assert!(report.to_string().contains(&format!("\"{UID}\"")), "{report}");
}
