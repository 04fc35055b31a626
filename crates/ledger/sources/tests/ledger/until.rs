//! Waits for states of threads, processes and control groups.

use exactop_model::SyscallNr;
use exactop_testkit::wait;
use std::fs;
use std::path::Path;

/// Waits until a thread is off its CPU in this system call, where it stays until it is woken.
#[track_caller]
pub fn in_call(pid: u32, tid: u32, name: &str) {
    wait::until(&format!("thread {tid} to be in {name}"), || is_in_call(pid, tid, name));
}

/// True if a thread is off its CPU in this system call (proc_pid_syscall(5)).
pub fn is_in_call(pid: u32, tid: u32, name: &str) -> bool {
    let nr = SyscallNr::named(name).expect("a call").0;
    call(pid, tid).is_some_and(|(now, _)| now == nr) && letter(pid, tid) == Some('S')
}

/// The system call in which a thread is off its CPU, and the call's first argument.
pub fn call(pid: u32, tid: u32) -> Option<(i32, String)> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).ok()?;
    let mut words = text.split_whitespace();
    Some((words.next()?.parse().ok()?, words.next()?.to_string()))
}

/// Waits until a thread of this process sleeps, interruptible.
#[track_caller]
pub fn asleep(tid: u32) {
    let pid = std::process::id();
    wait::until(&format!("thread {tid} to sleep"), || letter(pid, tid) == Some('S'));
}

/// Waits until each of these processes with one thread sleeps.
#[track_caller]
pub fn all_asleep(pids: &[u32]) {
    wait::until("all processes to sleep", || pids.iter().all(|&p| letter(p, p) == Some('S')));
}

/// Waits until a process has exited and is not reaped.
#[track_caller]
pub fn zombie(pid: u32) {
    wait::until(&format!("process {pid} to end"), || letter(pid, pid) == Some('Z'));
}

/// Waits until a thread of this process has ended: a join may return before that.
#[track_caller]
pub fn gone(tid: u32) {
    let pid = std::process::id();
    wait::until(&format!("thread {tid} to be gone"), || letter(pid, tid).is_none());
}

/// State letter of a thread (proc_pid_stat(5)); `None` if it has exited.
pub fn letter(pid: u32, tid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).ok()?;
    stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
}

/// Removes a control group once it is empty: its last task may still be exiting.
pub fn removed(group: &Path) {
    if std::thread::panicking() {
        let _ = fs::remove_dir(group);
        return;
    }
    wait::until(&format!("{} to be empty", group.display()), || {
        fs::remove_dir(group).is_ok() || !group.exists()
    });
}

/// Waits until a process has run from now on.
pub fn has_run(pid: u32) {
    let before = cpu_clock_ns(pid);
    wait::until("it to run", || cpu_clock_ns(pid) > before);
}

/// CPU time of a process by its own clock (clock_getcpuclockid(3)), ns. It counts up to now, also
/// for a running task; files in /proc count up to the last tick.
pub fn cpu_clock_ns(pid: u32) -> u64 {
    let mut clock = 0;
    // SAFETY: room for a number.
    assert_eq!(unsafe { libc::clock_getcpuclockid(pid as i32, &mut clock) }, 0, "it runs");
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: room for a time.
    assert_eq!(unsafe { libc::clock_gettime(clock, &mut time) }, 0, "it runs");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
