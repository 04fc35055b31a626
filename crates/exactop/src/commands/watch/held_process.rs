//! A process that cannot be confused with a later process of the same PID. Its start time
//! identifies it, and a pidfd if the kernel has pidfds.

use exactop_cgroups::{CgroupError, Hierarchy};
use exactop_model::TaskKey;
use exactop_sources::procfs::task_stat::TaskStat;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::process::{self, Pid, PidfdFlags, Signal};
use rustix::thread::{sched_setaffinity, CpuSet};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Most listings of a process's threads while their CPUs are set.
const LISTINGS: usize = 16;

/// A process that existed, and was the intended one, when this value was made.
pub struct ProcessHandle {
    task: TaskKey,
    process: Pid,
    /// `None`: the kernel has none (before 5.3), or a sandbox refuses it.
    pidfd: Option<OwnedFd>,
}

impl ProcessHandle {
    /// Holds the process of a task; `None` if the task is gone, even if another task has its
    /// number.
    ///
    /// The descriptor is opened before the start time is read. The task existed before, and still
    /// exists when its start time is read, so it existed in between.
    pub fn process_of(task: TaskKey) -> Option<ProcessHandle> {
        let process = number(task.tgid)?;
        let pidfd = match process::pidfd_open(process, PidfdFlags::empty()) {
            Ok(pidfd) => Some(pidfd),
            Err(Errno::SRCH) => return None,
            Err(_) => None,
        };
        is_there(task).then_some(ProcessHandle { task, process, pidfd })
    }

    /// Sends the process a signal.
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

    /// Sets the nice value of the process or of one of its threads. The kernel identifies them only
    /// by number, so afterwards the number is checked once more.
    pub fn renice(&self, number: Pid, nice: i32) -> Result<Reached, Errno> {
        process::setpriority_process(Some(number), nice)?;
        Ok(self.reached())
    }

    /// Lets all threads of the process run only on these CPUs. A thread that starts meanwhile may
    /// have the CPUs of before, so the threads are listed again until all of a list are done.
    ///
    /// # Errors
    /// The thread that the kernel refused to change, and the kernel's error.
    pub fn set_cpus(&self, cpus: &[usize]) -> Result<Reached, (u32, Errno)> {
        let mut set = CpuSet::new();
        cpus.iter().for_each(|&cpu| set.set(cpu));
        let mut done = BTreeSet::new();
        for _ in 0..LISTINGS {
            let mut new = threads(self.task.tgid);
            new.retain(|tid| !done.contains(tid));
            if new.is_empty() {
                break;
            }
            for tid in new {
                // Without a number the call would change this thread.
                let Some(thread) = number(tid) else { continue };
                match sched_setaffinity(Some(thread), &set) {
                    // A thread may exit at any time.
                    Ok(()) | Err(Errno::SRCH) => {}
                    Err(error) => return Err((tid, error)),
                }
                done.insert(tid);
            }
        }
        Ok(self.reached())
    }

    /// Moves the process to a control group.
    ///
    /// # Errors
    /// No such group exists, or the kernel refuses.
    pub fn move_to(&self, group: &Path) -> Result<Reached, CgroupError> {
        let hierarchy = Hierarchy::of_this_machine()?;
        hierarchy.take_in(&hierarchy.directory(group)?, self.task.tgid)?;
        Ok(self.reached())
    }

    /// The process that a change by number has reached.
    fn reached(&self) -> Reached {
        match is_there(self.task) {
            true => Reached::It,
            false => Reached::Perhaps,
        }
    }
}

/// The process that was changed by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// The intended process.
    It,
    /// Unknown: the intended process exited meanwhile, and its number may belong to another one.
    Perhaps,
}

/// The threads of a process; none if it has exited.
fn threads(tgid: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{tgid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The number for system calls. Never 0 or negative: those mean process groups.
pub fn number(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// Start of a task in ns, as keys have it.
pub fn start_ns(stat: &TaskStat) -> u64 {
    stat.start_ticks.saturating_mul(tick_ns())
}

/// True if a task with this number, process and start exists.
pub fn is_there(task: TaskKey) -> bool {
    let stat = TaskStat::read(&format!("/proc/{}/task/{}/stat", task.tgid, task.tid));
    stat.is_some_and(|stat| started_with(task.start_ns, stat.start_ticks, boottime_offset_ns()))
}

/// True if the process of a task exists. A leader is as old as the oldest of its threads.
pub fn process_is_there(task: TaskKey) -> bool {
    if task.is_leader() {
        return is_there(task);
    }
    let stat = TaskStat::read(&format!("/proc/{}/stat", task.tgid));
    stat.is_some_and(|stat| is_its_start(task, stat.start_ticks))
}

/// True if a thread with the task's number and this start is the task.
pub fn is_its_own_start(task: TaskKey, thread_ticks: u64) -> bool {
    started_with(task.start_ns, thread_ticks, boottime_offset_ns())
}

/// True if a process with the task's process number and this start may be the task's process.
pub fn is_its_start(task: TaskKey, process_ticks: u64) -> bool {
    let offset_ns = boottime_offset_ns();
    if task.is_leader() {
        return started_with(task.start_ns, process_ticks, offset_ns);
    }
    let latest = i128::from(task.start_ns) + i128::from(offset_ns.max(0));
    i128::from(process_ticks.saturating_mul(tick_ns())) <= latest
}

/// Compares a start in the kernel's own clock with ticks of /proc, which include the offset of the
/// reader's time namespace.
fn started_with(start_ns: u64, ticks: u64, offset_ns: i64) -> bool {
    let of_namespace = start_ns.checked_add_signed(offset_ns);
    [Some(start_ns), of_namespace].into_iter().flatten().any(|ns| ns / tick_ns() == ticks)
}

fn tick_ns() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
}

/// Offset of this time namespace's boot clock in ns (time_namespaces(7)).
fn boottime_offset_ns() -> i64 {
    let offsets = fs::read_to_string("/proc/self/timens_offsets");
    // Kernels before 5.6 have no such file and no time namespaces.
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

    /// The CPUs are those of all threads, so this process's own are changed, too.
    #[test]
    fn every_thread_gets_the_cpus() {
        let own = std::process::id();
        let start_ns = super::start_ns(&TaskStat::read("/proc/self/stat").expect("a stat line"));
        let task = TaskKey { tgid: own, tid: own, start_ns };
        let allowed = rustix::thread::sched_getaffinity(None).expect("CPUs");
        let cpu = (0..CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu)).expect("a CPU");
        let end = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| end.wait());
            }
            let process = ProcessHandle::process_of(task).expect("this process");
            assert_eq!(process.set_cpus(&[cpu]), Ok(Reached::It));
            let all = threads(own);
            assert!(all.len() >= 4, "{all:?}");
            for tid in all {
                let status = fs::read_to_string(format!("/proc/self/task/{tid}/status"));
                let status = status.expect("a status");
                assert!(status.contains(&format!("Cpus_allowed_list:\t{cpu}\n")), "{status}");
            }
            // No machine has this CPU and this kernel allows no empty set.
            let none =
                (0..CpuSet::MAX_CPU).rfind(|&cpu| !allowed.is_set(cpu)).expect("a free number");
            assert!(matches!(process.set_cpus(&[none]), Err((_, Errno::INVAL))));
            end.wait();
        });
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
