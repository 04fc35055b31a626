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
    young: FxHashMap<(TaskKey, Comm), CommandLine>,
    old: FxHashMap<(TaskKey, Comm), CommandLine>,
}

#[derive(Clone)]
struct CommandLine {
    text: Vec<u8>,
    /// Where the program's stack began; 0: unknown.
    stack_start: u64,
}

impl CommandLines {
    /// The command line, if it is in the cache. An exec mostly changes the name, so the new line is
    /// read; [`CommandLines::forget_other`] finds the others. A program that rewrites its line later
    /// keeps the cached one.
    pub fn get(&mut self, key: TaskKey, comm: Comm) -> Option<Vec<u8>> {
        if let Some(line) = self.young.get(&(key, comm)) {
            return Some(line.text.clone());
        }
        let line = self.old.remove(&(key, comm))?;
        self.put(key, comm, line.stack_start, &line.text);
        Some(line.text)
    }

    /// Adds a line. An empty line may belong to a process in the middle of an exec, so it is not
    /// kept.
    pub fn put(&mut self, key: TaskKey, comm: Comm, stack_start: u64, text: &[u8]) {
        if text.is_empty() {
            return;
        }
        if self.young.len() >= GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert((key, comm), CommandLine { text: text.to_vec(), stack_start });
    }
}

impl CommandLines {
    /// Drops the line if it is of another program: an exec under the same name moves the stack.
    /// Returns true if it did.
    pub fn forget_other(&mut self, key: TaskKey, comm: Comm, stack_start: u64) -> bool {
        let moved = |line: &CommandLine| {
            ![line.stack_start, stack_start].contains(&0) && line.stack_start != stack_start
        };
        let is_other = self.young.get(&(key, comm)).is_some_and(moved);
        if is_other {
            self.young.remove(&(key, comm));
        }
        is_other
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
        lines.put(key(1), Comm::new(b"sh"), 7, b"sh -c x");
        assert_eq!(lines.get(key(1), Comm::new(b"sh")), Some(b"sh -c x".to_vec()));
        assert_eq!(lines.get(key(1), Comm::new(b"x")), None);
    }

    #[test]
    fn another_stack_under_the_same_name_is_another_line() {
        let (mut lines, comm) = (CommandLines::default(), Comm::new(b"sh"));
        lines.put(key(1), comm, 7, b"sh a");
        assert!(!lines.forget_other(key(1), comm, 7) && !lines.forget_other(key(1), comm, 0));
        assert!(lines.get(key(1), comm).is_some());
        assert!(lines.forget_other(key(1), comm, 8));
        assert_eq!(lines.get(key(1), comm), None);
        // Without the right to see stacks, none differs.
        lines.put(key(2), comm, 0, b"sh b");
        assert!(!lines.forget_other(key(2), comm, 8));
    }

    #[test]
    fn it_stays_bounded_and_keeps_what_is_used() {
        let (mut lines, comm) = (CommandLines::default(), Comm::new(b"a"));
        for tgid in 1..=5 * GENERATION as u32 {
            lines.put(key(tgid), comm, 0, b"a");
            assert!(lines.get(key(1), comm).is_some());
        }
        assert!(lines.young.len() + lines.old.len() <= 2 * GENERATION);
    }
}
