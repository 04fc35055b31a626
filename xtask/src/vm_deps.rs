//! `cargo xtask vm-deps`: the Debian packages that `cargo xtask vm` needs.

use anyhow::{bail, Context, Result};
use std::process::{Command, ExitCode};

/// What the VM runs on: the emulator, the one program its init is made of, and what a guest that
/// systemd runs is made of.
const PACKAGES: [&str; 4] = ["qemu-system-x86", "busybox-static", "systemd", "dbus-daemon"];

/// Install what `vm` needs (as root), or print the line that does.
#[derive(clap::Args)]
pub struct Args {
    /// Only print the line, even as root.
    #[arg(long)]
    print: bool,
}

/// The one line that installs everything.
pub fn apt_line() -> String {
    format!("apt-get install --no-install-recommends -y {}", PACKAGES.join(" "))
}

/// Installs the packages, or says how to.
pub fn run(args: &Args) -> Result<ExitCode> {
    if args.print || !rustix::process::geteuid().is_root() {
        println!("{}", apt_line());
        return Ok(ExitCode::SUCCESS);
    }
    let line = apt_line();
    let mut words = line.split(' ');
    let apt = words.next().unwrap_or_default();
    let status =
        Command::new(apt).args(words).status().with_context(|| format!("running {apt}"))?;
    if !status.success() {
        bail!("`{line}` failed ({status}); if packages were not found, run `apt-get update` first");
    }
    Ok(ExitCode::SUCCESS)
}
