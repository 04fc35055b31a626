//! Of whose processes somebody is told what the programs on demand count. Who calls, wakes and waits is
//! what ptrace(2) would show, and the kernel shows it in /proc (`syscall`, `stack`) to root and to the
//! process's own user: so does this.

use rustix::time::{clock_gettime, ClockId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;

/// What one of those who look may see.
#[derive(Debug)]
pub struct Seen {
    /// Whose processes; `None`: everyone's.
    uid: Option<u32>,
    /// When the piece of time began that is told, CLOCK_MONOTONIC.
    since_ns: u64,
    /// What was found out for that piece.
    known: RefCell<HashMap<u32, bool>>,
}

impl Seen {
    /// Everyone's processes for root and for whoever the daemon runs as, else one's own.
    pub fn by(uid: u32) -> Seen {
        let all = uid == 0 || uid == rustix::process::geteuid().as_raw();
        Seen { uid: (!all).then_some(uid), since_ns: 0, known: RefCell::default() }
    }

    /// Whose processes; `None`: everyone's.
    pub fn uid(&self) -> Option<u32> {
        self.uid
    }

    /// Another piece of time is told, which has others.
    pub fn since(&mut self, at_ns: u64) {
        self.since_ns = at_ns;
        self.known.get_mut().clear();
    }

    /// Whether they are told of a process. Nobody knows whose one was that is gone; and of one that began
    /// within the piece nobody knows whether another had its number before.
    pub fn has(&self, tgid: u32) -> bool {
        let Some(uid) = self.uid else { return true };
        let find_out = || is_of(tgid, uid) && began_ns(tgid).is_some_and(|at| at <= self.since_ns);
        *self.known.borrow_mut().entry(tgid).or_insert_with(find_out)
    }
}

/// Whether a process has no user but this, and the kernel gives its files to them: not those of one
/// that changed its user and must not be looked into (prctl(2), PR_SET_DUMPABLE), which only the
/// owner of a file in its directory tells, not that of the directory (fs/proc/base.c,
/// task_dump_owner).
fn is_of(tgid: u32, uid: u32) -> bool {
    let Ok(mut file) = File::open(format!("/proc/{tgid}/status")) else { return false };
    let is_owner = file.metadata().is_ok_and(|status| status.uid() == uid);
    let mut status = String::new();
    // The name in it may be of any bytes; one that is no UTF-8 is nobody's.
    if !is_owner || file.read_to_string(&mut status).is_err() {
        return false;
    }
    let uids = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    uids.is_some_and(|uids| uids.split_whitespace().all(|one| one.parse() == Ok(uid)))
}

/// When a task began, in ticks since the boot (starttime of proc_pid_stat(5)).
pub fn start_ticks(tid: u32) -> Option<u64> {
    let stat = std::fs::read(format!("/proc/{tid}/stat")).ok()?;
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 2..)?).ok()?;
    rest.split(' ').nth(19)?.parse().ok()
}

/// When a process began, at the latest, CLOCK_MONOTONIC (starttime of proc_pid_stat(5), which counts from
/// the boot on, suspended time included).
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
    fn a_plain_user_sees_their_own_and_root_all() {
        let own = rustix::process::getuid().as_raw();
        let me = std::process::id();
        let from_now_on = |mut seen: Seen| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            seen.since(crate::server::now_ns());
            seen
        };
        assert!(Seen::by(0).has(1) && Seen::by(0).has(me));
        assert!(from_now_on(Seen::by(own)).has(me));
        let other = from_now_on(Seen::by(own + 4711));
        assert!(!other.has(me) && !other.has(1) && !other.has(u32::MAX));
    }

    /// A child of another user's; ended at the end.
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
    fn only_a_process_that_is_all_a_users_own_and_older_than_the_piece_is_theirs() {
        const NOBODY: u32 = 65534;
        if !rustix::process::geteuid().is_root() {
            return eprintln!("left out: only root becomes somebody else");
        }
        let plain = theirs(&["setpriv", "--reuid=65534", "--clear-groups", "sleep", "600"]);
        let half = theirs(&["setpriv", "--euid=65534", "--clear-groups", "sleep", "600"]);
        let mut seen = Seen::by(NOBODY);
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
