//! Turns exit records into groups of exited tasks: what each task used since it was last seen,
//! under its parent. No I/O: records and tasks go in, groups come out.

use super::identity::{is_of_only_thread, ExitWindow, Instant, SLACK_NS};
use super::messages::Records;
use super::record::Record;
use exactop_model::ledger::snapshot::{ExitSample, ProcessRef};
use exactop_model::{AccountId, Comm, Counter, Counters, TaskSample};
use rustc_hash::FxHashMap;

/// First account of groups; accounts of tasks count from 1.
const FIRST_ACCOUNT: u64 = 1 << 62;

/// A process or thread at its last sight.
#[derive(Clone, Copy, Debug)]
struct Sighting {
    process: ProcessRef,
    ppid: u32,
    comm: Comm,
    counters: Counters,
}

/// Records so far of a process that is exiting.
#[derive(Debug, Default)]
struct ExitingProcess {
    /// Record of its last thread, or of its only thread.
    last: Option<Record>,
    /// Sum over the threads of a process with several threads.
    sum: Option<Record>,
    /// Name of its main thread, if the thread's record came.
    leader: Option<Comm>,
    threads: u64,
    user_ns: u64,
    system_ns: u64,
    /// The window of its latest record.
    within: ExitWindow,
    /// True if no other record belongs to it.
    is_whole: bool,
}

type Going = FxHashMap<u32, Vec<ExitingProcess>>;

/// Use of an exited process or thread, to be added to its group.
struct Post {
    ancestors: [ProcessRef; 8],
    /// The process of an exited thread, if that process lives.
    of: ProcessRef,
    comm: Comm,
    delta: Counters,
    life_ns: u64,
    processes: u64,
    tasks: u64,
}

/// A group, and the number of the call that last added to it.
struct Group {
    sample: ExitSample,
    round: u64,
}

/// Recent exited groups, and processes that are exiting.
#[derive(Default)]
pub struct Exits {
    seen: FxHashMap<u32, Sighting>,
    /// By PID, or with rows for threads by thread. Several if one window has a number twice.
    going: Going,
    groups: FxHashMap<(ProcessRef, ProcessRef, Comm), Group>,
    /// Number of groups so far.
    accounts: u64,
    /// Number of calls of [`Exits::advance`].
    round: u64,
    before: Option<Instant>,
    threads: bool,
}

impl Exits {
    /// Takes the records since the call before and the present tasks: one for each process, or with
    /// `threads` one for each thread.
    pub fn advance(
        &mut self,
        records: Vec<Records>,
        tasks: &[TaskSample],
        threads: bool,
        now: Instant,
    ) {
        self.round += 1;
        // A group without an exit in a window is complete. A later exit begins a new group.
        self.groups.retain(|_, group| group.round + 1 >= self.round);
        let seen: FxHashMap<u32, Sighting> =
            tasks.iter().map(|task| (task.key.tid, see(task))).collect();
        match self.before.filter(|_| self.threads == threads) {
            Some(from) => {
                let within = ExitWindow { from, to: now };
                for record in records {
                    self.take(record, threads, within);
                }
                match threads {
                    true => self.post_threads(&seen),
                    false => self.post_processes(&seen),
                }
            }
            None => self.going.clear(),
        }
        (self.seen, self.threads, self.before) = (seen, threads, Some(now));
    }

    /// All groups, cumulative.
    pub fn samples(&self) -> Vec<ExitSample> {
        self.groups.values().map(|group| group.sample).collect()
    }

    fn take(&mut self, records: Records, threads: bool, within: ExitWindow) {
        let is_whole = threads || is_of_only_thread(&records);
        let Some(record) = records.thread else { return };
        let tgid = record.tgid.unwrap_or(record.pid);
        let same = self.going.entry(if threads { record.pid } else { tgid }).or_default();
        let at = same.iter().position(|one| !one.is_whole && !is_whole);
        let at = at.unwrap_or_else(|| {
            same.push(ExitingProcess { is_whole, ..ExitingProcess::default() });
            same.len() - 1
        });
        let going = &mut same[at];
        going.threads += 1;
        going.within = within;
        if record.pid == tgid {
            going.leader = Some(record.comm);
        }
        going.user_ns += record.user_ns;
        going.system_ns += record.system_ns;
        going.sum = records.process.map(|(_, sum)| sum).or(going.sum.take());
        // Before version 12 records do not mark the last thread; usually it is the leader.
        if record.last.unwrap_or(record.pid == tgid) || threads {
            going.last = Some(record);
        }
    }

    /// Posts processes whose last thread has exited. A process that is still listed is a zombie,
    /// whose time stays in its own row.
    fn post_processes(&mut self, now: &FxHashMap<u32, Sighting>) {
        let mut going = std::mem::take(&mut self.going);
        let chain = Chain { now, before: &self.seen, going: &going };
        let mut posts = Vec::new();
        for (tgid, one) in each(&going) {
            let Some(last) = one.last.as_ref().filter(|_| !is_there(now, tgid, one)) else {
                continue;
            };
            let mut total = match &one.sum {
                Some(sum) => of_record(sum),
                None => of_exit(last),
            };
            total.set(Counter::UtimeNs, one.user_ns);
            total.set(Counter::StimeNs, one.system_ns);
            let Some(delta) = self.since_seen(tgid, one, last, &total) else { continue };
            posts.push(Post {
                ancestors: chain.ancestors(last.ppid),
                of: ProcessRef::default(),
                comm: one.leader.or_else(|| chain.seen_name(tgid, one)).unwrap_or(last.comm),
                delta,
                life_ns: life_in_window(last, one),
                processes: 1,
                tasks: one.threads,
            });
        }
        posts.iter().for_each(|post| self.post(post));
        // Drops processes whose last record was lost.
        keep(&mut going, |tgid, one| match one.last {
            Some(_) => is_there(now, tgid, one),
            None => now.contains_key(&tgid) || self.seen.contains_key(&tgid),
        });
        self.going = going;
    }

    /// Posts exited threads; those of a living process belong to that process.
    fn post_threads(&mut self, now: &FxHashMap<u32, Sighting>) {
        let mut going = std::mem::take(&mut self.going);
        let chain = Chain { now, before: &self.seen, going: &going };
        let mut posts = Vec::new();
        for (tid, one) in each(&going) {
            let Some(last) = one.last.as_ref().filter(|_| !is_there(now, tid, one)) else {
                continue;
            };
            let tgid = last.tgid.unwrap_or(last.pid);
            let lives = now.get(&tgid).filter(|_| tgid != tid).map(|seen| seen.process);
            let Some(delta) = self.since_seen(tid, one, last, &of_exit(last)) else { continue };
            let processes = u64::from(last.last.unwrap_or(tid == tgid) && lives.is_none());
            let leader = one.leader.or_else(|| chain.leader(tgid));
            posts.push(Post {
                ancestors: chain.ancestors(last.ppid),
                of: lives.unwrap_or_default(),
                comm: leader.or_else(|| chain.seen_name(tgid, one)).unwrap_or(last.comm),
                delta,
                life_ns: life_in_window(last, one),
                processes,
                tasks: 1,
            });
        }
        posts.iter().for_each(|post| self.post(post));
        keep(&mut going, |tid, one| one.last.is_some() && is_there(now, tid, one));
        self.going = going;
    }

    /// The increase of a total since the task was last seen. `None` if the task lived before the
    /// window and was never seen.
    fn since_seen(
        &self,
        id: u32,
        one: &ExitingProcess,
        last: &Record,
        total: &Counters,
    ) -> Option<Counters> {
        if let Some(seen) = self.seen.get(&id).filter(|seen| is_same(seen, one)) {
            let mut delta = Counters::unknown();
            for &counter in Counter::ALL {
                // Ticks in /proc are coarser than a record, so the difference may be too small.
                if let (Some(now), Some(then)) = (total.get(counter), seen.counters.get(counter)) {
                    delta.set(counter, now.saturating_sub(then));
                }
            }
            return Some(delta);
        }
        // The start may be up to a window too late: the time of the record in it is unknown.
        let ExitWindow { from, to } = one.within;
        let start_ns = to.boottime_ns.saturating_sub(last.elapsed_ns);
        (start_ns + SLACK_NS >= from.boottime_ns).then_some(*total)
    }

    fn post(&mut self, post: &Post) {
        let key = (post.ancestors[0], post.of, post.comm);
        let accounts = &mut self.accounts;
        let group = self.groups.entry(key).or_insert_with(|| {
            *accounts += 1;
            Group { sample: empty(AccountId(FIRST_ACCOUNT + *accounts), post), round: 0 }
        });
        group.round = self.round;
        let sample = &mut group.sample;
        sample.processes += post.processes;
        sample.tasks += post.tasks;
        sample.life_ns += post.life_ns;
        sample.counters.add(&post.delta);
    }
}

/// Each exiting process, with its number.
fn each(going: &Going) -> impl Iterator<Item = (u32, &ExitingProcess)> {
    going.iter().flat_map(|(&id, all)| all.iter().map(move |one| (id, one)))
}

/// Drops the exiting processes that do not stay.
fn keep(going: &mut Going, stays: impl Fn(u32, &ExitingProcess) -> bool) {
    going.retain(|&id, all| {
        all.retain(|one| stays(id, one));
        !all.is_empty()
    });
}

/// A group without tasks.
fn empty(account: AccountId, first: &Post) -> ExitSample {
    ExitSample {
        of: first.of,
        counters: known(&first.delta),
        // No user: the kernel's record has the real user, samples of living tasks the effective
        // one.
        ..ExitSample::empty(account, first.ancestors, first.comm)
    }
}

/// Zero for each counter that `of` knows.
fn known(of: &Counters) -> Counters {
    let mut zero = Counters::unknown();
    for &counter in Counter::ALL {
        if of.get(counter).is_some() {
            zero.set(counter, 0);
        }
    }
    zero
}

fn see(task: &TaskSample) -> Sighting {
    let process = ProcessRef { tgid: task.key.tgid, start_ns: task.key.start_ns };
    Sighting { process, ppid: task.ident.ppid, comm: task.ident.comm, counters: task.counters }
}

/// True if the seen task is the one that exited.
fn is_same(seen: &Sighting, one: &ExitingProcess) -> bool {
    let ended = |last: &Record| one.within.has_end_of(seen.process.start_ns, last.elapsed_ns);
    one.last.as_ref().is_some_and(ended)
}

fn is_there(now: &FxHashMap<u32, Sighting>, id: u32, one: &ExitingProcess) -> bool {
    now.get(&id).is_some_and(|seen| is_same(seen, one))
}

/// The part of its life in the window of its record, ns.
fn life_in_window(last: &Record, one: &ExitingProcess) -> u64 {
    let ExitWindow { from, to } = one.within;
    last.elapsed_ns.min(to.monotonic_ns - from.monotonic_ns)
}

/// Parents of tasks: present ones, earlier ones, and those that just exited.
struct Chain<'a> {
    now: &'a FxHashMap<u32, Sighting>,
    before: &'a FxHashMap<u32, Sighting>,
    going: &'a Going,
}

impl Chain<'_> {
    /// Name of the main thread, if its record came.
    fn leader(&self, tgid: u32) -> Option<Comm> {
        self.going.get(&tgid)?.iter().rev().find_map(|one| one.leader)
    }

    /// Name of the process when it was seen.
    fn seen_name(&self, tgid: u32, one: &ExitingProcess) -> Option<Comm> {
        let is_it = |seen: &&Sighting| is_same(seen, one);
        let name = |seen: &FxHashMap<u32, Sighting>| seen.get(&tgid).filter(is_it).map(|s| s.comm);
        name(self.now).or_else(|| name(self.before))
    }

    /// The last record of an exited process.
    fn last(&self, tgid: u32) -> Option<&Record> {
        self.going.get(&tgid)?.iter().rev().find_map(|one| one.last.as_ref())
    }

    /// A parent and its ancestors, nearest first.
    fn ancestors(&self, parent: u32) -> [ProcessRef; 8] {
        let mut chain = [ProcessRef::default(); 8];
        let mut next = parent;
        for link in &mut chain {
            if next == 0 {
                break;
            }
            let (process, ppid) = if let Some(seen) = self.now.get(&next) {
                (seen.process, seen.ppid)
            } else if let Some(last) = self.last(next) {
                (ProcessRef { tgid: next, start_ns: 0 }, last.ppid)
            } else if let Some(seen) = self.before.get(&next) {
                (seen.process, seen.ppid)
            } else {
                (ProcessRef { tgid: next, start_ns: 0 }, 0)
            };
            *link = process;
            next = ppid;
        }
        chain
    }
}

pub fn of_record(record: &Record) -> Counters {
    let mut counters = Counters::unknown();
    for (counter, value) in [
        (Counter::RunNs, record.run_ns),
        (Counter::LatNs, record.delays.cpu_ns),
        (Counter::UtimeNs, record.user_ns),
        (Counter::StimeNs, record.system_ns),
        (Counter::Dispatches, record.dispatches),
        (Counter::MinorFaults, record.faults.0),
        (Counter::MajorFaults, record.faults.1),
    ] {
        counters.set(counter, value);
    }
    if let Some((voluntary, involuntary)) = record.switches {
        counters.set(Counter::Vcx, voluntary);
        counters.set(Counter::Icx, involuntary);
    }
    counters
}

/// The counters of an exit record. The kernel has not counted the task's time since its last tick
/// or switch, which is all time of most short-lived tasks. A task that never gave up the CPU itself
/// was either running or waiting for a CPU. Its run time is then its life less its wait.
pub fn of_exit(record: &Record) -> Counters {
    let mut counters = of_record(record);
    if record.switches.is_some_and(|(voluntary, _)| voluntary == 0) {
        let ran = record.elapsed_ns.saturating_sub(record.delays.cpu_ns);
        counters.set(Counter::RunNs, record.run_ns.max(ran));
    }
    counters
}

/// Sets the delays, which are valid only while the kernel counts them.
pub fn set_delays(counters: &mut Counters, record: &Record) {
    let delays = &record.delays;
    for (counter, value) in [
        (Counter::BlkioDelayNs, Some(delays.blkio_ns)),
        (Counter::SwapinDelayNs, Some(delays.swapin_ns)),
        (Counter::ReclaimDelayNs, delays.reclaim_ns),
        (Counter::ThrashingDelayNs, delays.thrashing_ns),
        (Counter::CompactDelayNs, delays.compact_ns),
        (Counter::WpcopyDelayNs, delays.wpcopy_ns),
        (Counter::IrqDelayNs, delays.irq_ns),
    ] {
        if let Some(value) = value {
            counters.set(counter, value);
        }
    }
}
