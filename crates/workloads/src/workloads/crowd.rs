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

/// Tasks of the user `nobody`, if started as root.
#[derive(Debug)]
pub struct Crowd {
    worker: Worker,
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

    /// Their parent.
    pub fn pid(&self) -> u32 {
        self.worker.pid()
    }

    /// The processes, if they stay.
    pub fn pids(&self) -> Vec<u32> {
        self.worker.ids().collect()
    }

    /// How many with a name of their own have come and gone.
    pub fn named(&self) -> Result<u64, Error> {
        let [done] = self.worker.ask_for("done")?;
        Ok(done)
    }
}
