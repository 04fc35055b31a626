//! A process held fast while something is done to it. Its number may come to mean another process
//! at any time; what is held is told by when it started, and by a pidfd where the kernel has them.

use exactop_model::{Comm, TaskKey};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{self, Pid, PidfdFlags, Signal};
use std::fs;

/// A process that was there, and was the one that is meant, when this was made.
pub struct Held {
    task: TaskKey,
    process: Pid,
    /// `None`: the kernel has none (before 5.3), or a sandbox does not let it.
    pidfd: Option<OwnedFd>,
}

impl Held {
    /// Holds the process of a task; `None` if the task is gone, whoever has its number now.
    ///
    /// The descriptor is opened before the start time is read: the task was there when it was
    /// seen and is there when its start time is read, so it was there in between.
    pub fn process_of(task: TaskKey) -> Option<Held> {
        let process = number(task.tgid)?;
        let pidfd = match process::pidfd_open(process, PidfdFlags::empty()) {
            Ok(pidfd) => Some(pidfd),
            Err(Errno::SRCH) => return None,
            Err(_) => None,
        };
        is_there(task).then_some(Held { task, process, pidfd })
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) -> Result<(), Errno> {
        if let Some(pidfd) = &self.pidfd {
            match process::pidfd_send_signal(pidfd.as_fd(), signal) {
                Err(Errno::NOSYS) => {}
                sent => return sent,
            }
        }
        match is_there(self.task) {
            true => process::kill_process(self.process, signal),
            false => Err(Errno::SRCH),
        }
    }

    /// Sets the nice value of the process or of one of its threads. The kernel knows no way but by
    /// number, so whether the number still meant the same is looked up once more afterwards.
    pub fn renice(&self, number: Pid, nice: i32) -> Result<Reniced, Errno> {
        process::setpriority_process(Some(number), nice)?;
        Ok(match is_there(self.task) {
            true => Reniced::It,
            false => Reniced::Perhaps,
        })
    }
}

/// Whose nice value was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reniced {
    /// That of the one that was meant.
    It,
    /// It exited meanwhile: its own, nobody's, or that of who got its number.
    Perhaps,
}

/// Never 0 or negative: those would mean process groups.
pub fn number(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// What /proc says of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Its name.
    pub comm: Comm,
    /// Its nice value.
    pub nice: i32,
    /// When it started, in ticks since boot.
    start_ticks: u64,
}

impl Stat {
    /// Reads a process's or a thread's.
    pub fn read(path: &str) -> Option<Stat> {
        parse(&fs::read(path).ok()?)
    }

    /// When it started, as keys have it.
    pub fn start_ns(&self) -> u64 {
        self.start_ticks.saturating_mul(tick_ns())
    }
}

/// The name stands in brackets and may hold any byte (proc_pid_stat(5)).
fn parse(line: &[u8]) -> Option<Stat> {
    let open = line.iter().position(|&b| b == b'(')?;
    let close = line.iter().rposition(|&b| b == b')').filter(|&close| close > open)?;
    let rest = std::str::from_utf8(&line[close + 1..]).ok()?;
    let field = |n: usize| rest.split_ascii_whitespace().nth(n - 3);
    Some(Stat {
        comm: Comm::new(&line[open + 1..close]),
        nice: field(19)?.parse().ok()?,
        start_ticks: field(22)?.parse().ok()?,
    })
}

/// Whether a task with this number, this process and this start is there.
pub fn is_there(task: TaskKey) -> bool {
    let stat = Stat::read(&format!("/proc/{}/task/{}/stat", task.tgid, task.tid));
    stat.is_some_and(|stat| started_with(task.start_ns, stat.start_ticks, boottime_offset_ns()))
}

/// Whether the process of a task is there. Its leader is as old as the oldest of its threads.
pub fn process_is_there(task: TaskKey) -> bool {
    if task.is_leader() {
        return is_there(task);
    }
    let stat = Stat::read(&format!("/proc/{}/stat", task.tgid));
    stat.is_some_and(|stat| is_its_start(task, stat.start_ticks))
}

/// Whether a thread with the task's number, which started then, is the task.
pub fn is_its_own_start(task: TaskKey, thread_ticks: u64) -> bool {
    started_with(task.start_ns, thread_ticks, boottime_offset_ns())
}

/// Whether a process with the number of the task's, which started then, is the task's.
pub fn is_its_start(task: TaskKey, process_ticks: u64) -> bool {
    let offset_ns = boottime_offset_ns();
    if task.is_leader() {
        return started_with(task.start_ns, process_ticks, offset_ns);
    }
    let latest = i128::from(task.start_ns) + i128::from(offset_ns.max(0));
    i128::from(process_ticks.saturating_mul(tick_ns())) <= latest
}

/// Keys that come from the kernel's own memory have its start times; /proc shows ticks, and adds
/// the offset of the reader's time namespace.
fn started_with(start_ns: u64, ticks: u64, offset_ns: i64) -> bool {
    let of_namespace = start_ns.checked_add_signed(offset_ns);
    [Some(start_ns), of_namespace].into_iter().flatten().any(|ns| ns / tick_ns() == ticks)
}

fn tick_ns() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
}

/// How much later this process's clock since boot is than the kernel's (time_namespaces(7)).
fn boottime_offset_ns() -> i64 {
    let offsets = fs::read_to_string("/proc/self/timens_offsets");
    // Kernels before 5.6 have no such file, and no such namespaces.
    offsets.ok().and_then(|text| offset(&text)).unwrap_or(0)
}

fn offset(text: &str) -> Option<i64> {
    let line = text.lines().find(|line| line.starts_with("boottime") || line.starts_with("7 "))?;
    let mut numbers = line.split_ascii_whitespace().skip(1).map(str::parse::<i64>);
    let (seconds, ns) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    seconds.checked_mul(1_000_000_000)?.checked_add(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_is_no_field() {
        let line = b"7 (a) R 1 (b) S 1 7 7 0 -1 4194304 0 0 0 0 0 0 0 0 20 -5 1 0 4711 0 0";
        let stat = parse(line).expect("a line");
        assert_eq!((stat.comm, stat.nice), (Comm::new(b"a) R 1 (b"), -5));
        assert_eq!(stat.start_ticks, 4711);
        assert_eq!(parse(b"7 (sh"), None);
        assert_eq!(parse(b"7 (sh) S 1"), None);
    }

    #[test]
    fn start_times_are_compared_in_ticks_and_with_the_namespaces_offset() {
        let tick = tick_ns();
        assert!(started_with(5 * tick + 3, 5, 0));
        assert!(!started_with(5 * tick + 3, 6, 0));
        assert!(started_with(5 * tick + 3, 8, 3 * tick as i64));
        assert!(started_with(5 * tick + 3, 5, 3 * tick as i64));
        assert!(!started_with(u64::MAX, 1, i64::MIN));
        assert_eq!(offset("monotonic 0 0\nboottime -5 250\n"), Some(-4_999_999_750));
        assert_eq!(offset("monotonic 0 0\n"), None);
    }
}
