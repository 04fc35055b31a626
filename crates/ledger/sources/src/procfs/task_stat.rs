//! Parses /proc/PID/stat (proc_pid_stat(5); do_task_stat() in fs/proc/array.c).

use super::ticks::{number, Ticks};
use exactop_model::Comm;

/// Set in `flags` for kernel threads (include/linux/sched.h).
const PF_KTHREAD: u64 = 0x0020_0000;

/// The used fields of the line, with their numbers in proc_pid_stat(5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TaskStat {
    /// 2: command name. Names of kernel workers may exceed the 15 bytes kept.
    pub comm: Comm,
    /// 3: state letter.
    pub letter: u8,
    /// 4: parent process.
    pub ppid: u32,
    /// 6: session id; `None`: the kernel is reaping the task, which has left its session.
    pub session: Option<u32>,
    /// 9: true for a kernel thread.
    pub kthread: bool,
    /// 14: user time, ticks. A process includes its exited threads; a thread has its own.
    pub utime_ticks: u64,
    /// 15: system time, ticks.
    pub stime_ticks: u64,
    /// 16: user time of children that the process waited for, ticks. A thread has its process's.
    pub cutime_ticks: u64,
    /// 17: system time of these children, ticks.
    pub cstime_ticks: u64,
    /// 18: kernel priority as in `task_struct.prio` (the file has it 100 lower).
    pub prio: i32,
    /// 19: nice value.
    pub nice: i32,
    /// 20: number of threads of the process.
    pub threads: u32,
    /// 22: start time since boot, ticks.
    pub start_ticks: u64,
    /// 23: virtual size, bytes.
    pub vsize_bytes: u64,
    /// 28: address at which the stack begins, which an exec changes; 0 without the right to see it.
    pub stack_start: u64,
    /// 39: the CPU that the task is on or was on last.
    pub cpu: u32,
    /// 41: scheduling policy.
    pub policy: u32,
}

impl TaskStat {
    /// Reads the stat file of a process or a thread; `None` if it is gone or invalid.
    pub fn read(path: &str) -> Option<TaskStat> {
        TaskStat::parse(&std::fs::read(path).ok()?)
    }

    /// Parses a line; `None` if it is invalid or cut.
    ///
    /// The name may contain blanks and parentheses. The rest of the line has no parentheses, so the
    /// last closing one ends the name.
    pub fn parse(line: &[u8]) -> Option<TaskStat> {
        let open = line.iter().position(|&b| b == b'(')?;
        let close = line.iter().rposition(|&b| b == b')').filter(|&close| close > open)?;
        let mut stat = TaskStat { comm: unescaped(&line[open + 1..close]), ..TaskStat::default() };
        let mut last = 0;
        let fields = line[close + 1..].trim_ascii().split(|&b| b == b' ');
        for (at, field) in (3..=41).zip(fields) {
            stat.take(at, field)?;
            last = at;
        }
        (last == 41).then_some(stat)
    }

    /// User and system time together, ns; `None` as for [`Ticks::to_ns`].
    pub(crate) fn cpu_ns(&self, ticks: Ticks) -> Option<u64> {
        ticks.to_ns(self.utime_ticks)?.checked_add(ticks.to_ns(self.stime_ticks)?)
    }

    fn take(&mut self, at: u32, field: &[u8]) -> Option<()> {
        match at {
            3 => self.letter = field.first().copied().filter(u8::is_ascii_alphabetic)?,
            4 => self.ppid = number(field)?,
            6 => self.session = u32::try_from(number::<i32>(field)?).ok(),
            9 => self.kthread = number::<u64>(field)? & PF_KTHREAD != 0,
            14 => self.utime_ticks = number(field)?,
            15 => self.stime_ticks = number(field)?,
            // The manual declares these as signed; they are never negative.
            16 => self.cutime_ticks = number(field)?,
            17 => self.cstime_ticks = number(field)?,
            18 => self.prio = number::<i32>(field)?.checked_add(100)?,
            19 => self.nice = number(field)?,
            20 => self.threads = number(field)?,
            22 => self.start_ticks = number(field)?,
            23 => self.vsize_bytes = number(field)?,
            28 => self.stack_start = number(field)?,
            39 => self.cpu = number(field)?,
            41 => self.policy = number(field)?,
            _ => {}
        }
        Some(())
    }
}

/// Unescapes a name: the kernel writes a newline as `\n` and a backslash as `\\` (proc_task_name()
/// in fs/proc/array.c).
fn unescaped(name: &[u8]) -> Comm {
    if !name.contains(&b'\\') {
        return Comm::new(name);
    }
    let mut plain = Vec::with_capacity(name.len());
    let mut bytes = name.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => match bytes.next() {
                Some(b'n') => plain.push(b'\n'),
                Some(other) => plain.push(other),
                None => plain.push(b'\\'),
            },
            _ => plain.push(byte),
        }
    }
    Comm::new(&plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procfs::fake::FakeTask;
    use proptest::prelude::*;

    #[test]
    fn a_line_from_a_kernel_parses() {
        let line = b"76798 (cat) R 11586 11587 10043 34816 11590 4194304 100 0 0 0 7 3 0 0 20 0 1 \
                     0 150031 3133440 410 18446744073709551615 93959296462848 93959296482729 \
                     140722873763680 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 93959296498736 \
                     93959296500352 93959671447552 140722873772540 140722873772560 \
                     140722873772560 140722873774059 0\n";
        let stat = TaskStat::parse(line).unwrap();
        let expected = TaskStat {
            comm: Comm::new(b"cat"),
            letter: b'R',
            ppid: 11586,
            session: Some(10043),
            kthread: false,
            utime_ticks: 7,
            stime_ticks: 3,
            cutime_ticks: 0,
            cstime_ticks: 0,
            prio: 120,
            nice: 0,
            threads: 1,
            start_ticks: 150_031,
            vsize_bytes: 3_133_440,
            stack_start: 140_722_873_763_680,
            cpu: 1,
            policy: 0,
        };
        assert_eq!(stat, expected);
    }

    #[test]
    fn a_hostile_name_hides_nothing() {
        let task = FakeTask { comm: b"a) R 1 (b) \\n\\\\", ..FakeTask::new(7) };
        let stat = TaskStat::parse(&task.line()).unwrap();
        assert_eq!(stat.comm.bytes(), b"a) R 1 (b) \n\\");
        assert_eq!((stat.letter, stat.ppid), (b'S', 1));
    }

    #[test]
    fn a_kernel_thread_is_recognized_by_its_flag() {
        let task = FakeTask { flags: 0x0420_8060, ..FakeTask::new(2) };
        assert!(TaskStat::parse(&task.line()).unwrap().kthread);
    }

    proptest! {
        #[test]
        fn a_cut_line_is_refused_or_whole(cut in 0usize..400) {
            let line = FakeTask::new(7).line();
            let whole = TaskStat::parse(&line).unwrap();
            let cut = &line[..cut.min(line.len())];
            // The line after field 41 is not parsed; a cut in field 41 itself only shortens a
            // number.
            if let Some(stat) = TaskStat::parse(cut) {
                prop_assert_eq!(stat.start_ticks, whole.start_ticks);
            }
        }

        #[test]
        fn no_bytes_make_it_panic(line in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = TaskStat::parse(&line);
        }

        #[test]
        fn no_fields_make_it_panic(text in "[0-9]{1,3} \\([ -~]{0,20}\\)( -?[0-9]{1,22}){0,60}") {
            let _ = TaskStat::parse(text.as_bytes());
        }
    }
}
