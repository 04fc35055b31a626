//! Finds the slowest processes of a tree. The ledger sums exited processes into groups. The
//! kernel's task statistics have a record of each exit, and the ledger tells which of them belong
//! to the tree.

use crate::taskstats::{ExitedProcess, Watch};
use exactop_model::run::{Single, Slowest};
use exactop_model::{Book, Comm, Window};
use rustc_hash::FxHashMap;
use std::io::Read;

/// Longest command line, bytes.
const COMMAND: u64 = 4096;
/// Most command lines to read at the end of a window.
const READ: usize = 64;
/// Number of windows that an exit waits for the ledger, which may report it in a later window.
const PATIENCE: u8 = 4;
/// Most exits that wait at the same time.
const WAITING: usize = 20_000;

/// A process of the tree that was alive at the end of a window.
#[derive(Clone, Debug)]
struct Living {
    start_ns: u64,
    comm: Comm,
    command: Option<Vec<u8>>,
}

/// Listens to exits and decides their tree.
pub(super) struct Watcher {
    watch: Watch,
    belongs: Belongs,
}

impl Watcher {
    /// Begins to listen for this tree.
    ///
    /// # Errors
    /// The reason, if exits cannot be listened to.
    pub fn open(tree: u32) -> Result<Watcher, String> {
        let watch = Watch::open().map_err(|error| error.to_string())?;
        Ok(Watcher { watch, belongs: Belongs::to(tree) })
    }

    /// Forgets the exits so far.
    pub fn begin_again(&mut self) {
        self.watch.take();
        self.belongs.waiting.clear();
    }

    /// Adds the tree's slowest exits of this window. Call it after the snapshot that ended the
    /// window: a record is sent before the ledger sees the exit, so the record of an exit in the
    /// window is there by now.
    pub fn window(&mut self, window: &Window, book: &Book, slowest: &mut Slowest) {
        let (gone, lost) = self.watch.take();
        slowest.lost = slowest.lost.saturating_add(lost);
        self.belongs.window(gone, window, book, slowest);
        self.belongs.look(book, read);
    }

    /// Counts the exits that no window decided as lost, after the last window. One that came after
    /// the snapshot is not of this run.
    pub fn finish(&mut self, slowest: &mut Slowest) {
        let waiting = std::mem::take(&mut self.belongs.waiting);
        slowest.lost += waiting.iter().filter(|(_, waited)| *waited > 1).count() as u64;
    }
}

/// Decides whether an exited process belongs to the tree.
struct Belongs {
    tree: u32,
    living: FxHashMap<u32, Living>,
    /// Exits that no window decided yet, and the number of windows.
    waiting: Vec<(ExitedProcess, u8)>,
}

impl Belongs {
    fn to(tree: u32) -> Belongs {
        Belongs { tree, living: FxHashMap::default(), waiting: Vec::new() }
    }

    fn window(
        &mut self,
        gone: Vec<ExitedProcess>,
        window: &Window,
        book: &Book,
        slowest: &mut Slowest,
    ) {
        let groups = groups(window);
        let waiting = std::mem::take(&mut self.waiting);
        for (gone, waited) in waiting.into_iter().chain(gone.into_iter().map(|gone| (gone, 0))) {
            if !slowest.takes(gone.elapsed_ns) && !slowest.is_larger(gone.resident_kib) {
                continue;
            }
            match self.is_ours(&gone, &groups, book) {
                Some(true) => {
                    slowest.max_resident_kib = slowest.max_resident_kib.max(gone.resident_kib);
                    slowest.add(self.single(&gone));
                }
                Some(false) => {}
                None if waited < PATIENCE && self.waiting.len() < WAITING => {
                    self.waiting.push((gone, waited + 1));
                }
                // The ledger does not have the process, or has it under two trees.
                None => slowest.lost += 1,
            }
        }
    }

    /// True if the process belongs to the tree; `None`: not known yet.
    fn is_ours(
        &self,
        gone: &ExitedProcess,
        groups: &FxHashMap<(u32, Comm), u32>,
        book: &Book,
    ) -> Option<bool> {
        if self.seen_alive(gone).is_some() {
            return Some(true);
        }
        let leader = book.process(gone.pid).and_then(|process| book.task(process.leader?));
        match leader.filter(|leader| gone.can_have_begun_at(leader.key.start_ns)) {
            Some(leader) => Some(leader.tree == self.tree),
            None => groups.get(&(gone.ppid, gone.comm)).map(|&tree| tree == self.tree),
        }
    }

    /// The process as it was last seen alive. An earlier process with its PID is another one.
    fn seen_alive(&self, gone: &ExitedProcess) -> Option<&Living> {
        self.living.get(&gone.pid).filter(|living| gone.can_have_begun_at(living.start_ns))
    }

    fn single(&self, gone: &ExitedProcess) -> Single {
        let ExitedProcess { pid, ppid, comm, elapsed_ns, run_ns, .. } = *gone;
        // The process may have become another program since.
        let known = self.seen_alive(gone).filter(|living| living.comm == comm);
        let command = known.and_then(|living| living.command.clone());
        Single { pid, ppid, comm, command, elapsed_ns, run_ns }
    }

    /// Reads the command lines of living processes.
    fn look(&mut self, book: &Book, read: impl Fn(u32) -> Option<Vec<u8>>) {
        let before = std::mem::take(&mut self.living);
        let mut left = READ;
        for (pid, process) in book.processes() {
            let leader = process.leader.and_then(|leader| book.task(leader));
            let Some(leader) = leader.filter(|leader| leader.tree == self.tree) else { continue };
            let (start_ns, comm) = (leader.key.start_ns, leader.ident.comm);
            let is_same = |living: &&Living| living.start_ns == start_ns && living.comm == comm;
            let known = before.get(&pid).filter(is_same).and_then(|known| known.command.clone());
            let command = known.or_else(|| {
                left = left.checked_sub(1)?;
                read(pid)
            });
            self.living.insert(pid, Living { start_ns, comm, command });
        }
    }
}

/// The tree of exited processes by parent and name. A pair of parent and name with processes of two
/// trees, such as below a reaper of orphans, has none.
fn groups(window: &Window) -> FxHashMap<(u32, Comm), u32> {
    let mut groups: FxHashMap<(u32, Comm), Option<u32>> = FxHashMap::default();
    for group in window.exited.iter().filter(|group| group.processes > 0) {
        let sample = &group.sample;
        let key = (sample.ancestors[0].tgid, sample.comm);
        let of = groups.entry(key).or_insert(Some(sample.tree));
        *of = of.filter(|&tree| tree == sample.tree);
    }
    groups.into_iter().filter_map(|(key, tree)| Some((key, tree?))).collect()
}

/// The command line of a process; `None` if it has none or has exited.
fn read(pid: u32) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let file = std::fs::File::open(format!("/proc/{pid}/cmdline")).ok()?;
    file.take(COMMAND).read_to_end(&mut line).ok()?;
    while line.last() == Some(&0) {
        line.pop();
    }
    line.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b' ');
    (!line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::taskstats::{ExitInstant, ExitWindow};
    use exactop_model::SourceKind;

    /// Boot time of the records, ns.
    const NOW_NS: u64 = 1 << 40;

    fn gone(pid: u32, ppid: u32, comm: &[u8], elapsed_ns: u64) -> ExitedProcess {
        // The process with the shortest life has the largest resident set.
        let resident_kib = Some(1_000_000_u64.saturating_sub(elapsed_ns));
        let (comm, run_ns) = (Comm::new(comm), elapsed_ns / 2);
        let now = ExitInstant { monotonic_ns: NOW_NS, boottime_ns: NOW_NS };
        let within = ExitWindow { from: now, to: now };
        ExitedProcess { pid, ppid, comm, elapsed_ns, run_ns, resident_kib, within }
    }

    fn living(elapsed_ns: u64, comm: &[u8]) -> Living {
        let command = Some(comm.to_vec());
        Living { start_ns: NOW_NS - elapsed_ns, comm: Comm::new(&comm[..3]), command }
    }

    #[test]
    fn the_ledger_gives_the_tree_of_an_exit() {
        let (mut window, book) = exactop_testkit::window(SourceKind::Ledger, 1, None);
        let group = window.exited.iter_mut().find(|group| group.processes > 0).expect("some");
        group.sample.tree = 1;
        let (ppid, comm) = (group.sample.ancestors[0].tgid, group.sample.comm);
        let (mut belongs, mut slowest) = (Belongs::to(1), Slowest::default());
        let mut others = gone(70_001, 1, b"another", 900);
        others.resident_kib = Some(2_000_000);
        let ours = gone(70_000, ppid, comm.bytes(), 500);
        belongs.window(vec![others, ours], &window, &book, &mut slowest);
        let pids: Vec<u32> = slowest.list.iter().map(|single| single.pid).collect();
        assert_eq!(pids, [70_000]);
        assert_eq!(slowest.max_resident_kib, Some(1_000_000 - 500), "another is larger");
        assert_eq!(slowest.list[0].command, None, "it was never seen alive");
        assert_eq!(belongs.waiting.len(), 1, "the ledger may tell of it later");
        for _ in 0..PATIENCE {
            assert_eq!(slowest.lost, 0);
            belongs.window(Vec::new(), &window, &book, &mut slowest);
        }
        assert_eq!((belongs.waiting.len(), slowest.lost), (0, 1));
        // One of the two belongs to another tree; it is unknown which.
        let mut both = *window.exited.iter().find(|g| g.sample.tree == 1).expect("some");
        both.sample.tree = 2;
        window.exited.push(both);
        assert_eq!(groups(&window).get(&(ppid, comm)), None);
    }

    #[test]
    fn the_slowest_are_ten_and_have_their_command_lines() {
        let (window, book) = exactop_testkit::window(SourceKind::Ledger, 1, None);
        let (mut belongs, mut slowest) = (Belongs::to(1), Slowest::default());
        for pid in 80_000..80_100 {
            let command = format!("cc1 {pid}");
            belongs.living.insert(pid, living(u64::from(pid), command.as_bytes()));
        }
        let all = (80_000..80_100).map(|pid| gone(pid, 7, b"cc1", u64::from(pid)));
        belongs.window(all.collect(), &window, &book, &mut slowest);
        let commands: Vec<_> = slowest.list.iter().filter_map(|s| s.command.clone()).collect();
        let expected: Vec<_> =
            (80_090..80_100).rev().map(|pid| format!("cc1 {pid}").into_bytes()).collect();
        assert_eq!(commands, expected);
        assert_eq!(slowest.max_resident_kib, Some(920_000), "its time kept it out of the list");
        // The process became another program after its command line was read.
        let mut slowest = Slowest::default();
        belongs.window(vec![gone(80_000, 7, b"ld", 1)], &window, &book, &mut slowest);
        assert_eq!(slowest.list[0].command, None);
    }

    #[test]
    fn a_reused_pid_is_another_process() {
        let (window, book) = exactop_testkit::window(SourceKind::Ledger, 1, None);
        let (mut belongs, mut slowest) = (Belongs::to(1), Slowest::default());
        belongs.living.insert(80_000, living(2_000_000_000, b"cc1 a"));
        belongs.window(vec![gone(80_000, 7, b"cc1", 1000)], &window, &book, &mut slowest);
        assert!(slowest.list.is_empty(), "{slowest:?}");
        let mut later = window.clone();
        let group = later.exited.iter_mut().find(|group| group.processes > 0).expect("some");
        group.sample.tree = 1;
        group.sample.comm = Comm::new(b"cc1");
        let of_group = gone(80_000, group.sample.ancestors[0].tgid, b"cc1", 1000);
        belongs.window(vec![of_group], &later, &book, &mut slowest);
        assert_eq!(slowest.list.len(), 1, "its group tells the tree");
        assert_eq!(slowest.list[0].command, None, "the command line is of an earlier process");
        slowest.list.clear();
        belongs.window(vec![gone(80_000, 7, b"cc1", 1_999_999_000)], &window, &book, &mut slowest);
        assert_eq!(slowest.list.len(), 1);
    }
}
