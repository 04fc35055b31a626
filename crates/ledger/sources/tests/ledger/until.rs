//! States that a test waits for before it goes on: of threads, of processes and of control groups.

use exactop_model::SyscallNr;
use exactop_testkit::wait;
use std::fs;
use std::path::Path;

/// Waits until a thread is off its CPU in this system call, and stays there if nobody wakes it.
#[track_caller]
pub fn in_call(pid: u32, tid: u32, name: &str) {
    wait::until(&format!("thread {tid} to be in {name}"), || is_in_call(pid, tid, name));
}

/// Whether a thread is off its CPU in this system call (proc_pid_syscall(5)).
pub fn is_in_call(pid: u32, tid: u32, name: &str) -> bool {
    let nr = SyscallNr::named(name).expect("a call").0;
    call(pid, tid).is_some_and(|(now, _)| now == nr) && letter(pid, tid) == Some('S')
}

/// The system call that a thread is off its CPU in, and what that was given first.
pub fn call(pid: u32, tid: u32) -> Option<(i32, String)> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).ok()?;
    let mut words = text.split_whitespace();
    Some((words.next()?.parse().ok()?, words.next()?.to_string()))
}

/// Waits until a thread of this process sleeps, interruptibly.
#[track_caller]
pub fn asleep(tid: u32) {
    let pid = std::process::id();
    wait::until(&format!("thread {tid} to sleep"), || letter(pid, tid) == Some('S'));
}

/// Waits until each of these processes, of one thread, sleeps.
#[track_caller]
pub fn all_asleep(pids: &[u32]) {
    wait::until("all processes to sleep", || pids.iter().all(|&p| letter(p, p) == Some('S')));
}

/// Waits until a process has ended and nobody has waited for it.
#[track_caller]
pub fn zombie(pid: u32) {
    wait::until(&format!("process {pid} to end"), || letter(pid, pid) == Some('Z'));
}

/// Waits until a thread of this process is gone: whoever joins it may be ahead of its end.
#[track_caller]
pub fn gone(tid: u32) {
    let pid = std::process::id();
    wait::until(&format!("thread {tid} to be gone"), || letter(pid, tid).is_none());
}

/// The letter of a thread's state (proc_pid_stat(5)); `None` if it is gone.
pub fn letter(pid: u32, tid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).ok()?;
    stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
}

/// Removes a control group once nobody is in it: its last task may be on its way out.
pub fn removed(group: &Path) {
    if std::thread::panicking() {
        let _ = fs::remove_dir(group);
        return;
    }
    wait::until(&format!("{} to be empty", group.display()), || {
        fs::remove_dir(group).is_ok() || !group.exists()
    });
}

/// CPU time of a process by its own clock (clock_getcpuclockid(3)), ns: up to now, also of what is on a
/// CPU, which files in /proc know up to the last tick only.
pub fn cpu_clock_ns(pid: u32) -> u64 {
    let mut clock = 0;
    // SAFETY: room for a number.
    assert_eq!(unsafe { libc::clock_getcpuclockid(pid as i32, &mut clock) }, 0, "it runs");
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for a time.
    assert_eq!(unsafe { libc::clock_gettime(clock, &mut time) }, 0, "it runs");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
