//! The waits of a window, beside those that `perf sched timehist` computes from its own record of
//! the same time.

use super::{closed, keeping, spinners, BlameOptions, WINDOW};
use crate::books::Books;
use crate::moves::bind;
use exactop_testkit::wait;
use exactop_workloads::workloads::PipePingPong;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Begins the record, and says so. It ends with its standard input.
const WHILE_OPEN: &str = "echo ready; read end; exit 0";

/// perf in a mount namespace of its own, with tracefs, which some machines do not mount.
fn perf() -> Command {
    let script =
        "[ -d /sys/kernel/tracing/events ] || mount -t tracefs tracefs /sys/kernel/tracing; \
                  exec perf sched \"$@\"";
    let mut perf = Command::new("unshare");
    perf.args(["--mount", "sh", "-c", script, "perf"]);
    perf
}

/// A running record of all switches and wake-ups.
struct Record {
    perf: Child,
    directory: TempDir,
}

impl Record {
    /// `Err`: perf cannot record here, in its own words.
    fn start() -> Result<Record, String> {
        let directory = tempfile::tempdir().expect("a directory");
        let (file, words) = (directory.path().join("perf.data"), directory.path().join("words"));
        let mut record = perf();
        record.args(["record", "-k", "CLOCK_MONOTONIC", "-o"]).arg(&file);
        record.args(["--", "sh", "-c", WHILE_OPEN]).stdin(Stdio::piped()).stdout(Stdio::piped());
        record.stderr(fs::File::create(&words).expect("a file"));
        let mut perf = record.spawn().expect("unshare(1)");
        let mut line = String::new();
        let answer = perf.stdout.as_mut().expect("a pipe");
        BufReader::new(answer).read_line(&mut line).expect("a line");
        if line == "ready\n" {
            return Ok(Record { perf, directory });
        }
        perf.wait().expect("its end");
        Err(fs::read_to_string(words).expect("text").trim().to_string())
    }

    fn end(mut self) -> Waits {
        drop(self.perf.stdin.take());
        assert!(self.perf.wait().expect("its end").success(), "perf sched record failed");
        let file: PathBuf = self.directory.path().join("perf.data");
        Waits::read(&file)
    }
}

/// Waits of threads, from perf's text.
struct Waits {
    /// The thread, and the begin and end of the wait, microseconds of CLOCK_MONOTONIC.
    all: Vec<(u32, u64, u64)>,
    lost: bool,
}

impl Waits {
    fn read(file: &Path) -> Waits {
        let told = perf().args(["timehist", "--state", "-i"]).arg(file).output().expect("perf");
        let text = String::from_utf8_lossy(&told.stdout);
        let words = String::from_utf8_lossy(&told.stderr);
        assert!(told.status.success() && text.contains("sch delay"), "{text}{words}");
        let mut left_runnable = BTreeSet::new();
        let all = text.lines().filter_map(|line| Waits::of_line(line, &mut left_runnable));
        Waits { all: all.collect(), lost: format!("{text}{words}").contains("lost ") }
    }

    /// The wait that preceded one stay on a CPU. Of a thread that left the CPU runnable, the whole
    /// time off it is a wait, and of another the time since its wake-up.
    fn of_line(line: &str, left_runnable: &mut BTreeSet<u32>) -> Option<(u32, u64, u64)> {
        let mut words = line.split_whitespace().rev();
        let state = words.next()?;
        let [ran, delay, off] =
            [words.next()?, words.next()?, words.next()?].map(|ms| us(ms, 1_000));
        // TASK-NAME[THREAD/PROCESS], or TASK-NAME[THREAD] of a process with one thread.
        let id = words.next()?.rsplit_once('[')?.1.trim_end_matches(']');
        let tid: u32 = id.split('/').next()?.parse().ok()?;
        let left = us(line.split_whitespace().next()?, 1_000_000)?;
        let was_runnable = left_runnable.remove(&tid);
        // R, and a preempted task is W, p or R+, by version.
        if ["R", "R+", "W", "p"].contains(&state) {
            left_runnable.insert(tid);
        }
        let began = left - ran?;
        Some((tid, began - if was_runnable { off? } else { delay? }, began))
    }

    /// The parts of the threads' waits between two instants, ns.
    fn between(&self, t0_ns: u64, t1_ns: u64, tids: &[u32]) -> u64 {
        let part = |&(tid, from, to): &(u32, u64, u64)| {
            let part = (to * 1_000).min(t1_ns).saturating_sub((from * 1_000).max(t0_ns));
            if tids.contains(&tid) {
                part
            } else {
                0
            }
        };
        self.all.iter().map(part).sum()
    }
}

/// A decimal fraction with as many digits as the unit has, as a whole number.
fn us(text: &str, per_unit: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.')?;
    Some(whole.parse::<u64>().ok()? * per_unit + fraction.parse::<u64>().ok()?)
}

/// The threads of a process, from its first.
fn threads(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("a process");
    let tid = |task: fs::DirEntry| task.file_name().to_string_lossy().parse().expect("a number");
    tasks.map(|task| tid(task.expect("a thread"))).collect()
}

/// How often each thread came onto a CPU, by the kernel.
fn dispatches(tids: &[u32]) -> Vec<u64> {
    let of = |tid: &u32| {
        let text = fs::read_to_string(format!("/proc/{tid}/schedstat")).expect("a thread");
        text.split_whitespace().nth(2).and_then(|n| n.parse().ok()).expect("a number")
    };
    tids.iter().map(of).collect()
}

/// Waits until each thread left a CPU and came back.
fn each_comes_back(tids: &[u32]) {
    let before = dispatches(tids);
    wait::until("each thread to come back", || {
        dispatches(tids).iter().zip(&before).all(|(now, before)| *now > before + 1)
    });
}

/// What is booked of three groups' waits in a window, in flight included, and what perf has of
/// them, ns. `None`: it cannot be measured here.
fn booked_and_perfs(blame: BlameOptions) -> Option<(u64, u64)> {
    let is_whole = blame.unbooked_one_in == 0;
    let [first, second, pair] =
        spinners([("first", 0, 100), ("second", 0, 200), ("pair", 0, 100)])?;
    let pipes = PipePingPong::start(2).expect("a pair");
    pair.group.take(pipes.pid());
    let groups = [&first, &second, &pair].map(|one| one.group.id());
    let idle_too = [first.spin.pid(), second.spin.pid(), pair.spin.pid(), pipes.pid()];
    let tids: Vec<u32> = idle_too.into_iter().flat_map(threads).collect();
    let busy = [&first, &second, &pair].map(|one| one.tid());
    let busy = [&busy[..], &threads(pipes.pid())[1..]].concat();
    busy.iter().for_each(|tid| bind(*tid, &[0]));
    let mut books = Books::open(&keeping(blame));
    wait::find("a record without a loss", || {
        let record = match Record::start() {
            Ok(record) => record,
            Err(words) => {
                eprintln!("left out: perf cannot record here: {words}");
                return Some(None);
            }
        };
        each_comes_back(&busy);
        books.close();
        let window = books.window(WINDOW * 4);
        each_comes_back(&busy);
        let waits = record.end();
        if waits.lost {
            return None;
        }
        let theirs = waits.between(window.t0_ns, window.t1_ns, &tids);
        let blame = if is_whole { closed(&books, &window) } else { window.blame.expect("a book") };
        let is_ours = |id: u64| groups.contains(&id);
        let of_us = blame
            .pairs
            .iter()
            .filter(|((victim, _), _)| victim.is_some_and(|victim| is_ours(victim.cgroup_id)));
        let booked: u64 = of_us.map(|(_, booked)| booked.ns).sum();
        let of_us = blame.waits.iter().filter(|(p, _)| p.is_some_and(|p| is_ours(p.cgroup_id)));
        let in_flight: i64 = of_us.map(|(_, waits)| waits.in_flight_delta_ns).sum();
        let ours = booked.saturating_add_signed(in_flight);
        println!("{ours} ns here, {theirs} ns by perf");
        Some(Some((ours, theirs)))
    })
}

#[test]
fn waits_are_those_of_perf_and_a_missing_booking_differs_from_them() {
    let Some(_machine) = crate::machine() else { return };
    if crate::left_out("there is no perf in it") {
        return;
    }
    let Some((ours, theirs)) = booked_and_perfs(BlameOptions::default()) else { return };
    assert!(theirs > 1_000_000_000, "{theirs} ns: three groups wait for one CPU");
    assert!(ours.abs_diff(theirs) <= theirs / 100, "{ours} ns here, {theirs} ns by perf");
    let broken = BlameOptions { unbooked_one_in: 3, ..BlameOptions::default() };
    let Some((ours, theirs)) = booked_and_perfs(broken) else { return };
    assert!(ours < theirs / 100 * 90, "{ours} ns here, {theirs} ns by perf");
}
