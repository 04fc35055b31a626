//! Very many tasks of a user without rights.

use crate::{worker::Worker, Error};

/// Which crowd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrowdOf {
    /// Processes that sleep.
    Living,
    /// Processes that ended and are not reaped.
    Zombies,
    /// Processes one after the other, each with a name of its own.
    Names,
}

workload! {
    /// Tasks of the user `nobody`, if started as root.
    Crowd
}

impl Crowd {
    /// Starts as many; names are made after this has returned (see [`Crowd::named`]).
    pub fn start(of: CrowdOf, count: usize) -> Result<Self, Error> {
        let of = match of {
            CrowdOf::Living => "living",
            CrowdOf::Zombies => "zombies",
            CrowdOf::Names => "names",
        };
        Ok(Self { worker: Worker::start("crowd", &[of.into(), count.to_string()])? })
    }

    /// How many with a name of their own have come and gone.
    pub fn named(&self) -> Result<u64, Error> {
        let [done] = self.worker.ask_for("done")?;
        Ok(done)
    }
}
