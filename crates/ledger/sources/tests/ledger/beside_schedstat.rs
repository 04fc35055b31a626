//! Compares the waits of each active task, kernel threads included, with
//! `/proc/PID/task/TID/schedstat`.
//!
//! The file is read some time after the window's end, and contains a wait only when it is over. So
//! figures are compared between two windows' ends at which the task was not waiting, was seen
//! before, and was not put on a CPU between the end and the reading. The file's count of times on a
//! CPU shows the last condition: the file is ahead of the ledger by the same number each time. That
//! number is 0 for a task born under the ledger, and the count at the start for the others. If the
//! task was put on a CPU, the file has a wait that the ledger lacks, which may be long on a busy
//! machine. If an event of this task was missed or repaired meanwhile, or a window is inexact, the
//! window has reported it and the figures may differ.
//!
//! The difference that the task's own audit has is subtracted. On a machine with many more threads
//! than CPUs the kernel counts some sleep as a wait, and leaves out some waits of tasks that it
//! moves. The audit of a task that existed before the ledger begins at its first dispatch, and so
//! does the comparison. Sleep that the kernel counts is in the file at once, and in the audit only
//! after the next dispatch, so a task with a large difference is compared again then.

use exactop_model::ledger::window::{TaskDelta, Window};
use exactop_model::{AccountId, Counter, MicroState};
use rustix::time::{clock_gettime, ClockId};
use std::collections::HashMap;
use std::fs;

/// Figures of both sides at the last window's end at which they were comparable.
#[derive(Clone, Copy)]
struct Base {
    ours_ns: u64,
    theirs_ns: u64,
    late_ns: u64,
    told_apart_ns: i64,
    at_ns: u64,
    /// Number of times on a CPU when a large difference was found last.
    far_at: Option<u64>,
}

/// A run-queue wait beside the kernel's count.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code)] // Printed.
pub struct Apart {
    pub tid: u32,
    pub comm: exactop_model::Comm,
    pub ours_ns: u64,
    pub theirs_ns: u64,
    /// The ledger's wait less the kernel's, without the difference in the audit, ns.
    pub apart_ns: u64,
    /// Delay of the two readings after their windows' ends, ns.
    pub late_ns: u64,
    /// Time since the window's end at which the comparison began, ns.
    pub over_ns: u64,
    /// True if a window meanwhile reported a missed or repaired event of the task.
    pub told: bool,
}

impl Apart {
    /// True if the difference exceeds the delay of the reading and the time between run queues,
    /// without a reported event.
    fn is_far_and_untold(&self) -> bool {
        let at_most_ns = self.late_ns + 1_000_000 + self.over_ns / 20;
        !self.told && self.apart_ns > at_most_ns
    }
}

/// By how many times on a CPU the file is ahead of the ledger: the smallest number so far, and the
/// number of readings.
#[derive(Clone, Copy)]
struct Ahead {
    least: u64,
    looks: u32,
}

/// Number of readings of a task that existed before, until one of them surely came before the next
/// time on a CPU.
const SURE: u32 = 5;

/// Most tasks to read in one window; more would take longer than the window.
const MANY: usize = 1_000;

/// State of the comparison for all tasks.
#[derive(Default)]
pub struct Beside {
    bases: HashMap<AccountId, Base>,
    ahead: HashMap<AccountId, Ahead>,
    /// Start of the first window, ns; a task with a later account was born since.
    began_ns: Option<u64>,
    /// End of the last window that reported an event of a task, and of the last inexact window, ns.
    told_ns: HashMap<AccountId, u64>,
    told_of_all_ns: u64,
}

impl Beside {
    /// Reads the files of all tasks in a window that has just ended, and compares.
    pub fn look(&mut self, window: &Window) -> Vec<Apart> {
        self.began_ns.get_or_insert(window.t0_ns);
        if window.errors.inexact() > 0 {
            self.told_of_all_ns = window.t1_ns;
        }
        for task in &window.tasks {
            let missed = task.delta.get(Counter::MissedSwitches) != Some(0);
            if missed || task.audit.is_none_or(|audit| audit.repairs > 0) {
                self.told_ns.insert(task.sample.account, window.t1_ns);
            }
        }
        if window.tasks.len() > MANY {
            return Vec::new();
        }
        window.tasks.iter().filter_map(|task| self.task(window, task)).collect()
    }

    fn told_ns(&self, account: AccountId) -> u64 {
        let own_ns = self.told_ns.get(&account).copied();
        own_ns.unwrap_or(0).max(self.told_of_all_ns)
    }

    /// True if the task was not put on a CPU between the window's end and the reading.
    fn is_of_the_end(&mut self, task: &TaskDelta, ahead: u64) -> bool {
        let (account, since_ns) = (task.sample.account, task.sample.since_ns);
        if self.began_ns.is_some_and(|began_ns| since_ns > began_ns) {
            return ahead == 0;
        }
        let known = self.ahead.entry(account).or_insert(Ahead { least: ahead, looks: 0 });
        if ahead < known.least {
            // The earlier reading came too late.
            known.least = ahead;
            self.bases.remove(&account);
        }
        known.looks += 1;
        ahead == known.least && known.looks >= SURE
    }

    fn task(&mut self, window: &Window, task: &TaskDelta) -> Option<Apart> {
        let (key, counters) = (task.sample.key, &task.sample.counters);
        let ours_ns = counters.get(Counter::LatNs)? + counters.get(Counter::ThrottleNs)?;
        let (theirs_ns, dispatches) = schedstat(key.tgid, key.tid)?;
        let ours = counters.get(Counter::Dispatches)?;
        let ahead = dispatches.checked_sub(ours)?;
        let late_ns = now_ns() - window.t1_ns;
        if ours == 0 || task.sample.state == MicroState::Zombie || is_waiting(task.sample.state) {
            return None;
        }
        if !self.is_of_the_end(task, ahead) {
            return None;
        }
        let audit = task.sample.audit.lat;
        let (told_apart_ns, at_ns) = (audit.bias_ns.wrapping_add(audit.error_ns), window.t1_ns);
        let now = Base { ours_ns, theirs_ns, late_ns, told_apart_ns, at_ns, far_at: None };
        let then = self.bases.insert(task.sample.account, now)?;
        // Neither runs backwards. After an exec by another thread the account has another file.
        let ours_ns = ours_ns.checked_sub(then.ours_ns)?;
        let theirs_ns = theirs_ns.checked_sub(then.theirs_ns)?;
        let told_apart_ns = told_apart_ns.wrapping_sub(then.told_apart_ns);
        let apart_ns = (ours_ns as i64 - theirs_ns as i64 - told_apart_ns).unsigned_abs();
        let apart = Apart {
            tid: key.tid,
            comm: task.sample.ident.comm,
            ours_ns,
            theirs_ns,
            apart_ns,
            late_ns: late_ns + then.late_ns,
            over_ns: at_ns - then.at_ns,
            told: self.told_ns(task.sample.account) > then.at_ns,
        };
        let is_first = then.far_at.is_none_or(|far_at| far_at == ours);
        if is_first && apart.is_far_and_untold() {
            self.bases.insert(task.sample.account, Base { far_at: Some(ours), ..then });
            return None;
        }
        Some(apart)
    }
}

/// Differences that neither a late reading nor a busy machine explains.
pub fn faults(all: &[Apart]) -> Vec<String> {
    let far = all.iter().filter(|apart| apart.is_far_and_untold());
    far.map(|apart| format!("not what schedstat says: {apart:?}")).collect()
}

fn is_waiting(state: MicroState) -> bool {
    matches!(state, MicroState::Lat | MicroState::LatPreempt | MicroState::Throttle)
}

/// Run-queue wait, ns, and number of times on a CPU (fields 2 and 3,
/// Documentation/scheduler/sched-stats.rst); `None` if the task has exited.
fn schedstat(tgid: u32, tid: u32) -> Option<(u64, u64)> {
    let text = fs::read_to_string(format!("/proc/{tgid}/task/{tid}/schedstat")).ok()?;
    let mut fields = text.split_whitespace().skip(1).map(|field| field.parse().ok());
    Some((fields.next()??, fields.next()??))
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
