//! Names of processes whose leader the source does not see, delivered with snapshots. A kernel may
//! hide a protected process's main thread, and show its other threads under their own names.

use crate::error::SourceError;
use crate::procfs::files::{open_at, read_start};
use exactop_model::{Book, Comm, Snapshot};
use rustc_hash::FxHashMap;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::CWD;
use std::collections::BTreeMap;
use std::path::Path;

/// Most bytes of a name, with its newline (proc(5)).
const LONGEST: usize = 64;

/// Reads the names from /proc.
pub(crate) struct LeaderNames {
    root: OwnedFd,
    /// Names that the book has, by tgid.
    told: FxHashMap<u32, Comm>,
    /// The source delivers names itself.
    are_told: bool,
}

impl LeaderNames {
    /// Opens the /proc at `root`.
    pub fn open(root: &Path) -> Result<LeaderNames, SourceError> {
        let root = open_at(CWD, root)
            .map_err(|errno| SourceError::Read { path: root.into(), error: errno.into() })?;
        Ok(LeaderNames { root, told: FxHashMap::default(), are_told: false })
    }

    /// Leaves names to the source, which delivers them itself.
    pub fn leave_to_source(&mut self) {
        self.are_told = true;
    }

    /// Adds new names of processes with an event. `book` has not taken the snapshot yet.
    pub fn tell(&mut self, snapshot: &mut Snapshot, book: &Book) {
        if self.are_told {
            return;
        }
        let is_headless = |tgid| book.process(tgid).is_some_and(|process| process.leader.is_none());
        self.told.retain(|&tgid, _| is_headless(tgid));
        for (tgid, tids) in headless(snapshot, book) {
            let Some(name) = tids.iter().find_map(|&tid| self.read(tgid, tid)) else { continue };
            if self.told.insert(tgid, name) != Some(name) {
                snapshot.leader_names.push((tgid, name));
            }
        }
    }

    /// The name of the process that has this thread in this /proc.
    fn read(&self, tgid: u32, tid: u32) -> Option<Comm> {
        let file = open_at(self.root.as_fd(), format!("{tgid}/task/{tid}/../../comm")).ok()?;
        let mut name = [0; LONGEST];
        let length = read_start(file.as_fd(), &mut name).ok()?;
        Some(Comm::new(name[..length].strip_suffix(b"\n")?))
    }
}

/// Threads with an event, by process, if neither the book nor the snapshot has its leader.
fn headless(snapshot: &Snapshot, book: &Book) -> BTreeMap<u32, Vec<u32>> {
    let mut found = BTreeMap::<u32, Vec<u32>>::new();
    for key in snapshot.tasks.iter().map(|task| task.key).filter(|key| !key.is_leader()) {
        if book.process(key.tgid).is_none_or(|process| process.leader.is_none()) {
            found.entry(key.tgid).or_default().push(key.tid);
        }
    }
    if !found.is_empty() {
        let leaders = snapshot.tasks.iter().filter(|task| task.key.is_leader());
        leaders.for_each(|leader| drop(found.remove(&leader.key.tgid)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procfs::fake::{FakeProc, FakeTask};
    use exactop_model::ledger::samples;
    use exactop_model::{Ident, SourceKind, TaskKey};

    fn threads(at_ns: u64, keys: &[(u32, u32)]) -> Snapshot {
        let task = |&(tgid, tid): &(u32, u32)| {
            samples::task(tid.into(), TaskKey { tgid, tid, start_ns: 1 }, Ident::default())
        };
        let tasks = keys.iter().map(task).collect();
        let complete = at_ns == 1;
        Snapshot { tasks, complete, ..samples::snapshot(SourceKind::Ledger, at_ns) }
    }

    /// A /proc with the processes 7, whose leader is hidden, and 20.
    fn proc() -> FakeProc {
        let proc = FakeProc::new();
        for (tgid, tid) in [(7, 8), (7, 9), (20, 21)] {
            proc.process(FakeTask::new(tgid));
            proc.thread(tgid, FakeTask::new(tid));
        }
        proc.write("7/comm", "process_api\n");
        proc.write("20/comm", "seen\n");
        proc
    }

    fn told(names: &mut LeaderNames, book: &mut Book, mut now: Snapshot) -> Vec<(u32, String)> {
        names.tell(&mut now, book);
        let told = now.leader_names.iter().map(|(tgid, name)| (*tgid, name.to_string())).collect();
        book.advance(now);
        told
    }

    #[test]
    fn a_name_is_told_once_and_again_after_a_change() {
        let proc = proc();
        let (mut names, mut book) = (LeaderNames::open(proc.root()).expect("it"), Book::new());
        let first = threads(1, &[(7, 8), (20, 20), (20, 21)]);
        assert_eq!(told(&mut names, &mut book, first), [(7, "process_api".into())]);
        let later = |at_ns| threads(at_ns, &[(7, 9), (20, 21)]);
        assert_eq!(told(&mut names, &mut book, later(2)), []);
        proc.write("7/comm", "renamed\n");
        assert_eq!(told(&mut names, &mut book, later(3)), [(7, "renamed".into())]);
        let name = book.leader_of(7).expect("a process").ident.comm;
        assert_eq!(name.to_string(), "renamed");
    }

    #[test]
    fn a_number_of_another_processs_thread_gives_no_name() {
        let proc = proc();
        let (mut names, mut book) = (LeaderNames::open(proc.root()).expect("it"), Book::new());
        assert_eq!(told(&mut names, &mut book, threads(1, &[(7, 21)])), []);
    }

    #[test]
    fn a_source_that_tells_names_is_left_alone() {
        let proc = proc();
        let (mut names, mut book) = (LeaderNames::open(proc.root()).expect("it"), Book::new());
        names.leave_to_source();
        assert_eq!(told(&mut names, &mut book, threads(1, &[(7, 8)])), []);
    }
}
