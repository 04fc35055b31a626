//! Recorded windows go to a store as they close: each once, also after kills.

use crate::daemon::{parsed, Daemon};
use crate::helpers::processes::{KILL, TERM};
use crate::helpers::run::{run, without_ledger};
use crate::metrics::{page, port};
use crate::stand_in::{Mood, StandIn};
use exactop_testkit::wait;
use serde_json::Value;
use std::fs;

/// The windows of its log.
pub fn recorded(daemon: &Daemon) -> Vec<(u64, u64)> {
    let replayed = run(&["replay", daemon.log().to_str().expect("UTF-8"), "--json"]).out;
    let at = |window: &Value, name: &str| window["window"][name].as_u64().expect("a time");
    parsed(&replayed).iter().map(|window| (at(window, "t0_ns"), at(window, "t1_ns"))).collect()
}

#[test]
fn a_repeatedly_killed_daemon_sends_each_window_once() {
    if without_ledger() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let kept = dir.path().join("store");
    let store = StandIn::start(&kept, Mood::Away);
    let config = dir.path().join("config.toml");
    let settings = "[record]\ninterval = \"1s\"\n[export]\nevery = \"1s\"\n";
    fs::write(&config, settings).expect("settings");
    let port = port();
    let options = [
        ("--config", config.to_str().expect("UTF-8").to_string()),
        ("--export", store.url.clone()),
        ("--metrics", format!("127.0.0.1:{port}")),
    ];
    let options: Vec<&str> = options.iter().flat_map(|(name, value)| [*name, &**value]).collect();
    let mut daemon = Daemon::start_in(dir, &options, None);
    wait::until("a failure", || {
        page(port)["exactop_export_events_total{kind=\"failure\"}"] > 0
            && recorded(&daemon).len() > 2
    });
    store.fares(Mood::Moody);
    for _ in 0..3 {
        // A daemon that is killed before its first window leaves one gap with the one before it.
        let (asked, written) = (store.requests(), recorded(&daemon).len());
        wait::until("some of it is there", || {
            store.requests() > asked + 4 && recorded(&daemon).len() > written
        });
        daemon.end(KILL);
        daemon.start_again();
    }
    let there = || store.windows().len();
    let before = there();
    wait::until("more of it is there", || there() > before);
    store.fares(Mood::Well);
    wait::until("all was sent", || {
        let page = page(port);
        let sent = page["exactop_export_windows_total{outcome=\"sent\"}"];
        sent > 0 && page["exactop_export_pending_bytes"] == 0
    });
    assert!(page(port)["exactop_export_behind_seconds"] >= 0);
    let sent = store.windows().len();
    assert_eq!(daemon.end(TERM), Some(0), "{}", daemon.said());
    // On a slow machine, windows that close while this daemon ends are sent by the next one.
    let (there, all) = (store.windows(), recorded(&daemon));
    assert!(all.starts_with(&there) && there.len() >= sent, "{there:?}\n{all:?}");
    assert!(daemon.said().contains("windows wait in the log"), "{}", daemon.said());
    let balance = run(&["fleet", "check", "--from", kept.to_str().expect("UTF-8"), "--json"]);
    let told: Value = serde_json::from_str(&balance.out).expect("JSON");
    let host = &told["hosts"][0];
    for what in ["doubled_rows", "uneven_windows", "stray_windows", "open_windows"] {
        assert_eq!(host[what], 0, "{what}: {host}");
    }
    assert_eq!(host["gaps"]["count"], 3, "the kills: {host}");
}

#[test]
fn wrong_export_settings_are_refused_before_programs_attach() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("config.toml");
    let config = path.to_str().expect("UTF-8");
    let check = |text: &str, words: &str| {
        fs::write(&path, text).expect("settings");
        run(&["daemon", "--check", "--config", config]).refused(2, words);
    };
    check("[export]\nto = \"store:8443\"\n", "not the address of a store");
    check("[export]\nto = \"/srv/books\"\n", "or parquet:DIR for files");
    check("[export]\nto = \"parquet:\"\n", "names no place: write parquet:DIR");
    check("[export]\nto = \"parquet:httpx://s/b\"\n", "cannot send files by this protocol");
    check("[export]\nto = \"parquet:/b\"\nlogin = \"/x\"\n", "export.login does not fit");
    check(
        "[export]\nto = \"parquet:http://s/b\"\ndatabase = \"x\"\n",
        "export.database does not fit",
    );
    check("[export]\nto = \"parquet:/dev/null\"\n", "give a directory");
    check("[record]\nenabled = false\n[export]\nto = \"http://s\"\n", "set record.enabled");
    check("[export]\nto = \"https://s\"\nlogin = \"/nonexistent\"\n", "/nonexistent");
    check("[export]\nto = \"https://s\"\nca = \"/dev/null\"\n", "/dev/null");
    let login = dir.path().join("login");
    fs::write(&login, "jo:secret\n").expect("a file");
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(&login, fs::Permissions::from_mode(0o600)).expect("rights");
    let with = format!("login = \"{}\"\n", login.display());
    check(&format!("[export]\nto = \"http://store:8123\"\n{with}"), "in the clear");
    fs::write(&path, format!("[export]\nto = \"http://localhost:8123\"\n{with}")).expect("it");
    let told = run(&["daemon", "--check", "--config", config]).fine();
    assert!(told.contains("[export]\nto = \"http://localhost:8123\"\n"), "{told}");
    assert!(!told.contains("secret"), "{told}");
    fs::write(&path, "").expect("settings");
    let told = run(&["daemon", "--check", "--config", config, "--export", "https://store"]).fine();
    assert!(told.contains("to = \"https://store\"\n"), "{told}");
    // The default interval depends on the target.
    assert!(told.contains("every = \"1m\"\n"), "{told}");
    let into = format!("parquet:{}", dir.path().join("books").display());
    let told = run(&["daemon", "--check", "--config", config, "--export", &into]).fine();
    assert!(told.contains("every = \"10m\"\n") && told.contains(&into), "{told}");
}
