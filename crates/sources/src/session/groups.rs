//! Control groups while their page is open: the kernel's files beside the window of the source.

use crate::cgroupfs::Hierarchy;
use exactop_model::cgroups::{self, GroupSample, Groups};
use exactop_model::{Book, Window};

/// The groups and what their files said before.
#[derive(Default)]
pub struct WatchedGroups {
    /// The last window's; `None` in the first.
    pub groups: Option<Groups>,
    hierarchy: Option<Hierarchy>,
    before: Option<Vec<GroupSample>>,
}

impl WatchedGroups {
    /// Reads the files as of a window's end. A machine without groups has none.
    pub fn advance(&mut self, window: &Window, book: &Book, exact: bool) {
        if self.hierarchy.is_none() {
            self.hierarchy = Hierarchy::of_this_machine().ok();
        }
        let Some(hierarchy) = &self.hierarchy else { return };
        let after = hierarchy.groups();
        let uses = exact.then(|| cgroups::uses(window, book));
        self.groups = self.before.as_ref().map(|before| Groups {
            t0_ns: window.t0_ns,
            t1_ns: window.t1_ns,
            cpus: window.cpus.len() as u32,
            no_ledger: (!exact).then(|| "the source is /proc".into()),
            rows: cgroups::rows(before, &after, uses.as_ref()),
        });
        self.before = Some(after);
    }
}
