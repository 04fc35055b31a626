//! Fuzz targets: messages of the kernel, and exit records in any order.

use super::exits::Exits;
use super::identity::Instant;
use super::messages::{answer, family_in, Answer, Records};
use super::record::{Delays, Record};
use super::tests::recorded;
use exactop_fuzzing::{corpus, Choices, Target};
use exactop_model::{Comm, Counter, Counters, Ident, TaskKey, TaskSample};

#[test]
fn fuzz_taskstats_messages() {
    Target::new(corpus!("taskstats_messages")).examples(recorded()).run(|bytes| {
        match answer(bytes) {
            Answer::Records(records) => {
                assert!(records.thread.is_some() || records.process.is_some())
            }
            Answer::Refused(_) | Answer::Damaged => {}
        }
        let _ = family_in(bytes);
    });
}

/// A figure that a machine can reach: 2^50 ns are 13 days.
fn figure(choices: &mut Choices) -> u64 {
    choices.number() >> (14 + choices.below(48))
}

/// A small range, so that parents, children and reused ids occur.
fn id(choices: &mut Choices) -> u32 {
    choices.below(7) as u32
}

fn record(choices: &mut Choices) -> Record {
    Record {
        resident_kib: None,
        version: 16,
        exit_code: 0,
        last: [None, Some(true), Some(false)][choices.below(3)],
        nice: 0,
        policy: 0,
        dispatches: figure(choices),
        run_ns: figure(choices),
        user_ns: figure(choices),
        system_ns: figure(choices),
        elapsed_ns: figure(choices),
        comm: Comm::new(choices.bytes(2)),
        uid: 0,
        pid: id(choices),
        ppid: id(choices),
        tgid: choices.once_in(2).then(|| id(choices)),
        faults: (figure(choices), figure(choices)),
        switches: choices.once_in(2).then(|| (figure(choices), figure(choices))),
        delays: Delays { cpu_ns: figure(choices), ..Delays::default() },
    }
}

fn records(choices: &mut Choices) -> Records {
    Records {
        sequence: choices.number() as u32,
        thread: (!choices.once_in(8)).then(|| record(choices)),
        process: choices.once_in(4).then(|| (id(choices), record(choices))),
    }
}

fn task(choices: &mut Choices) -> TaskSample {
    let tid = id(choices);
    let mut counters = Counters::unknown();
    counters.set(Counter::RunNs, figure(choices));
    let key = TaskKey { tgid: id(choices), tid, start_ns: figure(choices) };
    let ident = Ident { ppid: id(choices), ..Ident::default() };
    TaskSample { counters, ..exactop_testkit::samples::task(tid.into(), key, ident) }
}

#[test]
fn fuzz_taskstats_exits() {
    let example =
        |seed: u8| (0..2_000u32).map(move |at| (at * 31) as u8 ^ seed).collect::<Vec<_>>();
    Target::new(corpus!("taskstats_exits")).examples([0, 1, 7].map(example)).run(|bytes| {
        let mut choices = Choices::new(bytes);
        let mut exits = Exits::default();
        let threads = choices.once_in(2);
        let (mut now, mut came, mut told) = (1u64 << 50, 0, 0);
        while !choices.is_empty() {
            let records: Vec<Records> =
                (0..choices.below(5)).map(|_| records(&mut choices)).collect();
            let tasks: Vec<TaskSample> =
                (0..choices.below(6)).map(|_| task(&mut choices)).collect();
            came += records.iter().filter(|r| r.thread.is_some()).count() as u64;
            now += figure(&mut choices);
            let at = Instant { monotonic_ns: now, boottime_ns: now + 5 };
            let before = tasks_of(&exits);
            exits.advance(records, &tasks, threads, at);
            told += tasks_of(&exits).saturating_sub(before);
            assert!(told <= came, "{told} exits of {came} records");
        }
    });
}

fn tasks_of(exits: &Exits) -> u64 {
    exits.samples().iter().map(|sample| sample.tasks).sum()
}
