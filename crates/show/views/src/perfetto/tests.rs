//! Reads the written traces with the viewer's own definitions.

use super::*;
use perfetto_protos::ftrace_event::ftrace_event::Event;
use perfetto_protos::trace::Trace as TheirTrace;
use perfetto_protos::trace_packet::trace_packet::Data;
use protobuf::{Enum as _, Message as _};

fn event(at_ns: u64, cpu: u32, prev: u32, next: u32, comm: &str) -> SwitchEvent {
    SwitchEvent {
        at_ns,
        cpu,
        what: SwitchEventKind::Switch { preempted: false, state: 1 },
        prev_tid: prev,
        prev_prio: 120,
        next_tid: next,
        next_tgid: next,
        next_ppid: 1,
        next_prio: 100,
        next_comm: Comm::new(comm.as_bytes()),
    }
}

fn packets(bytes: &[u8]) -> Vec<Data> {
    let trace = TheirTrace::parse_from_bytes(bytes).expect("their parser takes it");
    assert!(trace.packet.iter().all(|p| p.special_fields.unknown_fields().iter().next().is_none()));
    trace.packet.into_iter().filter_map(|packet| packet.data).collect()
}

#[test]
fn the_viewers_own_parser_reads_what_is_written() {
    let known = [
        InitialThread { tid: 7, tgid: 7, ppid: 1, comm: Comm::new(b"shell") },
        InitialThread { tid: 8, tgid: 7, ppid: 1, comm: Comm::new(b"thread\x1b") },
    ];
    let host = Host { release: "6.12.0".into(), version: "#1".into(), machine: "x86_64".into() };
    let clocks = Clocks { boottime_ns: 100, monotonic_ns: 90, realtime_ns: 5_000 };
    let (mut recording, mut bytes) = Recording::begin(&host, clocks, &known);
    let waking = SwitchEvent {
        what: SwitchEventKind::Waking { target_cpu: 1 },
        ..event(105, 0, 7, 9, "new")
    };
    bytes.extend(
        recording
            .events(&[event(110, 1, 0, 9, "new"), waking, event(120, 0, 7, 8, "thread")], true),
    );
    let packets = packets(&bytes);
    let clocks = packets.iter().find_map(|p| match p {
        Data::ClockSnapshot(c) => Some(c),
        _ => None,
    });
    assert_eq!(clocks.unwrap().primary_trace_clock().value(), 6);
    let system = packets.iter().find_map(|p| match p {
        Data::SystemInfo(s) => Some(s),
        _ => None,
    });
    assert_eq!(system.unwrap().utsname.release(), "6.12.0");
    let trees: Vec<_> = packets
        .iter()
        .filter_map(|p| match p {
            Data::ProcessTree(t) => Some(t),
            _ => None,
        })
        .collect();
    assert_eq!((trees[0].processes[0].pid(), trees[0].threads[0].name()), (7, "thread\\x1b"));
    assert_eq!(trees[1].processes[0].pid(), 9);
    let bundles: Vec<_> = packets
        .iter()
        .filter_map(|p| match p {
            Data::FtraceEvents(b) => Some(b),
            _ => None,
        })
        .collect();
    assert_eq!(bundles.len(), 2);
    assert!(bundles.iter().all(|b| b.lost_events()));
    assert_eq!((bundles[0].cpu(), bundles[0].event.len()), (0, 2));
    let Some(Event::SchedWaking(waking)) = &bundles[0].event[0].event else { panic!("a wake-up") };
    assert_eq!((waking.comm(), waking.pid(), waking.target_cpu()), ("new", 9, 1));
    let Some(Event::SchedSwitch(switch)) = &bundles[0].event[1].event else { panic!("a switch") };
    assert_eq!((switch.prev_comm(), switch.prev_pid(), switch.prev_state()), ("shell", 7, 1));
    assert_eq!((switch.next_comm(), switch.next_pid(), switch.next_prio()), ("thread", 8, 100));
    assert_eq!(bundles[1].event[0].timestamp(), 110);
}

#[test]
fn nothing_is_left_out_of_many() {
    let (mut recording, mut bytes) = Recording::begin(&Host::default(), Clocks::default(), &[]);
    let events: Vec<_> = (0..10_000u64).map(|i| event(i, (i % 3) as u32, 1, 2, "a")).collect();
    bytes.extend(recording.events(&events, false));
    let told = packets(&bytes)
        .iter()
        .map(|p| match p {
            Data::FtraceEvents(b) => b.event.len(),
            _ => 0,
        })
        .sum::<usize>();
    assert_eq!(told, events.len());
}
