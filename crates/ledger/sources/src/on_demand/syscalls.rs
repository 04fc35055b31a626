//! Counts and times system calls (bpf/on_demand/syscalls.bpf.c).

use crate::bpf::plain::plain;
use crate::bpf::skeleton::Open;
use crate::bpf::sums::{sums, WindowSums};
use crate::bpf::{iterator, task};
use crate::error::SourceError;
use crate::on_demand::attached::{load, object, Attached, Ended, ExitedTasks, Room};
use crate::on_demand::Counts;
use exactop_model::on_demand::syscalls::{
    Dispatches, Failures, SyscallRow, SyscallWindow, SyscallsBy,
};
use exactop_model::on_demand::Choice;
use exactop_model::{SyscallNr, TaskRef};
use rustc_hash::FxHashMap;
use skel::types::{
    ex_by, ex_failure_key, ex_failures, ex_open_syscall, ex_syscall_key, ex_syscall_sum, names,
};
use skel::SyscallsSkelBuilder;

object!("syscalls", "the system calls'", SyscallsSkelBuilder);
plain! { ex_syscall_key ex_failure_key ex_open_syscall }
sums! {
    ex_syscall_sum: calls, untimed, errors, total_ns;
    ex_failures: count;
}

/// `EX_NR_DISPATCH` of bpf/on_demand/syscalls.h.
const DISPATCH: i32 = -2;

/// Attached programs.
pub struct Syscalls {
    by: SyscallsBy,
    sums: WindowSums<ex_syscall_key, ex_syscall_sum>,
    failures: WindowSums<ex_failure_key, ex_failures>,
    programs: Attached<SyscallsSkelBuilder>,
}

impl Syscalls {
    /// Attaches the programs and begins the first window. For tests, `hide_one_in` hides one in
    /// this number of entries and returns; 0: none.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`] with the reason and what to do.
    pub fn open_with(choice: &Choice, hide_one_in: u32) -> Result<Syscalls, SourceError> {
        let set_up = |open: &mut Open<SyscallsSkelBuilder>| set_up(open, choice, hide_one_in);
        let programs = Attached::open(&choice.pids, Room::default(), set_up)?;
        Ok(Syscalls {
            by: choice.by,
            sums: WindowSums::default(),
            failures: WindowSums::default(),
            programs,
        })
    }
}

impl Counts for Syscalls {
    type Window = SyscallWindow;
    const NEEDED_BY: &'static str = "exactop syscalls";

    fn open(choice: &Choice) -> Result<Syscalls, SourceError> {
        Syscalls::open_with(choice, 0)
    }

    fn try_to_load() -> Result<(), SourceError> {
        let choice = Choice::default();
        load::<SyscallsSkelBuilder>(&[], Room::default(), |open| set_up(open, &choice, 0)).map(drop)
    }

    fn began_ns(&self) -> u64 {
        self.programs.began_ns()
    }

    fn window(&mut self) -> Result<SyscallWindow, SourceError> {
        let ended = self.programs.end_window();
        let skel = &self.programs.skel;
        let gone = ExitedTasks::default();
        let maps = [&skel.maps.syscalls, &skel.maps.syscalls_more];
        let sums = self.sums.window(maps, |key| gone.has(key.tgid, key.tid))?;
        let maps = [&skel.maps.failures, &skel.maps.failures_more];
        let failures = self.failures.window(maps, |key| gone.has(key.call.tgid, key.call.tid))?;
        let mut rows = Rows::new(self.by, ended);
        sums.iter().for_each(|(key, sum)| rows.add(key, sum));
        for open in iterator::records(&skel.progs.open_syscalls)? {
            rows.add_open(&open);
        }
        Ok(SyscallWindow {
            t0_ns: ended.t0_ns,
            t1_ns: ended.t1_ns,
            by: self.by,
            failures: rows.failures(&failures),
            rows: rows.rows.into_values().collect(),
            dispatches: rows.dispatches.into_values().collect(),
            losses: self.programs.losses(),
        })
    }
}

fn set_up(
    open: &mut Open<SyscallsSkelBuilder>,
    choice: &Choice,
    hide_one_in: u32,
) -> libbpf_rs::Result<()> {
    open.progs.on_dispatch.set_autoload(choice.by != SyscallsBy::Call);
    let Some(rodata) = open.maps.rodata_data.as_mut() else {
        return Err(std::io::Error::other("cannot find .rodata in the BPF object").into());
    };
    rodata.by = match choice.by {
        SyscallsBy::Call => ex_by::EX_BY_CALL,
        SyscallsBy::Process => ex_by::EX_BY_PROCESS,
        SyscallsBy::Thread => ex_by::EX_BY_THREAD,
    };
    rodata.hide_one_in = hide_one_in;
    rodata.some_calls = !choice.calls.is_empty();
    for call in &choice.calls {
        let nr = usize::try_from(call.0).unwrap_or(usize::MAX);
        if let Some(word) = rodata.call_bits.get_mut(nr / 64) {
            *word |= 1 << (nr % 64);
        }
    }
    Ok(())
}

/// Rows of a window under construction.
struct Rows {
    by: SyscallsBy,
    ended: Ended,
    rows: FxHashMap<(u32, u32, i32), SyscallRow>,
    dispatches: FxHashMap<(u32, u32), Dispatches>,
}

impl Rows {
    fn new(by: SyscallsBy, ended: Ended) -> Rows {
        Rows { by, ended, rows: FxHashMap::default(), dispatches: FxHashMap::default() }
    }

    fn task_ref(&self, tgid: u32, tid: u32, names: &names) -> Option<TaskRef> {
        let thread = task::thread!(tgid, tid, names);
        match self.by {
            SyscallsBy::Call => None,
            SyscallsBy::Process => Some(thread.process()),
            SyscallsBy::Thread => Some(thread),
        }
    }

    fn add(&mut self, key: &ex_syscall_key, sum: &ex_syscall_sum) {
        let who = self.task_ref(key.tgid, key.tid, &sum.names);
        if let (DISPATCH, Some(who)) = (key.nr, who) {
            let none = Dispatches { who, count: 0 };
            self.dispatches.entry((key.tgid, key.tid)).or_insert(none).count += sum.calls;
            return;
        }
        let longest = &sum.longest;
        let timed = sum.calls > sum.untimed;
        let max_ns = self.ended.greatest(longest.ns, longest.epoch);
        let row = SyscallRow {
            calls: sum.calls,
            untimed: sum.untimed,
            errors: sum.errors,
            total_ns: sum.total_ns,
            max_ns: max_ns.filter(|_| timed),
            ..SyscallRow::new(who, SyscallNr(key.nr))
        };
        self.row((key.tgid, key.tid, key.nr), who).add(&row);
    }

    /// Errors of the rows, summed over CPUs.
    fn failures(&self, sums: &[(ex_failure_key, ex_failures)]) -> Vec<Failures> {
        let mut all: FxHashMap<(u32, u32, i32, u32), Failures> = FxHashMap::default();
        for (key, sum) in sums {
            let ex_syscall_key { tgid, tid, nr, .. } = key.call;
            // The call's row has the name.
            let who = self.rows.get(&(tgid, tid, nr)).and_then(|row| row.who);
            let who = who.or_else(|| self.task_ref(tgid, tid, &names::default()));
            let none = Failures { who, nr: SyscallNr(nr), errno: key.error, count: 0 };
            all.entry((tgid, tid, nr, key.error)).or_insert(none).count += sum.count;
        }
        all.into_values().collect()
    }

    fn add_open(&mut self, open: &ex_open_syscall) {
        let (tgid, tid) = match self.by {
            SyscallsBy::Call => (0, 0),
            SyscallsBy::Process => (open.tgid, 0),
            SyscallsBy::Thread => (open.tgid, open.tid),
        };
        let who = self.task_ref(tgid, tid, &open.names);
        let begun = Some(open.since).filter(|&since| since != 0);
        // Another CPU's clock may be a little ahead; the age is then unknown.
        let oldest_ns = begun.and_then(|since| open.now.checked_sub(since));
        let row =
            SyscallRow { in_flight: 1, oldest_ns, ..SyscallRow::new(who, SyscallNr(open.nr)) };
        self.row((tgid, tid, open.nr), who).add(&row);
    }

    fn row(&mut self, key: (u32, u32, i32), who: Option<TaskRef>) -> &mut SyscallRow {
        self.rows.entry(key).or_insert(SyscallRow::new(who, SyscallNr(key.2)))
    }
}
