//! Cache of command lines. Each is read once in a program's life: reading takes the memory map of
//! the process, which makes the process wait and may make us wait.

use exactop_model::{Comm, TaskKey};
use rustc_hash::FxHashMap;

/// Lines in a generation; the cache has two.
const GENERATION: usize = 8192;

/// A bounded cache. When the young generation is full, the old one is dropped, so that lines in use
/// stay.
#[derive(Default)]
pub(super) struct CommandLines {
    young: FxHashMap<(TaskKey, Comm), Vec<u8>>,
    old: FxHashMap<(TaskKey, Comm), Vec<u8>>,
}

impl CommandLines {
    /// The command line, if it is in the cache. An exec changes the name, so the new line is read.
    /// A program that rewrites its line later keeps the cached one.
    pub fn get(&mut self, key: TaskKey, comm: Comm) -> Option<Vec<u8>> {
        if let Some(line) = self.young.get(&(key, comm)) {
            return Some(line.clone());
        }
        let line = self.old.remove(&(key, comm))?;
        self.put(key, comm, &line);
        Some(line)
    }

    /// Adds a line. An empty line may belong to a process in the middle of an exec, so it is not
    /// kept.
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
