//! The slowest processes of a tree, each by itself. The ledger sums up who exited; the kernel's task statistics have
//! a record of each exit, and the ledger says which of them are the tree's.

use crate::taskstats::{Gone, Watch};
use exactop_model::run::{Single, Slowest};
use exactop_model::{Book, Comm, Window};
use rustc_hash::FxHashMap;
use std::io::Read;

/// Bytes of a command line.
const COMMAND: u64 = 4096;
/// Command lines that are read at the end of a window, at most.
const READ: usize = 64;
/// So many windows one waits until the ledger has told of it, too: it tells of who was reaped.
const PATIENCE: u8 = 4;
/// And so many wait at once.
const WAITING: usize = 20_000;

/// A process of the tree that lived when a window ended.
#[derive(Clone, Debug)]
struct Living {
    start_ns: u64,
    comm: Comm,
    command: Option<Vec<u8>>,
}

/// Who exits, and whose they are.
pub(super) struct Watcher {
    watch: Watch,
    belongs: Belongs,
}

impl Watcher {
    /// Begins to listen for this tree; why there is nothing to listen to.
    pub fn open(tree: u32) -> Result<Watcher, String> {
        let watch = Watch::open().map_err(|error| error.to_string())?;
        Ok(Watcher { watch, belongs: Belongs::to(tree) })
    }

    /// Takes who exited. To be called before the snapshot that ends a window, so that the ledger tells of them, too.
    pub fn take(&mut self) -> (Vec<Gone>, u64) {
        self.watch.take()
    }

    /// Sorts out who of them is one of the slowest.
    pub fn window(
        &mut self,
        taken: (Vec<Gone>, u64),
        window: &Window,
        book: &Book,
        slowest: &mut Slowest,
    ) {
        slowest.lost = slowest.lost.saturating_add(taken.1);
        self.belongs.window(taken.0, window, book, slowest);
        self.belongs.look(book, read);
    }
}

/// Tells whose a process was that exited.
struct Belongs {
    tree: u32,
    living: FxHashMap<u32, Living>,
    waiting: Vec<(Gone, u8)>,
}

impl Belongs {
    fn to(tree: u32) -> Belongs {
        Belongs { tree, living: FxHashMap::default(), waiting: Vec::new() }
    }

    fn window(&mut self, gone: Vec<Gone>, window: &Window, book: &Book, slowest: &mut Slowest) {
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
                // Somebody's whom the ledger does not tell of, or tells of in two ways.
                None => slowest.lost += 1,
            }
        }
    }

    /// `None`: not known yet.
    fn is_ours(
        &self,
        gone: &Gone,
        groups: &FxHashMap<(u32, Comm), u32>,
        book: &Book,
    ) -> Option<bool> {
        if self.living.contains_key(&gone.pid) {
            return Some(true);
        }
        let leader = book.process(gone.pid).and_then(|process| book.task(process.leader?));
        if let Some(leader) = leader {
            return Some(leader.tree == self.tree);
        }
        groups.get(&(gone.ppid, gone.comm)).map(|&tree| tree == self.tree)
    }

    fn single(&self, gone: &Gone) -> Single {
        let Gone { pid, ppid, comm, elapsed_ns, run_ns, .. } = *gone;
        // Since then it may have become another program.
        let known = self.living.get(&pid).filter(|living| living.comm == comm);
        let command = known.and_then(|living| living.command.clone());
        Single { pid, ppid, comm, command, elapsed_ns, run_ns }
    }

    /// Reads the command lines of those who live.
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

/// Whose the exited are, by parent and name. Below a parent that has those of two, such as the one who takes in orphans, nobody
/// can say.
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

/// A command line; `None`: there is none, or none any more.
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
    use exactop_model::SourceKind;

    fn gone(pid: u32, ppid: u32, comm: &[u8], elapsed_ns: u64) -> Gone {
        // Who lived shortest is largest.
        let resident_kib = Some(1_000_000 - elapsed_ns);
        let (comm, run_ns) = (Comm::new(comm), elapsed_ns / 2);
        Gone { pid, ppid, comm, elapsed_ns, run_ns, resident_kib }
    }

    #[test]
    fn the_ledger_says_whose_an_exit_was() {
        let (mut window, book) = exactop_testkit::window(SourceKind::Ledger, 1, None);
        let group = window.exited.iter_mut().find(|group| group.processes > 0).expect("some");
        group.sample.tree = 1;
        let (ppid, comm) = (group.sample.ancestors[0].tgid, group.sample.comm);
        let (mut belongs, mut slowest) = (Belongs::to(1), Slowest::default());
        let others = Gone { resident_kib: Some(2_000_000), ..gone(70_001, 1, b"another", 900) };
        let ours = gone(70_000, ppid, comm.bytes(), 500);
        belongs.window(vec![others, ours], &window, &book, &mut slowest);
        let pids: Vec<u32> = slowest.list.iter().map(|single| single.pid).collect();
        assert_eq!(pids, [70_000]);
        assert_eq!(slowest.max_resident_kib, Some(1_000_000 - 500), "another is larger");
        assert_eq!(slowest.list[0].command, None, "nobody looked while it lived");
        assert_eq!(belongs.waiting.len(), 1, "the ledger may tell of it later");
        for _ in 0..PATIENCE {
            belongs.window(Vec::new(), &window, &book, &mut slowest);
        }
        assert!(belongs.waiting.is_empty());
        // One of them is not ours: nobody knows which.
        let mut both = *window.exited.iter().find(|g| g.sample.tree == 1).expect("some");
        both.sample.tree = 2;
        window.exited.push(both);
        assert_eq!(groups(&window).get(&(ppid, comm)), None);
    }

    #[test]
    fn the_slowest_are_ten_and_have_their_command_lines() {
        let (window, book) = exactop_testkit::window(SourceKind::Ledger, 1, None);
        let (mut belongs, mut slowest) = (Belongs::to(1), Slowest::default());
        let living = |command: &[u8]| Living {
            start_ns: 1,
            comm: Comm::new(b"cc1"),
            command: Some(command.to_vec()),
        };
        for pid in 80_000..80_100 {
            belongs.living.insert(pid, living(format!("cc1 {pid}").as_bytes()));
        }
        let all = (80_000..80_100).map(|pid| gone(pid, 7, b"cc1", u64::from(pid)));
        belongs.window(all.collect(), &window, &book, &mut slowest);
        let commands: Vec<_> = slowest.list.iter().filter_map(|s| s.command.clone()).collect();
        let expected: Vec<_> =
            (80_090..80_100).rev().map(|pid| format!("cc1 {pid}").into_bytes()).collect();
        assert_eq!(commands, expected);
        assert_eq!(slowest.max_resident_kib, Some(920_000), "its time kept it out of the list");
        // It became another program after it was looked at.
        let mut slowest = Slowest::default();
        belongs.window(vec![gone(80_000, 7, b"ld", 1)], &window, &book, &mut slowest);
        assert_eq!(slowest.list[0].command, None);
    }
}
