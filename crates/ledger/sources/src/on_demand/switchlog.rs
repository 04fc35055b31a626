//! Every switch and wake-up while this lives (bpf/on_demand/switchlog.bpf.c): for recordings, not for
//! windows. What found no room in the buffer is counted.

use crate::bpf::plain::{from_bytes, plain};
use crate::bpf::refusal::failed;
use crate::bpf::skeleton::Open;
use crate::bpf::task;
use crate::error::SourceError;
use crate::on_demand::attached::{load, object, Attached, Room};
use exactop_model::on_demand::switchlog::{SwitchEvent, What};
use libbpf_rs::{RingBuffer, RingBufferBuilder};
use skel::types::{ex_logged, ex_logged_kind};
use skel::SwitchlogSkelBuilder;
use std::cell::RefCell;
use std::rc::Rc;

object!("switchlog", "the switch log's", SwitchlogSkelBuilder);
plain! { ex_logged }

/// Bytes of the buffer while it is only tried.
const LEAST_BUFFER: u32 = 1 << 16;

/// Bytes of the buffer if nothing is said: more than half a million events, some seconds of a busy
/// machine.
pub const BUFFER: u32 = 1 << 25;

/// Events of one [`SwitchLog::read`] at most.
pub const AT_ONCE: usize = 100_000;

/// The programs, attached.
pub struct SwitchLog {
    events: Rc<RefCell<Vec<SwitchEvent>>>,
    ring: RingBuffer<'static>,
    programs: Attached<SwitchlogSkelBuilder>,
}

impl SwitchLog {
    /// Attaches the programs; events are there from now on. `buffer` bytes hold what happens
    /// between two calls of [`SwitchLog::read`]; a power of two.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`] with the reason and what would help.
    pub fn open(buffer: u32) -> Result<SwitchLog, SourceError> {
        let programs = Attached::<SwitchlogSkelBuilder>::open(&[], Room::default(), |open| {
            set_up(open, buffer)
        })?;
        let events = Rc::new(RefCell::new(Vec::new()));
        let into = events.clone();
        let mut ring = RingBufferBuilder::new();
        let add = move |bytes: &[u8]| {
            into.borrow_mut().push(event(&from_bytes(bytes)));
            0
        };
        ring.add(&programs.skel.maps.events, add).map_err(failed("reading the switch log"))?;
        let ring = ring.build().map_err(failed("reading the switch log"))?;
        Ok(SwitchLog { events, ring, programs })
    }

    /// Takes what has been written since the last call, at most [`AT_ONCE`] events: writers may be
    /// faster than we are, and then there is no end of it.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn read(&mut self) -> Result<Vec<SwitchEvent>, SourceError> {
        let read = self.ring.consume_raw_n(AT_ONCE);
        if read < 0 {
            let error = libbpf_rs::Error::from_raw_os_error(-read);
            return Err(failed("reading the switch log")(error));
        }
        Ok(std::mem::take(&mut *self.events.borrow_mut()))
    }

    /// Nothing more is written; what was can still be read.
    pub fn stop(&mut self) {
        self.programs.detach();
    }

    /// Events without room so far.
    pub fn lost(&self) -> u64 {
        self.programs.lost_so_far()
    }
}

/// Whether the kernel takes the programs; nothing is attached.
pub(crate) fn try_to_load() -> Result<(), SourceError> {
    load::<SwitchlogSkelBuilder>(&[], Room::default(), |open| set_up(open, LEAST_BUFFER)).map(drop)
}

fn set_up(open: &mut Open<SwitchlogSkelBuilder>, buffer: u32) -> libbpf_rs::Result<()> {
    open.maps.events.set_max_entries(buffer)
}

fn event(logged: &ex_logged) -> SwitchEvent {
    let what = match logged.kind {
        ex_logged_kind::EX_LOG_SWITCH => {
            What::Switch { preempted: logged.preempt != 0, state: logged.prev_state }
        }
        _ => What::Waking { target_cpu: logged.target_cpu },
    };
    SwitchEvent {
        at_ns: logged.at,
        cpu: logged.cpu,
        what,
        prev_tid: logged.prev_tid,
        prev_prio: logged.prev_prio,
        next_tid: logged.next_tid,
        next_tgid: logged.next_tgid,
        next_ppid: logged.next_ppid,
        next_prio: logged.next_prio,
        next_comm: task::comm(logged.next_comm),
    }
}
