//! A service of a made-up host: what it uses, waits for and starts.

use exactop_model::ledger::named::Named;

/// What lives as long as the host, or what its children do that end.
#[derive(Clone, Debug, Default)]
pub struct Service {
    pub command: String,
    pub named: Named,
    /// Of the time of all CPUs, in 10,000.
    pub share: u32,
    /// So much of each for 1000 of what it runs: waiting for a CPU, throttled, for locks, for disks.
    pub waits: [u32; 4],
    /// Processes that end in 10 s, on each CPU; 0: it lives.
    pub exits: u32,
    /// Whether it is what was rolled out.
    pub is_new: bool,
}
