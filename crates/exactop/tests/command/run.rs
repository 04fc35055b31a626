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

/// Sends a signal by its number.
pub fn send(pid: u32, signal: i32) {
    let pid = rustix::process::Pid::from_raw(pid as i32).expect("a process");
    let signal = rustix::process::Signal::from_named_raw(signal).expect("a signal with a name");
    rustix::process::kill_process(pid, signal).expect("sent");
}

/// Waits for what must come, however busy the machine is.
pub fn wait_until(what: &str, mut so: impl FnMut() -> bool) {
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !so() {
        assert!(std::time::Instant::now() < patience, "{what}: not after a minute");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// The state letter of a process (proc_pid_stat(5)); `None`: it is gone.
pub fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Whether a process is gone, or dead and not waited for.
pub fn is_over(pid: u32) -> bool {
    matches!(state(pid), None | Some('Z' | 'X'))
}
