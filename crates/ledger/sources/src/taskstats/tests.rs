//! Tests of records of several versions, of messages, and of generated sequences of exits.

use super::exits::{of_record, Exits};
use super::identity::Instant;
use super::messages::{answer, Answer, Ask, Records};
use super::record::{Malformed, Record};
use super::Taskstats;
use crate::source::{Request, Source};
use exactop_model::{Comm, Counter, Counters, ErrorKind, Ident, TaskKey, TaskSample};
use std::process::Command;

/// A structure of a version in the kernel's layout; each field's value identifies the field.
fn structure(version: u16, length: usize, inserted: usize) -> Vec<u8> {
    const TOTALS: [usize; 8] = [24, 40, 56, 320, 336, 360, 408, 424];
    let mut bytes = vec![0; length];
    let mut put = |at: usize, value: &[u8]| {
        let at = at + inserted * TOTALS.iter().filter(|&&total| total < at).count();
        if at + value.len() <= length {
            bytes[at..at + value.len()].copy_from_slice(value);
        }
    };
    put(0, &version.to_ne_bytes());
    put(8, &[0x20, 5]);
    for at in [16, 24, 40, 56, 72, 144, 152, 160, 168, 176, 272, 280, 320, 336, 360, 408, 424] {
        put(at, &(at as u64).to_ne_bytes());
    }
    put(80, b"a name\0");
    for (at, value) in [(120, 1000u32), (128, 77), (132, 7), (368, 70)] {
        put(at, &value.to_ne_bytes());
    }
    bytes
}

#[test]
fn fields_are_at_the_offsets_of_their_version() {
    // Lengths of struct taskstats: version 8 to 17 (include/uapi/linux/taskstats.h).
    for (version, length, inserted) in [
        (8, 328, 0),
        (9, 344, 0),
        (10, 352, 0),
        (11, 368, 0),
        (12, 400, 0),
        (13, 416, 0),
        (14, 432, 0),
        (15, 432 + 8 * 16, 16),
        (16, 432 + 8 * 16, 0),
        (17, 432 + 8 * 32, 0),
        (18, 2000, 0),
    ] {
        let record = Record::parse(&structure(version, length, inserted)).expect("a record");
        let what = format!("version {version}: {record:?}");
        assert_eq!((record.pid, record.ppid, record.uid), (77, 7, 1000), "{what}");
        assert_eq!((record.comm, record.nice), (Comm::new(b"a name"), 5), "{what}");
        assert_eq!((record.run_ns, record.user_ns, record.dispatches), (72, 152_000, 16), "{what}");
        assert_eq!((record.faults, record.switches), ((168, 176), Some((272, 280))), "{what}");
        let delays = &record.delays;
        assert_eq!((delays.cpu_ns, delays.blkio_ns, delays.swapin_ns), (24, 40, 56), "{what}");
        let since = |first: u16, value| (version >= first).then_some(value);
        assert_eq!(delays.reclaim_ns, since(8, 320), "{what}");
        assert_eq!(delays.thrashing_ns, since(9, 336), "{what}");
        assert_eq!(delays.compact_ns, since(11, 360), "{what}");
        assert_eq!(delays.wpcopy_ns, since(13, 408), "{what}");
        assert_eq!(delays.irq_ns, since(14, 424), "{what}");
        assert_eq!(record.tgid, since(12, 70).map(|tgid| tgid as u32), "{what}");
        assert_eq!(record.last, (version >= 12).then_some(true), "{what}");
    }
}

#[test]
fn an_invalid_record_is_refused() {
    assert_eq!(Record::parse(&[]), Err(Malformed { version: 0, length: 0 }));
    assert!(Record::parse(&structure(1, 80, 0)).is_err(), "basic accounting came with version 2");
    assert!(Record::parse(&structure(14, 100, 0)).is_err(), "cut");
    assert!(Record::parse(&vec![0; 500]).is_err(), "nothing but zeros");
}

/// Messages from a kernel with version 16, cut to the parsed part.
#[test]
fn a_damaged_message_differs_from_a_refusal() {
    let mut refusal = vec![0; 36];
    refusal[..4].copy_from_slice(&36u32.to_ne_bytes());
    refusal[4..6].copy_from_slice(&2u16.to_ne_bytes());
    refusal[16..20].copy_from_slice(&(-libc::ESRCH).to_ne_bytes());
    assert_eq!(answer(&refusal), Answer::Refused(libc::ESRCH));
    assert_eq!(answer(&[]), Answer::Damaged);
    assert_eq!(answer(&refusal[..10]), Answer::Damaged);
    let request = Ask::Process(1234).bytes(30);
    assert_eq!(answer(&request), Answer::Damaged, "a question is no answer");
    let id = 1234u32.to_ne_bytes();
    assert!(request.windows(4).any(|bytes| bytes == id), "{request:?}");
}

/// Answers recorded from kernels by the test below. Each line has the kernel's release, values from
/// /proc of the process (PID, parent, name, run time before and after), and the message in
/// hexadecimal.
const RECORDED: &str = include_str!("recorded.txt");

fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2)
        .map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).expect("hexadecimal"))
        .collect()
}

/// The messages alone.
pub(super) fn recorded() -> Vec<Vec<u8>> {
    let hex = RECORDED.lines().map(|line| line.rsplit(' ').next().expect("a message"));
    hex.map(unhex).collect()
}

#[test]
fn recorded_answers_of_several_kernels_parse() {
    let mut versions = Vec::new();
    for line in RECORDED.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [release, pid, ppid, comm, from_ns, to_ns, hex] = fields[..] else {
            panic!("{line}");
        };
        let Answer::Records(records) = answer(&unhex(hex)) else { panic!("{release}: no records") };
        let record = records.thread.expect("a record");
        let number = |text: &str| text.parse::<u64>().expect("a number");
        assert_eq!(u64::from(record.pid), number(pid), "{release}");
        assert_eq!(u64::from(record.ppid), number(ppid), "{release}");
        assert_eq!(record.comm, Comm::new(comm.as_bytes()), "{release}");
        let between = number(from_ns)..=number(to_ns);
        assert!(between.contains(&record.run_ns), "{release}: {} in {between:?}", record.run_ns);
        versions.push(record.version);
    }
    assert_eq!(versions, [13, 14, 16]);
}

/// Prints a line for recorded.txt.
#[test]
#[ignore = "records an answer of this kernel"]
fn record_an_answer() {
    let mut kernel = super::socket::Kernel::connect().expect("netlink");
    let family = kernel.family().expect("the family");
    let mut child = Command::new("sh")
        .args(["-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exec sleep 5"])
        .spawn()
        .expect("a shell");
    let pid = child.id();
    let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).expect("a file");
    let run = || read("schedstat").split(' ').next().map(String::from).expect("a number");
    exactop_testkit::wait::until("sleep, after all its work", || {
        read("comm") == "sleep\n" && read("stat").contains(") S ")
    });
    let before = run();
    kernel.ask(Ask::Thread(pid), family).expect("asked");
    let hex: String = kernel.receive().expect("told").iter().map(|b| format!("{b:02x}")).collect();
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("a release");
    let (me, comm) = (std::process::id(), read("comm"));
    println!("RECORDED {} {pid} {me} {} {before} {} {hex}", release.trim(), comm.trim(), run());
    child.kill().expect("killed");
    child.wait().expect("an end");
}

const S: u64 = 1_000_000_000;

fn record(pid: u32, tgid: u32, ppid: u32, run_ns: u64, elapsed_ns: u64) -> Record {
    let mut record = Record::parse(&structure(16, 560, 0)).expect("a record");
    (record.pid, record.tgid, record.ppid) = (pid, Some(tgid), ppid);
    (record.run_ns, record.elapsed_ns, record.last) = (run_ns, elapsed_ns, Some(pid == tgid));
    (record.user_ns, record.system_ns) = (run_ns, 0);
    record
}

fn one(record: Record) -> Records {
    Records { sequence: 0, thread: Some(record), process: None }
}

fn task(pid: u32, ppid: u32, start_ns: u64, run_ns: u64) -> TaskSample {
    let mut counters = Counters::unknown();
    counters.set(Counter::RunNs, run_ns);
    counters.set(Counter::UtimeNs, run_ns);
    let key = TaskKey { tgid: pid, tid: pid, start_ns };
    let ident = Ident { ppid, ..Ident::default() };
    let since_ns = start_ns;
    TaskSample { since_ns, counters, ..exactop_testkit::samples::task(pid.into(), key, ident) }
}

fn at(seconds: u64) -> Instant {
    Instant { monotonic_ns: seconds * S, boottime_ns: seconds * S }
}

fn run_of(exits: &Exits) -> (u64, u64) {
    let all = exits.samples();
    let run = all.iter().map(|e| e.counters.get(Counter::RunNs).expect("known")).sum();
    (run, all.iter().map(|e| e.processes).sum())
}

#[test]
fn an_exit_counts_the_use_since_the_task_was_last_seen() {
    let mut exits = Exits::default();
    exits.advance(Vec::new(), &[task(1, 0, 0, 0), task(5, 1, S, 3 * S)], false, at(10));
    // The task had 3 s, and 4 s at its end; another task was born and exited in between.
    let gone = vec![one(record(5, 5, 1, 4 * S, 10 * S)), one(record(6, 6, 5, S / 2, S))];
    exits.advance(gone, &[task(1, 0, 0, 0)], false, at(11));
    assert_eq!(run_of(&exits), (S + S / 2, 2));
    let of_child = exits.samples().into_iter().find(|e| e.ancestors[0].tgid == 5).expect("6");
    assert_eq!(of_child.ancestors[1].tgid, 1, "the parent that went too leads on to its own");
    assert_eq!(of_child.life_ns, S);
}

#[test]
fn a_group_without_exits_ends_and_begins_again() {
    let mut exits = Exits::default();
    exits.advance(Vec::new(), &[], false, at(10));
    let mut accounts = Vec::new();
    for (round, run) in [(11, S), (12, S), (13, 0), (14, 0), (15, S)] {
        let gone = (run > 0).then(|| one(record(9, 9, 1, run, S / 2)));
        exits.advance(gone.into_iter().collect(), &[], false, at(round));
        accounts.push(exits.samples().first().map(|e| (e.account, e.processes)));
    }
    let counts: Vec<_> = accounts.iter().map(|a| a.map(|(_, processes)| processes)).collect();
    assert_eq!(counts, [Some(1), Some(2), Some(2), None, Some(1)]);
    assert_ne!(accounts[0].map(|a| a.0), accounts[4].map(|a| a.0));
}

#[test]
fn a_counter_unknown_before_is_unknown_after() {
    let mut exits = Exits::default();
    exits.advance(Vec::new(), &[task(5, 1, S, 3 * S)], false, at(10));
    exits.advance(vec![one(record(5, 5, 1, 4 * S, 10 * S))], &[], false, at(11));
    let sample = exits.samples()[0];
    assert_eq!(sample.counters.get(Counter::RunNs), Some(S));
    assert_eq!(
        sample.counters.get(Counter::MinorFaults),
        None,
        "of the whole life, not of the window"
    );
}

#[test]
fn a_zombie_keeps_its_time_until_it_is_reaped() {
    let mut exits = Exits::default();
    exits.advance(Vec::new(), &[task(5, 1, S, 3 * S)], false, at(10));
    let zombie = task(5, 1, S, 4 * S);
    exits.advance(vec![one(record(5, 5, 1, 4 * S, 9 * S))], &[zombie], false, at(11));
    assert_eq!(run_of(&exits), (0, 0), "its row has it");
    exits.advance(Vec::new(), &[], false, at(12));
    assert_eq!(run_of(&exits), (0, 1), "nothing came on top, but it exited");
}

#[test]
fn a_reused_pid_is_another_process() {
    let mut exits = Exits::default();
    exits.advance(Vec::new(), &[task(5, 1, S, 3 * S)], false, at(10));
    let next = task(5, 1, 10 * S + S / 2, 0);
    exits.advance(vec![one(record(5, 5, 1, 4 * S, 9 * S))], &[next], false, at(11));
    assert_eq!(run_of(&exits), (S, 1));
    // The task lived before the window and was never seen, so its part in the window is unknown.
    exits.advance(vec![one(record(9, 9, 1, 4 * S, 9 * S))], &[next], false, at(12));
    assert_eq!(run_of(&exits), (S, 1));
}

#[test]
fn each_process_of_a_window_counts_though_they_share_a_pid() {
    let whole = |run_ns, elapsed_ns| one(record(5, 5, 1, run_ns, elapsed_ns));
    let mut exits = Exits::default();
    exits.advance(Vec::new(), &[task(5, 1, S, 3 * S)], false, at(10));
    // The first one was seen with 3 s. The last one is a zombie.
    let zombie = task(5, 1, 11 * S - S / 8, S / 16);
    let gone = vec![whole(4 * S, 9 * S), whole(S / 4, S / 2), whole(S / 16, S / 16)];
    exits.advance(gone, &[zombie], false, at(11));
    assert_eq!(run_of(&exits), (S + S / 4, 2));
    exits.advance(Vec::new(), &[], false, at(12));
    assert_eq!(run_of(&exits), (S + S / 4, 3), "its row has the last one's time");
    let mut exits = Exits::default();
    exits.advance(Vec::new(), &[], true, at(10));
    exits.advance(vec![whole(S / 4, S / 2), whole(S / 16, S / 16)], &[], true, at(11));
    assert_eq!(run_of(&exits), (S / 4 + S / 16, 2));
}

#[test]
fn exited_threads_of_a_living_process_belong_to_it() {
    let mut exits = Exits::default();
    let leader = task(5, 1, S, S);
    let mut thread = task(6, 1, S, 2 * S);
    thread.key.tgid = 5;
    exits.advance(Vec::new(), &[leader, thread], true, at(10));
    exits.advance(vec![one(record(6, 5, 1, 3 * S, 9 * S))], &[leader], true, at(11));
    let samples = exits.samples();
    assert_eq!((samples[0].of.tgid, samples[0].processes, samples[0].tasks), (5, 0, 1));
    assert_eq!(run_of(&exits), (S, 0));
    // With rows for processes, the process's own row has the time of its threads.
    let mut exits = Exits::default();
    exits.advance(Vec::new(), &[leader], false, at(10));
    exits.advance(vec![one(record(6, 5, 1, 3 * S, 9 * S))], &[leader], false, at(11));
    assert!(exits.samples().is_empty());
}

/// Any of its threads may end last, and the main thread's record may be lost.
#[test]
fn a_process_that_exited_has_the_name_of_its_main_thread() {
    let named = |mut record: Record, name: &str, last| {
        (record.comm, record.last) = (Comm::new(name.as_bytes()), Some(last));
        one(record)
    };
    let main = || named(record(5, 5, 1, 0, 9 * S), "server", false);
    let worker = || named(record(6, 5, 1, 3 * S, 9 * S), "worker", true);
    let (mut leader, mut thread) = (task(5, 1, S, S), task(6, 1, S, S));
    leader.ident.comm = Comm::new(b"server");
    thread.key.tgid = 5;
    for records in [vec![main(), worker()], vec![worker(), main()], vec![worker()]] {
        for threads in [false, true] {
            let mut exits = Exits::default();
            let seen = if threads { vec![leader, thread] } else { vec![leader] };
            exits.advance(Vec::new(), &seen, threads, at(10));
            exits.advance(records.clone(), &[], threads, at(11));
            let samples = exits.samples();
            let names: Vec<Comm> = samples.iter().map(|exited| exited.comm).collect();
            assert!(names.iter().all(|name| name.bytes() == b"server"), "{threads}: {names:?}");
            assert_eq!(samples.iter().map(|exited| exited.processes).sum::<u64>(), 1);
        }
    }
}

#[test]
fn a_task_that_never_gave_up_the_cpu_ran_or_waited() {
    let mut quick = record(9, 9, 1, 0, S / 2);
    quick.switches = Some((0, 3));
    quick.delays.cpu_ns = S / 8;
    let mut exits = Exits::default();
    exits.advance(Vec::new(), &[], false, at(10));
    exits.advance(vec![one(quick)], &[], false, at(11));
    assert_eq!(run_of(&exits).0, S / 2 - S / 8);
}

/// The source on this machine, if permitted.
fn here() -> Option<Taskstats> {
    let needed = rustix::process::geteuid().is_root()
        && std::env::var_os("EXACTOP_NO_LEDGER_TESTS").is_none();
    match Taskstats::open() {
        Ok(source) => Some(source),
        Err(error) if needed => panic!("{error}"),
        Err(error) => {
            eprintln!("left out: {error}");
            None
        }
    }
}

#[test]
fn its_own_record_lies_between_two_reads_of_its_clock() {
    let Some(mut source) = here() else { return };
    let own_ns = || {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("schedstat");
        text.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).expect("ns")
    };
    let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    let request = Request { needs: exactop_model::Needs::THREADS, ..Request::default() };
    let before = own_ns();
    let snapshot = source.snapshot(&request).expect("a snapshot");
    let after = own_ns();
    let me = snapshot.tasks.iter().find(|task| task.key.tid == tid).expect("this thread");
    let run_ns = me.counters.get(Counter::RunNs).expect("known");
    // A running task is up to a tick behind.
    assert!(
        (before.saturating_sub(10_000_000)..=after).contains(&run_ns),
        "{before} {run_ns} {after}"
    );
}

#[test]
fn five_thousand_exits_leave_a_record_or_are_counted_as_lost() {
    let Some(mut source) = here() else { return };
    let request = Request::default();
    source.snapshot(&request).expect("a snapshot");
    // A name that no other process has.
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("true-of-5000");
    // Another process makes the copy. A file that this process has open for writing would also be
    // open in children forked by other tests.
    let copied = Command::new("cp").arg("/bin/true").arg(&own).status();
    assert!(copied.expect("cp(1)").success());
    let script = "i=0; while [ $i -lt 5000 ]; do \"$0\"; i=$((i+1)); done";
    assert!(Command::new("sh").args(["-c", script]).arg(&own).status().expect("sh").success());
    let snapshot = source.snapshot(&request).expect("a snapshot");
    let named = snapshot.exited.iter().filter(|e| e.comm == Comm::new(b"true-of-5000"));
    let (processes, run_ns) = named.fold((0, 0), |(n, ns), e| {
        (n + e.processes, ns + e.counters.get(Counter::RunNs).unwrap_or(0))
    });
    let lost = snapshot.errors.get(ErrorKind::LostExit);
    println!("{processes} of 5000 named, {lost} lost, {run_ns} ns");
    assert!(processes + lost >= 5000, "{processes} and {lost} lost");
    assert!(processes <= 5000 && run_ns > 0);
}

#[test]
fn of_record_has_all_counters_of_a_record() {
    let counters = of_record(&record(5, 5, 1, 4 * S, 9 * S));
    assert_eq!(counters.get(Counter::RunNs), Some(4 * S));
    assert_eq!(counters.get(Counter::BlkioDelayNs), None, "delays only while they are counted");
}
