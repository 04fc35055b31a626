//! Kills the workers with all their children if this program is killed: a death signal would reach
//! the workers only.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// A script that notes and forgets process groups, and kills the noted ones when its input ends.
const SCRIPT: &str = r#"
trap '' INT TERM HUP
all=
while read -r what group; do
    if [ "$what" = + ]; then
        all="$all $group"
    else
        rest=
        for other in $all; do [ "$other" = "$group" ] || rest="$rest $other"; done
        all=$rest
    fi
done
for group in $all; do kill -9 "-$group" 2>/dev/null; done
"#;

/// A shell that waits for the end of this program.
pub struct Guard(Child);

impl Guard {
    /// Starts the shell.
    ///
    /// # Errors
    /// There is no shell.
    pub fn new() -> io::Result<Guard> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", SCRIPT]).stdin(Stdio::piped());
        // In its own process group: a terminal's ^C does not reach it.
        shell.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        shell.spawn().map(Guard)
    }

    /// Notes a process group, to be killed with this program.
    pub fn note(&mut self, group: u32) {
        self.tell('+', group);
    }

    /// Forgets a process group that has ended: its number may be reused.
    pub fn forget(&mut self, group: u32) {
        self.tell('-', group);
    }

    fn tell(&mut self, what: char, group: u32) {
        if let Some(input) = &mut self.0.stdin {
            // The shell does not end before this program does.
            let _ = writeln!(input, "{what} {group}");
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
