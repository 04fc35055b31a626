//! Replays of commands that sum windows: the names and the windows of the recording.

use crate::helpers::processes::Load;
use crate::helpers::run::run;
#[cfg(feature = "bpf")]
use crate::helpers::run::without_ledger;
#[cfg(feature = "bpf")]
use exactop_testkit::wait;
#[cfg(feature = "bpf")]
use serde_json::Value;
use std::fs;
#[cfg(feature = "bpf")]
use std::path::PathBuf;

/// Place for a recording, removed on drop.
fn place() -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording").display().to_string();
    (dir, path)
}

#[cfg(feature = "bpf")]
fn lines(words: &[&str]) -> Vec<Value> {
    let told = run(words).fine();
    told.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[cfg(feature = "bpf")]
fn rows<'a>(window: &'a Value, list: &str) -> &'a [Value] {
    window[list].as_array().expect("rows")
}

/// A control group with one below it, removed on drop.
#[cfg(feature = "bpf")]
struct Group(PathBuf);

#[cfg(feature = "bpf")]
impl Group {
    fn make() -> Option<Group> {
        let group =
            crate::run::groups()?.join(format!("exactop-test-replay-{}", std::process::id()));
        fs::create_dir_all(group.join("below")).expect("groups");
        Some(Group(group))
    }

    /// Processes that end at once, in the group below.
    fn brief(&self) -> Load {
        let procs = self.0.join("below/cgroup.procs");
        let brief = format!("echo $$ >{} && exec /bin/true", procs.display());
        Load::shell(&format!("while :; do sh -c '{brief}'; done"))
    }
}

#[cfg(feature = "bpf")]
impl Drop for Group {
    fn drop(&mut self) {
        let is_gone = || fs::remove_dir(self.0.join("below")).is_ok();
        match std::thread::panicking() {
            true => drop(is_gone()),
            false => wait::until("an empty group", is_gone),
        }
        let _ = fs::remove_dir(&self.0);
    }
}

#[cfg(feature = "bpf")]
#[test]
fn a_group_of_exited_processes_has_its_path_and_the_groups_above() {
    let Some(group) = Group::make().filter(|_| !without_ledger()) else { return };
    let (_dir, path) = place();
    let load = group.brief();
    let pace = ["-n", "3", "-d", "0.4", "--source", "ledger", "--record", &path];
    let live = lines(&[&["--json", "--by", "cgroup"][..], &pace].concat());
    drop(load);
    let replayed = lines(&["cgroups", "--replay", &path, "--json"]);
    assert_eq!((live.len(), replayed.len()), (3, 3));
    let own = format!("/{}", group.0.file_name().expect("a name").display());
    let mut seen = 0;
    for (live, replayed) in live.iter().zip(&replayed) {
        let rows = rows(replayed, "groups");
        let run_ns = |path: &str| -> Option<u64> {
            let mut of_it = rows.iter().filter(|row| row["path"] == path);
            let row = of_it.next()?;
            assert!(of_it.next().is_none(), "{path} is there once: {replayed}");
            row["ledger_run_ns"].as_u64()
        };
        assert!(run_ns("/") > Some(0), "{replayed}");
        assert_eq!(run_ns("(control group 1, path not read)"), None, "{replayed}");
        let below = format!("{own}/below");
        let used = self::rows(live, "rows").iter().find(|row| row["name"] == below.as_str());
        let Some(used) = used.and_then(|row| row["run_ns"].as_u64()) else { continue };
        assert_eq!((run_ns(&below), run_ns(&own)), (Some(used), Some(used)), "{replayed}");
        seen += 1;
    }
    assert!(seen > 0, "the groups run: {live:?}");
}

#[test]
fn users_have_their_names_in_a_recording_of_sums() {
    let _other = rustix::process::geteuid().is_root().then(|| {
        Load::start(std::process::Command::new("setpriv").args([
            "--reuid",
            "2",
            "--clear-groups",
            "sleep",
            "1000",
        ]))
    });
    for form in [&["--csv"][..], &["--json"], &["-b"]] {
        let (_dir, path) = place();
        let by = [form, &["--by", "user"]].concat();
        let pace = ["-n", "3", "-d", "0.1", "--source", "procfs", "--record", &path];
        let live = run(&[&by[..], &pace].concat()).fine();
        assert_eq!(run(&[&["replay", &path][..], &by].concat()).fine(), live);
        let report = run(&["report", "--by", "user", &path]).fine();
        assert!(report.contains("root"), "{report}");
    }
}

/// User 2 has only processes that have exited by the window's end.
#[cfg(feature = "bpf")]
#[test]
fn a_user_without_a_living_process_has_a_name_in_a_recording() {
    if without_ledger() || !rustix::process::geteuid().is_root() {
        return;
    }
    let (_dir, path) = place();
    let _load = Load::shell("while :; do setpriv --reuid 2 --clear-groups true; done");
    let pace = ["-n", "3", "-d", "0.3", "--source", "ledger", "--record", &path];
    let columns = ["--json", "--columns", "pid,user"];
    let live = lines(&[&columns[..], &pace].concat());
    let replayed = lines(&[&["replay", &path][..], &columns].concat());
    let users = |windows: &[Value]| -> Vec<Vec<Value>> {
        let of = |window| rows(window, "exited").iter().map(|row| row["user"].clone()).collect();
        windows.iter().map(of).collect()
    };
    assert!(users(&live).iter().flatten().any(|user| user == "bin"), "{live:?}");
    assert_eq!(users(&replayed), users(&live));
}

#[cfg(feature = "bpf")]
#[test]
fn the_waits_of_users_have_their_names_in_a_recording_of_sums() {
    if without_ledger() {
        return;
    }
    let (_dir, path) = place();
    let _loads: Vec<Load> = (0..3).map(|_| Load::shell("while :; do :; done")).collect();
    let pace = ["-n", "2", "-d", "0.3", "--source", "ledger", "--record", &path];
    let live = lines(&[&["--json", "--by", "user"][..], &pace].concat());
    let blamed = lines(&["blame", "--replay", &path, "--by", "user", "--json"]);
    for (live, blamed) in live.iter().zip(&blamed) {
        for row in rows(blamed, "rows") {
            let has = |live: &Value| live["name"] == row["victim"];
            assert!(rows(live, "rows").iter().any(has), "{row} of {live}");
        }
    }
}

#[cfg(feature = "bpf")]
#[test]
fn a_length_of_windows_is_refused_beside_a_recording() {
    let (_dir, path) = place();
    let commands: [&[&str]; 5] =
        [&["blame"], &["cgroups"], &["waits"], &["waits", "--by", "user"], &["ptop"]];
    for command in commands {
        let given = |words: &[&str]| run(&[command, &["--replay", &path], words].concat());
        let why = "conflicts with a replay, which shows recorded windows: leave it out";
        given(&["-d", "3"]).refused(2, &format!("--delay {why}"));
        given(&["0.5"]).refused(2, &format!("the interval 0.5 {why}"));
        given(&["0.5", "1"]).refused(1, "No such file");
        given(&["-n", "1"]).refused(1, "No such file");
    }
}

#[test]
fn a_recording_without_a_window_is_refused_in_one_line() {
    let (dir, path) = place();
    let pace = ["-n", "2", "-d", "0.05", "--source", "procfs"];
    run(&[&["--json", "--record", &path][..], &pace].concat()).fine();
    let whole = fs::read(format!("{path}/exactop-00000001.rec")).expect("the file");
    let frames: Vec<usize> =
        (0..whole.len()).filter(|&at| whole[at..].starts_with(b"EXfr")).collect();
    let cut = dir.path().join("cut.rec").display().to_string();
    fs::write(&cut, &whole[..frames[1] + 100]).expect("a file");
    let none = "no window in the recording: run 'exactop record list'";
    run(&["report", &cut]).refused(1, none);
    for form in ["-b", "--json", "--csv"] {
        run(&["replay", form, &cut]).refused(1, none);
        run(&["replay", form, "-t", "1h ago", &cut]).refused(1, none);
    }
    run(&["ptop", "--replay", &cut]).refused(1, none);
    run(&["prstat", "--replay", &cut]).refused(1, none);
    let early = run(&["replay", "--json", "-t", "1h ago+1s", &path]);
    assert_eq!((early.code, early.out.as_str()), (Some(1), ""), "{}", early.err);
    assert!(early.err.contains("no window ends in '1h ago+1s'"), "{}", early.err);
}
