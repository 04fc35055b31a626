//! Runs the command and captures its output.

use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Result of a run.
pub struct Done {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// The program; in emulated machines the one that EXACTOP_PROGRAM names.
pub fn program() -> String {
    std::env::var("EXACTOP_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_exactop").into())
}

/// A copy of the program, made by another process. A file that this process holds open for writing
/// stays open in children that other tests fork meanwhile, and cannot be executed (ETXTBSY).
pub fn copied(to: &Path) {
    copied_from(&program(), to);
}

/// Copies another program.
pub fn copied_from(program: &str, to: &Path) {
    let cp = Command::new("cp").arg("--preserve=mode").arg(program).arg(to).status();
    assert!(cp.expect("cp(1)").success(), "{}", to.display());
}

/// The command, without environment variables that could change it.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(args).stdin(Stdio::null()).env_remove("COLUMNS").env_remove("XDG_CONFIG_HOME");
    command.env_remove("EXACTOP_HOST");
    command.env("HOME", "/nonexistent").env("TZ", "UTC").env("TERM", "xterm");
    command
}

pub fn run(args: &[&str]) -> Done {
    done(command(args))
}

/// Runs on a made-up /proc.
pub fn run_on(root: &Path, args: &[&str]) -> Done {
    let mut command = command(args);
    command.arg("--proc-root").arg(root);
    done(command)
}

pub fn done(mut command: Command) -> Done {
    let output = command.output().expect("the command starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Done { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Starts it with pipes for input and output.
pub fn piped(args: &[&str]) -> Child {
    let mut command = command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the command starts")
}

impl Done {
    /// The output of a run that succeeded without a message. One message is about the machine: the
    /// kernel may have no memory for another test's task. The ledger's tests count these tasks.
    pub fn fine(self) -> String {
        let is_of_the_machine = |line: &str| line.ends_with(" of CPU time is unnamed, in no row");
        let messages: Vec<_> = self.err.lines().filter(|line| !is_of_the_machine(line)).collect();
        assert_eq!((self.code, messages), (Some(0), vec![]), "{}", self.out);
        self.out
    }

    /// Checks that a run was refused in one line with these words.
    pub fn refused(&self, code: i32, words: &str) {
        assert_eq!((self.code, self.out.as_str()), (Some(code), ""), "{words:?}: {}", self.err);
        assert_eq!(self.err.lines().count(), 1, "{words:?}: {}", self.err);
        assert!(self.err.contains(words), "{words:?} is not in: {}", self.err);
    }
}

/// True if the ledger's tests are left out on purpose. Otherwise a ledger that does not open fails
/// them.
pub fn without_ledger() -> bool {
    let left_out = std::env::var_os("EXACTOP_NO_LEDGER_TESTS").is_some();
    if left_out {
        eprintln!("left out: EXACTOP_NO_LEDGER_TESTS is set");
    }
    left_out
}
