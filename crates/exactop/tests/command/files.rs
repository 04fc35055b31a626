//! Files that another user planted: as the configuration, as the time zone, as the output.

use super::live::live;
use crate::helpers::run::{done, program, Done};
use crate::made_up_proc::tree;
use std::fs;
use std::os::unix::fs::{chown, symlink, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The command, with limits so that it always ends.
fn watched(args: &[&str]) -> Command {
    let mut watched = Command::new("timeout");
    // A read without end must not use up the machine.
    watched.args(["-s", "KILL", "120", "prlimit", "--data=1000000000", &program()]).args(args);
    watched.stdin(Stdio::null()).env("HOME", "/nonexistent").env("TZ", "UTC");
    watched
}

fn ends(args: &[&str], home: &Path) -> Done {
    let mut watched = watched(args);
    watched.env("XDG_CONFIG_HOME", home);
    done(watched)
}

/// A place for a configuration.
fn place() -> (TempDir, PathBuf) {
    let home = tempfile::tempdir().expect("a directory");
    fs::create_dir(home.path().join("exactop")).expect("a directory");
    let file = home.path().join("exactop/config.toml");
    (home, file)
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo(1)").success());
}

/// Reads the configuration and prints.
const WITH_IT: [&str; 7] = ["-b", "-n", "1", "-d", "0.05", "--preset", "mine"];

#[test]
fn a_configuration_is_a_regular_file() {
    for (what, says) in [
        ("/dev/zero", "a character device"),
        ("/dev/tty", "a character device"),
        ("/dev/kmsg", "a character device"),
        ("fifo", "a FIFO"),
        ("/", "a directory"),
    ] {
        let (home, file) = place();
        match what {
            "fifo" => fifo(&file),
            other => symlink(other, &file).expect("a link"),
        }
        if !file.exists() {
            continue;
        }
        let refused = ends(&WITH_IT, home.path());
        assert_eq!(refused.code, Some(2), "{what}: {}", refused.err);
        assert!(
            refused.err.contains(says) && refused.err.contains("config.toml"),
            "{what}: {}",
            refused.err
        );
        assert_eq!(refused.err.lines().count(), 1, "{}", refused.err);
    }
}

#[test]
fn a_configuration_has_a_bound() {
    let (home, file) = place();
    fs::File::create(&file).and_then(|file| file.set_len(1 << 40)).expect("made");
    let refused = ends(&WITH_IT, home.path());
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("longer than 1048576 bytes"), "{}", refused.err);
    let many = vec!["\"pid\""; 100_000].join(",");
    fs::write(&file, format!("[presets.mine]\ncolumns = [{many}]\n")).expect("written");
    let refused = ends(&WITH_IT, home.path());
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("column 'pid' occurs twice"), "{}", refused.err);
}

#[test]
fn root_refuses_a_configuration_of_another_user() {
    let (home, file) = place();
    fs::write(&file, "[presets.mine]\ncolumns = [\"pid\"]\n").expect("written");
    assert_eq!(ends(&WITH_IT, home.path()).code, Some(0));
    if chown(&file, Some(65_534), None).is_err() {
        return;
    }
    let refused = ends(&WITH_IT, home.path());
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("belongs to uid 65534"), "{}", refused.err);
}

#[test]
fn a_time_zone_without_end_is_none() {
    let home = tempfile::tempdir().expect("a directory");
    fifo(&home.path().join("fifo"));
    let never = format!(":{}", home.path().join("fifo").display());
    for zone in [&never, ":/dev/zero", "/dev/zero", ":/dev/tty", "../../../dev/zero"] {
        let mut watched = watched(&["-b", "-n", "1", "-d", "0.05"]);
        watched.env("TZ", zone);
        let shown = done(watched);
        assert_eq!(shown.code, Some(0), "{zone}: {}", shown.err);
    }
}

#[test]
fn keeping_settings_follows_no_planted_name() {
    let (home, file) = place();
    let victim = home.path().join("victim");
    fs::write(&victim, "what root keeps").expect("written");
    // A user who can write there can guess the next process ids.
    let own = std::process::id();
    for pid in own..own + 3_000 {
        symlink(&victim, file.with_extension(format!("toml.{pid}"))).expect("a link");
    }
    let tree = tree();
    let terminal = live(tree.path(), home.path(), "-p 1");
    terminal.shows("init");
    terminal.keys(&["W"]);
    terminal.shows("config.toml");
    terminal.keys(&["q"]);
    terminal.shows("ended: 0");
    assert_eq!(fs::read_to_string(&victim).expect("it is there"), "what root keeps");
    let kept = fs::metadata(&file).expect("it was kept");
    assert_eq!(kept.permissions().mode() & 0o777, 0o600);
}

#[cfg(feature = "bpf")]
mod outputs {
    use super::*;
    use crate::helpers::processes::{send, until_stuck, Load, TERM};
    use crate::helpers::run::{command, without_ledger};
    use exactop_testkit::wait;

    const REPORT: [&str; 5] = ["run", "-q", "--json", "FILE", "true"];

    fn with<'a>(args: &[&'a str], file: &'a str) -> Vec<&'a str> {
        args.iter().map(|&arg| if arg == "FILE" { file } else { arg }).collect()
    }

    fn own_fifo() -> (TempDir, String) {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("fifo");
        fifo(&path);
        (home, path.display().to_string())
    }

    /// Checks that the command ends after SIGTERM.
    fn ends_by_a_signal(mut child: Load) {
        until_stuck("one that waits for a reader", child.pid());
        assert!(child.0.try_wait().expect("a child").is_none(), "it waits for a reader");
        send(child.pid(), TERM);
        wait::until("an end", || child.0.try_wait().expect("a child").is_some());
    }

    #[test]
    fn a_fifo_without_a_reader_is_given_up_at_a_signal() {
        let (_home, name) = own_fifo();
        let mut all = vec![with(&REPORT, &name)];
        if !without_ledger() {
            all.push(vec!["trace", "-d", "0.1", "-o", &name]);
        }
        for args in all {
            ends_by_a_signal(Load::start(command(&args).stderr(Stdio::null())));
        }
    }

    #[test]
    fn a_fifo_with_a_reader_gets_the_report() {
        let (_home, name) = own_fifo();
        let reader = Command::new("cat").arg(&name).stdout(Stdio::piped()).spawn().expect("cat(1)");
        assert_eq!(done(command(&with(&REPORT, &name))).code, Some(0));
        let told = reader.wait_with_output().expect("it ends").stdout;
        let report: serde_json::Value = serde_json::from_slice(&told).expect("JSON");
        assert_eq!(report["schema"]["name"], "exactop.run", "{report}");
    }

    #[test]
    fn a_report_is_readable_only_by_its_owner_and_replaces_links() {
        let home = tempfile::tempdir().expect("a directory");
        let (victim, path) = (home.path().join("victim"), home.path().join("report"));
        fs::write(&victim, "what root keeps").expect("written");
        fs::hard_link(&victim, &path).expect("a name");
        let name = path.display().to_string();
        assert_eq!(done(command(&with(&REPORT, &name))).code, Some(0));
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_to_string(&victim).expect("there"), "what root keeps");
        // A link of another user is refused with the owner's uid.
        fs::remove_file(&path).expect("removed");
        symlink(&victim, &path).expect("a link");
        if std::os::unix::fs::lchown(&path, Some(65_534), None).is_ok() {
            let refused = done(command(&with(&REPORT, &name)));
            assert_eq!(refused.code, Some(125), "{}", refused.err);
            assert!(refused.err.contains("a link made by uid 65534"), "{}", refused.err);
        }
        assert_eq!(fs::read_to_string(&victim).expect("there"), "what root keeps");
    }

    #[test]
    fn experiments_and_runs_are_files_that_end() {
        let home = tempfile::tempdir().expect("a directory");
        let inside = |name: &str| home.path().join(name);
        fifo(&inside("own.toml"));
        let own = inside("own.toml").display().to_string();
        for args in
            [&["lab", "show", &own][..], &["lab", "run", &own], &["lab", "show", "/dev/zero"]]
        {
            let refused = ends(args, home.path());
            assert!(refused.err.contains("give a regular file"), "{args:?}: {}", refused.err);
            assert_eq!((refused.code, refused.err.lines().count()), (Some(1), 1), "{args:?}");
        }
        for (name, other) in [("run.json", "/dev/zero"), ("points.jsonl", "/dev/null")] {
            symlink(other, inside(name)).expect("a link");
        }
        let run = home.path().display().to_string();
        for args in [&["lab", "report", &run][..], &["lab", "compare", &run, &run]] {
            let refused = ends(args, home.path());
            assert!(refused.err.contains("run.json is a symbolic link"), "{}", refused.err);
        }
    }

    #[test]
    fn a_lab_run_of_another_user_is_refused_in_one_line() {
        let home = tempfile::tempdir().expect("a directory");
        let run = home.path().display().to_string();
        let name = "\\u001b]0;pwned\\u0007";
        let schema = "{\"name\": \"NAME\", \"version\": 1}".replace("NAME", name);
        let text = format!(
            "{{\"schema\": {schema}, \"seed\": 1, \"quick\": false, \"began\": \"\", \
             \"exactop\": \"\", \"machine\": {{\"cpus\": 2, \"lab_cpu\": 1}}, \"experiments\": []}}"
        );
        fs::write(home.path().join("run.json"), text).expect("written");
        fs::write(home.path().join("points.jsonl"), "").expect("written");
        let refused = ends(&["lab", "report", &run], home.path());
        assert_eq!((refused.code, refused.err.lines().count()), (Some(1), 1), "{}", refused.err);
        assert!(refused.err.contains("\\x1b]0;pwned\\x07"), "{}", refused.err);
        if chown(home.path(), Some(65_534), None).is_ok() {
            let refused = ends(&["lab", "report", &run], home.path());
            assert!(refused.err.contains("belongs to uid 65534"), "{}", refused.err);
        }
    }

    #[test]
    fn standard_output_by_its_name_is_standard_output() {
        let told = done(command(&with(&REPORT, "/dev/stdout"))).fine();
        assert!(told.starts_with('{'), "{told}");
        let full = done(command(&with(&REPORT, "/dev/full")));
        assert!(full.err.contains("cannot write /dev/full"), "{}", full.err);
    }
}
