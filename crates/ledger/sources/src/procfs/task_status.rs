//! Parses /proc/PID/schedstat and /proc/PID/status.

use super::ticks::number;

/// Run-queue wait since birth, ns: the second field of /proc/PID/schedstat
/// (Documentation/scheduler/sched-stats.rst; `sched_info.run_delay`).
pub(crate) fn run_delay_ns(text: &[u8]) -> Option<u64> {
    number(text.trim_ascii().split(|&b| b == b' ').nth(1)?)
}

/// The used fields of /proc/PID/status (proc_pid_status(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct TaskStatus {
    /// Effective user id: the second number of `Uid`.
    pub euid: Option<u32>,
    /// `voluntary_ctxt_switches`: of this task alone.
    pub vcx: Option<u64>,
    /// `nonvoluntary_ctxt_switches`: of this task alone.
    pub icx: Option<u64>,
}

impl TaskStatus {
    /// Parses the file; a missing line leaves its field `None`.
    pub fn parse(text: &[u8]) -> TaskStatus {
        let mut status = TaskStatus::default();
        for line in text.split(|&b| b == b'\n') {
            if let Some(ids) = line.strip_prefix(b"Uid:") {
                let mut ids = ids.split(|b| b.is_ascii_whitespace()).filter(|id| !id.is_empty());
                status.euid = ids.nth(1).and_then(number);
            } else if let Some(count) = line.strip_prefix(b"voluntary_ctxt_switches:") {
                status.vcx = number(count.trim_ascii());
            } else if let Some(count) = line.strip_prefix(b"nonvoluntary_ctxt_switches:") {
                status.icx = number(count.trim_ascii());
            }
        }
        status
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedstat_has_the_wait_second() {
        assert_eq!(run_delay_ns(b"123 456 7\n"), Some(456));
        assert_eq!(run_delay_ns(b"123\n"), None);
    }

    #[test]
    fn status_gives_the_effective_user_and_the_switches() {
        let text = b"Name:\tUid:\nUid:\t1000\t0\t1000\t1000\nvoluntary_ctxt_switches:\t15\n\
                     nonvoluntary_ctxt_switches:\t2\n";
        let expected = TaskStatus { euid: Some(0), vcx: Some(15), icx: Some(2) };
        assert_eq!(TaskStatus::parse(text), expected);
        assert_eq!(TaskStatus::parse(b""), TaskStatus::default());
    }
}
