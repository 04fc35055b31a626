//! A guest with systemd, a system bus and a user whose manager delegates the cpu controller: the
//! usual environment of programs that use systemd.
//!
//! The units are a minimal set, so that the guest boots in seconds; the programs are this
//! machine's.

use super::guest::Guest;
use anyhow::{ensure, Result};
use std::path::Path;

/// The guest's first program: it prepares for systemd, and becomes it.
pub const INIT: &str = include_str!("../../guest/systemd/init.sh");

/// The script of the run, inside the guest.
pub const COMMAND: &str = include_str!("../../guest/systemd/command.sh");

/// Programs and settings of this machine that the guest gets.
const FILES: [&str; 6] = [
    "/lib/systemd/systemd",
    "/usr/bin/busctl",
    "/usr/bin/dbus-daemon",
    "/usr/share/dbus-1/system.conf",
    "/usr/share/dbus-1/session.conf",
    "/usr/share/dbus-1/system.d/org.freedesktop.systemd1.conf",
];

pub const UNITS: [(&str, &str); 5] = [
    ("default.target", include_str!("../../guest/systemd/default.target")),
    ("dbus.socket", include_str!("../../guest/systemd/dbus.socket")),
    ("dbus.service", include_str!("../../guest/systemd/dbus.service")),
    ("user-manager.service", include_str!("../../guest/systemd/user-manager.service")),
    ("command.service", include_str!("../../guest/systemd/command.service")),
];

pub const USER_UNITS: [(&str, &str); 3] = [
    ("default.target", include_str!("../../guest/systemd/user-default.target")),
    ("dbus.socket", include_str!("../../guest/systemd/user-dbus.socket")),
    ("dbus.service", include_str!("../../guest/systemd/user-dbus.service")),
];

/// The files of this machine, which must exist.
pub fn files() -> Result<Vec<&'static Path>> {
    let files: Vec<&Path> = FILES.iter().map(Path::new).collect();
    for file in &files {
        ensure!(file.exists(), "{} is missing: {}", file.display(), super::INSTALL);
    }
    Ok(files)
}

/// The script that runs the command.
pub fn command(guest: &Guest) -> String {
    COMMAND.replace("@TOKEN@", &guest.token).replace("@COMMAND@", &guest.shell_line())
}
