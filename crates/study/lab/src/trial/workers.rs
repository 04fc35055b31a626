//! Workers of a trial: each runs in its own process group, which dies with this program.

use super::groups::Groups;
use super::guard::Guard;
use super::{Lab, Setup, Trouble};
use crate::definition::{Cpus, Worker};
use rustix::process::{kill_process_group, waitid, Pid, Signal, WaitId, WaitIdOptions};
use rustix::thread::CpuSet;
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;

/// A started process.
pub struct Started {
    /// Index of the condition's worker.
    pub worker: usize,
    /// PID, which is also the number of its process group.
    pub pid: u32,
    /// Its output, once it has ended.
    pub output: String,
    /// Its effective niceness.
    pub niceness: Option<i64>,
    child: Option<Child>,
    guard: Rc<RefCell<Guard>>,
    out: File,
    complaint: File,
}

/// All workers of a trial.
pub struct Workers {
    /// In the order of the definition.
    pub started: Vec<Started>,
    /// The definitions of the workers.
    pub specs: Vec<Worker>,
    /// True if they are not confined to the lab's CPU.
    pub run_everywhere: bool,
}

impl Workers {
    pub(super) fn start(
        lab: &Lab,
        setup: &Setup,
        groups: Option<&Groups>,
    ) -> Result<Workers, Trouble> {
        let (experiment, condition) = (setup.experiment, setup.condition);
        let mut order = Vec::new();
        for (index, worker) in condition.workers.iter().enumerate() {
            order.extend(std::iter::repeat_n(index, worker.count.on(lab.cpus.len())));
        }
        if setup.turn.reversed {
            order.reverse();
        }
        // Dropping this ends the started workers, also if a later one fails.
        let mut workers = Workers {
            started: Vec::new(),
            specs: condition.workers.clone(),
            run_everywhere: experiment.on == Cpus::All,
        };
        for index in order {
            let worker = &condition.workers[index];
            let doors = match (&worker.group, groups) {
                (Some(path), Some(groups)) => groups.doors(path),
                _ => Ok(Vec::new()),
            };
            let doors = doors.map_err(|error| Trouble::Trial(error.to_string()))?;
            let on = worker.on.unwrap_or(if worker.background { Cpus::All } else { experiment.on });
            let cpus = if on == Cpus::One { vec![lab.lab_cpu] } else { lab.cpus.clone() };
            let started = start_one(lab, experiment.window_s, worker, index, doors, &cpus);
            workers.started.push(started.map_err(|error| {
                Trouble::Trial(format!("cannot start {}: {error}", label(worker)))
            })?);
        }
        workers.started.sort_by_key(|started| started.worker);
        Ok(workers)
    }

    /// Name of a worker in tables.
    pub fn name(&self, index: usize) -> String {
        label(&self.specs[index])
    }

    /// PIDs and names for drawing; several of a kind are numbered.
    pub fn by_pid(&self) -> Vec<(u32, String)> {
        let alike = |worker: usize| self.started.iter().filter(|s| s.worker == worker).count();
        let mut numbers = vec![0; self.specs.len()];
        let mut name = |worker: usize| {
            numbers[worker] += 1;
            match alike(worker) {
                1 => self.name(worker),
                _ => format!("{} {}", self.name(worker), numbers[worker]),
            }
        };
        self.started.iter().map(|s| (s.pid, name(s.worker))).collect()
    }

    /// PIDs of the first worker that is not in the background.
    pub fn pids_of_first(&self) -> Vec<u32> {
        let first = self.specs.iter().position(|spec| !spec.background);
        self.started.iter().filter(|s| Some(s.worker) == first).map(|s| s.pid).collect()
    }

    /// Fails if a worker that should still run has ended.
    pub(super) fn all_alive(&mut self) -> Result<(), Trouble> {
        for started in &mut self.started {
            if let Some(status) = started.ended() {
                let name = label(&self.specs[started.worker]);
                let why = started.why(status);
                return Err(Trouble::Trial(format!("{name} ended within the window: {why}")));
            }
        }
        Ok(())
    }

    /// True if all workers except those in the background have ended successfully.
    pub(super) fn are_done(&mut self) -> Result<bool, Trouble> {
        let mut done = true;
        for started in &mut self.started {
            let spec = &self.specs[started.worker];
            if spec.background {
                continue;
            }
            match started.ended() {
                Some(Some(0)) => {}
                Some(status) => {
                    return Err(Trouble::Trial(format!("{}: {}", label(spec), started.why(status))))
                }
                None => done = false,
            }
        }
        Ok(done)
    }

    /// Reads the niceness of the running workers.
    pub(super) fn note_niceness(&mut self) {
        for started in &mut self.started {
            started.niceness = niceness(started.pid);
        }
    }

    /// Kills the workers and reads their output.
    pub(super) fn end(&mut self) {
        for started in &mut self.started {
            started.end();
            started.output = read(&mut started.out);
        }
    }
}

impl Started {
    /// Exit status if it has ended; `Some(None)` after a signal. It is not reaped, so its number is
    /// not reused.
    fn ended(&self) -> Option<Option<i32>> {
        let pid = Pid::from_raw(self.pid as i32).filter(|_| self.child.is_some())?;
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(pid), look).ok()??;
        Some(status.exit_status())
    }

    /// Its message, else its exit status.
    fn why(&mut self, status: Option<i32>) -> String {
        let said = read(&mut self.complaint);
        let status =
            status.map_or("ended by a signal".into(), |code| format!("exit status {code}"));
        said.lines().next().map_or(status, String::from)
    }

    fn end(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        if let Some(group) = Pid::from_raw(self.pid as i32) {
            // The group may not exist: it ended by itself, with all its children.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = child.wait();
        self.guard.borrow_mut().forget(self.pid);
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.end();
    }
}

fn label(worker: &Worker) -> String {
    if !worker.name.is_empty() {
        return worker.name.clone();
    }
    let what = worker.command.as_ref().unwrap_or(&worker.load);
    format!("{} nice {}", what.first().map_or("", String::as_str), worker.nice)
}

fn start_one(
    lab: &Lab,
    window_s: f64,
    worker: &Worker,
    index: usize,
    doors: Vec<File>,
    cpus: &[usize],
) -> io::Result<Started> {
    let window = window_s.to_string();
    let exactop = lab.exactop.display().to_string();
    let filled = |word: &String| word.replace("{window}", &window).replace("{exactop}", &exactop);
    let words: Vec<String> = match &worker.command {
        Some(command) => command.iter().map(filled).collect(),
        None => {
            let mut words = vec![exactop.clone(), "load".into()];
            words.extend(worker.load.iter().map(filled));
            if worker.load[0] == "progress" && !worker.load.iter().any(|word| word == "--json") {
                words.push("--json".into());
            }
            words
        }
    };
    let (out, complaint) = (memory()?, memory()?);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null());
    command.stdout(out.try_clone()?).stderr(complaint.try_clone()?);
    prepare(&mut command, worker.nice, doors, cpus);
    let child = command.spawn()?;
    lab.guard.borrow_mut().note(child.id());
    Ok(Started {
        worker: index,
        pid: child.id(),
        output: String::new(),
        niceness: None,
        child: Some(child),
        guard: lab.guard.clone(),
        out,
        complaint,
    })
}

/// Everything that must be set before the program starts.
fn prepare(command: &mut Command, nice: i64, doors: Vec<File>, cpus: &[usize]) {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|&cpu| set.set(cpu));
    // The system call takes an int; any value beyond that range is clamped anyway.
    let nice = nice.clamp(-1000, 1000) as libc::c_int;
    let before = move || {
        // SAFETY: these calls take numbers. A worker dies with the thread that started it, which is
        // the program's first.
        unsafe {
            libc::setpgid(0, 0);
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            // Set its own niceness, not this program's.
            if libc::setpriority(libc::PRIO_PROCESS, 0, nice) == -1 {
                return Err(io::Error::last_os_error());
            }
        }
        doors.iter().try_for_each(|mut door| door.write_all(b"0"))?;
        Ok(rustix::thread::sched_setaffinity(None, &set)?)
    };
    // SAFETY: between fork and exec only system calls are made; nothing is allocated.
    unsafe { command.pre_exec(before) };
}

/// A file without a name.
fn memory() -> io::Result<File> {
    Ok(rustix::fs::memfd_create("exactop-lab", rustix::fs::MemfdFlags::CLOEXEC)?.into())
}

fn read(file: &mut File) -> String {
    let mut text = Vec::new();
    let _ = file.rewind().and_then(|()| file.read_to_end(&mut text));
    String::from_utf8_lossy(&text).into_owned()
}

/// getpriority(2); `None` if the process has ended.
fn niceness(pid: u32) -> Option<i64> {
    let pid = Pid::from_raw(pid as i32)?;
    rustix::process::getpriority_process(Some(pid)).ok().map(i64::from)
}

/// CPUs that this program may use.
pub fn allowed_cpus() -> Vec<usize> {
    let set = rustix::thread::sched_getaffinity(None).unwrap_or_default();
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

/// Leaves the lab's CPU to the trials, if there is another.
pub fn leave(lab_cpu: usize, cpus: &[usize]) {
    let mut set = CpuSet::new();
    cpus.iter().filter(|&&cpu| cpu != lab_cpu).for_each(|&cpu| set.set(cpu));
    if set.count() > 0 {
        // If this fails, this program counts as foreign there, and the trials show it.
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
}

/// True if a program can be found.
pub fn is_there(program: &str) -> bool {
    if program.contains('/') {
        return Path::new(program).exists();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    found
}
