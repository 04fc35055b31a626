//! A pseudo-terminal for a tool.

use anyhow::{Context, Result};
use rustix::pty::{grantpt, ioctl_tiocgptpeer, openpt, unlockpt, OpenptFlags};
use rustix::termios::{tcsetwinsize, Winsize};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// Starts a command on a new terminal of this size. Returns the terminal's other end.
pub fn spawn(command: &mut Command, ws_col: u16, ws_row: u16) -> Result<(Child, File)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags).context("opening a pseudo-terminal")?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let tty = File::from(ioctl_tiocgptpeer(&master, flags)?);
    tcsetwinsize(&tty, Winsize { ws_col, ws_row, ws_xpixel: 0, ws_ypixel: 0 })?;
    command.stdin(tty.try_clone()?).stdout(tty.try_clone()?).stderr(tty);
    // SAFETY: between fork and exec it makes only two system calls, which allocate nothing.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            rustix::process::ioctl_tiocsctty(std::io::stdin())?;
            Ok(())
        });
    }
    let child = command.spawn();
    // The command keeps its ends open until they are replaced. While it has them, our reader does
    // not see that the tool has ended.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok((child?, File::from(master)))
}
