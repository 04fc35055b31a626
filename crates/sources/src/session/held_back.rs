//! Control groups that were held back: where a window has to say something of one, it is called by its
//! path, beside what its quota allows.

use super::Session;
use crate::cgroups::allowed_cpus;
use exactop_model::findings::What;
use exactop_model::{Frame, Needs};

impl Session {
    /// Reads what nobody told of the groups among the findings: no more than a file or two for each.
    pub(super) fn name_held_back(&mut self, frame: &mut Frame) {
        let Frame { findings, rows, .. } = frame;
        for finding in findings {
            let What::Throttled(group) = &mut finding.what else { continue };
            // A process that was moved since is in another group.
            let row = rows.iter_mut().find(|row| {
                let is_worst = group.worst.is_some_and(|key| key.tgid == row.key.tgid);
                is_worst && row.ident.cgroup_id == Some(group.cgroup_id)
            });
            if let (None, Some(row)) = (&group.path, row) {
                self.detail(row, Needs::CGROUP);
                group.path = row.detail.cgroup.as_ref().ok().cloned();
            }
            let path = group.path.as_deref();
            group.allowed_cpus = path.and_then(|path| allowed_cpus(path, group.cgroup_id));
        }
    }
}
