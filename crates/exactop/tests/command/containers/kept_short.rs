//! A container that is kept from running is reported in words, with the cause.

use super::runc::Bundle;
use super::{is_here, Watching};
use crate::helpers::processes::Load;
use crate::run::groups;
use exactop_testkit::wait;
use serde_json::{json, Value};
use std::process::{Command, Stdio};

/// Runs on the first CPU until it is killed.
const ON_ONE_CPU: &str = "exec taskset -c 0 /bin/sh -c 'while :; do :; done'";
/// Two such loops on any CPU.
const TWICE: &str = "(while :; do :; done) & while :; do :; done";

/// A container that runs until this is dropped.
struct Runs {
    name: String,
    _bundle: Bundle,
    _runc: Load,
}

impl Runs {
    fn start(what: &str, script: &str, resources: Value) -> Runs {
        let name = format!("exactop-{what}-{}", std::process::id());
        let bundle = Bundle::with(script, resources);
        let runc = Load::start(bundle.command(&name).stdin(Stdio::null()));
        Runs { name, _bundle: bundle, _runc: runc }
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        let _ = Command::new("runc").args(["delete", "--force", &self.name]).status();
    }
}

#[test]
fn a_throttled_and_a_starved_container_are_reported_in_words() {
    if groups().is_none() || !is_here("runc", "runc") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let look = ["-b", "--by", "container", "--source", "ledger", "-d", "0.5"];
    let watching = Watching::start(dir.path(), &look);
    let quota = json!({ "cpu": { "quota": 20_000, "period": 100_000 } });
    let throttled = Runs::start("throttled", TWICE, quota);
    let starved = Runs::start("starved", ON_ONE_CPU, json!({ "cpu": { "shares": 10 } }));
    let fed = Runs::start("fed", ON_ONE_CPU, json!({}));
    let told = |of: &Runs, words: &str, end: &str| {
        let of = format!("container {} asked for ", of.name);
        let said = watching.said();
        let mut lines = said.lines().filter(|line| line.contains(&of));
        lines.any(|line| line.contains(words) && line.ends_with(end))
    };
    wait::until("who is throttled, and by what", || {
        told(&throttled, " % of that time by a quota of 0.2", "")
    });
    wait::until("who is starved, and at which weight", || {
        told(&starved, ": waited for a CPU ", " % of that time at a weight of 1")
    });
    assert!(!told(&fed, "throttled ", ""), "{}", watching.said());
}
