//! Single context switches and wake-ups, for drawing. The other files in this folder hold sums.

use crate::ledger::key::Comm;

/// Bits of task_struct.__state and exit_state (include/linux/sched.h).
mod state {
    pub const UNINTERRUPTIBLE: u32 = 0x2;
    pub const REPORTED: u32 = 0x7f;
    pub const DEAD: u32 = 0x80;
    pub const NOLOAD: u32 = 0x400;
    pub const EXIT_DEAD: u32 = 0x10;
    pub const EXIT_ZOMBIE: u32 = 0x20;
}

/// Kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchEventKind {
    /// The CPU went from `prev` to `next`.
    Switch {
        /// The tracepoint's `preempt`. A task with state 0 is still runnable without it, too: it yielded,
        /// or the kernel took the CPU on its way back from a call or an interrupt.
        preempted: bool,
        /// Bits of the state of `prev`.
        state: u32,
    },
    /// `prev` woke `next`.
    Waking {
        /// The CPU that `next` was on last.
        target_cpu: u32,
    },
}

/// A context switch or a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct SwitchEvent {
    /// Time, CLOCK_BOOTTIME ns.
    pub at_ns: u64,
    /// CPU of the event.
    pub cpu: u32,
    pub what: SwitchEventKind,
    /// Thread id; 0: idle.
    pub prev_tid: u32,
    /// Kernel priority of `prev`: nice + 120 for normal tasks.
    pub prev_prio: i32,
    /// Thread id; 0: idle.
    pub next_tid: u32,
    /// Process of `next`.
    pub next_tgid: u32,
    /// Parent process of `next`.
    pub next_ppid: u32,
    /// Kernel priority of `next`.
    pub next_prio: i32,
    /// Command name of `next`.
    pub next_comm: Comm,
}

/// The state of a task that was switched out, as the kernel's tracepoint reports it: 0 runnable,
/// 0x100 preempted, else the highest of its reported bits. Computed as __trace_sched_switch_state()
/// and task_state_index() do (include/trace/events/sched.h, include/linux/sched.h).
pub fn traced_state(preempted: bool, state: u32) -> i64 {
    if preempted {
        return 0x100;
    }
    if state & (state::EXIT_DEAD | state::EXIT_ZOMBIE) != 0 {
        return i64::from(state & (state::EXIT_DEAD | state::EXIT_ZOMBIE));
    }
    if state & state::DEAD != 0 {
        return i64::from(state::EXIT_DEAD);
    }
    let idle = state::UNINTERRUPTIBLE | state::NOLOAD;
    if state & idle == idle {
        return 0x80;
    }
    match state & state::REPORTED {
        0 => 0,
        bits => 1 << (31 - bits.leading_zeros()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_those_of_the_tracepoint() {
        assert_eq!(traced_state(false, 0), 0);
        assert_eq!(traced_state(true, 0), 0x100);
        assert_eq!(traced_state(false, 1), 1);
        assert_eq!(traced_state(false, 0x2), 2);
        assert_eq!(traced_state(false, 0x402), 0x80);
        assert_eq!(traced_state(false, 0x80), 0x10);
        assert_eq!(traced_state(false, 0x80 | 0x20), 0x20);
        // Killable: uninterruptible with a bit that the tracepoint does not report.
        assert_eq!(traced_state(false, 0x102), 2);
    }
}
