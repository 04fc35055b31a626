//! What is set: what groups are made of, and how many there may be.

use exactop_model::owner::By;

/// What is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The labels of groups, of [`By::LABELS`]. With none, all is one group.
    pub by: Vec<By>,
    /// How many groups have a series of their own, beside `~other` and `~left`.
    pub groups: usize,
    /// How long a new group stands at 0 before it counts; 0: for one scrape. Where several servers
    /// scrape, the longest of their intervals, so that each has seen the 0.
    pub zero_for_ns: u64,
    /// Tell user and system time of groups.
    pub modes: bool,
    /// Tell what groups waited for.
    pub waits: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            by: By::LABELS[..5].to_vec(),
            groups: 100,
            zero_for_ns: 0,
            modes: true,
            waits: true,
        }
    }
}
