//! Makes a child wait, before it becomes the command, until its parent has put it into its group,
//! or discarded the figures of the wait.

use rustix::io::Errno;
use rustix::pipe::{pipe_with, PipeFlags};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// The byte that lets the child go on; without it the child must not go on.
const GO: u8 = 1;

/// The child's side. The child writes its PID and waits.
pub struct Waiting {
    tell: OwnedFd,
    go: OwnedFd,
    /// The parent's ends, which the child inherits. While the child has them open, it cannot notice
    /// the parent's death.
    ours: [RawFd; 2],
}

/// The parent's side.
pub struct Summoner {
    told: File,
    go: File,
}

/// Both sides.
///
/// # Errors
/// No file descriptors are left.
pub fn pair() -> io::Result<(Summoner, Waiting)> {
    let (told, tell) = pipe_with(PipeFlags::CLOEXEC)?;
    let (wait, go) = pipe_with(PipeFlags::CLOEXEC)?;
    let ours = [told.as_raw_fd(), go.as_raw_fd()];
    let waiting = Waiting { tell, go: wait, ours };
    Ok((Summoner { told: told.into(), go: go.into() }, waiting))
}

impl Waiting {
    /// Runs between fork and exec, so it makes only system calls.
    pub fn wait(&self) -> io::Result<()> {
        for end in self.ours {
            // SAFETY: the child's copies, which nothing in the child uses.
            unsafe { libc::close(end) };
        }
        rustix::io::write(&self.tell, &std::process::id().to_ne_bytes())?;
        let mut answer = [0];
        loop {
            match rustix::io::read(&self.go, &mut answer) {
                Err(Errno::INTR) => {}
                Ok(1) if answer == [GO] => return Ok(()),
                Ok(_) => return Err(Errno::PERM.into()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Summoner {
    /// Waits for the child's PID, runs `first`, and lets the child go on. A child that exits before
    /// it writes its PID reports the reason elsewhere.
    pub fn serve<E>(mut self, first: impl FnOnce(u32) -> Result<(), E>) -> Result<(), E> {
        let mut pid = [0; 4];
        if self.told.read_exact(&mut pid).is_err() {
            return Ok(());
        }
        first(u32::from_ne_bytes(pid))?;
        // An error is ignored: a killed child is found by wait4 later.
        let _ = self.go.write_all(&[GO]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_word_the_child_does_not_go_on() {
        let (summoner, mut waiting) = pair().unwrap();
        waiting.ours = [-1, -1];
        drop(summoner);
        let error = waiting.wait().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EPIPE), "nobody reads the PID");
    }

    #[test]
    fn the_child_goes_on_after_the_byte() {
        let (mut summoner, mut waiting) = pair().unwrap();
        waiting.ours = [-1, -1];
        summoner.go.write_all(&[GO]).unwrap();
        waiting.wait().unwrap();
        let mut pid = [0; 4];
        summoner.told.read_exact(&mut pid).unwrap();
        assert_eq!(u32::from_ne_bytes(pid), std::process::id());
        drop(summoner);
    }
}
