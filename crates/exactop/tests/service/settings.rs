//! Settings: printed, refused, and read again.

use crate::daemon::Daemon;
use crate::helpers::processes::{send, HUP, TERM};
use crate::helpers::run::{run, without_ledger};
use exactop_testkit::wait;
use std::fs;

#[test]
fn check_prints_the_settings_and_their_errors() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("config.toml");
    let config = path.to_str().expect("UTF-8");
    fs::write(&path, "[record]\nkeep = \"36h\"\n").expect("settings");
    let told = run(&["daemon", "--check", "--config", config, "--metrics", "127.0.0.1:1"]).fine();
    assert!(told.contains("keep = \"36h\"\n"), "{told}");
    assert!(told.contains("listen = \"127.0.0.1:1\"\n"), "{told}");
    fs::write(&path, "\n[metrics]\nlisten_on = \"127.0.0.1:1\"\n").expect("settings");
    run(&["daemon", "--check", "--config", config]).refused(2, ":3: unknown field `listen_on`");
    fs::write(&path, "sockt = \"/run/x\"\n").expect("settings");
    run(&["daemon", "--check", "--config", config]).refused(2, "did you mean `socket`?");
    run(&["daemon", "--check", "--config", "/nonexistent"]).refused(2, "/nonexistent");
    run(&["daemon", "--check", "--metrics", "here"]).refused(2, "--metrics");
}

#[test]
fn sighup_reads_the_settings_again() {
    if without_ledger() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("config.toml");
    fs::write(&path, "").expect("settings");
    let config = path.to_str().expect("UTF-8").to_string();
    let mut daemon = Daemon::start_in(dir, &["--config", &config], None);
    let reloaded = |daemon: &Daemon, words: &str| {
        send(daemon.load.pid(), HUP);
        wait::until(words, || daemon.said().contains(words));
    };
    let anew =
        "group = \"tty\"\n[record]\ninterval = \"1s\"\n[export]\nto = \"http://127.0.0.1:1\"\n";
    fs::write(&path, anew).expect("settings");
    reloaded(&daemon, "take effect with a restart: group, [export]\n");
    let windows = || {
        let files = fs::read_dir(daemon.log()).expect("a recording").flatten();
        files.map(|file| file.metadata().map_or(0, |data| data.len())).sum::<u64>()
    };
    // One window per second from now on, instead of one per ten seconds.
    let before = windows();
    wait::until("windows of a second", || windows() > before + 1000);
    fs::write(&path, "[recording]\n").expect("settings");
    reloaded(&daemon, "cannot apply the settings");
    assert!(daemon.said().contains(":1: unknown field `recording`"), "{}", daemon.said());
    assert_eq!(daemon.windows(&["-n", "1", "-d", "0.1"]).len(), 1, "it goes on");
    assert_eq!(daemon.end(TERM), Some(0));
}
