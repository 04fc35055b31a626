//! Targets of a signal, a nice value, a place or a limit: identified by key, never by place or by number
//! alone.

use super::arrange::{Arranged, RowId};
use exactop_model::{Row, RowKind, TaskKey};
use unicode_width::UnicodeWidthStr;

/// An action on a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessAction {
    /// Send it a signal.
    Kill,
    /// Change its nice value.
    Renice,
    /// Choose the CPUs on which it may run.
    Affinity,
    /// Move it to a control group.
    Move,
}

/// The process or thread of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The number on the screen: a process's for signals; for nice values a thread's if rows are
    /// threads.
    pub pid: u32,
    /// The task with that number when the user asked. Meanwhile the number may pass to another
    /// process; the key does not.
    pub key: TaskKey,
    /// Its name, with control characters escaped.
    pub name: String,
    /// Its nice value at that time.
    pub nice: i32,
    /// True for a thread of the kernel.
    pub kthread: bool,
}

impl Target {
    /// The target of an action on a row. Nice values belong to threads, all else to processes.
    pub fn from_row(row: &Row, deed: ProcessAction) -> Target {
        let pid = match (deed, row.kind) {
            (ProcessAction::Renice, RowKind::Task) => row.key.tid,
            _ => row.key.tgid,
        };
        let name = row.ident.comm.to_string();
        let (nice, kthread) = (row.ident.nice, row.ident.kthread);
        Target { pid, key: row.key, name, nice, kthread }
    }

    /// Why the action has no effect on it. The kernel discards every signal to one of its threads,
    /// and reports no error.
    pub fn refuses(&self, deed: ProcessAction) -> Option<&'static str> {
        let is_signal = deed == ProcessAction::Kill;
        (is_signal && self.kthread).then_some("a kernel thread takes no signal: choose a process")
    }

    /// The target in words: `PID 4711 (sh)`.
    pub fn shown(&self) -> String {
        format!("PID {} ({})", self.pid, self.name)
    }

    /// The message if it has exited.
    pub fn gone(&self) -> String {
        format!("{} has exited: nothing done", self.shown())
    }
}

impl Arranged {
    /// The target of an action on a row; `None` if it has exited or is not in the frame.
    pub(super) fn target(&self, id: RowId, deed: ProcessAction) -> Option<Target> {
        let RowId::Task(key) = id else { return None };
        let row = self.task(key)?;
        let leader = || self.frame().rows.iter().find(|r| r.key.tid == key.tgid);
        // A thread may exit while its process stays: the action is on the process.
        let row = match deed {
            ProcessAction::Renice => row,
            _ => leader().unwrap_or(row),
        };
        Some(Target::from_row(row, deed))
    }

    /// The target with this number in the frame.
    pub(super) fn target_by_number(&self, pid: u32, deed: ProcessAction) -> Option<Target> {
        let row = self.frame().rows.iter().find(|r| r.key.tid == pid)?;
        self.target(RowId::Task(row.key), deed)
    }

    /// True if another process has this number by now.
    pub(super) fn is_replaced(&self, target: &Target) -> bool {
        let row = self.frame().rows.iter().find(|r| r.key.tid == target.key.tid);
        row.is_some_and(|r| !is_same_start(r.key.start_ns, target.key.start_ns))
    }
}

/// Compares two start times. Those from /proc are in ticks of a hundredth of a second (USER_HZ),
/// those from the kernel itself are not.
fn is_same_start(one: u64, other: u64) -> bool {
    const TICK: u64 = 10_000_000;
    let in_ticks = one.is_multiple_of(TICK) || other.is_multiple_of(TICK);
    one == other || in_ticks && one / TICK == other / TICK
}

/// A limit to set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The group's name below the root of its hierarchy.
    pub group: String,
    /// The kernel's id of the group with that name when the user asked, if known.
    pub id: Option<u64>,
    /// Its new weight.
    pub weight: Option<u64>,
    /// Its new quota, in the form of cpu.max or as people write it.
    pub max: Option<String>,
}

impl Limit {
    /// The limit in words: `weight 500` or `quota 40%`.
    pub fn in_words(&self) -> String {
        match (self.weight, &self.max) {
            (Some(weight), _) => format!("weight {weight}"),
            (None, Some(max)) => format!("quota {max}"),
            (None, None) => "nothing".into(),
        }
    }
}

/// Width for the names of targets: a question has room for a value, too.
const NAMES: usize = 30;

/// Targets in words: `3 processes (sh 7, sh 8, dd 9)`.
pub fn all(targets: &[Target]) -> String {
    let mut names = String::new();
    let mut named = 0;
    for target in targets {
        let name = format!("{} {}", target.name, target.pid);
        if named > 0 && names.width() + name.width() > NAMES {
            break;
        }
        names += if named > 0 { ", " } else { "" };
        names += &name;
        named += 1;
    }
    let more = if targets.len() > named { ", …" } else { "" };
    match targets.len() {
        1 => format!("1 process ({names})"),
        n => format!("{n} processes ({names}{more})"),
    }
}

#[cfg(test)]
mod tests {
    use super::is_same_start;

    #[test]
    fn ticks_and_nanoseconds_are_the_same_start() {
        assert!(is_same_start(1_234_567_890, 1_230_000_000));
        assert!(!is_same_start(1_234_567_890, 1_234_567_891));
        assert!(!is_same_start(1_230_000_000, 1_240_000_000));
    }
}
