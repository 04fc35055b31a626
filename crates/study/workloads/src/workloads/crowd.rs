//! Very many tasks of an unprivileged user.

use crate::{worker::Worker, Error};

/// Kind of crowd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrowdOf {
    /// Sleeping processes.
    Living,
    /// Zombies.
    Zombies,
    /// Processes one after the other, each with its own name.
    Names,
}

workload! {
    /// Tasks of the user `nobody`, if started as root.
    Crowd
}

impl Crowd {
    /// Starts `count` tasks; names are created after this has returned (see [`Crowd::named`]).
    pub fn start(of: CrowdOf, count: usize) -> Result<Self, Error> {
        let of = match of {
            CrowdOf::Living => "living",
            CrowdOf::Zombies => "zombies",
            CrowdOf::Names => "names",
        };
        Ok(Self { worker: Worker::start("crowd", &[of.into(), count.to_string()])? })
    }

    /// Number of differently named processes that have ended.
    pub fn named(&self) -> Result<u64, Error> {
        let [done] = self.worker.ask_for("done")?;
        Ok(done)
    }
}
