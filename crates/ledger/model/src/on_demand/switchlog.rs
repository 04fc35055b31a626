//! Who was switched in when: single events, for drawing. Everything else in this folder is sums.

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

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The CPU went from `prev` to `next`.
    Switch {
        /// `prev` could still run.
        preempted: bool,
        /// The bits of its state.
        state: u32,
    },
    /// `prev` woke `next`.
    Waking {
        /// The CPU `next` was on last.
        target_cpu: u32,
    },
}

/// A switch or a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct SwitchEvent {
    /// When, CLOCK_BOOTTIME ns.
    pub at_ns: u64,
    /// On which CPU.
    pub cpu: u32,
    pub what: What,
    /// A thread; 0 is idle.
    pub prev_tid: u32,
    /// Its kernel priority: niceness + 120 for ordinary ones.
    pub prev_prio: i32,
    /// Another.
    pub next_tid: u32,
    /// Its process.
    pub next_tgid: u32,
    /// Its process's parent.
    pub next_ppid: u32,
    /// Its kernel priority.
    pub next_prio: i32,
    /// Its name.
    pub next_comm: Comm,
}

/// The state of a task that was switched out as the kernel's tracepoint tells it
/// (__trace_sched_switch_state() and task_state_index() of include/trace/events/sched.h and
/// include/linux/sched.h): 0 runnable, 0x100 preempted, else the highest of its reported bits.
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
    fn states_are_told_as_the_tracepoint_tells_them() {
        assert_eq!(traced_state(false, 0), 0);
        assert_eq!(traced_state(true, 0), 0x100);
        assert_eq!(traced_state(false, 1), 1);
        assert_eq!(traced_state(false, 0x2), 2);
        assert_eq!(traced_state(false, 0x402), 0x80);
        assert_eq!(traced_state(false, 0x80), 0x10);
        assert_eq!(traced_state(false, 0x80 | 0x20), 0x20);
        // Killable: uninterruptible with a bit that is not reported.
        assert_eq!(traced_state(false, 0x102), 2);
    }
}
