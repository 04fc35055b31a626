//! A service of a made-up host: its CPU use, waits and exits.

use exactop_model::ledger::named::Named;

/// A service: a process that lives as long as the host, or short-lived children.
#[derive(Clone, Debug, Default)]
pub struct Service {
    pub command: String,
    pub named: Named,
    /// CPU use, in 1/10,000 of all CPUs.
    pub share: u32,
    /// Waits per mille of run time: for a CPU, throttled, for locks, for disks.
    pub waits: [u32; 4],
    /// Processes that exit in 10 s on each CPU; 0 for a process that lives.
    pub exits: u32,
    /// True for the service that is rolled out.
    pub is_new: bool,
}
