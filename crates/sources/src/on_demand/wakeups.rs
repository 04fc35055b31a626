//! Who wakes whom, counted while this source lives (bpf/on_demand/wakeups.bpf.c).

/// Generated from bpf/on_demand/wakeups.bpf.c by the build script.
#[allow(clippy::all, missing_docs, dead_code, unsafe_op_in_unsafe_fn)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/wakeups.skel.rs"));
}

use crate::bpf::sums::{Plain, Sum, Tally};
use crate::bpf::{interrupts, iterator, on_demand};
use crate::clock;
use crate::error::SourceError;
use exactop_model::on_demand::wakeups::{Edge, Fan, WakeupWindow};
use exactop_model::{CallNr, Comm, Who};
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{Link, OpenObject};
use rustc_hash::FxHashMap;
use skel::types::{ex_edge, ex_edge_key, ex_fan, ex_fan_key};
use skel::{WakeupsSkel, WakeupsSkelBuilder};
use std::hash::{Hash, Hasher};
use std::mem::MaybeUninit;

/// What to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Only wake-ups that these processes give or get; empty: all.
    pub pids: Vec<u32>,
    /// Someone who was woken and used more CPU time than this did something in user mode, ns.
    pub work_ns: u64,
}

/// See [`Options::work_ns`]. To go back to a lock takes 5 to 30 µs where caches are cold.
pub const WORK_NS: u64 = 100_000;

impl Default for Options {
    fn default() -> Options {
        Options { pids: Vec::new(), work_ns: WORK_NS }
    }
}

/// The programs, attached.
pub struct Wakeups {
    edges: Tally<ex_edge_key, ex_edge>,
    fans: Tally<ex_fan_key, ex_fan>,
    /// Names of wakers, which only the waker itself can tell.
    names: FxHashMap<u32, Comm>,
    t0_ns: u64,
    lost: u64,
    _links: Vec<Link>,
    skel: WakeupsSkel<'static>,
}

/// The iterator that makes everyone known tells nothing.
#[derive(Clone, Copy)]
struct Nothing(#[allow(dead_code)] u8);
unsafe impl Plain for Nothing {}

impl Wakeups {
    /// Attaches the programs; the first window begins.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`] with the reason and what would help.
    pub fn open(options: &Options) -> Result<Wakeups, SourceError> {
        let skel = loaded(options)?;
        on_demand::choose_processes(&skel.maps.chosen, &options.pids)?;
        let links = on_demand::attach(skel.object().progs_mut())?;
        iterator::records::<Nothing>(&skel.progs.seed)?;
        Ok(Wakeups {
            edges: Tally::default(),
            fans: Tally::default(),
            names: FxHashMap::default(),
            t0_ns: clock::now_ns(),
            lost: 0,
            _links: links,
            skel,
        })
    }

    /// Ends the window; the next begins.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn window(&mut self) -> Result<WakeupWindow, SourceError> {
        let epoch = self.next_epoch();
        let (t0_ns, t1_ns) = (self.t0_ns, clock::now_ns());
        self.t0_ns = t1_ns;
        let gone = |key: &ex_edge_key| on_demand::is_gone(key.wakee_tgid, key.wakee_tid);
        let edges = self.edges.window(&self.skel.maps.edges, gone)?;
        let gone = |key: &ex_fan_key| on_demand::is_gone(key.tgid, key.tid);
        let fans = self.fans.window(&self.skel.maps.fans, gone)?;
        self.learn_names(&edges, &fans);
        let lost = self.lost_so_far();
        let lost_now = lost - std::mem::replace(&mut self.lost, lost);
        Ok(WakeupWindow {
            t0_ns,
            t1_ns,
            edges: edges.iter().map(|(key, edge)| self.edge(key, edge)).collect(),
            fans: fans.iter().map(|(key, fan)| self.fan(key, fan, epoch)).collect(),
            lost: lost_now,
        })
    }

    fn next_epoch(&mut self) -> u32 {
        let Some(bss) = self.skel.maps.bss_data.as_mut() else { return 0 };
        let epoch = bss.window_epoch;
        // SAFETY: a word that the programs only read.
        unsafe { std::ptr::write_volatile(&raw mut bss.window_epoch, epoch.wrapping_add(1)) };
        epoch
    }

    fn lost_so_far(&self) -> u64 {
        let bss = self.skel.maps.bss_data.as_deref().expect("the object has globals");
        // SAFETY: plain data that is always mapped.
        unsafe { std::ptr::read_volatile(&raw const bss.lost_wakes) }
    }

    /// An edge made at the end of a chain does not know its waker's name.
    fn learn_names(&mut self, edges: &[(ex_edge_key, ex_edge)], fans: &[(ex_fan_key, ex_fan)]) {
        self.names.clear();
        for (key, edge) in edges {
            self.names.insert(key.wakee_tid, comm(&edge.wakee));
        }
        for (key, edge) in edges.iter().filter(|(_, edge)| edge.waker[0] != 0) {
            self.names.insert(key.waker_tid, comm(&edge.waker));
        }
        for (key, fan) in fans {
            self.names.insert(key.tid, comm(&fan.comm));
        }
    }

    fn who(&self, tgid: u32, tid: u32, known: &[i8; 16]) -> Who {
        if tid == 0 {
            return Who::INTERRUPT;
        }
        let known = comm(known);
        let name = if known.bytes().is_empty() {
            self.names.get(&tid).copied().unwrap_or(Comm::new(b"?"))
        } else {
            known
        };
        Who { tgid, tid: Some(tid), comm: name }
    }

    fn edge(&self, key: &ex_edge_key, edge: &ex_edge) -> Edge {
        Edge {
            waker: self.who(key.waker_tgid, key.waker_tid, &edge.waker),
            wakee: self.who(key.wakee_tgid, key.wakee_tid, &edge.wakee),
            wakeups: edge.wakeups,
            chains: edge.chains,
            unproductive: edge.unproductive,
            unproductive_ns: edge.unproductive_ns,
        }
    }

    fn fan(&self, key: &ex_fan_key, fan: &ex_fan, epoch: u32) -> Fan {
        let most = on_demand::greatest(fan.most.ns, fan.most.epoch, epoch);
        Fan {
            waker: self.who(key.tgid, key.tid, &fan.comm),
            nr: CallNr(key.nr),
            calls: fan.calls,
            wakeups: fan.wakeups,
            most,
            chains: fan.chains,
            unproductive: fan.unproductive,
            unproductive_ns: fan.unproductive_ns,
            home: if fan.unproductive == 0 { CallNr::NONE } else { CallNr(fan.home_nr) },
        }
    }
}

fn comm(bytes: &[i8; 16]) -> Comm {
    Comm::new(&bytes.map(|c| c as u8))
}

/// The programs, not attached yet.
pub(crate) fn loaded(options: &Options) -> Result<WakeupsSkel<'static>, SourceError> {
    on_demand::load_either("the wake-ups'", |old| load(options, old))
}

fn load(options: &Options, old_switch: bool) -> libbpf_rs::Result<WakeupsSkel<'static>> {
    let storage: &'static mut MaybeUninit<OpenObject> = Box::leak(Box::new(MaybeUninit::uninit()));
    let mut open = WakeupsSkelBuilder::default().open(storage)?;
    let here = interrupts::here();
    for mut program in open.open_object_mut().progs_mut() {
        on_demand::choose(&mut program, &here, old_switch);
    }
    let Some(rodata) = open.maps.rodata_data.as_mut() else {
        return Err(std::io::Error::other("the object has no .rodata").into());
    };
    rodata.all_processes = options.pids.is_empty();
    rodata.work_ns = options.work_ns;
    open.maps.chosen.set_max_entries((options.pids.len() as u32).max(1))?;
    open.load()
}

// SAFETY: integers without padding, as the C side declares them.
unsafe impl Plain for ex_edge_key {}
unsafe impl Plain for ex_edge {}
unsafe impl Plain for ex_fan_key {}
unsafe impl Plain for ex_fan {}

impl PartialEq for ex_edge_key {
    fn eq(&self, o: &Self) -> bool {
        (self.waker_tgid, self.waker_tid, self.wakee_tgid, self.wakee_tid)
            == (o.waker_tgid, o.waker_tid, o.wakee_tgid, o.wakee_tid)
    }
}

impl Eq for ex_edge_key {}

impl Hash for ex_edge_key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.waker_tid, self.wakee_tgid, self.wakee_tid).hash(state);
    }
}

impl PartialEq for ex_fan_key {
    fn eq(&self, o: &Self) -> bool {
        (self.tgid, self.tid, self.nr) == (o.tgid, o.tid, o.nr)
    }
}

impl Eq for ex_fan_key {}

impl Hash for ex_fan_key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.tgid, self.tid, self.nr).hash(state);
    }
}

impl Sum for ex_edge {
    fn since(&self, before: &Self) -> Self {
        ex_edge {
            wakeups: self.wakeups - before.wakeups,
            chains: self.chains - before.chains,
            unproductive: self.unproductive - before.unproductive,
            unproductive_ns: self.unproductive_ns - before.unproductive_ns,
            ..*self
        }
    }

    fn is_zero(&self) -> bool {
        self.wakeups == 0 && self.chains == 0
    }
}

impl Sum for ex_fan {
    fn since(&self, before: &Self) -> Self {
        ex_fan {
            calls: self.calls - before.calls,
            wakeups: self.wakeups - before.wakeups,
            chains: self.chains - before.chains,
            unproductive: self.unproductive - before.unproductive,
            unproductive_ns: self.unproductive_ns - before.unproductive_ns,
            ..*self
        }
    }

    fn is_zero(&self) -> bool {
        self.wakeups == 0 && self.chains == 0
    }
}
