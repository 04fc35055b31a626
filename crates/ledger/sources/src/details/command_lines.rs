//! Command lines already read: once in a life of a program, because reading one takes the memory
//! map of the process looked at, which makes it wait and may make us wait.

use exactop_model::{Comm, TaskKey};
use rustc_hash::FxHashMap;

/// Lines in a generation; two generations are kept.
const GENERATION: usize = 8192;

/// A bounded memory: when the young generation is full the old one is forgotten, so that what is
/// asked for again and again stays.
#[derive(Default)]
pub(super) struct CommandLines {
    young: FxHashMap<(TaskKey, Comm), Vec<u8>>,
    old: FxHashMap<(TaskKey, Comm), Vec<u8>>,
}

impl CommandLines {
    /// The line, if it was read. An exec changes the name, so the line is read anew; a program
    /// that rewrites its own line afterwards keeps the one it had.
    pub fn get(&mut self, key: TaskKey, comm: Comm) -> Option<Vec<u8>> {
        if let Some(line) = self.young.get(&(key, comm)) {
            return Some(line.clone());
        }
        let line = self.old.remove(&(key, comm))?;
        self.put(key, comm, &line);
        Some(line)
    }

    /// Remembers a line. An empty one may belong to a process in the middle of an exec, so it
    /// is asked for again.
    pub fn put(&mut self, key: TaskKey, comm: Comm, line: &[u8]) {
        if line.is_empty() {
            return;
        }
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert((key, comm), line.to_vec());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(tgid: u32) -> TaskKey {
        TaskKey { tgid, tid: tgid, start_ns: 1 }
    }

    #[test]
    fn a_new_name_is_a_new_line() {
        let mut lines = CommandLines::default();
        lines.put(key(1), Comm::new(b"sh"), b"sh -c x");
        assert_eq!(lines.get(key(1), Comm::new(b"sh")), Some(b"sh -c x".to_vec()));
        assert_eq!(lines.get(key(1), Comm::new(b"x")), None);
    }

    #[test]
    fn it_stays_bounded_and_keeps_what_is_used() {
        let (mut lines, comm) = (CommandLines::default(), Comm::new(b"a"));
        for tgid in 1..=5 * GENERATION as u32 {
            lines.put(key(tgid), comm, b"a");
            assert!(lines.get(key(1), comm).is_some());
        }
        assert!(lines.young.len() + lines.old.len() <= 2 * GENERATION);
    }
}
