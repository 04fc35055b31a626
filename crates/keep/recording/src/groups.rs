//! Control groups of a recorded window: the ledger's charges to them and their names as far as they
//! were read. If a live view displayed them, also the values of the kernel's files.

use crate::replay::Replay;
use exactop_model::cgroups::{rows, uses, GroupRow, GroupSample, Groups};
use exactop_model::text::escape::escape;
use exactop_model::{Book, SourceKind};
use std::collections::{BTreeMap, BTreeSet};

impl Replay {
    /// Groups of the current window; `None` before the first.
    ///
    /// # Errors
    /// The reason, if the window's source charges nothing to groups.
    pub fn groups(&self) -> Option<Result<Groups, String>> {
        let (window, book) = (self.window()?, self.book());
        let source = window.end.provenance.source;
        let is_ledger = source == SourceKind::Ledger;
        let uses = is_ledger.then(|| uses(window, book));
        let rows = match (self.group_files(), &uses) {
            (Some(files), uses) => rows(&files.before, &files.after, uses.as_ref()),
            (None, Some(uses)) => {
                let samples = samples(&self.paths(book), uses.keys().copied());
                rows(&samples, &samples, Some(uses))
            }
            (None, None) => {
                let source = source.name();
                return Some(Err(format!(
                    "the source {source} charges no control groups: record with --source ledger"
                )));
            }
        };
        Some(Ok(Groups {
            t0_ns: window.t0_ns,
            t1_ns: window.t1_ns,
            cpus: Some(window.cpus.len() as u32),
            no_ledger: (!is_ledger).then(|| format!("the source is {}", source.name())),
            rows,
        }))
    }

    /// Values of the kernel's files of groups over the window, if a live view displayed them.
    pub fn group_rows(&self) -> Option<Vec<GroupRow>> {
        let files = self.group_files()?;
        Some(rows(&files.before, &files.after, None))
    }

    /// Paths of the groups that hold living processes, by id.
    fn paths(&self, book: &Book) -> BTreeMap<u64, String> {
        let mut paths = BTreeMap::new();
        for (_, process) in book.processes() {
            let Some(leader) = process.leader else { continue };
            let Some(id) = book.task(leader).and_then(|task| task.ident.cgroup_id) else {
                continue;
            };
            if let (false, Some(detail)) = (paths.contains_key(&id), self.known(leader)) {
                paths.extend(detail.cgroup.ok().map(|path| (id, escape(&path))));
            }
        }
        paths
    }
}

/// One sample for each group: groups with a path, their ancestors, and groups without a path.
fn samples(paths: &BTreeMap<u64, String>, used: impl Iterator<Item = u64>) -> Vec<GroupSample> {
    let ids: BTreeMap<&str, u64> = paths.iter().map(|(id, path)| (path.as_str(), *id)).collect();
    let mut names: BTreeSet<String> = BTreeSet::from(["/".into()]);
    for path in paths.values() {
        let ends = path.match_indices('/').map(|(at, _)| at).skip(1).chain([path.len()]);
        names.extend(ends.map(|end| path[..end].to_string()));
    }
    let named = names.into_iter().map(|name| (ids.get(name.as_str()).copied(), name));
    let unnamed = used.filter(|id| !paths.contains_key(id));
    let unnamed: BTreeSet<u64> = unnamed.collect();
    let unnamed =
        unnamed.into_iter().map(|id| (Some(id), format!("(control group {id}, path not read)")));
    named
        .chain(unnamed)
        .map(|(id, name)| GroupSample { name, id, ..GroupSample::default() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_above_and_groups_without_a_path_are_there() {
        let paths = BTreeMap::from([(1, "/".into()), (7, "/a/b".into()), (9, "/c".into())]);
        let samples = samples(&paths, [7, 9, 12].into_iter());
        let told: Vec<(&str, Option<u64>)> =
            samples.iter().map(|sample| (sample.name.as_str(), sample.id)).collect();
        let unread = "(control group 12, path not read)";
        let expected =
            [("/", Some(1)), ("/a", None), ("/a/b", Some(7)), ("/c", Some(9)), (unread, Some(12))];
        assert_eq!(told, expected);
    }
}
