//! Who ends the workers with all their children if this program is killed: a death signal would
//! reach the workers only, not what they started.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// Notes process groups, forgets them, and ends those it still knows when its input ends.
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

/// A shell that waits for our end.
pub struct Guard(Child);

impl Guard {
    /// Starts it.
    ///
    /// # Errors
    /// When there is no shell.
    pub fn new() -> io::Result<Guard> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", SCRIPT]).stdin(Stdio::piped());
        // Out of reach of a terminal's ^C.
        shell.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        shell.spawn().map(Guard)
    }

    /// From now on a process group is to end with us.
    pub fn note(&mut self, group: u32) {
        self.tell('+', group);
    }

    /// It has ended; its number may be another's next.
    pub fn forget(&mut self, group: u32) {
        self.tell('-', group);
    }

    fn tell(&mut self, what: char, group: u32) {
        if let Some(input) = &mut self.0.stdin {
            // It does not end before we do.
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
