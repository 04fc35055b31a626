//! The book at its bounds: more groups than a CPU's table has places, many victims of one culprit,
//! and a storm of forks in one group.

use super::{closed, open, spinners, Blame, WINDOW};
use crate::moved::Group;
use crate::moves::bind;
use crate::until;
use exactop_model::blame::Culprit;
use exactop_testkit::wait;
use exactop_workloads::workloads::{ForkStorm, Spin, Tickers};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Groups below another one; removed on drop, after their processes.
struct Below(Vec<PathBuf>);

impl Below {
    fn make(parent: &Group, count: usize) -> Below {
        let of = |n: usize| parent.cpu.join(n.to_string());
        let groups = Below((0..count).map(of).collect());
        groups.0.iter().for_each(|group| fs::create_dir(group).expect("a group"));
        groups
    }

    fn ids(&self) -> BTreeSet<u64> {
        self.0.iter().map(|group| fs::metadata(group).expect("a group").ino()).collect()
    }
}

impl Drop for Below {
    fn drop(&mut self) {
        self.0.iter().for_each(|group| until::removed(group));
    }
}

/// Moves a process into a group.
fn take(group: &Path, pid: u32) {
    fs::write(group.join("cgroup.procs"), pid.to_string()).expect("moved");
}

/// Groups with waits.
fn victims(blame: &Blame) -> BTreeSet<u64> {
    let waited = blame.waits.iter().filter(|(_, waits)| waits.lat_ns > 0);
    waited.filter_map(|(party, _)| party.map(|party| party.cgroup_id)).collect()
}

/// Fewer on an emulated machine, which is slow.
fn many(count: usize) -> usize {
    match crate::emulated() {
        true => count / 20,
        false => count,
    }
}

/// Processes that wake up and sleep, each in a group of its own. They end before their groups are
/// removed.
struct Placed {
    tickers: Tickers,
    groups: Below,
    _parent: Group,
}

impl Placed {
    fn start(count: usize, pause: Duration) -> Option<Placed> {
        let parent = Group::new("parent")?;
        let tickers = Tickers::start(many(count), pause).expect("tickers");
        let placed = Placed { tickers, groups: Below::make(&parent, many(count)), _parent: parent };
        let pids = placed.tickers.pids();
        assert_eq!(pids.len(), placed.groups.0.len());
        pids.into_iter().zip(&placed.groups.0).for_each(|(pid, group)| take(group, pid));
        Some(placed)
    }
}

/// Memory of this process's BPF maps as the kernel has it, bytes.
fn map_bytes() -> u64 {
    let files = fs::read_dir("/proc/self/fdinfo").expect("procfs").flatten();
    let bytes = files.filter_map(|file| {
        let text = fs::read_to_string(file.path()).ok()?;
        text.lines().find(|line| line.starts_with("map_type:"))?;
        text.lines().find_map(|line| line.strip_prefix("memlock:"))?.trim().parse::<u64>().ok()
    });
    bytes.sum()
}

/// What thousands of parties may add to the maps, which have bounds, bytes.
const MOST_ADDED: u64 = 32 << 20;

/// The sum of windows in which each of these groups waited at least once.
fn until_each_waits(ids: &BTreeSet<u64>) -> Blame {
    let mut books = open();
    let before = map_bytes();
    let (mut sums, mut waited) = (Blame::default(), BTreeSet::new());
    wait::until("each to wait", || {
        let window = books.window(WINDOW);
        let blame = closed(&books, &window);
        waited.extend(victims(&blame));
        sums.add(&blame);
        ids.is_subset(&waited)
    });
    let added = map_bytes().saturating_sub(before);
    println!("maps: {before} bytes and {added} more");
    assert!(before > 0 && added < MOST_ADDED, "{added} bytes more than {before}");
    sums
}

#[test]
fn five_thousand_groups_close() {
    let Some(_machine) = crate::machine() else { return };
    let Some(placed) = Placed::start(5_000, Duration::from_secs(1)) else {
        return eprintln!("left out: no control group can be made here");
    };
    until_each_waits(&placed.groups.ids());
}

/// A thousand tasks, each in its group, wake up and wait for the CPU of one other.
#[test]
fn a_thousand_victims_name_their_one_culprit() {
    let Some(_machine) = crate::machine() else { return };
    let Some([heavy]) = spinners([("heavy", 0, 10_000)]) else { return };
    let Some(placed) = Placed::start(1_000, Duration::from_millis(100)) else { return };
    placed.tickers.pids().into_iter().for_each(|pid| bind(pid, &[0]));
    let ids = placed.groups.ids();
    let sums = until_each_waits(&ids);
    // By culprit: what has no place in the table is of no task.
    let mut by_culprit = BTreeMap::<u64, u64>::new();
    for ((victim, culprit), booked) in &sums.pairs {
        let Culprit::Task(party) = culprit else { continue };
        if victim.is_some_and(|victim| ids.contains(&victim.cgroup_id)) {
            *by_culprit.entry(party.cgroup_id).or_default() += booked.ns;
        }
    }
    let worst = by_culprit.iter().max_by_key(|(_, ns)| **ns).map(|(id, _)| *id);
    assert_eq!(worst, Some(heavy.group.id()), "{by_culprit:?}");
    // A thousand tasks need the CPU to exit.
    drop(heavy);
}

/// A storm of forks in one group: thousands of processes are a few parties.
#[test]
fn a_storm_of_forks_in_one_group_takes_few_parties() {
    let Some(_machine) = crate::machine() else { return };
    let Some(group) = Group::new("storm") else {
        return eprintln!("left out: no control group can be made here");
    };
    let cpus = std::thread::available_parallelism().expect("CPUs").get();
    let _busy = Spin::start(cpus, None).expect("a worker");
    let storm = ForkStorm::start(2).expect("a storm");
    for pid in storm.pids() {
        group.take(pid);
        bind(pid, &[0]);
    }
    let storm = (storm, group);
    let mut books = open();
    // Children of before are in another group.
    books.window(WINDOW);
    let (mut exited, mut waits, mut parties) = (0, 0, BTreeSet::new());
    wait::until("waits of thousands", || {
        let window = books.window(WINDOW);
        let blame = closed(&books, &window);
        exited += window.exited.iter().map(|exited| exited.processes).sum::<u64>();
        let id = storm.1.id();
        for (party, waited) in blame.waits {
            let Some(party) = party.filter(|party| party.cgroup_id == id) else { continue };
            waits += waited.lat_ns;
            parties.insert(party.comm.to_string());
        }
        exited > many(2_000) as u64 && waits > 100_000_000
    });
    println!("{exited} processes exited, {waits} ns of waits by {parties:?}");
    // The shell, and `true` before and after its exec.
    assert!((1..=4).contains(&parties.len()), "{parties:?}");
}
