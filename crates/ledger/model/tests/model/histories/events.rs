//! Random events of a machine: tasks are born, run, sleep, exec and exit, numbers are reused,
//! windows close.

use super::machine::{Machine, CPUS, INIT};
use exactop_model::{Comm, MicroState};
use proptest::prelude::*;

/// One event. Its numbers choose among the tasks to which it can happen.
#[derive(Clone, Debug)]
pub enum Event {
    Wait(u64),
    Enter { task: usize, state: MicroState, cpu: usize },
    Fork { parent: usize, pid: u32, name: u8 },
    Thread { process: usize, tid: u32 },
    Exec { task: usize, name: u8 },
    EndThread(usize),
    EndProcess { process: usize, zombie: bool },
    Reap(usize),
    MeasureIrq,
    Close,
}

fn state() -> impl Strategy<Value = MicroState> {
    use MicroState::*;
    let asleep = prop::sample::select(vec![
        Lat, LatPreempt, Throttle, Sleep, Lock, TextFault, DataFault, Block, Stop,
    ]);
    prop_oneof![1 => Just(Run), 1 => asleep]
}

/// A small range, so that numbers are soon reused.
fn number() -> impl Strategy<Value = u32> {
    2u32..12
}

/// Any event.
pub fn event() -> impl Strategy<Value = Event> {
    let which = 0usize..16;
    prop_oneof![
        6 => (0u64..1_000).prop_map(Event::Wait),
        6 => (which.clone(), state(), 0..CPUS)
            .prop_map(|(task, state, cpu)| Event::Enter { task, state, cpu }),
        3 => (which.clone(), number(), 0u8..3)
            .prop_map(|(parent, pid, name)| Event::Fork { parent, pid, name }),
        2 => (which.clone(), number()).prop_map(|(process, tid)| Event::Thread { process, tid }),
        1 => (which.clone(), 0u8..3).prop_map(|(task, name)| Event::Exec { task, name }),
        1 => which.clone().prop_map(Event::EndThread),
        2 => (which.clone(), any::<bool>())
            .prop_map(|(process, zombie)| Event::EndProcess { process, zombie }),
        1 => which.prop_map(Event::Reap),
        1 => Just(Event::MeasureIrq),
        3 => Just(Event::Close),
    ]
}

/// The account that a choice selects.
fn choose(machine: &Machine, at: usize, can: fn(u32, bool, bool) -> bool) -> Option<u64> {
    let fit: Vec<u64> = machine
        .tasks
        .iter()
        .filter(|(_, t)| can(t.key.tgid, t.key.is_leader(), t.state == MicroState::Zombie))
        .map(|(&account, _)| account)
        .collect();
    (!fit.is_empty()).then(|| fit[at % fit.len()])
}

/// Applies the event; the caller closes windows.
pub fn happens(machine: &mut Machine, event: &Event) {
    let name = |n: u8| Comm::new(&[b'a' + n]);
    let tgid = |m: &Machine, account: u64| m.tasks[&account].key.tgid;
    let found = match *event {
        Event::Wait(ns) => return machine.now += ns,
        Event::MeasureIrq => return machine.measure_irq(),
        Event::Fork { pid, .. } | Event::Thread { tid: pid, .. } if machine.is_taken(pid) => return,
        Event::Enter { task, .. } => choose(machine, task, |_, _, zombie| !zombie),
        Event::Exec { task, .. } => choose(machine, task, |tgid, _, z| !z && tgid != INIT),
        Event::Fork { parent: at, .. } | Event::Thread { process: at, .. } => {
            choose(machine, at, |_, leader, zombie| leader && !zombie)
        }
        Event::EndThread(at) => choose(machine, at, |_, leader, _| !leader),
        Event::EndProcess { process, .. } => {
            choose(machine, process, |tgid, leader, z| leader && !z && tgid != INIT)
        }
        Event::Reap(at) => choose(machine, at, |_, _, zombie| zombie),
        Event::Close => None,
    };
    let Some(account) = found else { return };
    let process = tgid(machine, account);
    match *event {
        Event::Enter { state, cpu, .. } => machine.set(account, state, cpu),
        Event::Fork { pid, name: n, .. } => {
            machine.fork(process, pid, name(n));
        }
        Event::Thread { tid, .. } => {
            machine.clone_thread(process, tid);
        }
        Event::Exec { name: n, .. } => machine.exec(account, name(n)),
        Event::EndThread(_) => machine.end_thread(account),
        Event::EndProcess { zombie, .. } => machine.end_process(process, zombie),
        Event::Reap(_) => machine.reap(account),
        Event::Wait(_) | Event::MeasureIrq | Event::Close => {}
    }
}
