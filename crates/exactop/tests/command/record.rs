//! Recording while printing, and replaying: the bytes are the same.

use crate::helpers::processes::Load;
#[cfg(feature = "bpf")]
use crate::helpers::run::without_ledger;
use crate::helpers::run::{command, done, run};
use crate::made_up_proc::tree;
use exactop_testkit::wait;
use std::path::Path;
use std::process::Stdio;

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Prints and records windows, and replays them with the same options. Returns the number of lines.
fn same_bytes(source: &str, options: &[&str]) -> usize {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let pace = ["-n", "4", "-d", "0.3", "--source", source, "--record", text(&path)];
    let live = run(&[options, &pace].concat()).fine();
    let replayed = run(&[&["replay", text(&path)], options].concat()).fine();
    assert!(live == replayed, "{source} {options:?}:\n{live}\n--- replayed:\n{replayed}");
    run(&["record", "verify", text(&path)]).fine();
    live.lines().count()
}

/// Formats to compare.
const WAYS: [&[&str]; 5] = [
    &["--json"],
    &["--csv"],
    &["-b", "-1"],
    &["--json", "-H", "--columns", "pid,tgid,comm,cpu_pct,pr,ni,virt,res,time,user,cgroup"],
    &["-b", "--preset", "ptop"],
];

/// Same for a command with its own format; `one`: the words for one window of a recording.
fn same_bytes_of(command: &str, source: &str, options: &[&str], pace: &[&str], one: &[&str]) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let measuring = ["--source", source, "--record", text(&path)];
    let live = run(&[&[command], options, &measuring, pace].concat()).fine();
    let replayed = run(&[&[command, "--replay", text(&path)], options].concat()).fine();
    assert!(live == replayed, "{command} {options:?}:\n{live}\n--- replayed:\n{replayed}");
    assert!(live.lines().count() > 4, "{live}");
    let few =
        run(&[&[command, "--replay", text(&path), "--time", "1h ago"], options, one].concat());
    assert!(few.err.contains("the recording begins after that time, at "), "{}", few.err);
    assert_eq!((few.code, few.err.lines().count()), (Some(0), 1), "{}", few.err);
    assert!(few.out.lines().count() < live.lines().count(), "the first one only");
}

/// Reports of prstat.
const REPORTS: [&[&str]; 4] = [&["-c"], &["-cL", "-n", "8"], &["-a", "-du"], &["-Z", "-s", "rss"]];

#[test]
fn replayed_reports_equal_the_printed_ones() {
    for way in REPORTS {
        same_bytes_of("prstat", "procfs", way, &["1", "2"], &["5", "1"]);
    }
    same_bytes_of("ptop", "procfs", &["--rows", "7"], &["0.3", "3"], &["-n", "1"]);
    let dir = tempfile::tempdir().expect("a directory");
    let of = ["prstat", "--replay", text(dir.path())];
    run(&[&of[..], &["-U", "root"]].concat()).refused(1, "-U conflicts with --replay");
    run(&[&of[..], &["--source", "procfs"]].concat()).refused(1, "conflicts with --replay");
    run(&of).refused(1, "no recording in");
    run(&["ptop", "--replay", text(dir.path()), "-d", "2"]).refused(2, "conflicts with a replay");
}

#[cfg(feature = "bpf")]
#[test]
fn replayed_reports_of_the_ledger_equal_the_printed_ones() {
    if without_ledger() {
        return;
    }
    let _storm = Load::shell("while :; do echo x | cat; done");
    same_bytes_of("prstat", "auto", &["-mL", "-c"], &["1", "2"], &["5", "1"]);
    same_bytes_of("ptop", "ledger", &[], &["0.3", "3"], &["-n", "1"]);
}

#[test]
fn a_replay_of_proc_equals_the_printed_windows() {
    for way in WAYS {
        assert!(same_bytes("procfs", way) > 3);
    }
}

#[cfg(feature = "bpf")]
#[test]
fn a_replay_of_the_ledger_equals_the_printed_windows() {
    if without_ledger() {
        return;
    }
    // Short lives and pipes, which end together with the shell.
    let _storm = Load::shell("while :; do echo x | cat; done");
    for way in WAYS {
        assert!(same_bytes("ledger", way) > 3);
    }
}

#[test]
fn record_runs_until_a_signal_and_a_second_recorder_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let words = ["record", "-d", "0.2", "--source", "procfs", "--dir", text(&path)];
    let mut recorder = Load(command(&words).stdout(Stdio::null()).spawn().expect("exactop"));
    let windows = || run(&["replay", text(&path), "--csv", "--columns", "pid"]).out.lines().count();
    wait::until("windows", || path.join("exactop-00000001.rec").exists() && windows() > 100);
    let pid = recorder.pid();
    run(&words).refused(1, &format!("process {pid} records into"));
    let stop = rustix::process::Pid::from_raw(pid as i32).expect("a pid");
    rustix::process::kill_process(stop, rustix::process::Signal::TERM).expect("a signal");
    assert!(!recorder.0.wait().expect("its end").success());
    let list = run(&["record", "list", text(&path)]).fine();
    assert!(list.contains("exactop-00000001.rec") && !list.contains("not closed"), "{list}");
    let verified = run(&["record", "verify", text(&path)]).fine();
    assert!(verified.contains("whole") && verified.contains("; 0 gaps"), "{verified}");
    // From a time on, but not from a time after the end.
    let one = run(&["replay", text(&path), "--json", "--once", "-t", "1h ago"]);
    assert_eq!((one.code, one.out.lines().count()), (Some(0), 1));
    assert!(one.err.contains("the recording begins after that time, at "), "{}", one.err);
    run(&["replay", text(&path), "--json", "-t", "2200-01-01 00:00"]).refused(1, "ends before");
    run(&["replay", text(&path)]).refused(2, "add -b for text");
    // A changed byte is reported if it is behind the header, without which nothing is read.
    let file = path.join("exactop-00000001.rec");
    let mut bytes = std::fs::read(&file).expect("the file");
    let late = bytes.len() * 7 / 8;
    bytes[late] ^= 1;
    std::fs::write(&file, bytes).expect("the file");
    let damaged = run(&["record", "verify", text(&path)]);
    assert_eq!(damaged.code, Some(1));
    assert!(damaged.out.contains("DAMAGED"), "{}", damaged.out);
}

#[test]
fn command_lines_are_kept_or_not() {
    let tree = tree();
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let words = ["--json", "-c", "--once", "-d", "0.05", "--columns", "pid,command"];
    let mut live = command(&[&words[..], &["--record", text(&path)]].concat());
    live.arg("--proc-root").arg(tree.path());
    let live = done(live).fine();
    let replay = ["replay", text(&path), "--json", "-c", "--columns", "pid,command"];
    assert_eq!(run(&replay).fine(), live);
}

#[test]
fn a_recorder_can_omit_command_lines() {
    // A unique argument of the sleeper, which only its command line holds.
    let secret = format!("86399.{}", std::process::id());
    let _sleeper = Load(std::process::Command::new("sleep").arg(&secret).spawn().expect("sleep"));
    for (option, there) in [(&[][..], true), (&["--no-command-lines"][..], false)] {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("recording");
        let words = ["record", "--source", "procfs", "-d", "0.05", "--dir", text(&path)];
        let recorder = command(&[&words, option].concat()).spawn().expect("exactop");
        let recorder = Load(recorder);
        let replay = ["replay", text(&path), "--json", "-c", "-n", "2", "--columns", "pid,command"];
        wait::until("two windows are recorded", || {
            path.exists() && run(&replay).out.lines().count() == 2
        });
        drop(recorder);
        let told = run(&replay).out;
        let bytes = std::fs::read(path.join("exactop-00000001.rec")).expect("the file");
        assert_eq!(told.contains(&secret), there, "{option:?}: {told}");
        assert!(there || !bytes.windows(secret.len()).any(|part| part == secret.as_bytes()));
    }
}

#[test]
fn options_that_do_not_fit_a_recording_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = text(dir.path());
    run(&["replay", path, "--json"]).refused(1, "no recording in");
    // Without a terminal, too.
    run(&["replay", path]).refused(1, "no recording in");
    run(&["replay", path, "--json", "-d", "1"]).refused(2, "--delay conflicts with a replay");
    run(&["replay", path, "--json", "--split", "exact"]).refused(2, "--split conflicts with");
    run(&["replay", path, "--json", "--irq", "on"]).refused(2, "--irq conflicts with");
    run(&["replay", path, "--json", "--budget", "2"]).refused(2, "--budget conflicts with");
    run(&["replay", path, "-O"]).refused(2, "exactop columns");
    run(&["replay", path, "--json", "-t", "soon"]).refused(2, "is not a time");
    run(&["replay", "/nonexistent/x", "--json"]).refused(1, "/nonexistent");
    run(&["record", "--keep", "7"]).refused(2, "12h or 7d");
    run(&["record", "--max-size", "1"]).refused(2, "500M or 2G");
    std::fs::write(dir.path().join("text"), "x".repeat(100)).expect("a file");
    run(&["replay", text(&dir.path().join("text")), "--json"]).refused(1, "is not a recording");
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o777)).expect("permissions");
    run(&["record", "--dir", path, "--source", "procfs"]).refused(1, "others can write to");
}

#[test]
fn notices_of_a_recording_appear_while_windows_are_printed() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut mount = std::process::Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(dir.path());
    if !mount.output().is_ok_and(|done| done.status.success()) {
        eprintln!("left out: mounting a file system takes root");
        return;
    }
    let path = dir.path().join("recording");
    std::fs::write(dir.path().join("filling"), vec![0; 56 << 10]).expect("a file");
    let words = ["-b", "-d", "0.05", "--source", "procfs", "--record", text(&path)];
    let said = dir.path().with_extension("said");
    let err = std::fs::File::create(&said).expect("a file");
    let windows = Load(command(&words).stdout(Stdio::null()).stderr(err).spawn().expect("exactop"));
    let told = || std::fs::read_to_string(&said).expect("what was said");
    wait::until("a notice", || told().contains("unwritten windows will be a gap"));
    drop(windows);
    let _ = std::process::Command::new("umount").arg("-l").arg(dir.path()).status();
    let _ = std::fs::remove_file(&said);
}

#[test]
fn a_foreign_header_writes_no_escape_sequence() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let words = ["--json", "-n", "1", "-d", "0.05", "--source", "procfs", "--record", text(&path)];
    run(&words).fine();
    let file = path.join("exactop-00000001.rec");
    let second = path.join("exactop-00000002.rec");
    let later = later_form(&std::fs::read(&file).expect("the file"));
    std::fs::write(&second, later).expect("a file");
    for what in ["list", "verify"] {
        let told = run(&["record", what, text(&path)]).out;
        assert!(told.contains("9\\u{1b}[2J") || told.contains("9\\x1b[2J"), "{told:?}");
        assert!(!told.contains('\u{1b}'), "{told:?}");
    }
}

/// A file whose header claims a later version with a hostile name.
fn later_form(file: &[u8]) -> Vec<u8> {
    let json = br#"{"format":99,"exactop":"9\u001b[2J"}"#;
    let mut header = file[8..64].to_vec();
    header[40..44].copy_from_slice(&(json.len() as u32).to_le_bytes());
    header[44..48].copy_from_slice(&(json.len() as u32).to_le_bytes());
    header[48..52].copy_from_slice(&crc32c(json).to_le_bytes());
    let crc = crc32c(&header[..52]);
    header[52..].copy_from_slice(&crc.to_le_bytes());
    let length = (header.len() + json.len() + 4) as u32;
    [&file[..8], &header, json, &length.to_le_bytes()].concat()
}

fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg())
        })
    })
}

#[cfg(feature = "bpf")]
#[test]
fn replayed_groups_have_the_ledgers_charges() {
    if without_ledger() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let pace = ["-n", "3", "-d", "0.3", "--source", "ledger", "--columns", "pid,cgroup"];
    let _storm = Load::shell("while :; do echo x | cat; done");
    let live = run(&[&["--json", "--record", text(&path)], &pace[..]].concat()).fine();
    let told = |line: &str| -> serde_json::Value { serde_json::from_str(line).expect("JSON") };
    let groups = run(&["cgroups", "--replay", text(&path), "--json"]).fine();
    assert_eq!((live.lines().count(), groups.lines().count()), (3, 3));
    for (window, groups) in live.lines().map(told).zip(groups.lines().map(told)) {
        for at in ["t0_ns", "t1_ns"] {
            assert_eq!(groups["window"][at], window["window"][at]);
        }
        let rows = groups["groups"].as_array().expect("groups");
        let root = rows.iter().find(|row| row["path"] == "/").expect("the root");
        let ns = |of: &serde_json::Value| of.as_u64().expect("ns");
        let used = ns(&window["books"]["tasks_ns"]) + ns(&window["books"]["exited_ns"]);
        assert_eq!(ns(&root["ledger_run_ns"]), used, "all is in some group");
        let top = rows.iter().filter(|row| {
            let path = row["path"].as_str().expect("a path");
            path != "/" && !path[1..].contains('/')
        });
        let below: u64 = top.map(|row| ns(&row["ledger_run_ns"])).sum();
        assert!(below <= used, "{below} of {used}");
        assert!(rows.iter().all(|row| row["usage_ns"].is_null() && row["max"].is_null()));
    }
    let csv = run(&["cgroups", "--replay", text(&path), "--csv", "-n", "1"]).fine();
    assert!(csv.lines().count() > 1 && csv.starts_with("t0_ns,"), "{csv}");
    let late = run(&["cgroups", "--replay", text(&path), "-t", "1h ago", "-n", "1"]);
    assert!(late.err.contains("the recording begins after that time"), "{}", late.err);
    assert!(late.out.starts_with("Window "), "{}", late.out);
}

#[test]
fn a_recording_of_proc_has_no_groups() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let pace = ["--csv", "-n", "2", "-d", "0.2", "--source", "procfs"];
    run(&[&pace[..], &["--record", text(&path)]].concat()).fine();
    run(&["cgroups", "--replay", text(&path)])
        .refused(1, "the source procfs charges no control groups");
    run(&["cgroups", "-t", "1h ago"]).refused(2, "--replay");
}
