//! The live view end to end: the real program on the real machine in a real terminal, which is a
//! tmux(1) server of the test's own.
//!
//! Figures differ from run to run; what must hold of every screen does not ([`screen`]).

mod asking;
#[path = "../documented_rights/mod.rs"]
mod documented_rights;
mod endings;
mod hostile;
mod pages;
mod rights;
mod screen;
mod sizes;
mod sources;
mod terminal;
mod typed_ahead;

use std::process::{Child, Command};

/// A child that is killed and reaped when it is dropped.
struct Load(Child);

impl Load {
    /// A line of shell.
    fn shell(line: &str) -> Load {
        Load(Command::new("/bin/sh").args(["-c", line]).spawn().expect("a shell"))
    }

    /// Somebody who does nothing.
    fn sleep() -> Load {
        Load(Command::new("sleep").arg("1000").spawn().expect("sleep(1)"))
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether the ledger's tests are left out on purpose. Where they are not, a ledger that does not
/// open fails them.
fn without_ledger() -> bool {
    let left_out = std::env::var_os("EXACTOP_NO_LEDGER_TESTS").is_some();
    if left_out {
        eprintln!("left out: EXACTOP_NO_LEDGER_TESTS is set");
    }
    left_out
}
