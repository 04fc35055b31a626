//! Pools of kernel workers. Workers are many, take work from each other and get new numbers all the
//! time, so by command each pool is one row.

use crate::ledger::book::Book;
use crate::ledger::key::{Comm, Ident};
use crate::ledger::snapshot::ExitSample;

/// A worker's name without its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Workers {
    /// `kworker/1:2`: bound to one CPU.
    EachCpu,
    /// `kworker/1:2H`: bound to one CPU, with high priority.
    EachCpuHigh,
    /// `kworker/u8:3`: bound to no CPU.
    Unbound,
    /// `kworker/dying`: the name of every worker that ends.
    Ended,
}

impl Workers {
    /// Name of the pool's row. It is longer than any command name, so no process can have it.
    pub const fn name(self) -> &'static str {
        match self {
            Workers::EachCpu => "kworker (each CPU's)",
            Workers::EachCpuHigh => "kworker (each CPU's, high priority)",
            Workers::Unbound => "kworker (unbound)",
            Workers::Ended => "kworker (exited, of any pool)",
        }
    }

    /// Pool of a task, by the identity of its process's leader. A user's process may have such a
    /// name, so only kernel threads count.
    pub fn from_ident(leader: &Ident) -> Option<Workers> {
        leader.kthread.then(|| Workers::of_comm(&leader.comm)).flatten()
    }

    /// Pool by the name alone. procfs appends the worker's last work (`kworker/1:2-events`). A
    /// rescuer (`kworker/R-NAME`) belongs to its queue alone and keeps its name, so it has no pool.
    fn of_comm(comm: &Comm) -> Option<Workers> {
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

/// True if the exited tasks were kernel threads: their parent is kthreadd. Programs that the kernel
/// starts have that parent too.
pub(super) fn is_kthread(exit: &ExitSample, book: &Book) -> bool {
    book.living(exit.ancestors[0]).is_some_and(|parent| parent.ident.kthread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workers_name_gives_its_pool() {
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
    fn no_command_can_have_the_name_of_a_pool() {
        let all = [Workers::EachCpu, Workers::EachCpuHigh, Workers::Unbound, Workers::Ended];
        for pool in all {
            assert_ne!(Comm::new(pool.name().as_bytes()).to_string(), pool.name());
        }
    }
}
