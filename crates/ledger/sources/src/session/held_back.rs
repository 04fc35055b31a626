//! Throttled control groups: reports each under the group that has the quota, with the CPUs that
//! the quota allows.

use super::Session;
use crate::cgroups::quota;
use exactop_cgroups::Hierarchy;
use exactop_model::findings::{by_quota, Finding, FindingKind, Throttled};
use exactop_model::{Frame, Needs};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

impl Session {
    /// Completes the findings on throttled groups from the groups' files. It reads one or two files
    /// for each group between a throttled group and the root.
    pub(super) fn name_held_back(&mut self, frame: &mut Frame) {
        let paths = self.paths_of_held_back(frame);
        let Some(window) = self.window.as_ref().filter(|_| has_throttled(&frame.findings)) else {
            return;
        };
        // The mount of control groups is read once for all findings.
        let hierarchy = Hierarchy::of_this_machine().ok();
        let quota_of = |group: &Throttled| {
            let path = group.path.as_ref().or_else(|| paths.get(&group.cgroup_id))?;
            quota(hierarchy.as_ref()?, path, group.cgroup_id)
        };
        let mut told = by_quota(window, &self.book, quota_of);
        for finding in &mut told {
            let FindingKind::Throttled(group) = &mut finding.what else { continue };
            group.path = group.path.take().or_else(|| paths.get(&group.cgroup_id).cloned());
            finding.sampled = !window.end.provenance.source.keeps_books();
        }
        frame.findings.retain(|finding| !is_throttled(finding));
        frame.findings.extend(told);
        // The order of the model.
        let is_missed = |finding: &Finding| matches!(finding.what, FindingKind::Missed(_));
        frame.findings.sort_by_key(|finding| (!is_missed(finding), Reverse(finding.about_ns)));
    }

    /// Paths of groups without a name, from the /proc of the process that was throttled longest.
    fn paths_of_held_back(&mut self, frame: &mut Frame) -> FxHashMap<u64, Vec<u8>> {
        let Frame { findings, rows, .. } = frame;
        let mut paths = FxHashMap::default();
        for finding in findings {
            let FindingKind::Throttled(Throttled { cgroup_id, path: None, worst, .. }) =
                &finding.what
            else {
                continue;
            };
            // A process that moved since is in another group.
            let row = rows.iter_mut().find(|row| {
                let is_worst = worst.is_some_and(|key| key.tgid == row.key.tgid);
                is_worst && row.ident.cgroup_id == Some(*cgroup_id)
            });
            let Some(row) = row else { continue };
            self.detail(row, Needs::CGROUP);
            if let Ok(path) = &row.detail.cgroup {
                paths.insert(*cgroup_id, path.clone());
            }
        }
        paths
    }
}

fn is_throttled(finding: &Finding) -> bool {
    matches!(finding.what, FindingKind::Throttled(_))
}

fn has_throttled(findings: &[Finding]) -> bool {
    findings.iter().any(is_throttled)
}
