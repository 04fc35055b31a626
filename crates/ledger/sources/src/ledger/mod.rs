//! The ledger: BPF programs that charge every nanosecond at the event that ends it, and their
//! reader.
//!
//! `closing` ends a window. `tasks`, `exits` and `cpus` read the state at its end. `cost` computes
//! what that cost. The programs are in `bpf/ledger/ledger.bpf.c`.

mod blame;
mod closing;
mod cost;
mod cpus;
mod ended;
mod exits;
mod followed;
mod footprint;
mod growth;
mod kernel_side;
pub(crate) mod load;
mod maps;
mod moves;
mod optional;
mod slotless;
mod tasks;
mod wait_sizes;
mod zombies;

/// Generated from bpf/ledger/ledger.bpf.c by the build script.
#[allow(clippy::all, missing_docs, dead_code, unsafe_op_in_unsafe_fn)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/ledger.skel.rs"));
}

use crate::bpf::spare::Spare;
use crate::bpf::wire::{ex_audited, ex_error, ex_event};
use crate::clock;
use crate::error::SourceError;
use crate::source::{FollowedProcess, Request, Source, SplitOptions, FOLLOWED_MOST};
pub use blame::BlameOptions;
use blame::{BlameReader, SlotWaits};
use closing::Closed;
use cost::Cost;
pub use cost::ProgramStats;
use ended::EndedReader;
use exactop_model::ledger::snapshot::{CostSample, Snapshot};
use exactop_model::ledger::system::System;
use exactop_model::{
    Blame, Counter, ErrorCounts, ErrorKind, Needs, Provenance, Quality, SourceKind,
};
use exits::ExitReader;
use followed::Entries;
use kernel_side::KernelSide;
use moves::MoveReader;
use optional::{Group, Optional};
use slotless::Slotless;
use tasks::{Changes, Measured, TaskReader};
pub use wait_sizes::WaitSizesOptions;
use wait_sizes::WaitSizesReader;
use zombies::ZombieReader;

/// Size limits of the ledger, and faults for tests.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Most slots, one for each living task, 840 bytes of kernel memory each. The table begins
    /// small and grows. Time of tasks without a slot is unnamed.
    pub slots: u32,
    /// Most exited groups, 824 bytes each. Exited time without a group is unnamed.
    pub groups: u32,
    /// For tests: events to hide from the programs, as some kernels hide them.
    pub lose: Option<Loss>,
    /// For tests: the end of one window to publish late.
    pub late: Option<LateEnd>,
    /// Measure the cost of an event with the kernel's run-time statistics.
    pub calibrate: bool,
    /// Measurement of user and system time.
    pub split: SplitOptions,
    /// Lead of a window's end over the present, ns. It must be longer than the virtual CPU of this
    /// process may stop while it publishes the end.
    pub lead_ns: u64,
    /// The blame book; `None`: none is kept, and it costs nothing.
    pub blame: Option<BlameOptions>,
    /// Histograms of waits, in the blame book; `None`: none are kept, and they cost nothing.
    pub wait_sizes: Option<WaitSizesOptions>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            slots: growth::MOST_SLOTS,
            groups: growth::MOST_GROUPS,
            lose: None,
            late: None,
            calibrate: true,
            split: SplitOptions::default(),
            lead_ns: closing::LEAD_NS,
            blame: Some(BlameOptions::default()),
            wait_sizes: None,
        }
    }
}

/// For tests: a window's end that is published late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LateEnd {
    /// Number of the window; 0: the beginning of the first one.
    pub window: u32,
    /// Delay, ns.
    pub by_ns: u64,
}

/// For tests: events that the programs ignore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Kind of event.
    pub event: LostEvent,
    /// Length of a cycle: number of events of this kind on one CPU.
    pub one_in: u32,
    /// Number of consecutive events lost in each cycle.
    pub in_a_row: u32,
}

/// Events that a kernel may not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum LostEvent {
    /// A context switch.
    Switch = ex_event::EX_EV_SWITCH.0,
    /// A wake-up of a sleeping task.
    Wakeup = ex_event::EX_EV_WAKEUP.0,
    /// A birth.
    Birth = ex_event::EX_EV_NEW.0,
    /// An exit.
    Exit = ex_event::EX_EV_EXIT.0,
    /// The kernel's release of a reaped task.
    Release = ex_event::EX_EV_OTHER.0,
    /// The begin or the end of an interrupt.
    Interrupt = ex_event::EX_EV_IRQ.0,
    /// An exit together with the last switch of the same task (`EX_LOSE_ENDS` of bpf/wire.h).
    End = ex_event::EX_EVENTS.0,
    /// The same, and the release of every task (`EX_LOSE_ENDS_AND_RELEASES`).
    EndAndRelease = ex_event::EX_EVENTS.0 + 1,
}

/// The kind for each error that the programs count. Without one of them, this does not compile.
const ERROR_KINDS: [(ErrorKind, ex_error); ex_error::EX_ERRORS.0 as usize] = [
    (ErrorKind::UnseenSwitch, ex_error::EX_ERR_UNSEEN_SWITCH),
    (ErrorKind::NoSlot, ex_error::EX_ERR_NO_SLOT),
    (ErrorKind::NoStorage, ex_error::EX_ERR_NO_STORAGE),
    (ErrorKind::NoGroup, ex_error::EX_ERR_NO_GROUP),
    (ErrorKind::FreeList, ex_error::EX_ERR_FREE_LIST),
    (ErrorKind::ClockStep, ex_error::EX_ERR_CLOCK_STEP),
    (ErrorKind::LostWakeup, ex_error::EX_ERR_LOST_WAKEUP),
    (ErrorKind::NoLine, ex_error::EX_ERR_NO_LINE),
    (ErrorKind::MissedSwitch, ex_error::EX_ERR_MISSED_SWITCH),
    (ErrorKind::UnseenBirth, ex_error::EX_ERR_UNSEEN_BIRTH),
    (ErrorKind::UnseenExit, ex_error::EX_ERR_UNSEEN_EXIT),
    (ErrorKind::UnseenIrq, ex_error::EX_ERR_UNSEEN_IRQ),
    (ErrorKind::NoMove, ex_error::EX_ERR_NO_MOVE),
];

const _: () = {
    let mut at = 0;
    while at < ERROR_KINDS.len() {
        assert!(ERROR_KINDS[at].1 .0 as usize == at, "in the order of bpf/wire.h");
        at += 1;
    }
};

/// Epoch of the first window; a new slot has 0.
const OPENING_EPOCH: u32 = 2;
/// Number of the tree of this process's own children.
pub const OWN_TREE: u32 = 1;
/// Number of attempts to begin the first window without an error.
const OPENINGS: u32 = 4;

/// The exact source.
pub struct Ledger {
    kernel: KernelSide,
    provenance: Provenance,
    tasks: TaskReader,
    exits: ExitReader,
    moves: MoveReader,
    blame: Option<BlameReader>,
    wait_sizes: Option<WaitSizesReader>,
    zombies: ZombieReader,
    ended: EndedReader,
    slotless: Slotless,
    cost: Cost,
    split: Optional,
    interrupts: Optional,
    lead_ns: u64,
    /// Begin of the open window.
    began: Option<Closed>,
    errors: ErrorCounts,
    steal: bool,
    watch: Option<u32>,
    followed: Entries,
    /// True if the followed trees are this process's own children.
    follows_own: bool,
    seeded_without_slot: u64,
}

impl Ledger {
    /// Loads and attaches the programs, gives every task a slot, and opens the first window.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`] with the reason and what to do.
    pub fn open(options: &Options) -> Result<Ledger, SourceError> {
        clock::is_the_machines()?;
        let spare = Spare::hold()?;
        let mut kernel = KernelSide::new(load::load(options)?, options)?;
        kernel.start_cpus(clock::now_ns());
        // Not 0, the epoch of a new slot: the slot's first event must put it on the list.
        kernel.globals.set_epoch(OPENING_EPOCH - 1);
        let cost = Cost::start(options.calibrate);
        kernel.attach()?;
        let mut split = Optional::new(Group::Split, options.split);
        split.want(&kernel, false, clock::now_ns())?;
        let mut interrupts = Optional::new(Group::Interrupts, options.split);
        interrupts.want(&kernel, false, clock::now_ns())?;
        kernel.seed()?;
        for cpu in 0..kernel.possible_cpus {
            kernel.flush(cpu)?;
        }
        kernel.globals.set_seeded(1);
        drop(spare);
        let steal = steal_is_measured(&kernel);
        let measured = measured(&kernel, steal, &split, &interrupts);
        let provenance = provenance(measured, &kernel);
        Ok(Ledger {
            kernel,
            provenance,
            tasks: TaskReader::new(options.blame.is_some()),
            exits: ExitReader::default(),
            moves: MoveReader::default(),
            blame: options.blame.map(|_| BlameReader::new()),
            wait_sizes: options.wait_sizes.map(|sizes| WaitSizesReader::new(sizes.places)),
            zombies: ZombieReader::default(),
            ended: EndedReader::default(),
            slotless: Slotless::default(),
            split,
            interrupts,
            lead_ns: options.lead_ns,
            began: None,
            cost,
            errors: ErrorCounts::default(),
            steal,
            watch: None,
            followed: Entries::default(),
            follows_own: false,
            seeded_without_slot: 0,
        })
    }

    /// The kernel's statistics of the programs: their cost while it was measured, and skipped runs.
    pub fn program_stats(&self) -> Vec<ProgramStats> {
        cost::program_stats(&self.kernel)
    }

    /// Number of events that [`Options::lose`] hid.
    pub fn lost_on_purpose(&self) -> u64 {
        self.kernel.globals.events_lost()
    }

    /// Number of slots that tasks have had so far. Each has one task at a time.
    pub fn slots(&self) -> u64 {
        self.kernel.globals.next_slot().into()
    }

    /// Cost of one event, ns, once calibrated.
    pub fn ns_per_event(&self) -> Option<f64> {
        self.cost.ns_per_event()
    }

    /// Follows the children of this process and all their descendants: their samples have tree 1.
    /// While no process is watched, CPUs count their time as watched.
    pub fn follow_children(&mut self) {
        let own = FollowedProcess { tgid: std::process::id(), start_ns: 0, tree: OWN_TREE };
        self.followed.set(&self.kernel.globals, &[own]);
        self.follows_own = true;
    }

    fn watch(&mut self, tgid: Option<u32>) {
        if self.watch != tgid {
            self.watch = tgid;
            self.kernel.globals.set_watch_tgid(tgid.unwrap_or(0));
        }
    }

    /// Adds the errors of the programs, the kernel and this reader.
    fn count_errors(&mut self, closed: &Closed, recursions: u64, torn: u64, overflow: bool) {
        use ErrorKind as E;
        self.count_kernel_errors();
        self.errors.0[E::Recursion as usize] = recursions;
        self.errors.add(E::Torn, torn);
        self.errors.add(E::DirtyList, overflow.into());
        self.errors.add(E::Offline, closed.offline);
        // A late end adds time to one window and takes it from the next.
        for closed in self.began.replace(*closed).iter().chain([closed]) {
            self.errors.add(E::Late, closed.late.into());
            self.errors.add(E::Unsettled, closed.unsettled);
        }
    }

    /// Ends the open window. A first window with a bad start restarts: no window has the time
    /// before it, nor what was booked then.
    fn close(&mut self) -> Result<Closed, SourceError> {
        let mut closed = closing::close(&self.kernel, self.lead_ns)?;
        for _ in 0..OPENINGS {
            if self.began.is_some() || (!closed.late && closed.unsettled == 0) {
                break;
            }
            self.read_blame(&closed, &mut [])?;
            closed = closing::close(&self.kernel, self.lead_ns)?;
        }
        Ok(closed)
    }

    fn count_kernel_errors(&mut self) {
        for ((kind, _), count) in ERROR_KINDS.into_iter().zip(self.kernel.globals.errors()) {
            self.errors.0[kind as usize] = count;
        }
    }

    /// The blame book of the closed window, with the histograms of waits; `None` if none is kept.
    fn read_blame(
        &mut self,
        closed: &Closed,
        waits: &mut [SlotWaits],
    ) -> Result<Option<Blame>, SourceError> {
        let Some(reader) = &mut self.blame else { return Ok(None) };
        let mut blame = reader.read(&self.kernel, closed, waits)?;
        if let Some(sizes) = &mut self.wait_sizes {
            sizes.read(&self.kernel, closed, waits, reader, &mut blame)?;
        }
        Ok(Some(blame))
    }

    /// Gives free slots to tasks that got none at birth. Tasks without a slot get the figures of
    /// /proc.
    fn seed_again(&mut self, out: &mut Changes, slots: usize) -> Result<(), SourceError> {
        let missing =
            |errors: &ErrorCounts| errors.get(ErrorKind::NoSlot) + errors.get(ErrorKind::NoStorage);
        let before = missing(&self.errors);
        let mut left_out = false;
        if before > self.seeded_without_slot {
            self.kernel.seed()?;
            self.count_kernel_errors();
            self.seeded_without_slot = missing(&self.errors);
            left_out = self.seeded_without_slot > before;
        }
        self.slotless.read(&self.kernel, left_out, slots, out)
    }
}

impl Source for Ledger {
    fn follow(&mut self, followed: &[FollowedProcess]) -> Result<(), SourceError> {
        if followed.len() > FOLLOWED_MOST {
            return Err(SourceError::Unavailable {
                what: format!(
                    "cannot follow {} processes: at most {} are possible",
                    followed.len(),
                    FOLLOWED_MOST
                ),
                advice: "wait until other runs have ended".into(),
            });
        }
        self.followed.set(&self.kernel.globals, followed);
        self.follows_own = false;
        Ok(())
    }

    fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
        self.watch(request.watch);
        let now_ns = clock::now_ns();
        self.split.want(&self.kernel, request.needs.has(Needs::SPLIT), now_ns)?;
        self.interrupts.want(&self.kernel, request.needs.has(Needs::INTERRUPTS), now_ns)?;
        let closed = self.close()?;
        let slots = self.kernel.grow()?;
        let measured = measured(&self.kernel, self.steal, &self.split, &self.interrupts);
        let everyone = self.began.is_none();
        let mut changes = self.tasks.read(&self.kernel, &closed, slots, measured, everyone)?;
        self.zombies.read(&self.kernel, &closed, &mut changes)?;
        self.ended.read(&self.kernel, &changes.ended)?;
        let cpus = cpus::read(&self.kernel, &closed, self.steal);
        let exited = self.exits.read(&mut self.kernel, &closed, measured)?;
        let moves = self.moves.read(&self.kernel, &closed, measured)?;
        let blame = self.read_blame(&closed, &mut changes.waits)?;
        self.kernel.globals.set_read_epoch(closed.epoch);
        let recursions = self.cost.review(&self.kernel, closed.t_ns, measured, request.at_once);
        self.count_errors(&closed, recursions, changes.torn, changes.overflow);
        self.seed_again(&mut changes, slots)?;
        let (events, bpf_ns) = self.cost.so_far();
        self.provenance = provenance(measured, &self.kernel);
        let ns_per_event = self.cost.ns_per_event();
        self.split.review(&self.kernel, ns_per_event, closed.t_ns);
        self.interrupts.review(&self.kernel, ns_per_event, closed.t_ns);
        Ok(Snapshot {
            at_ns: closed.t_ns,
            provenance: self.provenance.clone(),
            irq_again: false,
            complete: false,
            tasks: changes.tasks,
            gone: changes.gone,
            exited,
            moves,
            groups: Vec::new(),
            leader_names: Vec::new(),
            cpus,
            // Tree 0 is our own children. The CPUs' sum over the trees of readers is not used.
            watch: self.watch.or(self.follows_own.then_some(0)),
            born: Some(self.kernel.globals.born_tasks()),
            errors: self.errors,
            repaired_ns: Some(self.kernel.globals.repaired_ns()),
            repaired_wait_ns: Some(self.kernel.globals.repaired_wait_ns()),
            system: System::default(),
            cost: CostSample { user_ns: 0, bpf_ns, bpf_events: Some(events) },
            outside: None,
            blame,
        })
    }

    fn provenance(&self) -> &Provenance {
        &self.provenance
    }
}

/// True if the kernel counts steal; otherwise the programs do not write `steal_raw`.
fn steal_is_measured(kernel: &KernelSide) -> bool {
    (0..kernel.possible_cpus).any(|cpu| {
        let raw = kernel.cpus.field(cpu, |c| unsafe { &raw const (*c).steal_raw });
        raw != kernel_side::UNREAD
    })
}

fn measured(kernel: &KernelSide, steal: bool, split: &Optional, interrupts: &Optional) -> Measured {
    let audited = |what: ex_audited| kernel.globals.audited() & what.0 != 0;
    Measured {
        steal,
        split: split.is_on(),
        irq: interrupts.is_on(),
        unthrottle: kernel.sees_unthrottle,
        audit_run: audited(ex_audited::EX_AUDIT_RUN),
        audit_lat: audited(ex_audited::EX_AUDIT_LAT),
    }
}

fn provenance(measured: Measured, kernel: &KernelSide) -> Provenance {
    let mut provenance = Provenance::new(SourceKind::Ledger);
    for &counter in Counter::ALL {
        provenance.counters[counter as usize] = match counter {
            Counter::IrqNs if !measured.irq => Quality::Missing,
            Counter::StealNs if !measured.steal => Quality::Missing,
            Counter::UserNs | Counter::SystemNs | Counter::Syscalls if !measured.split => {
                Quality::Missing
            }
            Counter::UtimeNs | Counter::StimeNs => Quality::Sampled,
            // Only the kernel's accounting has them; the ledger measures exited descendants itself.
            Counter::CutimeNs | Counter::CstimeNs => Quality::Missing,
            other if Counter::DELAYS.contains(&other) => Quality::Missing,
            _ => Quality::Exact,
        };
    }
    let exact_if = |there| if there { Quality::Exact } else { Quality::Missing };
    provenance.unthrottle = exact_if(measured.unthrottle);
    provenance.no_unthrottle = kernel.no_unthrottle.clone();
    provenance.irq = exact_if(measured.irq);
    provenance.steal = exact_if(measured.steal);
    provenance.audit_run = exact_if(measured.audit_run);
    provenance.audit_lat = exact_if(measured.audit_lat);
    provenance
}
