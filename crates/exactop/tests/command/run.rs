//! Runs the command and takes down what it said.

use std::path::Path;
use std::process::{Command, Stdio};

/// What a run left behind.
pub struct Done {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// The command with nothing of this environment that could change it.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_exactop"));
    command.args(args).stdin(Stdio::null()).env_remove("COLUMNS").env_remove("XDG_CONFIG_HOME");
    command.env("HOME", "/nonexistent").env("TZ", "UTC").env("TERM", "xterm");
    command
}

pub fn run(args: &[&str]) -> Done {
    done(command(args))
}

/// A run on a made-up /proc.
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

impl Done {
    /// The output of a run that went well and had nothing to say beside it.
    pub fn fine(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{}", self.out);
        self.out
    }
}
