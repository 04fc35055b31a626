//! Settings: the labels of groups, and their number.

use exactop_model::owner::Grouping;

/// The settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Labels of groups, from [`Grouping::LABELS`]. Without labels all tasks are one group.
    pub by: Vec<Grouping>,
    /// Most groups with a series of their own, besides `~other` and `~left`.
    pub groups: usize,
    /// Time that a new group stands at 0 before it counts, ns; 0: for one scrape. With several
    /// servers that scrape, the longest of their intervals, so that each sees the 0.
    pub zero_for_ns: u64,
    /// Key of victims and culprits in the blame book.
    pub blame_by: Grouping,
    /// Count user and system time of groups.
    pub modes: bool,
    /// Count the waits of groups.
    pub waits: bool,
    /// Write the buckets of histograms into pages; without them, only Prometheus's protocol buffers
    /// have any.
    pub buckets: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            by: Grouping::LABELS[..5].to_vec(),
            groups: 100,
            zero_for_ns: 0,
            blame_by: Grouping::Cgroup,
            modes: true,
            waits: true,
            buckets: false,
        }
    }
}
