//! Sessions of processes (setsid(2)).

use crate::ledger::key::{Comm, Ident};

/// A session of processes. A process keeps its session until it starts a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Session {
    /// Session id, which is the PID of the leader. The kernel gives that PID to no other process
    /// while the session has members. 0, as in ps(1): the session started outside the source's PID
    /// namespace, or the first process of that namespace never called setsid(2).
    Id(u32),
    /// Kernel threads, which have no session.
    Kernel,
}

impl Session {
    /// Session of a task; `None`: the source does not report it.
    pub fn from_ident(task: &Ident) -> Option<Session> {
        Some(match task.session? {
            0 if task.kthread => Session::Kernel,
            id => Session::Id(id),
        })
    }

    /// Name, escaped: `1234 sshd`, or the id alone if `command` returns `None`. `command` returns
    /// the command name of a living, visible process.
    pub fn name(self, command: impl FnOnce(u32) -> Option<Comm>) -> String {
        match self {
            Session::Kernel => "kernel".into(),
            Session::Id(id) => match command(id) {
                Some(leader) => format!("{id} {leader}"),
                None => id.to_string(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_named_by_its_leader_while_the_leader_is_visible() {
        let sshd = |id| (id == 1234).then(|| Comm::new(b"sshd\x1b"));
        let name = |session, kthread| {
            let ident = Ident { session, kthread, ..Ident::default() };
            Session::from_ident(&ident).map(|session| session.name(sshd))
        };
        assert_eq!(name(Some(1234), false).as_deref(), Some("1234 sshd\\x1b"));
        assert_eq!(name(Some(77), false).as_deref(), Some("77"));
        assert_eq!(name(Some(0), false).as_deref(), Some("0"));
        assert_eq!(name(Some(0), true).as_deref(), Some("kernel"));
        assert_eq!(name(None, false), None);
    }
}
