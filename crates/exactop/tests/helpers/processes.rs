//! Starts processes, sends them signals and waits for them.

use exactop_testkit::wait;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub const HUP: i32 = 1;
pub const INT: i32 = 2;
pub const QUIT: i32 = 3;
pub const ABRT: i32 = 6;
pub const KILL: i32 = 9;
pub const USR1: i32 = 10;
pub const USR2: i32 = 12;
pub const TERM: i32 = 15;
pub const CONT: i32 = 18;
pub const STOP: i32 = 19;
pub const TSTP: i32 = 20;

/// A child that is killed and reaped on drop.
pub struct Load(pub Child);

impl Load {
    pub fn start(command: &mut Command) -> Load {
        Load(command.stdout(Stdio::null()).spawn().expect("it starts"))
    }

    /// Runs a line of shell.
    pub fn shell(line: &str) -> Load {
        Load::start(Command::new("/bin/sh").args(["-c", line]))
    }

    /// A shell that starts one program after the other. It leaves the CPU to the tests beside it.
    pub fn forks() -> Load {
        Load::start(Command::new("nice").args(["sh", "-c", "while :; do /bin/true; done"]))
    }

    /// A process that does nothing.
    pub fn sleep() -> Load {
        Load::start(Command::new("sleep").arg("1000"))
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Stops one thread of a process, like a read that never ends. The thread that stops it must also
/// drop this.
pub struct Stopped(i32);

impl Stopped {
    pub fn thread(tid: u32) -> Stopped {
        let tid = i32::try_from(tid).expect("a thread");
        let none = std::ptr::null_mut::<libc::c_void>();
        // SAFETY: these requests take no addresses, and nothing else traces the thread.
        unsafe {
            assert_eq!(libc::ptrace(libc::PTRACE_SEIZE, tid, none, none), 0, "PTRACE_SEIZE");
            assert_eq!(
                libc::ptrace(libc::PTRACE_INTERRUPT, tid, none, none),
                0,
                "PTRACE_INTERRUPT"
            );
            assert_eq!(libc::waitpid(tid, std::ptr::null_mut(), libc::__WALL), tid, "it stops");
        }
        Stopped(tid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let none = std::ptr::null_mut::<libc::c_void>();
        // SAFETY: this request takes no addresses.
        unsafe { libc::ptrace(libc::PTRACE_DETACH, self.0, none, none) };
    }
}

/// Sends a signal by its number.
pub fn send(pid: u32, signal: i32) {
    let pid = rustix::process::Pid::from_raw(pid as i32).expect("a process");
    let signal = rustix::process::Signal::from_named_raw(signal).expect("a signal with a name");
    rustix::process::kill_process(pid, signal).expect("sent");
}

/// The first line of a pipe.
pub fn first_line(pipe: Option<impl Read>) -> String {
    let mut line = String::new();
    BufReader::new(pipe.expect("a pipe")).read_line(&mut line).expect("a line");
    line
}

/// The state letter of a process (proc_pid_stat(5)); `None`: it is gone.
pub fn state(pid: u32) -> Option<char> {
    letter(format!("/proc/{pid}/stat").as_ref())
}

fn letter(stat: &Path) -> Option<char> {
    let stat = std::fs::read(stat).ok()?;
    // The name, which stands in brackets, may hold any bytes.
    let end = stat.iter().rposition(|&b| b == b')')?;
    stat.get(end + 2).map(|&letter| letter.into())
}

/// Waits until a process is blocked in the kernel: each of its threads sleeps at every look.
pub fn until_stuck(what: &str, pid: u32) {
    const LOOKS: u32 = 30;
    let mut asleep = 0;
    wait::until(what, || {
        asleep = if sleeps(pid) { asleep + 1 } else { 0 };
        asleep == LOOKS
    });
}

/// True if all threads of a process sleep; a thread that waits for a CPU does not.
pub fn sleeps(pid: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
    let mut threads = threads.into_iter().flatten().flatten().peekable();
    threads.peek().is_some()
        && threads.all(|thread| letter(&thread.path().join("stat")) == Some('S'))
}

/// True if a process is gone, or is a zombie.
pub fn is_over(pid: u32) -> bool {
    matches!(state(pid), None | Some('Z' | 'X'))
}

/// The children of a process.
pub fn children(pid: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let text = match state(pid) {
        None => String::new(),
        Some(_) => text.expect("CONFIG_PROC_CHILDREN"),
    };
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}
