//! Independent witnesses of a tree's CPU time: perf, twice, a control group, and /proc.

use anyhow::{Context, Result};
use exactop_cgroups::{mountinfo, path_in};
use exactop_workloads::procs::stat_field;
use perf_event::events::Software;
use perf_event::{Builder, Counter};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// CPU time so far, ns.
#[derive(Clone, Copy, Debug)]
pub struct WitnessReading {
    /// perf's task-clock of the control group, on all CPUs.
    pub task_clock: u64,
    /// perf's task-clock of the process, inherited by its children, as `perf stat` has it.
    pub inherited: u64,
    /// The control group's usage.
    pub group: u64,
    /// utime, stime, cutime and cstime, in ticks.
    pub proc: u64,
}

/// All witnesses of a process and its future children.
pub struct Witnesses {
    pid: u32,
    /// One per CPU.
    task_clocks: Vec<Counter>,
    inherited: Counter,
    group: Group,
}

impl Witnesses {
    /// Starts now. The process sleeps, and has no children yet.
    pub fn attach(pid: u32) -> Result<Witnesses> {
        let mut event = Builder::new(Software::TASK_CLOCK);
        event.include_kernel().include_hv();
        let inherited = event.clone().observe_pid(pid as i32).any_cpu().inherit(true).build();
        let mut inherited = inherited.context("opening perf's task-clock")?;
        inherited.enable().context("enabling perf's task-clock")?;
        // Last: it can be removed only after the process.
        let group = Group::make(pid)?;
        let place = File::open(&group.0).context("opening the control group")?;
        let mut task_clocks = Vec::new();
        for cpu in online()? {
            let mut event = event.clone();
            let clock = event.observe_cgroup(&place).one_cpu(cpu).build();
            let mut clock = clock.context("opening perf's task-clock of a control group")?;
            clock.enable().context("enabling perf's task-clock of a control group")?;
            task_clocks.push(clock);
        }
        group.take_in(pid)?;
        Ok(Witnesses { pid, task_clocks, inherited, group })
    }

    /// CPU time of the process so far, ns, which only the ledger counted.
    pub fn earlier(&self) -> Result<u64> {
        let text = fs::read_to_string(format!("/proc/{}/schedstat", self.pid));
        let text = text.context("reading /proc/PID/schedstat")?;
        text.split(' ').next().unwrap_or_default().parse().context("/proc/PID/schedstat")
    }

    /// Their figures now.
    pub fn read(&mut self) -> Result<WitnessReading> {
        let ticks = [14, 15, 16, 17].map(|field| stat_field(self.pid, field));
        let ticks: Option<u64> = ticks.into_iter().sum();
        let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        let task_clock = self.task_clocks.iter_mut().map(Counter::read).sum::<Result<u64, _>>();
        Ok(WitnessReading {
            task_clock: task_clock.context("reading perf's task-clock of a control group")?,
            inherited: self.inherited.read().context("reading perf's task-clock")?,
            group: self.group.usage()?,
            proc: ticks.context("reading /proc/PID/stat")? * tick,
        })
    }
}

fn online() -> Result<Vec<usize>> {
    let names = fs::read_dir("/sys/bus/cpu/devices").context("listing the CPUs")?;
    let cpus =
        names.filter_map(|name| name.ok()?.file_name().to_str()?.strip_prefix("cpu")?.parse().ok());
    let is_online = |cpu: &usize| {
        let file = format!("/sys/devices/system/cpu/cpu{cpu}/online");
        // The first CPU often cannot be taken offline, and has no such file.
        fs::read_to_string(file).map_or(true, |text| text.trim() == "1")
    };
    Ok(cpus.filter(is_online).collect())
}

/// A control group of version 2 of its own, below ours. It needs no controller: every group has a
/// usage.
struct Group(PathBuf);

impl Group {
    fn make(pid: u32) -> Result<Group> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").context("/proc/self/mountinfo")?;
        let root = mountinfo::mounts(&mounts).find(|mount| mount.kind == "cgroup2");
        let root = Path::new(root.context("no control groups of version 2 are mounted")?.point);
        let groups = fs::read("/proc/self/cgroup").context("/proc/self/cgroup")?;
        let own = path_in(&groups, None).context("no group of version 2")?;
        let own = String::from_utf8_lossy(own);
        let place = root.join(own.trim_start_matches('/')).join(format!("exactop-truth-{pid}"));
        fs::create_dir(&place).with_context(|| format!("making {}", place.display()))?;
        Ok(Group(place))
    }

    fn take_in(&self, pid: u32) -> Result<()> {
        let file = self.0.join("cgroup.procs");
        fs::write(&file, pid.to_string()).with_context(|| format!("writing {}", file.display()))
    }

    fn usage(&self) -> Result<u64> {
        let file = self.0.join("cpu.stat");
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let usage = text.lines().find_map(|line| line.strip_prefix("usage_usec "));
        let usage = usage.with_context(|| format!("{} tells no usage", file.display()))?;
        Ok(usage.trim().parse::<u64>().context("usage_usec")? * 1_000)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir(&self.0) {
            eprintln!("bench: {} stays: {error}", self.0.display());
        }
    }
}
