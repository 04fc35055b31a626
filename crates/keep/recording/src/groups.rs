//! Control groups of a recorded window: the ledger's charges to them and their names as far as they
//! were read. If a live view displayed them, also the values of the kernel's files.

use crate::replay::Replay;
use exactop_model::cgroups::{rows, uses, GroupRow, GroupSample, GroupUse, Groups};
use exactop_model::text::escape::escape;
use exactop_model::SourceKind;
use rustc_hash::FxHashMap;
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
                let paths = self.paths(uses.keys().copied());
                let samples = samples(&paths, uses.keys().copied());
                rows(&samples, &samples, Some(&by_path(uses, &paths)))
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

    /// Paths, by id, of the groups that hold living processes and of the `used` ones: from the book,
    /// or else from the details of a process in the group.
    fn paths(&self, used: impl Iterator<Item = u64>) -> BTreeMap<u64, String> {
        let book = self.book();
        let path = |id| book.group(id).map(|group| escape(&group.path));
        let mut paths: BTreeMap<u64, String> =
            used.filter_map(|id| Some((id, path(id)?))).collect();
        for (_, process) in book.processes() {
            let Some(leader) = process.leader else { continue };
            let Some(id) = book.task(leader).and_then(|task| task.ident.cgroup_id) else {
                continue;
            };
            if !paths.contains_key(&id) {
                let read = || Some(escape(&self.known(leader)?.cgroup.ok()?));
                paths.extend(path(id).or_else(read).map(|path| (id, path)));
            }
        }
        paths
    }
}

/// Charges by the one id that a path has in [`samples`]: a group that is made anew under the same
/// path has another id, and both are one row.
fn by_path(
    uses: &FxHashMap<u64, GroupUse>,
    paths: &BTreeMap<u64, String>,
) -> FxHashMap<u64, GroupUse> {
    let ids = last_ids(paths);
    let mut sums: FxHashMap<u64, GroupUse> = FxHashMap::default();
    for (id, used) in uses {
        let id = paths.get(id).and_then(|path| ids.get(path.as_str())).unwrap_or(id);
        sums.entry(*id).or_default().add(used);
    }
    sums
}

/// The id of each path: the highest, if several groups had the path.
fn last_ids(paths: &BTreeMap<u64, String>) -> BTreeMap<&str, u64> {
    paths.iter().map(|(id, path)| (path.as_str(), *id)).collect()
}

/// One sample for each group: groups with a path, their ancestors, and groups without a path.
fn samples(paths: &BTreeMap<u64, String>, used: impl Iterator<Item = u64>) -> Vec<GroupSample> {
    let ids = last_ids(paths);
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

    #[test]
    fn a_group_that_is_made_anew_is_one_row_with_the_charges_of_both() {
        let paths = BTreeMap::from([(1, "/".into()), (7, "/a".into()), (9, "/a".into())]);
        let used = |run_ns| GroupUse { run_ns, ..GroupUse::default() };
        let uses = FxHashMap::from_iter([(7, used(3)), (9, used(4)), (12, used(5))]);
        let samples = samples(&paths, uses.keys().copied());
        let rows = rows(&samples, &samples, Some(&by_path(&uses, &paths)));
        let run_ns = |row: &GroupRow| row.ledger.map(|used| used.run_ns);
        let told: Vec<_> = rows.iter().map(|row| (row.sample.name.as_str(), run_ns(row))).collect();
        let unread = "(control group 12, path not read)";
        assert_eq!(told, [("/", Some(12)), ("/a", Some(7)), (unread, Some(5))]);
    }
}
