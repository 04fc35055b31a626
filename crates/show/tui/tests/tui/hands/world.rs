//! A made-up machine whose processes start, exit and reuse PIDs, with a feed that shows it and a
//! host that acts on it.

use exactop_model::cgroups::GroupRow;
use exactop_model::findings::{Finding, FindingKind, Waited};
use exactop_model::frame::holdings::{Environment, Holdings, HoldingsRequest};
use exactop_model::{
    Ask, Comm, Counter, Counters, Feed, Frame, IdleRows, Needs, Row, RowKind, SourceKind, TaskKey,
};
use exactop_testkit::{arranged, frame};
use exactop_tui::app::placement::Placement;
use exactop_tui::app::target::Limit;
use exactop_tui::{Host, ProcessAction, Settings, Target};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// There are few PIDs, so that they are reused all the time.
pub const PIDS: u32 = 40;

#[derive(Clone, Debug)]
pub struct Thread {
    pub tid: u32,
    pub start_ns: u64,
    /// Serial number among all threads ever.
    pub serial: u64,
}

#[derive(Clone, Debug)]
pub struct Process {
    pub ppid: u32,
    /// The leader is the first.
    pub threads: Vec<Thread>,
    /// True if the source never saw the leader.
    pub hides_leader: bool,
    pub run_ns: u64,
    pub nice: i32,
}

impl Process {
    pub fn tgid(&self) -> u32 {
        self.threads[0].tid
    }

    fn key(&self, thread: &Thread) -> TaskKey {
        TaskKey { tgid: self.tgid(), tid: thread.tid, start_ns: thread.start_ns }
    }

    fn visible_threads(&self) -> &[Thread] {
        &self.threads[usize::from(self.hides_leader)..]
    }
}

/// Identity of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Who {
    pub key: TaskKey,
    /// Serial number of its leader.
    pub process: u64,
}

/// Actions of the host.
#[derive(Clone, Debug, PartialEq)]
pub enum Done {
    Killed(Target),
    Reniced(Target),
    Placed(Target, Placement),
    Limited(Limit),
}

pub struct Machine {
    pub processes: Vec<Process>,
    /// Processes as of the last window.
    window: Vec<Process>,
    exited: Vec<(u32, u64)>,
    groups: Vec<(String, u64)>,
    window_groups: Vec<(String, u64)>,
    /// All tasks ever, by serial number.
    pub ever: HashMap<u64, Who>,
    pub done: Vec<Done>,
    pub fails: bool,
    serial: u64,
    base: Frame,
}

impl Machine {
    pub fn new() -> Machine {
        let mut machine = Machine {
            processes: Vec::new(),
            window: Vec::new(),
            exited: Vec::new(),
            groups: Vec::new(),
            window_groups: Vec::new(),
            ever: HashMap::new(),
            done: Vec::new(),
            fails: false,
            serial: 0,
            base: frame(SourceKind::Ledger, false),
        };
        for pid in [1, 2, 7, 8, 9, 20] {
            machine.bear(pid, pid.min(1), 1 + (pid as usize) % 3, false);
            machine.run(pid as usize, u64::from(pid) * 1_000_000);
        }
        for name in ["/", "/a", "/b"] {
            machine.make_group(name);
        }
        machine
    }

    /// Starts a process with this PID, if it is free.
    pub fn bear(&mut self, pid: u32, ppid: u32, threads: usize, hides_leader: bool) {
        let mut threads_made = Vec::new();
        for tid in (pid..pid + PIDS).take(threads.max(1) * 2) {
            let taken = self.processes.iter().flat_map(|p| &p.threads).any(|t| t.tid == tid);
            if taken && tid == pid {
                return;
            }
            if !taken && threads_made.len() < threads.max(1) {
                self.serial += 1;
                // Not a whole number of ticks, as in the ledger.
                let start_ns = self.serial * 20_000_000 + 1;
                threads_made.push(Thread { tid, start_ns, serial: self.serial });
            }
        }
        let hides_leader = hides_leader && threads_made.len() > 1;
        let process = Process { ppid, threads: threads_made, hides_leader, run_ns: 0, nice: 0 };
        for thread in &process.threads {
            let who = Who { key: process.key(thread), process: process.threads[0].serial };
            self.ever.insert(thread.serial, who);
        }
        self.processes.push(process);
    }

    /// The n-th process exits, and shows below its parent.
    pub fn exit(&mut self, n: usize) {
        if self.processes.len() > 1 {
            let gone = self.processes.swap_remove(n % self.processes.len());
            self.exited.push((gone.ppid, gone.threads[0].serial));
        }
    }

    pub fn run(&mut self, n: usize, ns: u64) {
        let count = self.processes.len();
        self.processes[n % count].run_ns = ns;
    }

    pub fn make_group(&mut self, name: &str) {
        self.serial += 1;
        self.groups.retain(|(other, _)| other != name);
        self.groups.push((name.into(), self.serial));
    }

    pub fn remove_group(&mut self, n: usize) {
        if self.groups.len() > 1 {
            self.groups.remove(n % self.groups.len());
        }
    }

    /// The task with this number now.
    pub fn task(&self, pid: u32) -> Option<(&Process, &Thread)> {
        let all = self.processes.iter().flat_map(|p| p.threads.iter().map(move |t| (p, t)));
        all.into_iter().find(|(_, t)| t.tid == pid)
    }

    fn lives(&self, key: TaskKey) -> bool {
        self.task(key.tid).is_some_and(|(p, t)| p.key(t) == key)
    }

    fn close_window(&mut self) {
        self.window = self.processes.clone();
        self.window_groups = self.groups.clone();
        self.exited.reverse();
        self.exited.truncate(4);
        // Rows come in no particular order.
        let turn = self.serial as usize % self.window.len().max(1);
        self.window.rotate_left(turn);
    }

    fn frame(&self, ask: &Ask) -> Frame {
        let mut rows = Vec::new();
        let mut left = match ask.options.still {
            IdleRows::Hide => 0,
            IdleRows::Some(n) => n,
            IdleRows::All => usize::MAX,
        };
        for process in &self.window {
            let of_page = ask.options.threads_of == Some(process.tgid());
            let shown = process.run_ns > 0 || left > 0;
            left = left.saturating_sub(usize::from(process.run_ns == 0));
            let threads =
                || process.visible_threads().iter().map(|t| self.row(RowKind::Task, process, t));
            if shown && ask.options.threads {
                rows.extend(threads());
            } else if shown {
                rows.push(self.row(RowKind::Process, process, &process.visible_threads()[0]));
            }
            if of_page && !ask.options.threads {
                rows.extend(threads());
            }
        }
        let exited = self.exited.iter().map(|&(ppid, serial)| {
            let mut row = self.base.exited[0].clone();
            row.ident.ppid = ppid;
            row.ident.comm = Comm::new(format!("<x{serial}>").as_bytes());
            row
        });
        let exited = exited.collect();
        let groups = ask.groups.then(|| self.group_rows()).flatten();
        let findings = if ask.options.findings { self.findings() } else { Vec::new() };
        Frame { rows, exited, groups, findings, ..self.base.clone() }
    }

    /// Findings that come and go.
    fn findings(&self) -> Vec<Finding> {
        let waited = self.window.iter().filter(|process| process.run_ns % 2 == 1).map(|process| {
            let leader = &process.threads[0];
            let what = Waited {
                comm: Comm::new(format!("<n{}>", leader.serial).as_bytes()),
                processes: 1,
                worst: Some(process.key(leader)),
                run_ns: 1,
                lat_ns: 9,
                throttle_ns: 0,
                culprits: Vec::new(),
            };
            Finding { what: FindingKind::Waited(what), about_ns: 9, sampled: false }
        });
        waited.collect()
    }

    fn row(&self, kind: RowKind, process: &Process, thread: &Thread) -> Row {
        let mut row = self.base.rows[0].clone();
        let mut delta = Counters::zero();
        delta.set(Counter::RunNs, process.run_ns);
        (row.kind, row.key, row.delta) = (kind, process.key(thread), delta);
        row.ident.ppid = process.ppid;
        row.ident.nice = process.nice;
        row.ident.comm = Comm::new(format!("<n{}>", thread.serial).as_bytes());
        row.threads = Some(process.threads.len() as u32);
        row
    }

    fn group_rows(&self) -> Option<Result<exactop_model::cgroups::Groups, String>> {
        let ask = Ask { groups: true, ..Ask::default() };
        let mut groups = arranged(&ask, 0).groups?.ok()?;
        let base = groups.rows.pop()?;
        let named = |(name, id): &(String, u64)| {
            let mut row: GroupRow = base.clone();
            (row.sample.name, row.sample.id) = (name.clone(), Some(*id));
            row
        };
        groups.rows = self.window_groups.iter().map(named).collect();
        Some(Ok(groups))
    }
}

pub type Shared = Rc<RefCell<Machine>>;

/// A feed of the machine.
pub struct Shows(pub Shared);

impl Feed for Shows {
    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
        let mut machine = self.0.borrow_mut();
        if machine.fails {
            return Err("made to fail".into());
        }
        machine.close_window();
        Ok(Some(machine.frame(ask)))
    }

    fn same_frame(&mut self, ask: &Ask) -> Option<Frame> {
        Some(self.0.borrow().frame(ask))
    }

    fn details(&mut self, rows: &mut [&mut Row], needs: Needs) {
        for row in rows {
            if needs.has(Needs::CMDLINE) {
                row.detail.cmdline = Ok(row.ident.comm.to_string().into());
            }
            if needs.has(Needs::NAMES) {
                // Every process is in one of these groups.
                let path: &[u8] = if row.key.tgid % 2 == 0 { b"/a" } else { b"/b" };
                row.detail.cgroup = Ok(path.to_vec());
            }
            row.detail.res = Ok(u64::from(row.key.tid) << 20);
        }
    }
}

/// A host that acts on the machine.
pub struct Acts(pub Shared);

impl Acts {
    fn act(&self, target: &Target, done: Done) -> Result<(), String> {
        let mut machine = self.0.borrow_mut();
        machine.done.push(done);
        match machine.lives(target.key) {
            true => Ok(()),
            false => Err(target.gone()),
        }
    }
}

impl Host for Acts {
    fn identify(&mut self, pid: u32, deed: ProcessAction) -> Result<Target, String> {
        let machine = self.0.borrow();
        let (process, thread) = machine.task(pid).ok_or_else(|| format!("no process {pid}"))?;
        let thread = if deed == ProcessAction::Renice { thread } else { &process.threads[0] };
        let name = format!("<n{}>", thread.serial);
        Ok(Target {
            pid: thread.tid,
            key: process.key(thread),
            name,
            nice: process.nice,
            kthread: false,
        })
    }

    fn has_exited(&mut self, task: TaskKey) -> bool {
        !self.0.borrow().lives(task)
    }

    fn look_into(&mut self, wanted: HoldingsRequest) -> Result<Holdings, String> {
        match self.0.borrow().lives(wanted.key) {
            true => Ok(Holdings::Environment(Environment::default())),
            false => Err("it has exited".into()),
        }
    }

    fn signal(&mut self, target: &Target, _signal: i32) -> Result<(), String> {
        self.act(target, Done::Killed(target.clone()))?;
        let mut machine = self.0.borrow_mut();
        let hit = machine.processes.iter().position(|p| p.tgid() == target.key.tgid);
        if let Some(n) = hit.filter(|_| target.key.tid.is_multiple_of(2)) {
            machine.exit(n);
        }
        Ok(())
    }

    fn renice(&mut self, target: &Target, nice: i32) -> Result<(), String> {
        self.act(target, Done::Reniced(target.clone()))?;
        let mut machine = self.0.borrow_mut();
        let hit = machine.processes.iter_mut().find(|p| p.tgid() == target.key.tgid);
        hit.expect("it lives").nice = nice;
        Ok(())
    }

    fn place(&mut self, target: &Target, placement: &Placement) -> Result<(), String> {
        self.act(target, Done::Placed(target.clone(), placement.clone()))
    }

    fn limit(&mut self, limit: &Limit) -> Result<String, String> {
        self.0.borrow_mut().done.push(Done::Limited(limit.clone()));
        Ok("changed".into())
    }

    fn save(&mut self, _settings: &Settings) -> Result<String, String> {
        Ok("nowhere".into())
    }

    fn user_id(&mut self, name: &str) -> Option<u32> {
        (name == "jo").then_some(1000)
    }

    fn point_in_time(&mut self, text: &str, _end_wall_ns: i128) -> Result<i128, String> {
        Err(format!("'{text}': nothing is recorded here"))
    }

    fn local_time(&mut self, wall_ns: i128) -> String {
        wall_ns.to_string()
    }
}
