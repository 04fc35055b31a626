//! Every switch and wake-up while this lives (bpf/on_demand/switchlog.bpf.c): for recordings, not for
//! windows. What found no room in the buffer is counted.

/// Generated from bpf/on_demand/switchlog.bpf.c by the build script.
#[allow(clippy::all, missing_docs, dead_code, unsafe_op_in_unsafe_fn)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/switchlog.skel.rs"));
}

use crate::bpf::on_demand;
use crate::bpf::refusal::failed;
use crate::bpf::sums::{from_bytes, Plain};
use crate::error::SourceError;
use exactop_model::on_demand::switchlog::{SwitchEvent, What};
use exactop_model::Comm;
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{Link, OpenObject, RingBuffer, RingBufferBuilder};
use skel::types::ex_logged;
use skel::{SwitchlogSkel, SwitchlogSkelBuilder};
use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::rc::Rc;

// SAFETY: plain integers without padding.
unsafe impl Plain for ex_logged {}

/// EX_LOG_SWITCH of bpf/on_demand/switchlog.h.
const SWITCH: u32 = 0;

/// Bytes of the buffer if nothing is said: more than half a million events, some seconds of a busy
/// machine.
pub const BUFFER: u32 = 1 << 25;

/// Events of one [`SwitchLog::read`] at most.
pub const AT_ONCE: usize = 100_000;

/// The programs, attached.
pub struct SwitchLog {
    events: Rc<RefCell<Vec<SwitchEvent>>>,
    ring: RingBuffer<'static>,
    links: Vec<Link>,
    skel: SwitchlogSkel<'static>,
}

impl SwitchLog {
    /// Attaches the programs; events are there from now on. `buffer` bytes hold what happens
    /// between two calls of [`SwitchLog::read`]; a power of two.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`] with the reason and what would help.
    pub fn open(buffer: u32) -> Result<SwitchLog, SourceError> {
        let skel = loaded(buffer)?;
        let events = Rc::new(RefCell::new(Vec::new()));
        let into = events.clone();
        let mut ring = RingBufferBuilder::new();
        let add = move |bytes: &[u8]| {
            into.borrow_mut().push(event(&from_bytes(bytes)));
            0
        };
        ring.add(&skel.maps.events, add).map_err(failed("reading the switch log"))?;
        let ring = ring.build().map_err(failed("reading the switch log"))?;
        let links = on_demand::attach(skel.object().progs_mut())?;
        Ok(SwitchLog { events, ring, links, skel })
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
        self.links.clear();
    }

    /// Events without room so far.
    pub fn lost(&self) -> u64 {
        let bss = self.skel.maps.bss_data.as_deref().expect("the object has globals");
        // SAFETY: plain data that is always mapped.
        unsafe { std::ptr::read_volatile(&raw const bss.lost) }
    }
}

/// The programs, not attached yet.
pub(crate) fn loaded(buffer: u32) -> Result<SwitchlogSkel<'static>, SourceError> {
    on_demand::load_either("the switch log's", |old| load(buffer, old))
}

fn load(buffer: u32, old_switch: bool) -> libbpf_rs::Result<SwitchlogSkel<'static>> {
    let storage: &'static mut MaybeUninit<OpenObject> = Box::leak(Box::new(MaybeUninit::uninit()));
    let mut open = SwitchlogSkelBuilder::default().open(storage)?;
    open.maps.events.set_max_entries(buffer)?;
    for mut program in open.open_object_mut().progs_mut() {
        on_demand::choose(&mut program, &[], old_switch);
    }
    open.load()
}

fn event(logged: &ex_logged) -> SwitchEvent {
    let what = match logged.kind {
        SWITCH => What::Switch { preempted: logged.preempt != 0, state: logged.prev_state },
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
        next_comm: Comm::new(&logged.next_comm.map(|c| c as u8)),
    }
}
