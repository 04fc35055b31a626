//! Turns slots into samples: the state of each changed task at T.

use super::blame::SlotWaits;
use super::closing::Closed;
use super::kernel_side::KernelSide;
use super::skel::types::{ex_before, ex_cum, ex_ident, ex_slot, ex_wait_cum};
pub use crate::bpf::task::comm;
use crate::bpf::task::{letter, micro_state, raw_ident, state};
use crate::bpf::wire::ex_cpu_word;
use crate::bpf::wire::ex_state as S;
use crate::error::SourceError;
use exactop_model::blame::Booked;
use exactop_model::ledger::audit::{Difference, TaskAudit};
use exactop_model::{AccountId, Counter, Counters, TaskSample};
use std::ptr;

/// The CPU number in `ex_slot.cpu`.
const CPU_NUMBER: u32 = ex_cpu_word::EX_CPU_NUMBER.0;

/// What the reader remembers of a slot.
#[derive(Clone, Copy, Default)]
struct Mirror {
    /// Serial of the owner in the last sample; 0: none.
    live: u64,
    /// Epoch of the last read.
    looked: u32,
    /// True if it is in the list of those that waited.
    waits: bool,
}

/// Most tasks in a window that are asked if they still wait.
const MOST_ASKED: usize = 1_000;

/// Result of reading the changed slots.
#[derive(Default)]
pub struct Changes {
    /// Tasks with an event.
    pub tasks: Vec<TaskSample>,
    /// Accounts that ended.
    pub gone: Vec<AccountId>,
    /// Slots of ended tasks whose last switch was not shown.
    pub ended: Vec<usize>,
    /// Number of slots that could not be read consistently.
    pub torn: u64,
    /// True if the list of changed slots had overflowed.
    pub overflow: bool,
    /// Waits of the same slots, if the blame book is kept.
    pub waits: Vec<SlotWaits>,
}

/// The reader's memory of all slots.
pub struct TaskReader {
    mirror: Vec<Mirror>,
    measured: Measured,
    keeps_blame: bool,
    /// Slots whose task waited when it was read.
    waiting: Vec<usize>,
    /// Switches so far that were not shown.
    unseen: u64,
    /// True if there were some in this window.
    has_unseen: bool,
    /// Tasks that were asked in this window.
    asked: usize,
}

/// The content of a slot as of T.
#[derive(Default)]
struct View {
    serial: u64,
    state: u32,
    cpu: u32,
    kstate: u32,
    born: u64,
    tree: u32,
    party: u16,
    id: ex_ident,
    cum: ex_cum,
    waits: ex_wait_cum,
    before: ex_before,
}

impl View {
    fn waits(&self, slot: usize) -> SlotWaits {
        let ns = |state: S| self.cum.ns[state.0 as usize];
        SlotWaits {
            slot,
            serial: self.serial,
            party: self.party,
            waited: ns(S::EX_LAT) + ns(S::EX_LAT_PREEMPT) + ns(S::EX_THROTTLE),
            booked: ns(S::EX_BOOKED),
            sized: self.waits.sized,
            brief: Booked { ns: self.waits.brief, times: self.waits.briefs },
            dispatches: self.cum.dispatches,
            waits: waits(self.state),
        }
    }
}

impl TaskReader {
    /// Knows no slot yet. `keeps_blame`: also reads the slots' waits.
    pub fn new(keeps_blame: bool) -> TaskReader {
        TaskReader {
            mirror: Vec::new(),
            measured: Measured::default(),
            keeps_blame,
            waiting: Vec::new(),
            unseen: 0,
            has_unseen: false,
            asked: 0,
        }
    }

    /// Reads the slots that changed in the window that `closed` ended, or all slots.
    ///
    /// # Errors
    /// The kernel refuses to run a program.
    pub fn read(
        &mut self,
        kernel: &KernelSide,
        closed: &Closed,
        slots: usize,
        measured: Measured,
        everyone: bool,
    ) -> Result<Changes, SourceError> {
        let mut changes = Changes::default();
        self.measured = measured;
        self.mirror.resize(slots.max(self.mirror.len()), Mirror::default());
        let unseen = kernel.unseen_switches();
        self.has_unseen = std::mem::replace(&mut self.unseen, unseen) != unseen;
        self.asked = 0;
        let began = closed.epoch.wrapping_sub(1) as usize & 1;
        let listed = kernel.globals.dirty_n()[began] as usize;
        changes.overflow = listed > kernel.max_listed;
        if everyone || changes.overflow {
            for index in 0..slots {
                self.look(kernel, closed, index, &mut changes)?;
            }
            return Ok(changes);
        }
        for at in 0..listed {
            let index = kernel.dirty.read(began * kernel.max_listed + at) as usize;
            if index < slots {
                self.look(kernel, closed, index, &mut changes)?;
            }
        }
        if self.has_unseen {
            self.ask_the_waiting(kernel, closed, &mut changes)?;
        }
        Ok(changes)
    }

    /// Ends the wait of a task that came onto a CPU and left it unseen. Returns true if it did.
    fn ends_wait(&mut self, kernel: &KernelSide, index: usize) -> Result<bool, SourceError> {
        let state = kernel.slots.field(index, |s| unsafe { &raw const (*s).state });
        if !self.has_unseen || !waits(state) || self.asked == MOST_ASKED {
            return Ok(false);
        }
        self.asked += 1;
        kernel.end_wait(index)
    }

    /// The same for tasks that had no event in the window.
    fn ask_the_waiting(
        &mut self,
        kernel: &KernelSide,
        closed: &Closed,
        out: &mut Changes,
    ) -> Result<(), SourceError> {
        for index in std::mem::take(&mut self.waiting) {
            self.mirror[index].waits = false;
            let has_changed = self.mirror[index].looked == closed.epoch;
            if !has_changed && self.ends_wait(kernel, index)? {
                self.look(kernel, closed, index, out)?;
            } else {
                self.remember_wait(kernel, index);
            }
        }
        Ok(())
    }

    fn remember_wait(&mut self, kernel: &KernelSide, index: usize) {
        let state = kernel.slots.field(index, |s| unsafe { &raw const (*s).state });
        if waits(state) && !std::mem::replace(&mut self.mirror[index].waits, true) {
            self.waiting.push(index);
        }
    }

    fn look(
        &mut self,
        kernel: &KernelSide,
        closed: &Closed,
        index: usize,
        out: &mut Changes,
    ) -> Result<(), SourceError> {
        if self.mirror[index].looked == closed.epoch {
            return Ok(());
        }
        self.ends_wait(kernel, index)?;
        self.remember_wait(kernel, index);
        self.mirror[index].looked = closed.epoch;
        let before = self.mirror[index].live;
        let mut live = 0;
        let mut waits = SlotWaits { slot: index, ..SlotWaits::default() };
        match view(kernel, closed, index) {
            Some(SlotState::Alive(view)) if view.born < closed.t_ns => {
                live = view.serial;
                waits = view.waits(index);
                out.tasks.push(self.sample(&view));
            }
            Some(SlotState::Ended) => out.ended.push(index),
            Some(_) => {}
            None => {
                out.torn += 1;
                return Ok(());
            }
        }
        if before != 0 && before != live {
            out.gone.push(AccountId(before));
        }
        self.mirror[index].live = live;
        if self.keeps_blame {
            out.waits.push(waits);
        }
        Ok(())
    }

    fn sample(&self, view: &View) -> TaskSample {
        TaskSample {
            account: AccountId(view.serial),
            key: raw_ident!(&view.id).key(),
            ident: raw_ident!(&view.id).ident(),
            state: micro_state(view.state),
            letter: letter(view.state, view.kstate),
            since_ns: view.born,
            last_cpu: Some(view.cpu & CPU_NUMBER),
            threads: None,
            tree: view.tree,
            counters: counters(&since(&view.cum, &view.before), self.measured),
            audit: audit(&view.cum),
        }
    }
}

/// The figures without those from before the task's account.
fn since(cum: &ex_cum, before: &ex_before) -> ex_cum {
    ex_cum {
        utime: cum.utime - before.utime,
        stime: cum.stime - before.stime,
        min_flt: cum.min_flt - before.min_flt,
        maj_flt: cum.maj_flt - before.maj_flt,
        ..*cum
    }
}

/// True for a task that wants a CPU and has none.
const fn waits(state: u32) -> bool {
    matches!(state, state::LAT | state::LAT_PREEMPT | state::THROTTLE)
}

fn audit(cum: &ex_cum) -> TaskAudit {
    TaskAudit {
        run: Difference { error_ns: cum.run_error, bias_ns: cum.run_bias },
        lat: Difference { error_ns: cum.lat_error, bias_ns: cum.lat_bias },
        repairs: cum.repairs.into(),
    }
}

fn is_alive(state: u32) -> bool {
    state == state::RUN || (state::LAT..=state::THROTTLE).contains(&state)
}

/// The task of a slot as of T.
#[allow(clippy::large_enum_variant, reason = "taken apart where it is made")]
enum SlotState {
    /// No living task. If many tasks are born and end, this is most of the changed slots.
    Nobody,
    /// A task that ended, with its slot: its last switch was not shown.
    Ended,
    /// A living task.
    Alive(View),
}

/// A consistent copy of a slot as of T; `None` if the slot kept changing.
///
/// A program that crosses T stores `snap`, then the epoch, then the rest. So if the slot has T's
/// epoch, `snap` is the state as of T. If it has an older epoch both before and after the copy, no
/// program crossed T meanwhile: the task was in its state up to T.
fn view(kernel: &KernelSide, closed: &Closed, index: usize) -> Option<SlotState> {
    let serial_of = |s: *const ex_slot| unsafe { &raw const (*s).serial };
    let epoch_of = |s: *const ex_slot| unsafe { &raw const (*s).epoch };
    for _ in 0..100 {
        let serial = kernel.slots.field(index, serial_of);
        let epoch = kernel.slots.field(index, epoch_of);
        let crossed = epoch == closed.epoch;
        // SAFETY: the pointer is to a slot of the table.
        let at_t = |slot| unsafe { at_t(slot, serial, crossed, closed.t_ns) };
        let seen = kernel.slots.with(index, at_t);
        if kernel.slots.field(index, epoch_of) == epoch
            && kernel.slots.field(index, serial_of) == serial
        {
            return Some(seen);
        }
        std::hint::spin_loop();
    }
    None
}

/// Copies only what holds as of T. A slot has 13 cache lines; for an ended task two of them are
/// enough.
///
/// # Safety
/// `slot` points to a slot.
unsafe fn at_t(slot: *const ex_slot, serial: u64, crossed: bool, t_ns: u64) -> SlotState {
    /// Programs may write at the same time.
    macro_rules! copy {
        ($field:ident) => {
            // SAFETY: guaranteed by the caller.
            unsafe { ptr::read_volatile(&raw const (*slot).$field) }
        };
    }
    let now = copy!(state);
    let state = if crossed { copy!(snap_state).into() } else { now };
    if serial == 0 || !is_alive(state) {
        return if now == state::DEAD { SlotState::Ended } else { SlotState::Nobody };
    }
    let mut view = View {
        serial,
        state,
        born: copy!(born),
        tree: copy!(tree),
        id: copy!(id),
        before: copy!(before),
        ..View::default()
    };
    if crossed {
        view.id.cgroup = copy!(snap_cgroup);
        (view.cpu, view.kstate, view.party) =
            (copy!(snap_cpu), copy!(snap_kstate), copy!(snap_party));
        (view.cum, view.waits) = (copy!(snap), copy!(snap_waits));
        return SlotState::Alive(view);
    }
    (view.cpu, view.kstate, view.party) = (copy!(cpu), copy!(kstate), copy!(party));
    (view.cum, view.waits) = (copy!(cum), copy!(waits));
    // The state began after T only if T was published late; then the window says so.
    view.cum.ns[state as usize] += t_ns.saturating_sub(copy!(since));
    SlotState::Alive(view)
}

/// Optional figures that are measured at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    pub steal: bool,
    /// User and system time, and system calls.
    pub split: bool,
    /// Interrupts.
    pub irq: bool,
    /// The refill of a quota.
    pub unthrottle: bool,
    /// The kernel's count of run times.
    pub audit_run: bool,
    /// The kernel's count of waits for a CPU.
    pub audit_lat: bool,
}

/// The counters of a slot or an exited group.
pub fn counters(cum: &ex_cum, measured: Measured) -> Counters {
    let mut counters = Counters::unknown();
    let mut set = |counter, value| counters.set(counter, value);
    let ns = |state: S| cum.ns[state.0 as usize];
    let (user, system) = (ns(S::EX_USR), ns(S::EX_SYS));
    set(Counter::RunNs, ns(S::EX_RUN) + user + system);
    if measured.split {
        set(Counter::UserNs, user);
        set(Counter::SystemNs, system);
        set(Counter::Syscalls, cum.syscalls);
    }
    if measured.steal {
        set(Counter::StealNs, ns(S::EX_STEAL));
    }
    // Always known, so that sums hold when measuring begins or ends; the window says if it was
    // measured.
    set(Counter::IrqNs, ns(S::EX_IRQ));
    set(Counter::LatNs, ns(S::EX_LAT) + ns(S::EX_LAT_PREEMPT));
    set(Counter::LatPreemptNs, ns(S::EX_LAT_PREEMPT));
    set(Counter::ThrottleNs, ns(S::EX_THROTTLE));
    set(Counter::SleepNs, ns(S::EX_SLEEP));
    set(Counter::LockNs, ns(S::EX_LOCK));
    set(Counter::TextFaultNs, ns(S::EX_TEXT_FAULT));
    set(Counter::DataFaultNs, ns(S::EX_DATA_FAULT));
    set(Counter::BlockNs, ns(S::EX_BLOCK));
    set(Counter::StopNs, ns(S::EX_STOP));
    set(Counter::UtimeNs, cum.utime);
    set(Counter::StimeNs, cum.stime);
    set(Counter::Dispatches, cum.dispatches);
    set(Counter::Vcx, cum.vcx);
    set(Counter::Icx, cum.icx);
    set(Counter::Wakeups, cum.wakeups);
    set(Counter::WakeupsGiven, cum.given);
    set(Counter::Migrations, cum.migrations);
    set(Counter::Signals, cum.signals);
    set(Counter::MinorFaults, cum.min_flt);
    set(Counter::MajorFaults, cum.maj_flt);
    set(Counter::MissedSwitches, cum.missed.into());
    counters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_that_crossed_t_is_read_from_its_copy_and_a_sleeper_is_charged() {
        let mut slot = ex_slot { state: state::SLEEP, since: 100, ..ex_slot::default() };
        let sleep = S::EX_SLEEP.0 as usize;
        slot.cum.ns[sleep] = 7;
        slot.snap.ns[sleep] = 3;
        slot.snap_state = state::LAT as u16;
        let at_t = |slot: &ex_slot, serial, crossed| {
            // SAFETY: the pointer is to a slot.
            match unsafe { super::at_t(slot, serial, crossed, 150) } {
                SlotState::Alive(view) => Some((view.state, view.cum.ns[sleep])),
                SlotState::Ended | SlotState::Nobody => None,
            }
        };
        assert_eq!(at_t(&slot, 1, false), Some((state::SLEEP, 57)));
        assert_eq!(at_t(&slot, 1, true), Some((state::LAT, 3)));
        assert_eq!(at_t(&slot, 0, false), None, "a slot without serial has no task");
        slot.state = state::DEAD;
        assert_eq!(at_t(&slot, 1, false), None, "it has ended");
        assert_eq!(at_t(&slot, 1, true), Some((state::LAT, 3)), "but lived at T");
    }

    #[test]
    fn figures_from_before_the_account_do_not_count() {
        let mut slot = ex_slot { state: state::SLEEP, ..ex_slot::default() };
        slot.cum = ex_cum { utime: 7, stime: 6, min_flt: 5, maj_flt: 4, ..ex_cum::default() };
        slot.before = ex_before { utime: 4, stime: 3, min_flt: 2, maj_flt: 1 };
        // SAFETY: the pointer is to a slot.
        let SlotState::Alive(view) = (unsafe { super::at_t(&slot, 1, false, 0) }) else {
            panic!("it lives");
        };
        let counters = TaskReader::new(false).sample(&view).counters;
        use Counter::{MajorFaults, MinorFaults, StimeNs, UtimeNs};
        for counter in [UtimeNs, StimeNs, MinorFaults, MajorFaults] {
            assert_eq!(counters.get(counter), Some(3), "{counter:?}");
        }
    }

    #[test]
    fn each_state_of_the_wire_format_is_a_counter_of_its_own() {
        let all = Measured { steal: true, split: true, irq: true, ..Measured::default() };
        let counter_of = |state: S| match state {
            S::EX_RUN => vec![Counter::RunNs],
            S::EX_USR => vec![Counter::RunNs, Counter::UserNs],
            S::EX_SYS => vec![Counter::RunNs, Counter::SystemNs],
            S::EX_STEAL => vec![Counter::StealNs],
            S::EX_IRQ => vec![Counter::IrqNs],
            S::EX_LAT => vec![Counter::LatNs],
            S::EX_LAT_PREEMPT => vec![Counter::LatNs, Counter::LatPreemptNs],
            S::EX_THROTTLE => vec![Counter::ThrottleNs],
            S::EX_SLEEP => vec![Counter::SleepNs],
            S::EX_LOCK => vec![Counter::LockNs],
            S::EX_TEXT_FAULT => vec![Counter::TextFaultNs],
            S::EX_DATA_FAULT => vec![Counter::DataFaultNs],
            S::EX_BLOCK => vec![Counter::BlockNs],
            S::EX_STOP => vec![Counter::StopNs],
            S(free_or_spare) => {
                assert!(free_or_spare == 0 || free_or_spare == 15, "{free_or_spare} is counted");
                Vec::new()
            }
        };
        for state in (0..S::EX_NS.0).map(S) {
            let mut cum = ex_cum::default();
            cum.ns[state.0 as usize] = 5;
            let counted = counters(&cum, all);
            let moved: Vec<Counter> = Counter::ALL
                .iter()
                .copied()
                .filter(|&c| counted.get(c).is_some_and(|value| value != 0))
                .collect();
            let mut expected = counter_of(state);
            expected.sort_by_key(|&c| c as usize);
            assert_eq!(moved, expected, "state {}", state.0);
        }
    }
}
