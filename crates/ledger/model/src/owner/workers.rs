//! The kernel's workers: a crowd of threads that take work from one another and are numbered anew all
//! the time, so that by command a pool of them is one row.

use crate::ledger::book::Book;
use crate::ledger::key::Comm;
use crate::ledger::snapshot::{ExitSample, TaskSample};

/// What stays of a worker's name, whatever its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Workers {
    /// `kworker/1:2`: of each CPU.
    EachCpu,
    /// `kworker/1:2H`: of each CPU, with high priority.
    EachCpuHigh,
    /// `kworker/u8:3`: of no CPU.
    Unbound,
    /// `kworker/dying`: all are called that when they end.
    Ended,
}

impl Workers {
    /// Longer than any command's name may be, so nobody's row can be taken for it.
    pub const fn name(self) -> &'static str {
        match self {
            Workers::EachCpu => "kworker (each CPU's)",
            Workers::EachCpuHigh => "kworker (each CPU's, high priority)",
            Workers::Unbound => "kworker (unbound)",
            Workers::Ended => "kworker (exited, of any pool)",
        }
    }

    /// The pool of a living process. Anybody may call themselves a worker; the kernel's threads are flagged.
    pub fn of_task(process: &TaskSample) -> Option<Workers> {
        process.ident.kthread.then(|| Workers::of_comm(&process.ident.comm)).flatten()
    }

    /// The pool of what exited: the kernel's threads are children of one, kthreadd. The few programs that the
    /// kernel starts are, too, but have names of their own once they run.
    pub fn of_exited(exit: &ExitSample, book: &Book) -> Option<Workers> {
        let parent = exit.ancestors[0];
        let leader = book.process(parent.tgid).filter(|_| parent.tgid != 0)?.leader?;
        let parent = book.task(leader).filter(|task| task.key.start_ns == parent.start_ns)?;
        parent.ident.kthread.then(|| Workers::of_comm(&exit.comm)).flatten()
    }

    /// By the name alone, to which procfs adds what it worked at last (`kworker/1:2-events`). A rescuer
    /// (`kworker/R-NAME`) is nobody's but its queue's, and called the same for ever.
    pub(crate) fn of_comm(comm: &Comm) -> Option<Workers> {
        let end = comm.0.iter().position(|&byte| byte == 0).map_or(comm.0.len(), |end| end);
        let name = std::str::from_utf8(&comm.0[..end]).ok()?.strip_prefix("kworker/")?;
        if name == "dying" {
            return Some(Workers::Ended);
        }
        let unbound = name.strip_prefix('u');
        let (pool, worker) = unbound.map_or(name, |rest| rest).split_once(':')?;
        let rest = worker.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !is_number(pool) || rest.len() == worker.len() {
            return None;
        }
        Some(match (unbound, rest.starts_with('H')) {
            (Some(_), _) => Workers::Unbound,
            (None, true) => Workers::EachCpuHigh,
            (None, false) => Workers::EachCpu,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_of_a_name_is_its_pool() {
        for (name, pool) in [
            ("kworker/1:2", Some(Workers::EachCpu)),
            ("kworker/0:10-eve", Some(Workers::EachCpu)),
            ("kworker/17:0+mm_", Some(Workers::EachCpu)),
            ("kworker/1:2H", Some(Workers::EachCpuHigh)),
            ("kworker/1:1H-kb", Some(Workers::EachCpuHigh)),
            ("kworker/u8:3-ev", Some(Workers::Unbound)),
            ("kworker/u1024:1", Some(Workers::Unbound)),
            ("kworker/dying", Some(Workers::Ended)),
            ("kworker/R-rcu_g", None),
            ("kworker/", None),
            ("kworker/u:1", None),
            ("kworker/1:", None),
            ("kworker/1", None),
            ("kworker/x1:1", None),
            ("ksoftirqd/1", None),
        ] {
            assert_eq!(Workers::of_comm(&Comm::new(name.as_bytes())), pool, "{name}");
        }
    }

    #[test]
    fn no_command_can_be_called_what_a_pool_is() {
        let all = [Workers::EachCpu, Workers::EachCpuHigh, Workers::Unbound, Workers::Ended];
        for pool in all {
            assert_ne!(Comm::new(pool.name().as_bytes()).to_string(), pool.name());
        }
    }
}
