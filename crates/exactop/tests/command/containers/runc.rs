//! Containers made by runc, as every engine makes them.

use super::{assert_charged, bound, by_name, each_of, is_here, number, said, windows};
use super::{Watching, CONTAINERS, SPINS};
use crate::helpers::run::run;
use serde_json::{json, Value};
use std::fs;
use std::process::Command;

/// The bundle of a container that can run this machine's programs.
pub struct Bundle(tempfile::TempDir);

impl Bundle {
    pub fn new(script: &str) -> Bundle {
        Bundle::with(script, json!({}))
    }

    /// With these limits (`resources` of the runtime specification).
    pub fn with(script: &str, resources: Value) -> Bundle {
        let dir = tempfile::tempdir().expect("a directory");
        fs::create_dir(dir.path().join("rootfs")).expect("a root");
        let bound = bound().map(|path| {
            json!({ "destination": path, "source": path, "type": "bind", "options": ["rbind", "ro"] })
        });
        let proc = json!({ "destination": "/proc", "type": "proc", "source": "proc" });
        // Each container has its own /dev, because several share one root.
        let dev = json!({ "destination": "/dev", "type": "tmpfs", "source": "tmpfs" });
        let mounts: Vec<Value> = [proc, dev].into_iter().chain(bound).collect();
        let config = json!({
            "ociVersion": "1.0.2",
            "process": {
                "user": { "uid": 0, "gid": 0 },
                "args": ["/bin/sh", "-c", script],
                "env": ["PATH=/bin"],
                "cwd": "/",
            },
            "root": { "path": "rootfs" },
            "mounts": mounts,
            "linux": {
                "namespaces": [{ "type": "pid" }, { "type": "mount" }, { "type": "ipc" }],
                "resources": resources,
            },
        });
        fs::write(dir.path().join("config.json"), config.to_string()).expect("a configuration");
        Bundle(dir)
    }

    /// The command that runs it.
    pub fn command(&self, name: &str) -> Command {
        let mut runc = Command::new("runc");
        runc.args(["run", "--bundle"]).arg(self.0.path()).arg(name);
        runc
    }

    /// Runs the container to its end, and returns its output.
    fn run(&self, name: &str) -> String {
        said(name, self.command(name))
    }
}

#[test]
fn each_of_200_brief_containers_is_charged_by_name_live_and_in_replay() {
    if !is_here("runc", "runc") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let recording = dir.path().join("recording");
    let recording = recording.to_str().expect("a plain path");
    let by = ["--json", "--by", "container"];
    let ledger = ["--source", "ledger", "-d", "0.5", "--record", recording];
    let watching = Watching::start(dir.path(), &[&by[..], &ledger].concat());
    let bundle = Bundle::new(SPINS);
    let name = |n: usize| format!("exactop-test-{}-{n}", std::process::id());
    let told: Vec<(String, u64)> = each_of(CONTAINERS, |n, _| {
        (name(n), bundle.run(&name(n)).trim().parse().expect("a figure"))
    });
    watching.settle();
    let sums = by_name(&watching.stop());
    assert_eq!(told.len(), CONTAINERS);
    assert_charged(&told, &sums);
    let replayed = run(&[&["replay", recording][..], &by].concat()).fine();
    assert_eq!(by_name(&windows(&replayed)), sums, "what was recorded is what was shown");
    let report = run(&["report", recording, "--by", "container", "--json"]).fine();
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let rows = report["rows"].as_array().expect("rows");
    for (name, _) in &told {
        let row = rows.iter().find(|row| row["name"] == name.as_str());
        let row = row.unwrap_or_else(|| panic!("{name} is not in the report"));
        assert_eq!(number(row, "run_ns"), sums[name].0, "{name}");
    }
}

#[test]
fn rows_say_which_container_they_are_in() {
    if !is_here("runc", "runc") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let recording = dir.path().join("recording");
    let recording = recording.to_str().expect("a plain path");
    let name = format!("exactop-row-{}", std::process::id());
    let (bundle, filter) = (Bundle::new("sleep 2; echo done"), format!("container=={name}"));
    let look = ["--json", "--columns", "comm,container,pod,unit", "--filter", &filter];
    let ledger = ["--source", "ledger", "-d", "0.3", "--record", recording];
    let watching = Watching::start(dir.path(), &[&look[..], &ledger].concat());
    assert_eq!(bundle.run(&name), "done\n");
    watching.settle();
    let windows = watching.stop();
    let rows = |kind: &str| {
        let rows = windows.iter().flat_map(|window| window[kind].as_array().expect("rows"));
        rows.cloned().collect::<Vec<Value>>()
    };
    let (living, exited) = (rows("tasks"), rows("exited"));
    assert!(living.iter().any(|row| row["comm"] == "sleep"), "{living:?}");
    assert!(exited.iter().any(|row| row["comm"] == "sleep"), "{exited:?}");
    for row in living.iter().chain(&exited) {
        assert_eq!(row["container"], name.as_str(), "{row}");
        assert!(row["pod"].is_null(), "{row}");
    }
    let replayed = run(&[&["replay", recording][..], &look].concat()).fine();
    let live: Vec<Value> = windows;
    let replayed: Vec<Value> = super::windows(&replayed);
    assert_eq!(replayed.len(), live.len());
    for (then, now) in live.iter().zip(&replayed) {
        assert_eq!((&then["tasks"], &then["exited"]), (&now["tasks"], &now["exited"]));
    }
}
