//! Converts a task as programs describe it: state, name and identity.

use exactop_model::{Comm, Ident, MicroState, TaskKey};

/// The values of enum ex_state, as a program writes them.
pub mod state {
    use crate::bpf::wire::ex_state as S;

    pub const RUN: u32 = S::EX_RUN.0;
    pub const LAT: u32 = S::EX_LAT.0;
    pub const SLEEP: u32 = S::EX_SLEEP.0;
    pub const BLOCK: u32 = S::EX_BLOCK.0;
    pub const STOP: u32 = S::EX_STOP.0;
    pub const LAT_PREEMPT: u32 = S::EX_LAT_PREEMPT.0;
    pub const LOCK: u32 = S::EX_LOCK.0;
    pub const TEXT_FAULT: u32 = S::EX_TEXT_FAULT.0;
    pub const DATA_FAULT: u32 = S::EX_DATA_FAULT.0;
    pub const THROTTLE: u32 = S::EX_THROTTLE.0;
    pub const DEAD: u32 = S::EX_DEAD.0;
}

/// PF_KTHREAD of include/linux/sched.h.
const PF_KTHREAD: u32 = 0x0020_0000;
/// `struct ex_ident` of bpf/identity.h. Each object has a Rust type of its own for it.
pub struct RawIdent {
    pub tgid: u32,
    pub tid: u32,
    pub ppid: u32,
    pub uid: u32,
    pub start: u64,
    pub cgroup: u64,
    pub comm: [i8; 16],
    pub nice: i32,
    pub prio: i32,
    pub policy: u32,
    pub flags: u32,
    pub session: u32,
}

/// Makes a [`RawIdent`] from an object's type.
macro_rules! raw_ident {
    ($id:expr) => {{
        let id = $id;
        $crate::bpf::task::RawIdent {
            tgid: id.tgid,
            tid: id.tid,
            ppid: id.ppid,
            uid: id.uid,
            start: id.start,
            cgroup: id.cgroup,
            comm: id.comm,
            nice: id.nice,
            prio: id.prio,
            policy: id.policy,
            flags: id.flags,
            session: id.session,
        }
    }};
}
pub(crate) use raw_ident;

impl RawIdent {
    pub fn key(&self) -> TaskKey {
        TaskKey { tgid: self.tgid, tid: self.tid, start_ns: self.start }
    }

    /// Identity of the task.
    pub fn ident(&self) -> Ident {
        Ident {
            ppid: self.ppid,
            comm: comm(self.comm),
            uid: self.uid,
            session: Some(self.session),
            cgroup_id: (self.cgroup != 0).then_some(self.cgroup),
            nice: self.nice,
            prio: self.prio,
            policy: self.policy,
            kthread: self.flags & PF_KTHREAD != 0,
        }
    }
}

/// Makes a thread from the names in an entry (`struct names` in bpf/on_demand/on_demand.h).
macro_rules! thread {
    ($tgid:expr, $tid:expr, $names:expr) => {
        exactop_model::TaskRef::thread(
            $tgid,
            $tid,
            $crate::bpf::task::comm($names.thread),
            $crate::bpf::task::comm($names.process),
        )
    };
}
pub(crate) use thread;

/// A command name from the kernel's array.
pub fn comm(bytes: [i8; 16]) -> Comm {
    Comm::new(&bytes.map(|b| b as u8))
}

/// The state as the model has it.
pub fn micro_state(state: u32) -> MicroState {
    match state {
        state::RUN => MicroState::Run,
        state::LAT => MicroState::Lat,
        state::LAT_PREEMPT => MicroState::LatPreempt,
        state::THROTTLE => MicroState::Throttle,
        state::LOCK => MicroState::Lock,
        state::TEXT_FAULT => MicroState::TextFault,
        state::DATA_FAULT => MicroState::DataFault,
        state::SLEEP => MicroState::Sleep,
        state::BLOCK => MicroState::Block,
        state::STOP => MicroState::Stop,
        _ => MicroState::Unknown,
    }
}

/// The state letter that top shows (proc_pid_stat(5)); `kstate` has the bits of
/// task_struct.__state.
pub fn letter(state: u32, kstate: u32) -> char {
    let asleep = matches!(
        state,
        state::SLEEP | state::LOCK | state::TEXT_FAULT | state::DATA_FAULT | state::BLOCK
    );
    match state {
        // TASK_UNINTERRUPTIBLE without TASK_NOLOAD.
        _ if asleep && kstate & 0x402 == 0x2 => 'D',
        state::STOP if kstate & 0x8 != 0 => 't',
        state::STOP => 'T',
        // TASK_IDLE is TASK_UNINTERRUPTIBLE | TASK_NOLOAD.
        _ if asleep && kstate & 0x402 == 0x402 => 'I',
        _ if asleep => 'S',
        _ => 'R',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_letters_are_those_of_top() {
        let shown: String = [
            (state::RUN, 0),
            (state::LAT, 0),
            (state::SLEEP, 0x1),
            (state::SLEEP, 0x2001),
            (state::SLEEP, 0x402),
            (state::BLOCK, 0x2),
            (state::STOP, 0x104),
            (state::STOP, 0x8),
            (state::LOCK, 0x2001),
            (state::DATA_FAULT, 0x2),
        ]
        .map(|(state, kstate)| letter(state, kstate))
        .iter()
        .collect();
        assert_eq!(shown, "RRSSIDTtSD");
    }
}
