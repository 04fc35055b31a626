//! System calls, counted and timed while this source lives (bpf/on_demand/syscalls.bpf.c).

/// Generated from bpf/on_demand/syscalls.bpf.c by the build script.
#[allow(clippy::all, missing_docs, dead_code, unsafe_op_in_unsafe_fn)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/syscalls.skel.rs"));
}

use crate::bpf::sums::{Plain, Sum, Tally};
use crate::bpf::{iterator, on_demand, refusal};
use crate::clock;
use crate::error::SourceError;
use exactop_model::on_demand::syscalls::{Dispatches, SyscallRow, SyscallWindow, SyscallsBy};
use exactop_model::{CallNr, Comm, Who};
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{Link, OpenObject};
use rustc_hash::FxHashMap;
use skel::types::{ex_open_syscall, ex_syscall_key, ex_syscall_sum};
use skel::{SyscallsSkel, SyscallsSkelBuilder};
use std::hash::{Hash, Hasher};
use std::mem::MaybeUninit;

/// `EX_NR_DISPATCH` of bpf/on_demand/syscalls.h.
const DISPATCH: i32 = -2;

/// What to count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What is summed together.
    pub by: SyscallsBy,
    /// Only these processes; empty: all.
    pub pids: Vec<u32>,
    /// Only these calls; empty: all.
    pub calls: Vec<CallNr>,
}

/// The programs, attached.
pub struct Syscalls {
    options: Options,
    tally: Tally<ex_syscall_key, ex_syscall_sum>,
    t0_ns: u64,
    lost: u64,
    _links: Vec<Link>,
    skel: SyscallsSkel<'static>,
}

impl Syscalls {
    /// Attaches the programs; the first window begins.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`] with the reason and what would help.
    pub fn open(options: &Options) -> Result<Syscalls, SourceError> {
        let skel = loaded(options)?;
        on_demand::choose_processes(&skel.maps.chosen, &options.pids)?;
        let links = on_demand::attach(skel.object().progs_mut())?;
        let options = options.clone();
        let t0_ns = clock::now_ns();
        Ok(Syscalls { options, tally: Tally::default(), t0_ns, lost: 0, _links: links, skel })
    }

    /// Ends the window; the next begins.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn window(&mut self) -> Result<SyscallWindow, SourceError> {
        let epoch = self.epoch();
        let (t0_ns, t1_ns) = (self.t0_ns, clock::now_ns());
        self.t0_ns = t1_ns;
        let gone = |key: &ex_syscall_key| on_demand::is_gone(key.tgid, key.tid);
        let sums = self.tally.window(&self.skel.maps.syscalls, gone)?;
        let mut rows = Rows { by: self.options.by, epoch, ..Rows::default() };
        sums.iter().for_each(|(key, sum)| rows.add(key, sum));
        for open in iterator::records::<ex_open_syscall>(&self.skel.progs.open_syscalls)? {
            rows.add_open(&open, clock::now_ns());
        }
        let lost = self.globals().lost_calls;
        let lost_now = lost - std::mem::replace(&mut self.lost, lost);
        Ok(SyscallWindow {
            t0_ns,
            t1_ns,
            by: self.options.by,
            rows: rows.rows.into_values().collect(),
            dispatches: rows.dispatches.into_values().collect(),
            lost: lost_now,
        })
    }

    /// The epoch of the window that ends now; maxima go to the next from here on.
    fn epoch(&mut self) -> u32 {
        let Some(bss) = self.skel.maps.bss_data.as_mut() else { return 0 };
        let epoch = bss.window_epoch;
        // SAFETY: a word that the programs only read.
        unsafe { std::ptr::write_volatile(&raw mut bss.window_epoch, epoch.wrapping_add(1)) };
        epoch
    }

    fn globals(&self) -> skel::types::bss {
        let bss = self.skel.maps.bss_data.as_deref().expect("the object has globals");
        // SAFETY: plain data that is always mapped.
        unsafe { std::ptr::read_volatile(bss) }
    }
}

/// The programs, not attached yet.
pub(crate) fn loaded(options: &Options) -> Result<SyscallsSkel<'static>, SourceError> {
    refusal::check_before()?;
    refusal::attempt(|| load(options))
        .map_err(|error| refusal::refused("the system calls'", &error))
}

fn load(options: &Options) -> libbpf_rs::Result<SyscallsSkel<'static>> {
    let storage: &'static mut MaybeUninit<OpenObject> = Box::leak(Box::new(MaybeUninit::uninit()));
    let mut open = SyscallsSkelBuilder::default().open(storage)?;
    open.progs.on_switch.set_autoload(options.by != SyscallsBy::Call);
    let Some(rodata) = open.maps.rodata_data.as_mut() else {
        return Err(std::io::Error::other("the object has no .rodata").into());
    };
    rodata.by = match options.by {
        SyscallsBy::Call => 0,
        SyscallsBy::Process => 1,
        SyscallsBy::Thread => 2,
    };
    rodata.all_processes = options.pids.is_empty();
    rodata.some_calls = !options.calls.is_empty();
    for call in &options.calls {
        let nr = usize::try_from(call.0).unwrap_or(usize::MAX);
        if let Some(word) = rodata.call_bits.get_mut(nr / 64) {
            *word |= 1 << (nr % 64);
        }
    }
    let chosen = (options.pids.len() as u32).max(1);
    open.maps.chosen.set_max_entries(chosen)?;
    open.load()
}

/// A window's rows in the making.
#[derive(Default)]
struct Rows {
    by: SyscallsBy,
    epoch: u32,
    rows: FxHashMap<(u32, u32, i32), SyscallRow>,
    dispatches: FxHashMap<(u32, u32), Dispatches>,
}

impl Rows {
    fn who(&self, tgid: u32, tid: u32, comm: &[i8; 16]) -> Option<Who> {
        let comm = Comm::new(&comm.map(|c| c as u8));
        match self.by {
            SyscallsBy::Call => None,
            SyscallsBy::Process => Some(Who { tgid, tid: None, comm }),
            SyscallsBy::Thread => Some(Who { tgid, tid: Some(tid), comm }),
        }
    }

    fn add(&mut self, key: &ex_syscall_key, sum: &ex_syscall_sum) {
        let who = self.who(key.tgid, key.tid, &sum.comm);
        if let (DISPATCH, Some(who)) = (key.nr, who) {
            let none = Dispatches { who, count: 0 };
            self.dispatches.entry((key.tgid, key.tid)).or_insert(none).count += sum.calls;
            return;
        }
        let longest = &sum.longest;
        let timed = sum.calls > sum.untimed;
        let max_ns = on_demand::greatest(longest.ns, longest.epoch, self.epoch);
        let row = SyscallRow {
            calls: sum.calls,
            untimed: sum.untimed,
            errors: sum.errors,
            total_ns: sum.total_ns,
            max_ns: max_ns.filter(|_| timed),
            ..SyscallRow::new(who, CallNr(key.nr))
        };
        self.row((key.tgid, key.tid, key.nr), who).add(&row);
    }

    fn add_open(&mut self, open: &ex_open_syscall, now_ns: u64) {
        let (tgid, tid) = match self.by {
            SyscallsBy::Call => (0, 0),
            SyscallsBy::Process => (open.tgid, 0),
            SyscallsBy::Thread => (open.tgid, open.tid),
        };
        let who = self.who(tgid, tid, &open.comm);
        let oldest_ns = (open.since != 0).then(|| now_ns.saturating_sub(open.since));
        let row = SyscallRow { in_flight: 1, oldest_ns, ..SyscallRow::new(who, CallNr(open.nr)) };
        self.row((tgid, tid, open.nr), who).add(&row);
    }

    fn row(&mut self, key: (u32, u32, i32), who: Option<Who>) -> &mut SyscallRow {
        self.rows.entry(key).or_insert(SyscallRow::new(who, CallNr(key.2)))
    }
}

// SAFETY: integers without padding, as the C side declares them.
unsafe impl Plain for ex_syscall_key {}
unsafe impl Plain for ex_syscall_sum {}
unsafe impl Plain for ex_open_syscall {}

impl PartialEq for ex_syscall_key {
    fn eq(&self, other: &Self) -> bool {
        (self.tgid, self.tid, self.nr, self.cpu) == (other.tgid, other.tid, other.nr, other.cpu)
    }
}

impl Eq for ex_syscall_key {}

impl Hash for ex_syscall_key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.tgid, self.tid, self.nr, self.cpu).hash(state);
    }
}

impl Sum for ex_syscall_sum {
    fn since(&self, before: &Self) -> Self {
        ex_syscall_sum {
            calls: self.calls - before.calls,
            untimed: self.untimed - before.untimed,
            errors: self.errors - before.errors,
            total_ns: self.total_ns - before.total_ns,
            ..*self
        }
    }

    fn is_zero(&self) -> bool {
        self.calls == 0
    }
}
