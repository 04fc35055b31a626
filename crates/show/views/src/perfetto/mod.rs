//! A switch log in the format of the Perfetto viewer (ui.perfetto.dev): packets in sequence, so
//! that it can be written during recording.

mod messages;
#[cfg(test)]
mod tests;

use exactop_model::on_demand::switchlog::{traced_state, SwitchEvent, SwitchEventKind};
use exactop_model::text::escape::escape;
use exactop_model::Comm;
use messages::{
    Clock, ClockSnapshot, FtraceEvent, FtraceEventBundle, Process, ProcessTree, SchedSwitch,
    SchedWaking, SystemInfo, Thread, Trace, TracePacket, Utsname,
};
use prost::Message;
use std::collections::{BTreeMap, HashMap};

/// Sequence id of all packets: there is one writer.
const SEQUENCE: u32 = 1;
/// builtin_clock.proto
const REALTIME: u32 = 1;
const MONOTONIC: u32 = 3;
const BOOTTIME: u32 = 6;
/// Most events in one packet.
const BUNDLE: usize = 2_000;

/// The machine, for the first packet. The viewer needs the kernel's version to decode states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Release of uname(2).
    pub release: String,
    /// Version of uname(2).
    pub version: String,
    /// Machine of uname(2).
    pub machine: String,
}

/// The clocks at one instant, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    /// Since boot, including suspension: the clock of the events.
    pub boottime_ns: u64,
    /// Since boot, without suspension.
    pub monotonic_ns: u64,
    /// Since the epoch.
    pub realtime_ns: u64,
}

/// A thread that exists when the recording begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialThread {
    /// Thread id.
    pub tid: u32,
    /// PID.
    pub tgid: u32,
    /// PID of the parent.
    pub ppid: u32,
    /// Name of the thread.
    pub comm: Comm,
}

/// Turns events into packets.
#[derive(Debug, Default)]
pub struct Recording {
    /// Name and PID by thread id.
    threads: HashMap<u32, (Comm, u32)>,
}

impl Recording {
    /// Begins a trace: returns the recording and the first bytes of the file.
    pub fn begin(host: &Host, clocks: Clocks, known: &[InitialThread]) -> (Recording, Vec<u8>) {
        let clock = |id, ns| Clock { clock_id: Some(id), timestamp: Some(ns) };
        let snapshot = ClockSnapshot {
            clocks: vec![
                clock(BOOTTIME, clocks.boottime_ns),
                clock(MONOTONIC, clocks.monotonic_ns),
                clock(REALTIME, clocks.realtime_ns),
            ],
            primary_trace_clock: Some(BOOTTIME as i32),
        };
        let system = SystemInfo {
            utsname: Some(Utsname {
                sysname: Some("Linux".into()),
                version: Some(host.version.clone()),
                release: Some(host.release.clone()),
                machine: Some(host.machine.clone()),
            }),
        };
        let threads = known.iter().map(|k| (k.tid, (k.comm, k.tgid))).collect();
        let bytes = bytes(vec![
            TracePacket { clock_snapshot: Some(snapshot), ..packet(clocks.boottime_ns) },
            TracePacket { system_info: Some(system), ..packet(clocks.boottime_ns) },
            TracePacket { process_tree: Some(tree(known)), ..packet(clocks.boottime_ns) },
        ]);
        (Recording { threads }, bytes)
    }

    /// The bytes of these events. `lost`: events before them are missing. Events must be in order
    /// on each CPU; batches must not overlap.
    pub fn events(&mut self, events: &[SwitchEvent], lost: bool) -> Vec<u8> {
        let mut ordered: Vec<&SwitchEvent> = events.iter().collect();
        ordered.sort_by_key(|event| event.at_ns);
        let Some(first_ns) = ordered.first().map(|event| event.at_ns) else { return Vec::new() };
        let mut by_cpu: BTreeMap<u32, Vec<FtraceEvent>> = BTreeMap::new();
        let mut new = Vec::new();
        // In order of time over all CPUs: a thread may change its name, then its CPU.
        for event in ordered {
            let told = self.event(event, &mut new);
            by_cpu.entry(event.cpu).or_default().push(told);
        }
        let mut packets = Vec::new();
        if !new.is_empty() {
            packets.push(TracePacket { process_tree: Some(tree(&new)), ..packet(first_ns) });
        }
        for (cpu, events) in by_cpu {
            for (i, some) in events.chunks(BUNDLE).enumerate() {
                let bundle = FtraceEventBundle {
                    cpu: Some(cpu),
                    event: some.to_vec(),
                    lost_events: (lost && i == 0).then_some(true),
                };
                packets.push(TracePacket { ftrace_events: Some(bundle), ..packet(first_ns) });
            }
        }
        bytes(packets)
    }

    fn event(&mut self, event: &SwitchEvent, new: &mut Vec<InitialThread>) -> FtraceEvent {
        let prev_comm = self.name(event.prev_tid);
        let comm = event.next_comm;
        let before = self.threads.insert(event.next_tid, (comm, event.next_tgid));
        let is_new = before.is_none_or(|(_, tgid)| tgid != event.next_tgid);
        if is_new && event.next_tid != 0 {
            let (tid, tgid) = (event.next_tid, event.next_tgid);
            new.push(InitialThread { tid, tgid, ppid: 0, comm });
        }
        let told = FtraceEvent {
            timestamp: Some(event.at_ns),
            pid: Some(event.prev_tid),
            ..FtraceEvent::default()
        };
        match event.what {
            SwitchEventKind::Switch { preempted, state } => FtraceEvent {
                sched_switch: Some(SchedSwitch {
                    prev_comm: Some(prev_comm),
                    prev_pid: Some(event.prev_tid as i32),
                    prev_prio: Some(event.prev_prio),
                    prev_state: Some(traced_state(preempted, state)),
                    next_comm: Some(self.name(event.next_tid)),
                    next_pid: Some(event.next_tid as i32),
                    next_prio: Some(event.next_prio),
                }),
                ..told
            },
            SwitchEventKind::Waking { target_cpu } => FtraceEvent {
                sched_waking: Some(SchedWaking {
                    comm: Some(text(comm)),
                    pid: Some(event.next_tid as i32),
                    prio: Some(event.next_prio),
                    success: Some(1),
                    target_cpu: Some(target_cpu as i32),
                }),
                ..told
            },
        }
    }

    fn name(&self, tid: u32) -> String {
        match self.threads.get(&tid) {
            _ if tid == 0 => "swapper".into(),
            Some((comm, _)) => text(*comm),
            None => format!("tid {tid}"),
        }
    }
}

fn text(comm: Comm) -> String {
    escape(comm.bytes())
}

fn tree(known: &[InitialThread]) -> ProcessTree {
    let leaders = known.iter().filter(|k| k.tid == k.tgid);
    let others = known.iter().filter(|k| k.tid != k.tgid);
    ProcessTree {
        processes: leaders
            .map(|k| Process {
                pid: Some(k.tgid as i32),
                ppid: Some(k.ppid as i32),
                cmdline: vec![text(k.comm)],
            })
            .collect(),
        threads: others
            .map(|k| Thread {
                tid: Some(k.tid as i32),
                name: Some(text(k.comm)),
                tgid: Some(k.tgid as i32),
            })
            .collect(),
    }
}

fn packet(at_ns: u64) -> TracePacket {
    TracePacket {
        timestamp: Some(at_ns),
        trusted_packet_sequence_id: Some(SEQUENCE),
        ..TracePacket::default()
    }
}

/// Traces written one after the other form one trace.
fn bytes(packet: Vec<TracePacket>) -> Vec<u8> {
    Trace { packet }.encode_to_vec()
}
