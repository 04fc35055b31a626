//! Counts which task wakes which (bpf/on_demand/wakeups.bpf.c).

use crate::bpf::plain::plain;
use crate::bpf::skeleton::Open;
use crate::bpf::sums::{sums, WindowSums};
use crate::bpf::{iterator, task};
use crate::error::SourceError;
use crate::on_demand::attached::{load, object, Attached, Ended, ExitedTasks, Room};
use crate::on_demand::Counts;
use exactop_model::on_demand::wakeups::{Edge, Fan, WakeupWindow};
use exactop_model::on_demand::Choice;
use exactop_model::{Comm, SyscallNr, TaskRef};
use rustc_hash::FxHashMap;
use skel::types::{ex_edge, ex_edge_key, ex_fan, ex_fan_key, names};
use skel::WakeupsSkelBuilder;

object!("wakeups", "the wake-ups'", WakeupsSkelBuilder);
plain! { ex_edge_key ex_fan_key }
sums! {
    ex_edge: wakeups chains, unproductive, unproductive_ns, late_ns;
    ex_fan: wakeups chains, calls, unproductive, unproductive_ns;
}

/// Options for attaching.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Only wake-ups of and by these processes; empty: all.
    pub pids: Vec<u32>,
    /// CPU time from which a woken task counts as having done something in user mode, ns.
    pub work_ns: u64,
    /// Number of keys in the maps.
    pub room: Room,
    /// For tests: hide one in this number of wake-ups from the programs; 0: none.
    pub hide_one_in: u32,
}

/// Default of [`Options::work_ns`]. Going back to a lock takes 5 to 30 µs with cold caches.
pub const WORK_NS: u64 = 100_000;

impl Default for Options {
    fn default() -> Options {
        Options { pids: Vec::new(), work_ns: WORK_NS, room: Room::default(), hide_one_in: 0 }
    }
}

/// Attached programs.
pub struct Wakeups {
    edges: WindowSums<ex_edge_key, ex_edge>,
    fans: WindowSums<ex_fan_key, ex_fan>,
    /// Names of wakers, which only the waker's own events have.
    names: FxHashMap<u32, names>,
    programs: Attached<WakeupsSkelBuilder>,
}

impl Wakeups {
    /// Attaches the programs and begins the first window.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`] with the reason and what to do.
    pub fn open_with(options: &Options) -> Result<Wakeups, SourceError> {
        let programs = Attached::<WakeupsSkelBuilder>::open(&options.pids, options.room, |open| {
            set_up(open, options)
        })?;
        iterator::run(&programs.skel.progs.seed)?;
        Ok(Wakeups {
            edges: WindowSums::default(),
            fans: WindowSums::default(),
            names: FxHashMap::default(),
            programs: programs.begins_now(),
        })
    }
}

impl Counts for Wakeups {
    type Window = WakeupWindow;
    const NEEDED_BY: &'static str = "exactop wakeups";

    fn open(choice: &Choice) -> Result<Wakeups, SourceError> {
        Wakeups::open_with(&Options { pids: choice.pids.clone(), ..Options::default() })
    }

    fn try_to_load() -> Result<(), SourceError> {
        load::<WakeupsSkelBuilder>(&[], Room::default(), |open| set_up(open, &Options::default()))
            .map(drop)
    }

    fn began_ns(&self) -> u64 {
        self.programs.began_ns()
    }

    fn window(&mut self) -> Result<WakeupWindow, SourceError> {
        let ended = self.programs.end_window();
        let maps = &self.programs.skel.maps;
        let gone = ExitedTasks::default();
        let no_wakee = |key: &ex_edge_key| gone.has(key.wakee_tgid, key.wakee_tid);
        let edges = self.edges.window([&maps.edges, &maps.edges_more], no_wakee)?;
        let fans =
            self.fans.window([&maps.fans, &maps.fans_more], |key| gone.has(key.tgid, key.tid))?;
        self.learn_names(&edges, &fans);
        Ok(WakeupWindow {
            t0_ns: ended.t0_ns,
            t1_ns: ended.t1_ns,
            edges: edges.iter().map(|(key, edge)| self.edge(key, edge)).collect(),
            fans: fans.iter().map(|(key, fan)| self.fan(key, fan, ended)).collect(),
            losses: self.programs.losses(),
        })
    }
}

impl Wakeups {
    /// An edge that is made at the end of a chain lacks its waker's name.
    fn learn_names(&mut self, edges: &[(ex_edge_key, ex_edge)], fans: &[(ex_fan_key, ex_fan)]) {
        self.names.clear();
        for (key, edge) in edges {
            self.names.insert(key.wakee_tid, edge.wakee);
        }
        for (key, edge) in
            edges.iter().filter(|(key, edge)| key.waker_tid != 0 && is_known(&edge.waker))
        {
            self.names.insert(key.waker_tid, edge.waker);
        }
        for (key, fan) in fans {
            self.names.insert(key.tid, fan.names);
        }
    }

    fn task_ref(&self, tgid: u32, tid: u32, told: &names) -> TaskRef {
        if tgid == 0 {
            return TaskRef::INTERRUPT;
        }
        let learnt = || self.names.get(if tid == 0 { &tgid } else { &tid });
        let names = Some(told).filter(|told| is_known(told)).or_else(learnt);
        let who = match names {
            Some(names) => task::thread!(tgid, tid, names),
            None => TaskRef::thread(tgid, tid, Comm::new(b"?"), Comm::default()),
        };
        if tid == 0 {
            who.process()
        } else {
            who
        }
    }

    fn edge(&self, key: &ex_edge_key, edge: &ex_edge) -> Edge {
        Edge {
            waker: self.task_ref(key.waker_tgid, key.waker_tid, &edge.waker),
            wakee: self.task_ref(key.wakee_tgid, key.wakee_tid, &edge.wakee),
            wakeups: edge.wakeups,
            chains: edge.chains,
            unproductive: edge.unproductive,
            unproductive_ns: edge.unproductive_ns,
            late_ns: edge.late_ns,
        }
    }

    fn fan(&self, key: &ex_fan_key, fan: &ex_fan, ended: Ended) -> Fan {
        Fan {
            waker: self.task_ref(key.tgid, key.tid, &fan.names),
            nr: SyscallNr(key.nr),
            futex: SyscallNr(key.nr).is_futex().then_some(key.futex),
            calls: fan.calls,
            wakeups: fan.wakeups,
            most: ended.greatest(fan.most.ns, fan.most.epoch),
            chains: fan.chains,
            unproductive: fan.unproductive,
            unproductive_ns: fan.unproductive_ns,
            home: if fan.unproductive == 0 { SyscallNr::NONE } else { SyscallNr(fan.home_nr) },
        }
    }
}

fn is_known(names: &names) -> bool {
    names.thread[0] != 0
}

fn set_up(open: &mut Open<WakeupsSkelBuilder>, options: &Options) -> libbpf_rs::Result<()> {
    let Some(rodata) = open.maps.rodata_data.as_mut() else {
        return Err(std::io::Error::other("cannot find .rodata in the BPF object").into());
    };
    rodata.work_ns = options.work_ns;
    rodata.hide_one_in = options.hide_one_in;
    Ok(())
}
