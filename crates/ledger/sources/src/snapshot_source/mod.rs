//! The source *snapshot*: a BPF task iterator reads the counters of all tasks at once, and filters
//! them in the kernel to those that changed (bpf/snapshot/snapshot.bpf.c). No program is attached
//! between two reads. On kernels since 6.7 a program walks the tasks itself, which takes a quarter
//! of the time.
//!
//! What it sees:
//! - CPU time in nanoseconds (`sum_exec_runtime`). The time of running tasks is added up to one
//!   instant for all. A task that was switched during the read, which takes microseconds, may be
//!   off by that time;
//! - run-queue wait, with the present wait; context switches, faults, migrations; user and system
//!   time by the kernel's accounting, in ticks on most machines;
//! - never tasks that were born and exited between two reads. Their time is unnamed, and so is the
//!   time of a task between its last read and its exit;
//! - the CPUs' time from /proc/stat, in ticks: the books close to within a few ticks.

/// Generated from bpf/snapshot/snapshot.bpf.c by the build script.
#[allow(clippy::all, missing_docs, dead_code, unsafe_op_in_unsafe_fn)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/snapshot.skel.rs"));
}

use crate::bpf::task::{letter, micro_state, raw_ident, state};
use crate::bpf::{iterator, loading, mapped::Mapped, plain::plain, refusal};
use crate::error::SourceError;
use crate::procfs::CpuReader;
use crate::source::{Request, Source};
use exactop_cgroups::cpu_controller_is_v1;
use exactop_model::ledger::audit::TaskAudit;
use exactop_model::{
    AccountId, Counter, Counters, ErrorCounts, ErrorKind, MicroState, Provenance, Quality,
    Snapshot, SourceKind, TaskSample,
};
use libbpf_rs::{MapCore, ProgramInput};
use rustc_hash::FxHashSet;
use skel::types::{self, ex_shot, ex_there};
use skel::{OpenSnapshotSkel, SnapshotSkel, SnapshotSkelBuilder};
use std::os::fd::AsFd;
use std::path::Path;

plain! { ex_shot ex_there }

/// EX_NO_CPU of bpf/snapshot/snapshot.h.
const NO_CPU: u32 = u32::MAX;

/// The source that reads changed tasks from the kernel.
pub struct SnapshotSource {
    skel: SnapshotSkel<'static>,
    /// Records of a walk over the tasks; `None` if this kernel has iterators only.
    shots: Option<Mapped<ex_shot>>,
    /// Number of reads so far.
    reads: u64,
    cpus: CpuReader,
    /// Accounts that existed at the last read.
    there: FxHashSet<u64>,
    errors: ErrorCounts,
    provenance: Provenance,
}

impl SnapshotSource {
    /// Loads the iterator.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`] with the reason and what to do.
    pub fn open() -> Result<SnapshotSource, SourceError> {
        crate::clock::is_the_machines()?;
        let skel = load()?;
        let shots = if skel.progs.walk.autoload() { Some(map_shots(&skel)?) } else { None };
        Ok(SnapshotSource {
            skel,
            shots,
            reads: 0,
            cpus: CpuReader::open(Path::new("/proc"))?,
            there: FxHashSet::default(),
            errors: ErrorCounts::default(),
            provenance: provenance(),
        })
    }

    /// Adds the reason for this source, in one line.
    pub fn because(mut self, reason: &str) -> Self {
        self.provenance.because(reason);
        self
    }

    fn globals(&mut self) -> *mut types::bss {
        self.skel.maps.bss_data.as_deref_mut().expect("the object has globals")
    }

    /// Sets the instant of the next read.
    fn begin(&mut self, at_ns: u64) {
        self.reads += 1;
        let (globals, read_no) = (self.globals(), self.reads);
        // SAFETY: words that the programs only read; no program runs now.
        unsafe {
            std::ptr::write_volatile(&raw mut (*globals).at, at_ns);
            std::ptr::write_volatile(&raw mut (*globals).read_no, read_no);
        }
    }

    /// Number of tasks in the last read, and of tasks without memory for their last state.
    fn counted(&mut self) -> (u64, u64) {
        let globals = self.globals();
        // SAFETY: plain data that is always mapped; only this code runs the programs.
        unsafe {
            (
                std::ptr::read_volatile(&raw const (*globals).alive),
                std::ptr::read_volatile(&raw const (*globals).unknown),
            )
        }
    }

    /// Records of the tasks that changed.
    fn changed(&mut self) -> Result<Vec<ex_shot>, SourceError> {
        if self.shots.is_none() {
            return iterator::records(&self.skel.progs.changed);
        }
        let mut told = Vec::new();
        loop {
            let run = self.skel.progs.walk.test_run(ProgramInput::default());
            run.map_err(refusal::failed("cannot walk the tasks"))?;
            let globals = self.globals();
            // SAFETY: as in `counted`.
            let (taken, left) = unsafe {
                (
                    std::ptr::read_volatile(&raw const (*globals).taken),
                    std::ptr::read_volatile(&raw const (*globals).left),
                )
            };
            let shots = self.shots.as_ref().expect("there are shots");
            told.extend((0..taken as usize).map(|i| shots.read(i)));
            if left == 0 || taken == 0 {
                return Ok(told);
            }
        }
    }

    /// Accounts that ended. All tasks are listed only if their number says that some ended.
    fn gone(&mut self, shots: &[ex_shot]) -> Result<Vec<AccountId>, SourceError> {
        self.there.extend(shots.iter().map(|shot| shot.serial));
        let (alive, unknown) = self.counted();
        self.errors.add(ErrorKind::NoStorage, unknown);
        if self.there.len() as u64 == alive {
            return Ok(Vec::new());
        }
        let there = iterator::records::<ex_there>(&self.skel.progs.there)?;
        let now: FxHashSet<u64> = there.iter().map(|one| one.serial).collect();
        let gone = self.there.difference(&now).map(|&serial| AccountId(serial)).collect();
        self.there = now;
        Ok(gone)
    }
}

/// Loads the programs, with the one that walks the tasks if the kernel accepts it.
pub(crate) fn load() -> Result<SnapshotSkel<'static>, SourceError> {
    let of_v1 = cpu_controller_is_v1()?;
    let set_up = |open: &mut OpenSnapshotSkel<'static>| {
        if let Some(rodata) = open.maps.rodata_data.as_mut() {
            rodata.cgroup_of_cpu_controller = of_v1;
        }
        open.maps.shots.set_autocreate(open.progs.walk.autoload())
    };
    loading::load::<SnapshotSkelBuilder>("snapshot", "the snapshot's", set_up)
}

fn map_shots(skel: &SnapshotSkel<'static>) -> Result<Mapped<ex_shot>, SourceError> {
    let max = skel.maps.shots.max_entries() as usize;
    let mut shots = Mapped::new(max);
    let mapped = shots.grow(skel.maps.shots.as_fd(), max);
    mapped.map_err(|error| SourceError::Kernel {
        what: "cannot map the records of the walk",
        error,
    })?;
    Ok(shots)
}

impl Source for SnapshotSource {
    /// The snapshot's instant is that of reading the CPUs; the time of running tasks is added up to
    /// it.
    ///
    /// # Errors
    /// [`SourceError::Read`] for /proc/stat, [`SourceError::Kernel`] for the iterator.
    fn snapshot(&mut self, _: &Request) -> Result<Snapshot, SourceError> {
        let (mut snapshot, now) = self.cpus.begin(&self.provenance, &mut self.errors)?;
        self.begin(now.monotonic_ns);
        // Updates the clock of our run queue, from which the program sets its own.
        std::thread::yield_now();
        let shots = self.changed()?;
        snapshot.gone = self.gone(&shots)?;
        let sample = |shot: &ex_shot| sample(shot, now.suspended_ns, now.monotonic_ns);
        snapshot.tasks = shots.iter().map(sample).collect();
        snapshot.complete = false;
        snapshot.errors = self.errors;
        Ok(snapshot)
    }

    fn provenance(&self) -> &Provenance {
        &self.provenance
    }
}

fn sample(shot: &ex_shot, suspended_ns: u64, now_ns: u64) -> TaskSample {
    let id = raw_ident!(&shot.id);
    let dead = shot.state == state::DEAD;
    TaskSample {
        account: AccountId(shot.serial),
        key: id.key(),
        ident: id.ident(),
        state: if dead { MicroState::Zombie } else { micro_state(shot.state) },
        letter: if dead { 'Z' } else { letter(shot.state, shot.kstate) },
        since_ns: id.start.saturating_sub(suspended_ns).min(now_ns),
        last_cpu: (shot.cpu != NO_CPU).then_some(shot.cpu),
        threads: None,
        tree: 0,
        counters: counters(shot),
        audit: TaskAudit::default(),
    }
}

fn counters(shot: &ex_shot) -> Counters {
    let mut counters = Counters::unknown();
    for (counter, value) in [
        (Counter::RunNs, shot.run),
        (Counter::LatNs, shot.run_delay),
        (Counter::UtimeNs, shot.utime),
        (Counter::StimeNs, shot.stime),
        (Counter::Dispatches, shot.dispatches),
        (Counter::Vcx, shot.vcx),
        (Counter::Icx, shot.icx),
        (Counter::MinorFaults, shot.min_flt),
        (Counter::MajorFaults, shot.maj_flt),
        (Counter::Migrations, shot.migrations),
    ] {
        counters.set(counter, value);
    }
    // The process's counters stand at its leader, so that the sum over threads is right.
    counters.set(Counter::CutimeNs, shot.cutime);
    counters.set(Counter::CstimeNs, shot.cstime);
    counters
}

fn provenance() -> Provenance {
    let exact = [
        Counter::Dispatches,
        Counter::Vcx,
        Counter::Icx,
        Counter::MinorFaults,
        Counter::MajorFaults,
        Counter::Migrations,
    ];
    let sampled = [Counter::CutimeNs, Counter::CstimeNs];
    Provenance::by_ticks(SourceKind::Snapshot)
        .with(Quality::Exact, &exact)
        .with(Quality::Sampled, &sampled)
}
