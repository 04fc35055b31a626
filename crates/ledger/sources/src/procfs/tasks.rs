//! Reads a task's files into a [`TaskSample`].

use super::files::{Budget, Slot};
use super::task_stat::TaskStat;
use super::task_status::{run_delay_ns, TaskStatus};
use super::ticks::{ClockSample, Ticks};
use exactop_model::ledger::audit::TaskAudit;
use exactop_model::{AccountId, Counter, Counters, Ident, MicroState, Needs, TaskKey, TaskSample};
use rustc_hash::FxHashMap;
use rustix::fd::BorrowedFd;
use rustix::fs::AtFlags;
use rustix::io::Errno;
use std::ffi::CStr;
use std::io::Write;

/// A process, with the sums over its threads, exited ones included; or one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TaskPath {
    pub tgid: u32,
    /// `None`: the whole process.
    pub tid: Option<u32>,
}

/// Why a task has no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoRow {
    /// It has exited, or is hidden from this user (hidepid of proc(5)).
    Gone,
    /// Its files could not be read or parsed.
    Torn,
}

impl From<Errno> for NoRow {
    fn from(errno: Errno) -> NoRow {
        match errno {
            Errno::NOENT | Errno::SRCH | Errno::ACCESS | Errno::PERM => NoRow::Gone,
            _ => NoRow::Torn,
        }
    }
}

/// What is known of a task since the last read.
struct Entry {
    round: u64,
    account: AccountId,
    start_ticks: u64,
    stat: Slot,
    schedstat: Slot,
    status: Slot,
}

/// The present state that reading tasks needs.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub root: BorrowedFd<'a>,
    pub needs: Needs,
    pub now: ClockSample,
    pub ticks: Ticks,
}

/// All known tasks with their open files.
pub(super) struct TaskTable {
    entries: FxHashMap<TaskPath, Entry>,
    budget: Budget,
    accounts: u64,
    round: u64,
    path: Vec<u8>,
    buf: Vec<u8>,
}

impl TaskTable {
    pub fn new(budget: Budget) -> TaskTable {
        TaskTable {
            entries: FxHashMap::default(),
            budget,
            accounts: 0,
            round: 0,
            path: Vec::new(),
            buf: Vec::new(),
        }
    }

    /// Begins a round, in which each task that still exists is read.
    pub fn begin(&mut self) {
        self.round += 1;
    }

    /// Drops the tasks that were not read in this round.
    pub fn end(&mut self) {
        let (round, budget) = (self.round, &mut self.budget);
        self.entries.retain(|_, entry| {
            let stays = entry.round == round;
            if !stays {
                entry.close(budget);
            }
            stays
        });
    }

    /// Drops all tasks, because rows of another kind follow.
    pub fn clear(&mut self) {
        self.round += 1;
        self.end();
    }

    /// Reads one task.
    pub fn sample(&mut self, id: TaskPath, look: &Look<'_>) -> Result<TaskSample, NoRow> {
        let (round, accounts) = (self.round, &mut self.accounts);
        let entry = self.entries.entry(id).or_insert_with(Entry::new);
        let (path, buf, budget) = (&mut self.path, &mut self.buf, &mut self.budget);
        let line = entry.stat.read(look.root, || id.file(path, "stat"), budget, buf)?;
        let stat = TaskStat::parse(line).ok_or(NoRow::Torn)?;
        if matches!(stat.letter, b'X' | b'x') {
            return Err(NoRow::Gone);
        }
        if entry.account.0 == 0 || entry.start_ticks != stat.start_ticks {
            *accounts += 1;
            entry.new_owner(AccountId(*accounts), stat.start_ticks, budget);
        }
        let mut counters = tick_counters(&stat, look.ticks).ok_or(NoRow::Torn)?;
        if id.tid.is_none_or(|tid| tid == id.tgid) {
            child_counters(&stat, look.ticks, &mut counters).ok_or(NoRow::Torn)?;
        }
        if look.needs.has(Needs::SCHEDSTAT) {
            // The file does not exist without CONFIG_SCHED_INFO; the wait is then unknown.
            let text = entry.schedstat.read(look.root, || id.file(path, "schedstat"), budget, buf);
            if let Some(lat_ns) = text.ok().and_then(run_delay_ns) {
                counters.set(Counter::LatNs, lat_ns);
            }
        }
        let mut euid = None;
        if look.needs.has(Needs::STATUS) {
            let text = entry.status.read(look.root, || id.file(path, "status"), budget, buf)?;
            euid = switch_counters(TaskStatus::parse(text), &mut counters);
        }
        let uid = match euid {
            Some(uid) => uid,
            None => id.owner(look.root, path)?,
        };
        entry.round = round;
        id.sample(&stat, look, entry.account, uid, counters).ok_or(NoRow::Torn)
    }

    #[cfg(test)]
    pub fn kept(&self) -> usize {
        self.budget.kept()
    }
}

impl Entry {
    /// An entry that was not read yet; rounds and accounts count from 1.
    fn new() -> Entry {
        Entry {
            round: 0,
            account: AccountId(0),
            start_ticks: 0,
            stat: Slot::default(),
            schedstat: Slot::default(),
            status: Slot::default(),
        }
    }

    /// Starts a new account for a reused PID: the open files belong to the old process.
    fn new_owner(&mut self, account: AccountId, start_ticks: u64, budget: &mut Budget) {
        self.account = account;
        self.start_ticks = start_ticks;
        self.schedstat.close(budget);
        self.status.close(budget);
    }

    fn close(&mut self, budget: &mut Budget) {
        self.stat.close(budget);
        self.schedstat.close(budget);
        self.status.close(budget);
    }
}

impl TaskPath {
    /// The path of one of its files below the root; with an empty name, of its directory.
    pub fn file<'p>(self, path: &'p mut Vec<u8>, name: &str) -> &'p CStr {
        path.clear();
        // Writing to a Vec cannot fail, and only its last byte is NUL.
        let _ = match self.tid {
            None => write!(path, "{}/{name}\0", self.tgid),
            Some(tid) => write!(path, "{}/task/{tid}/{name}\0", self.tgid),
        };
        CStr::from_bytes_until_nul(path).unwrap_or_default()
    }

    /// Effective user: the owner of the directory. Its files belong to root if the process may not
    /// be dumped (task_dump_owner() in fs/proc/base.c).
    fn owner(self, root: BorrowedFd<'_>, path: &mut Vec<u8>) -> Result<u32, Errno> {
        Ok(rustix::fs::statat(root, self.file(path, ""), AtFlags::empty())?.st_uid)
    }

    fn sample(
        self,
        stat: &TaskStat,
        look: &Look<'_>,
        account: AccountId,
        uid: u32,
        counters: Counters,
    ) -> Option<TaskSample> {
        let start_ns = look.ticks.to_ns(stat.start_ticks)?;
        // The file rounds the start down to a tick. The end of that tick counts as the birth, so
        // that a task born right after the window's start does not count as older.
        let born_ns = (start_ns + look.ticks.tick_ns()).saturating_sub(look.now.suspended_ns);
        Some(TaskSample {
            tree: 0,
            account,
            key: TaskKey { tgid: self.tgid, tid: self.tid.unwrap_or(self.tgid), start_ns },
            ident: Ident {
                ppid: stat.ppid,
                comm: stat.comm,
                uid,
                session: stat.session,
                cgroup_id: None,
                nice: stat.nice,
                prio: stat.prio,
                policy: stat.policy,
                kthread: stat.kthread,
            },
            state: MicroState::Unknown,
            letter: char::from(stat.letter),
            since_ns: born_ns.min(look.now.monotonic_ns),
            last_cpu: Some(stat.cpu),
            threads: self.tid.is_none().then_some(stat.threads),
            counters,
            audit: TaskAudit::default(),
        })
    }
}

fn tick_counters(stat: &TaskStat, ticks: Ticks) -> Option<Counters> {
    let (utime_ns, stime_ns) = (ticks.to_ns(stat.utime_ticks)?, ticks.to_ns(stat.stime_ticks)?);
    let mut counters = Counters::unknown();
    counters.set(Counter::UtimeNs, utime_ns);
    counters.set(Counter::StimeNs, stime_ns);
    counters.set(Counter::RunNs, stat.cpu_ns(ticks)?);
    Some(counters)
}

/// Sets the time of children that the process waited for.
fn child_counters(stat: &TaskStat, ticks: Ticks, counters: &mut Counters) -> Option<()> {
    counters.set(Counter::CutimeNs, ticks.to_ns(stat.cutime_ticks)?);
    counters.set(Counter::CstimeNs, ticks.to_ns(stat.cstime_ticks)?);
    Some(())
}

/// Sets the context switches and returns the effective user.
fn switch_counters(status: TaskStatus, counters: &mut Counters) -> Option<u32> {
    for (counter, value) in [(Counter::Vcx, status.vcx), (Counter::Icx, status.icx)] {
        if let Some(value) = value {
            counters.set(counter, value);
        }
    }
    status.euid
}
