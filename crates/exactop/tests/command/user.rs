//! `exactop run` with another user's rights: never more than that user's, and all that belong to
//! the user.

use crate::helpers::run::{command, copied, done, run};
use std::collections::HashMap;
use std::os::unix::fs::{chown, PermissionsExt};
use std::os::unix::process::CommandExt;

/// The first user in /etc/passwd who is not root and has a home; `None`: the test does not run as
/// root.
fn somebody() -> Option<(String, String, String, String)> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("left out: only root may become someone else");
        return None;
    }
    let passwd = std::fs::read_to_string("/etc/passwd").expect("users");
    let line = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let found = line.into_iter().find(|fields| fields.len() == 7 && fields[2] != "0");
    let fields = found.expect("a row of another user");
    let own = |i: usize| fields[i].to_string();
    Some((own(0), own(2), own(5), own(6)))
}

/// The environment that `env` printed.
fn variables(text: &str) -> HashMap<&str, &str> {
    text.lines().filter_map(|line| line.split_once('=')).collect()
}

#[test]
fn another_users_command_finds_their_home() {
    let Some((name, uid, home, shell)) = somebody() else { return };
    for user in [&name, &uid] {
        let out = run(&["run", "-q", "--user", user, "--", "env"]).fine();
        let found = variables(&out);
        let is = |variable: &str| found.get(variable).copied().unwrap_or_default();
        assert_eq!((is("USER"), is("LOGNAME")), (name.as_str(), name.as_str()), "{out}");
        assert_eq!((is("HOME"), is("SHELL")), (home.as_str(), shell.as_str()), "{out}");
    }
    let kept = run(&["run", "-q", "--user", &name, "--keep-env", "--", "env"]).fine();
    assert_eq!(variables(&kept).get("HOME"), Some(&"/nonexistent"), "{kept}");
    let own = run(&["run", "-q", "--user", &name, "--env", "HOME=/x", "--", "env"]).fine();
    assert_eq!(variables(&own).get("HOME"), Some(&"/x"), "{own}");
    let without = run(&["run", "-q", "--keep-env", "--", "env"]);
    assert!(without.err.contains("--user"), "{}", without.err);
}

#[test]
fn another_users_command_has_their_groups_only() {
    let Some((name, uid, ..)) = somebody() else { return };
    let id =
        |args: &[&str]| run(&[&["run", "-q", "--user", &name, "--", "id"], args].concat()).fine();
    assert_eq!(id(&["-u"]).trim(), uid);
    let expected = done({
        let mut id = std::process::Command::new("id");
        id.args(["-G", &name]);
        id
    });
    let sorted = |text: &str| {
        let mut groups: Vec<u32> =
            text.split_whitespace().map(|group| group.parse().expect("a group")).collect();
        groups.sort_unstable();
        groups
    };
    assert_eq!(sorted(&id(&["-G"])), sorted(&expected.fine()));
}

#[test]
fn no_new_privs_prevents_more_rights() {
    let of = |args: &[&str]| {
        let grep = ["--", "grep", "NoNewPrivs", "/proc/self/status"];
        run(&[&["run", "-q"], args, &grep].concat()).fine()
    };
    assert_eq!(of(&[]), "NoNewPrivs:\t0\n");
    assert_eq!(of(&["--no-new-privs"]), "NoNewPrivs:\t1\n");
}

/// Otherwise every user could run commands and write files as its owner.
#[test]
fn a_setuid_copy_does_nothing() {
    if somebody().is_none() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).expect("for all");
    let copy = dir.path().join("exactop");
    copied(&copy);
    chown(&copy, Some(0), Some(0)).expect("root's");
    for mode in [0o4755, 0o2755, 0o6755] {
        std::fs::set_permissions(&copy, PermissionsExt::from_mode(mode)).expect("the bit");
        for (args, code) in [
            (&["run", "-q", "--", "id"][..], 125),
            (&["-b", "-n", "1"], 1),
            (&["load", "spin", "--duration", "0.1"], 1),
        ] {
            let mut process = std::process::Command::new(&copy);
            process.args(args).uid(65534).gid(65534).current_dir("/");
            let done = done(process);
            assert_eq!((done.code, done.out.as_str()), (Some(code), ""), "{args:?}: {}", done.err);
            assert!(done.err.contains("setuid or setgid"), "{}", done.err);
        }
    }
}

#[test]
fn the_command_has_the_limit_on_files_that_we_were_given() {
    let mut process = command(&["run", "-q", "--", "sh", "-c", "ulimit -Sn; ulimit -Hn"]);
    let limit = |current| rustix::process::Rlimit { current: Some(current), maximum: Some(4000) };
    // SAFETY: one system call between fork and exec.
    unsafe {
        process.pre_exec(move || {
            Ok(rustix::process::setrlimit(rustix::process::Resource::Nofile, limit(200))?)
        })
    };
    assert_eq!(done(process).fine(), "200\n4000\n");
}
