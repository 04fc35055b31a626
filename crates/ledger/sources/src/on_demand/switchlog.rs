//! Logs every switch and wake-up (bpf/on_demand/switchlog.bpf.c), for recordings. Events without
//! room in the buffer are counted.

use crate::bpf::plain::{from_bytes, plain};
use crate::bpf::refusal::failed;
use crate::bpf::skeleton::Open;
use crate::bpf::task;
use crate::error::SourceError;
use crate::on_demand::attached::{load, object, Attached, Room};
use exactop_model::on_demand::switchlog::{SwitchEvent, SwitchEventKind};
use libbpf_rs::{RingBuffer, RingBufferBuilder};
use skel::types::{ex_logged, ex_logged_kind};
use skel::SwitchlogSkelBuilder;
use std::cell::RefCell;
use std::rc::Rc;

object!("switchlog", "the switch log's", SwitchlogSkelBuilder);
plain! { ex_logged }

/// Bytes of the buffer for a check only.
const LEAST_BUFFER: u32 = 1 << 16;

/// Default size of the buffer, bytes: more than half a million events, some seconds of a busy
/// machine.
pub const BUFFER: u32 = 1 << 25;

/// Most events of one [`SwitchLog::read`].
pub const AT_ONCE: usize = 100_000;

/// Attached programs.
pub struct SwitchLog {
    events: Rc<RefCell<Vec<SwitchEvent>>>,
    ring: RingBuffer<'static>,
    programs: Attached<SwitchlogSkelBuilder>,
}

impl SwitchLog {
    /// Attaches the programs; events are logged from now on. `buffer` is the size of the buffer
    /// between two calls of [`SwitchLog::read`], bytes, a power of two.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`] with the reason and what to do.
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
        ring.add(&programs.skel.maps.events, add).map_err(failed("cannot read the switch log"))?;
        let ring = ring.build().map_err(failed("cannot read the switch log"))?;
        Ok(SwitchLog { events, ring, programs })
    }

    /// Takes the events since the last call, at most [`AT_ONCE`]. Without this limit a fast writer
    /// could keep the reader in the loop.
    pub fn read(&mut self) -> Result<Vec<SwitchEvent>, SourceError> {
        let read = self.ring.consume_raw_n(AT_ONCE);
        if read < 0 {
            let error = libbpf_rs::Error::from_raw_os_error(-read);
            return Err(failed("cannot read the switch log")(error));
        }
        Ok(std::mem::take(&mut *self.events.borrow_mut()))
    }

    /// Stops logging. Events in the buffer can still be read.
    pub fn stop(&mut self) {
        self.programs.detach();
    }

    /// Number of events without room so far.
    pub fn lost(&self) -> u64 {
        self.programs.lost_so_far()
    }
}

/// Checks if the kernel accepts the programs; attaches nothing.
pub(crate) fn try_to_load() -> Result<(), SourceError> {
    load::<SwitchlogSkelBuilder>(&[], Room::default(), |open| set_up(open, LEAST_BUFFER)).map(drop)
}

fn set_up(open: &mut Open<SwitchlogSkelBuilder>, buffer: u32) -> libbpf_rs::Result<()> {
    open.maps.events.set_max_entries(buffer)
}

fn event(logged: &ex_logged) -> SwitchEvent {
    let what = match logged.kind {
        ex_logged_kind::EX_LOG_SWITCH => {
            SwitchEventKind::Switch { preempted: logged.preempt != 0, state: logged.prev_state }
        }
        _ => SwitchEventKind::Waking { target_cpu: logged.target_cpu },
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
