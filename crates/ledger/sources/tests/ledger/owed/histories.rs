//! The programs' algorithm over random histories (`histories.c`), against a walk over all tasks and
//! CPUs at each step.

use exactop_model::on_demand::owed::Cause;
use proptest::prelude::*;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Number of places for tasks in `histories.c`; place 0 is the idle task.
const TASKS: usize = 32;
/// Tasks and CPUs in use here.
const USED: usize = 9;
const CPUS: usize = 6;

/// Sums of a window: idle time, owed time, and the tasks' waits by cause.
type Sums = (u64, u64, Vec<[u64; Cause::ALL.len()]>);

#[derive(Clone, Copy, PartialEq)]
enum State {
    Sleeps,
    Runs,
    /// In the run queue of a CPU, for which it woke up.
    Called(usize),
    /// In the run queue of a CPU; and true if a wake-up left an idle CPU out.
    Waits(usize, bool),
}

struct Machine {
    /// What each CPU runs; 0: it is idle.
    runs: [usize; CPUS],
    tasks: [State; USED],
    /// CPUs of each task's affinity and cpuset, as bits.
    sets: [(u64, u64); USED],
    sums: Sums,
    windows: Vec<Sums>,
    history: String,
}

/// The CPUs of a CPU's NUMA node: each has three.
fn node(cpu: usize) -> u64 {
    0b111 << (cpu / 3 * 3)
}

fn nothing() -> Sums {
    (0, 0, vec![[0; Cause::ALL.len()]; TASKS - 1])
}

impl Machine {
    fn new() -> Machine {
        let (all, windows, mut history) = ((1 << CPUS) - 1, Vec::new(), String::new());
        (0..CPUS).for_each(|cpu| writeln!(history, "c {cpu} 0").expect("text"));
        let (runs, tasks) = ([0; CPUS], [State::Sleeps; USED]);
        Machine { runs, tasks, sets: [(all, all); USED], sums: nothing(), windows, history }
    }

    fn free(&self) -> u64 {
        let called = |cpu| self.tasks.contains(&State::Called(cpu));
        let free = (0..CPUS).filter(|&cpu| self.runs[cpu] == 0 && !called(cpu));
        free.map(|cpu| 1 << cpu).sum()
    }

    /// Time passes: every waiting task gets its cause.
    fn pass(&mut self, ns: u64) {
        let free = self.free();
        let mut waiting = std::collections::BTreeMap::<u64, u32>::new();
        for (task, &state) in self.tasks.iter().enumerate().skip(1) {
            let (affinity, cpuset) = self.sets[task];
            let cause = match state {
                State::Sleeps | State::Runs => continue,
                State::Called(_) => Cause::Waking,
                State::Waits(..) if free == 0 => Cause::Busy,
                State::Waits(..) if free & cpuset == 0 => Cause::Cpuset,
                State::Waits(..) if free & affinity == 0 => Cause::Affinity,
                State::Waits(cpu, _) if free & affinity & node(cpu) == 0 => Cause::Numa,
                State::Waits(_, true) => Cause::Wakeup,
                State::Waits(_, false) => Cause::Balance,
            };
            self.sums.2[task - 1][cause as usize] += ns;
            if matches!(state, State::Waits(..)) {
                *waiting.entry(affinity).or_default() += 1;
            }
        }
        let usable = waiting.iter().map(|(set, n)| (free & set).count_ones().min(*n)).sum::<u32>();
        self.sums.1 += ns * u64::from(usable.min(free.count_ones()));
        self.sums.0 += ns * self.runs.iter().filter(|&&task| task == 0).count() as u64;
    }

    fn queue(&mut self, task: usize, cpu: usize, woken: bool) {
        self.tasks[task] = State::Sleeps;
        let ((affinity, cpuset), free) = (self.sets[task], self.free());
        let near = affinity & node(cpu);
        self.tasks[task] = match free >> cpu & 1 {
            1 => State::Called(cpu),
            _ => State::Waits(cpu, woken && free & near != 0),
        };
        let woken = u8::from(woken);
        let all = u64::MAX;
        writeln!(self.history, "w {task} {cpu} {woken} {all} {cpuset} {affinity} {near}")
            .expect("text");
    }

    fn queue_of(&self, cpu: usize) -> Vec<usize> {
        let is_there = |task: &usize| match self.tasks[*task] {
            State::Called(at) | State::Waits(at, _) => at == cpu,
            _ => false,
        };
        (1..USED).filter(is_there).collect()
    }

    /// A CPU takes a task from its queue, or becomes idle; its own task sleeps or is preempted.
    fn switch(&mut self, cpu: usize, pick: usize, sleeps: bool) {
        let queue = self.queue_of(cpu);
        let (prev, next) = (self.runs[cpu], queue.get(pick % queue.len().max(1)).copied());
        if next.is_none() && (prev == 0 || !sleeps) {
            return;
        }
        let next = next.unwrap_or(0);
        self.runs[cpu] = next;
        writeln!(self.history, "c {cpu} {next}").expect("text");
        // The task for which the CPU woke up now waits for another.
        for task in queue {
            if self.tasks[task] == State::Called(cpu) {
                self.tasks[task] = State::Waits(cpu, false);
            }
        }
        self.tasks[next] = State::Runs;
        if prev != 0 {
            self.tasks[prev] = State::Sleeps;
            if !sleeps {
                self.queue(prev, cpu, false);
            }
        }
    }

    fn act(&mut self, what: u8, one: usize, other: usize) {
        let task = 1 + one % (USED - 1);
        let cpus: Vec<usize> = (0..CPUS).filter(|cpu| self.sets[task].0 >> cpu & 1 == 1).collect();
        let cpu = cpus[other % cpus.len()];
        match (what, self.tasks[task]) {
            (0 | 1, State::Sleeps) => self.queue(task, cpu, true),
            (2 | 3, _) => self.switch(one % CPUS, other, true),
            (4, _) => self.switch(one % CPUS, other, false),
            // A CPU that has woken up keeps a task that others follow in its queue.
            (5, State::Called(at)) if self.queue_of(at).len() > 1 => {}
            (5, State::Called(_) | State::Waits(..)) => self.queue(task, cpu, false),
            (6, State::Sleeps) => {
                let cpuset = 1 + other as u64 % ((1 << CPUS) - 1);
                let affinity = cpuset & (other as u64 >> CPUS);
                self.sets[task] = (if affinity == 0 { cpuset } else { affinity }, cpuset);
            }
            (7, _) if one.is_multiple_of(4) => self.end(),
            _ => {}
        }
    }

    fn end(&mut self) {
        self.history.push_str("e\n");
        self.windows.push(std::mem::replace(&mut self.sums, nothing()));
        self.pass(1);
    }
}

/// The windows of a history, by the algorithm of the programs.
fn windows(program: &Path, history: &str) -> Vec<Sums> {
    let mut run = Command::new(program);
    let mut run = run.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program");
    let mut stdin = run.stdin.take().expect("a pipe");
    let history = history.to_string();
    let writer = std::thread::spawn(move || stdin.write_all(history.as_bytes()));
    let done = run.wait_with_output().expect("its output");
    writer.join().expect("no panic").expect("written");
    assert!(done.status.success(), "the program cannot read the history");
    let text = String::from_utf8(done.stdout).expect("text");
    let numbers = |line: &str| -> Vec<u64> {
        line.split_whitespace().map(|n| n.parse().expect("a number")).collect()
    };
    let lines: Vec<Vec<u64>> = text.lines().map(numbers).collect();
    let causes = |line: &[u64]| {
        line.chunks(Cause::ALL.len()).map(|sums| sums.try_into().expect("all causes")).collect()
    };
    lines.chunks(2).map(|window| (window[0][0], window[0][1], causes(&window[1]))).collect()
}

/// `histories.c` as a program; `None` where there is no compiler.
fn compiled(directory: &Path) -> Option<PathBuf> {
    if crate::left_out("there is no C compiler in it") {
        return None;
    }
    let program = directory.join("histories");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut compiler = Command::new("clang");
    compiler.args(["-O1", "-Wall", "-Werror", "-I"]);
    compiler.arg(here.join("../../../bpf")).arg("-o").arg(&program);
    compiler.arg(here.join("tests/ledger/owed/histories.c"));
    assert!(compiler.status().expect("clang").success());
    Some(program)
}

/// The table has room for 64 sets of CPUs. A task with a later one waits for its affinity: that
/// time is not owed, and none is lost.
#[test]
fn waits_of_more_sets_than_the_table_has_stay_whole() {
    const NS: u64 = 100;
    // All CPUs and those of the cpuset are the first two sets.
    const WITH_ROOM: u64 = 64 - 2;
    let directory = tempfile::tempdir().expect("a directory");
    let Some(program) = compiled(directory.path()) else { return };
    // Task 1 runs on CPU 0, and all others are idle.
    let mut history = String::from("c 0 1\n");
    (1..64).for_each(|cpu| writeln!(history, "c {cpu} 0").expect("text"));
    for _window in 0..2 {
        // Task 2 waits there: as long as there is room, and as often without.
        for affinity in
            [0b1_u64, 0b11].iter().flat_map(|cpus| (1..=WITH_ROOM).map(move |n| 1 | cpus << n))
        {
            let all = u64::MAX;
            writeln!(history, "w 2 0 0 {all} {all} {affinity} {affinity}\nt {NS}").expect("text");
            history.push_str("c 0 2\nc 0 1\n");
        }
        history.push_str("e\n");
    }
    let windows = windows(&program, &history);
    assert_eq!(windows.len(), 2);
    for (idle, owed, tasks) in windows {
        let [placed, others] = [Cause::Balance, Cause::Affinity].map(|c| tasks[1][c as usize]);
        assert_eq!((placed, others), (WITH_ROOM * NS, WITH_ROOM * NS));
        assert_eq!(tasks[1].iter().sum::<u64>(), placed + others, "there is no other cause");
        assert_eq!((owed, idle / 63 / NS), (WITH_ROOM * NS, 2 * WITH_ROOM));
    }
}

#[test]
fn each_wait_has_the_causes_of_a_walk_over_all_tasks() {
    let directory = tempfile::tempdir().expect("a directory");
    let Some(program) = compiled(directory.path()) else { return };
    let event = (0u8..8, any::<u16>(), any::<u16>(), 0u64..1000);
    let config = ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() };
    proptest!(config, |(events in prop::collection::vec(event, 1..300))| {
        let mut machine = Machine::new();
        for (what, one, other, ns) in events {
            machine.act(what, one.into(), other.into());
            machine.pass(ns);
            writeln!(machine.history, "t {ns}").expect("text");
        }
        machine.end();
        let windows = windows(&program, &machine.history);
        prop_assert_eq!(&windows, &machine.windows);
        for (idle, owed, tasks) in windows {
            let causes = Cause::ALL.iter().filter(|cause| cause.is_owed());
            let waited: u64 = causes.map(|c| tasks.iter().map(|t| t[*c as usize]).sum::<u64>()).sum();
            prop_assert!(owed <= idle && owed <= waited, "{owed} of {idle} and {waited}");
        }
    });
}
