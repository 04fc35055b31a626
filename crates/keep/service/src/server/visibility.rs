//! Limits what a user sees of on-demand programs to the user's own processes. System calls, waits
//! and wake-ups are what ptrace(2) would show. The kernel shows them in /proc (`syscall`, `stack`)
//! to root and to the process's user only; so does the daemon.

use rustix::time::{clock_gettime, ClockId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;

/// The processes that a reader may see.
#[derive(Debug)]
pub struct Visibility {
    /// User of the processes; `None` for all users.
    uid: Option<u32>,
    /// Beginning of the current window, CLOCK_MONOTONIC ns.
    since_ns: u64,
    /// Cache of this window: PID to visibility.
    known: RefCell<HashMap<u32, bool>>,
}

impl Visibility {
    /// All processes for root and the daemon's user; for others their own.
    pub fn by(uid: u32) -> Visibility {
        let all = uid == 0 || uid == rustix::process::geteuid().as_raw();
        Visibility { uid: (!all).then_some(uid), since_ns: 0, known: RefCell::default() }
    }

    /// User of the processes; `None` for all users.
    pub fn uid(&self) -> Option<u32> {
        self.uid
    }

    /// Starts another window, with an empty cache.
    pub fn since(&mut self, at_ns: u64) {
        self.since_ns = at_ns;
        self.known.get_mut().clear();
    }

    /// True if the reader may see this process. The owner of an exited process is unknown. A
    /// process that began within the window may have the PID of an earlier one, so it is hidden
    /// too.
    pub fn has(&self, tgid: u32) -> bool {
        let Some(uid) = self.uid else { return true };
        let find_out = || is_of(tgid, uid) && began_ns(tgid).is_some_and(|at| at <= self.since_ns);
        *self.known.borrow_mut().entry(tgid).or_insert_with(find_out)
    }
}

/// True if all user ids of the process are `uid` and the kernel gives its files to that user. The
/// kernel does not for a process that changed its user and is not dumpable (prctl(2),
/// PR_SET_DUMPABLE). Only the owner of a file in the directory shows that, not the owner of the
/// directory (fs/proc/base.c, task_dump_owner).
fn is_of(tgid: u32, uid: u32) -> bool {
    let Ok(mut file) = File::open(format!("/proc/{tgid}/status")) else { return false };
    let is_owner = file.metadata().is_ok_and(|status| status.uid() == uid);
    let mut status = String::new();
    // The name in the file may hold any bytes; if it is not UTF-8, the process is hidden.
    if !is_owner || file.read_to_string(&mut status).is_err() {
        return false;
    }
    let uids = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    uids.is_some_and(|uids| uids.split_whitespace().all(|one| one.parse() == Ok(uid)))
}

/// Start of a task, in clock ticks since boot (starttime of proc_pid_stat(5)).
pub fn start_ticks(tid: u32) -> Option<u64> {
    let stat = std::fs::read(format!("/proc/{tid}/stat")).ok()?;
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 2..)?).ok()?;
    rest.split(' ').nth(19)?.parse().ok()
}

/// Latest possible start of a process, CLOCK_MONOTONIC ns. Computed from starttime of
/// proc_pid_stat(5), which counts from boot and includes suspended time.
fn began_ns(tgid: u32) -> Option<u64> {
    let ticks = start_ticks(tgid)?;
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
    let of = |clock| {
        let time = clock_gettime(clock);
        time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
    };
    let suspended_ns = of(ClockId::Boottime).saturating_sub(of(ClockId::Monotonic));
    Some(((ticks + 1) * tick_ns).saturating_sub(suspended_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_sees_its_own_processes_and_root_all() {
        let own = rustix::process::getuid().as_raw();
        let me = std::process::id();
        let from_now_on = |mut seen: Visibility| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            seen.since(crate::server::now_ns());
            seen
        };
        assert!(Visibility::by(0).has(1) && Visibility::by(0).has(me));
        assert!(from_now_on(Visibility::by(own)).has(me));
        let other = from_now_on(Visibility::by(own + 4711));
        assert!(!other.has(me) && !other.has(1) && !other.has(u32::MAX));
    }

    /// A child that runs as another user; killed on drop.
    struct Theirs(std::process::Child);

    impl Drop for Theirs {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn theirs(words: &[&str]) -> Theirs {
        Theirs(std::process::Command::new(words[0]).args(&words[1..]).spawn().expect("it starts"))
    }

    #[test]
    fn only_processes_wholly_of_the_user_and_older_than_the_window_are_visible() {
        const NOBODY: u32 = 65534;
        if !rustix::process::geteuid().is_root() {
            return eprintln!("left out: only root can run as another user");
        }
        let plain = theirs(&["setpriv", "--reuid=65534", "--clear-groups", "sleep", "600"]);
        let half = theirs(&["setpriv", "--euid=65534", "--clear-groups", "sleep", "600"]);
        let mut seen = Visibility::by(NOBODY);
        let all_theirs = |pid| is_of(pid, NOBODY);
        let patience = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !all_theirs(plain.0.id()) {
            assert!(std::time::Instant::now() < patience, "it never became theirs");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(!seen.has(plain.0.id()), "it is younger");
        std::thread::sleep(std::time::Duration::from_millis(50));
        seen.since(crate::server::now_ns());
        assert!(seen.has(plain.0.id()));
        assert!(!seen.has(half.0.id()), "root still has a part in it");
    }
}
