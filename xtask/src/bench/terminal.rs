//! A terminal of its own for a tool: a pseudo-terminal.

use anyhow::{Context, Result};
use rustix::pty::{grantpt, ioctl_tiocgptpeer, openpt, unlockpt, OpenptFlags};
use rustix::termios::{tcsetwinsize, Winsize};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// Starts a command on a new terminal of so many columns and rows; the terminal's other end.
pub fn spawn(command: &mut Command, ws_col: u16, ws_row: u16) -> Result<(Child, File)> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags).context("opening a pseudo-terminal")?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let tty = File::from(ioctl_tiocgptpeer(&master, flags)?);
    tcsetwinsize(&tty, Winsize { ws_col, ws_row, ws_xpixel: 0, ws_ypixel: 0 })?;
    command.stdin(tty.try_clone()?).stdout(tty.try_clone()?).stderr(tty);
    // SAFETY: between fork and exec only two system calls, which allocate nothing.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            rustix::process::ioctl_tiocsctty(std::io::stdin())?;
            Ok(())
        });
    }
    let child = command.spawn();
    // The command keeps its ends open until it is given others, and as long as they are the reader
    // at our end never sees that the tool is gone.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok((child?, File::from(master)))
}
