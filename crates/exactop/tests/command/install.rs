//! 'make install' prints the remaining manual steps, and nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A machine as the script sees it: with or without the group, and systemd.
struct Machine {
    dir: tempfile::TempDir,
    systemd: PathBuf,
}

impl Machine {
    fn with(group: bool, systemd: bool) -> Machine {
        let dir = tempfile::tempdir().expect("a directory");
        let answer = if group { 0 } else { 2 };
        for (name, code) in [("getent", answer), ("systemd-sysusers", 0)] {
            let path = dir.path().join(name);
            fs::write(&path, format!("#!/bin/sh\nexit {code}\n")).expect("a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("rights");
        }
        let runs = dir.path().join(if systemd { "" } else { "nowhere" });
        Machine { dir, systemd: runs }
    }

    fn hints(&self, variables: &[(&str, &str)]) -> String {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/install.sh");
        let path = std::env::var("PATH").expect("a path");
        let mut install = Command::new("bash");
        install.arg(script).arg("hints").envs(variables.iter().copied());
        install.env("PATH", format!("{}:{path}", self.dir.path().display()));
        let done = install.env("EXACTOP_SYSTEMD", &self.systemd).output().expect("bash(1)");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).expect("UTF-8")
    }
}

#[test]
fn install_prints_the_remaining_steps_for_the_service() {
    let said = Machine::with(false, true).hints(&[("PREFIX", "/usr/local")]);
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    let [_, group, reload] = lines[..] else { panic!("{said}") };
    assert!(
        group.starts_with("systemd-sysusers /usr/local/lib/sysusers.d/exactop.conf "),
        "{said}"
    );
    assert!(reload.starts_with("systemctl daemon-reload "), "{said}");
    let elsewhere = Machine::with(true, true).hints(&[("PREFIX", "/opt/x")]);
    assert!(
        elsewhere.contains("systemctl link /opt/x/lib/systemd/system/exactop.service"),
        "{elsewhere}"
    );
    assert!(!elsewhere.contains("sysusers"), "the group is there: {elsewhere}");
}

#[test]
fn install_prints_no_steps_for_packagers() {
    assert_eq!(Machine::with(true, false).hints(&[("PREFIX", "/usr/local")]), "");
    let packs = Machine::with(false, true).hints(&[("PREFIX", "/usr"), ("DESTDIR", "/tmp/x")]);
    assert_eq!(packs, "", "the packager has no manual steps");
}
