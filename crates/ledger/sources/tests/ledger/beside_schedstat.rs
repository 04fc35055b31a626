//! Each task that did something in a window, kernel threads included, against what
//! `/proc/PID/task/TID/schedstat` says of its waits for a CPU.
//!
//! The file is read some time after the window's end, and knows a wait only when it is over. So
//! figures are compared from one window's end to a later one at which the task was neither waiting
//! nor seen for the first time, nor was put on a CPU between the end and the reading, which the file's own
//! count of that tells: how much more it has than ours is the same each time, nothing for who was born under the
//! ledger, and what a task was found with for the others. One that was has a wait in the file that ours has not,
//! as long as it may be on a busy machine, and longer where the kernel counts sleep as a wait. Where something of
//! that very task was missed or set right in between, the window has told that its figures may be
//! off; and of everyone's, where the window is inexact.
//!
//! What the task's own audit tells is taken off: on a machine with many times more threads than CPUs the
//! kernel counts some sleep as a wait, and leaves out some waits of tasks that it moves. Of a task that
//! was found when the ledger began, the audit begins when it was dispatched, and so does comparing. Sleep
//! that the kernel counts is in the file at once, and in the audit when the task is dispatched again: who
//! seems to be far off is looked at again then.

use exactop_model::ledger::window::{TaskDelta, Window};
use exactop_model::{AccountId, Counter, MicroState};
use rustix::time::{clock_gettime, ClockId};
use std::collections::HashMap;
use std::fs;

/// Both sides as of the last window's end at which they could be compared.
#[derive(Clone, Copy)]
struct Base {
    ours_ns: u64,
    theirs_ns: u64,
    late_ns: u64,
    told_apart_ns: i64,
    at_ns: u64,
    /// How often it was put on a CPU when it was found far off the last time.
    far_at: Option<u64>,
}

/// A run-queue wait beside what the kernel says.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code)] // Printed.
pub struct Apart {
    pub tid: u32,
    pub comm: exactop_model::Comm,
    pub ours_ns: u64,
    pub theirs_ns: u64,
    /// Ours less theirs, as far as the audit does not tell it.
    pub apart_ns: u64,
    /// By how much the two readings came after their windows' ends.
    pub late_ns: u64,
    /// From the window's end from which on it was compared.
    pub over_ns: u64,
    /// The windows in between told that something of it was missed or set right.
    pub told: bool,
}

impl Apart {
    /// More than the reading was late by, and than moves from one run queue to another leave out; and no
    /// window told.
    fn is_far_and_untold(&self) -> bool {
        let at_most_ns = self.late_ns + 1_000_000 + self.over_ns / 20;
        !self.told && self.apart_ns > at_most_ns
    }
}

/// By how much the file's count of times on a CPU was ahead of ours: the least so far, and in how many looks.
#[derive(Clone, Copy)]
struct Ahead {
    least: u64,
    looks: u32,
}

/// So many looks at who was found there, until one of them surely came before it was put on a CPU again.
const SURE: u32 = 5;

/// More tasks than these are not read in one window: it would take longer than the window.
const MANY: usize = 1_000;

/// What is known of everyone.
#[derive(Default)]
pub struct Beside {
    bases: HashMap<AccountId, Base>,
    ahead: HashMap<AccountId, Ahead>,
    /// When the first window began; who has an account from later on was born then.
    began_ns: Option<u64>,
    /// When the last window ended that told something of a task, and of everyone.
    told_ns: HashMap<AccountId, u64>,
    told_of_all_ns: u64,
}

impl Beside {
    /// Reads the file of everyone in a window that ended just now, and compares.
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

    /// Whether nobody put it on a CPU between the window's end and the reading.
    fn is_of_the_end(&mut self, task: &TaskDelta, ahead: u64) -> bool {
        let (account, since_ns) = (task.sample.account, task.sample.since_ns);
        if self.began_ns.is_some_and(|began_ns| since_ns > began_ns) {
            return ahead == 0;
        }
        let known = self.ahead.entry(account).or_insert(Ahead { least: ahead, looks: 0 });
        if ahead < known.least {
            // What was taken for the end was later.
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
        // Neither runs backwards; an exec by another thread gives the account another file.
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

/// What is wrong with them: nothing that a late reading or a busy machine may make.
pub fn faults(all: &[Apart]) -> Vec<String> {
    let far = all.iter().filter(|apart| apart.is_far_and_untold());
    far.map(|apart| format!("not what schedstat says: {apart:?}")).collect()
}

fn is_waiting(state: MicroState) -> bool {
    matches!(state, MicroState::Lat | MicroState::LatPreempt | MicroState::Throttle)
}

/// How long it waited for a CPU, ns, and how often it was put on one (fields 2 and 3,
/// Documentation/scheduler/sched-stats.rst), if it is still there.
fn schedstat(tgid: u32, tid: u32) -> Option<(u64, u64)> {
    let text = fs::read_to_string(format!("/proc/{tgid}/task/{tid}/schedstat")).ok()?;
    let mut fields = text.split_whitespace().skip(1).map(|field| field.parse().ok());
    Some((fields.next()??, fields.next()??))
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
