//! Control groups: the ledger's charges of each, and the kernel's figures of it and its subtree, if
//! its files were read. The page adds up subtrees by the paths.

use super::names::shortened_path;
use crate::page::cells::Cells;
use crate::page::document::{Group, GroupNames, LimitOf, GROUP_COLUMNS};
use crate::page::entities::{EntityRow, GroupId, Weights};
use crate::page::moment::Moment;
use exactop_model::cgroups::{all_uses, meaning, GroupRow, GroupUse};
use exactop_model::SourceKind;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Number of [`GROUP_COLUMNS`] that come from the ledger.
const LEDGER: usize = 4;

/// Figures of groups in a window, by id.
struct GroupReadings {
    /// `None`: the source charges no groups. The key `None` holds tasks of unknown group.
    uses: Option<FxHashMap<Option<u64>, GroupUse>>,
    files: BTreeMap<u64, GroupRow>,
}

impl GroupReadings {
    fn from_moment(moment: &dyn Moment) -> GroupReadings {
        let window = moment.window();
        let is_ledger = window.end.provenance.source == SourceKind::Ledger;
        let files = moment.group_files().unwrap_or_default();
        GroupReadings {
            uses: is_ledger.then(|| all_uses(window, moment.book())),
            files: files.into_iter().filter_map(|row| Some((row.sample.id?, row))).collect(),
        }
    }

    /// Ids of all groups with figures.
    fn ids(&self) -> impl Iterator<Item = u64> + '_ {
        let charged = self.uses.iter().flat_map(|uses| uses.keys().copied().flatten());
        charged.filter(|id| !self.files.contains_key(id)).chain(self.files.keys().copied())
    }

    fn charged(&self, id: u64) -> Option<GroupUse> {
        Some(self.uses.as_ref()?.get(&Some(id)).copied().unwrap_or_default())
    }

    /// Weight of a group: its charged time, else the time of its subtree.
    fn weight_ns(&self, id: u64) -> u64 {
        let charged = self.charged(id).filter(|used| used.wanted_ns() > 0);
        let below = || self.files.get(&id).and_then(|row| row.stat.usage_ns).unwrap_or(0);
        charged.map_or_else(below, |used| used.wanted_ns())
    }

    /// Figures of tasks of unknown group, if there are any.
    fn unknown(&self) -> Option<Vec<Option<u64>>> {
        self.uses.as_ref()?.get(&None).map(|used| of_ledger(Some(*used)))
    }

    fn figures(&self, id: u64) -> Vec<Option<u64>> {
        let files = self.files.get(&id);
        let mut figures = of_ledger(self.charged(id));
        let of_files = files.map(|row| {
            let stat = &row.stat;
            [
                stat.usage_ns,
                stat.throttled_ns,
                stat.nr_periods,
                stat.nr_throttled,
                row.pressure_some_ns,
            ]
        });
        figures.extend(of_files.unwrap_or_default());
        figures
    }
}

/// The ledger's figures, which come first.
fn of_ledger(used: Option<GroupUse>) -> Vec<Option<u64>> {
    let figure = |of: fn(GroupUse) -> u64| used.map(of);
    let figures: [_; LEDGER] = [
        figure(|used| used.run_ns),
        figure(|used| used.lat_ns),
        figure(|used| used.throttle_ns),
        figure(|used| used.exited),
    ];
    figures.to_vec()
}

/// Adds the weight of every control group in window number `at`.
pub(crate) fn survey(weights: &mut Weights<GroupId>, moment: &dyn Moment, boot: u32, at: u32) {
    let (told, length_ns) = (GroupReadings::from_moment(moment), moment.window().length_ns());
    for id in told.ids() {
        weights.add(GroupId { boot, id }, told.weight_ns(id), at, length_ns);
    }
}

/// A group while it is read.
#[derive(Debug, Default)]
struct Line {
    path: Option<String>,
    names: GroupNames,
    limits: Vec<LimitOf>,
    cells: Cells,
}

/// Groups while they are filled.
#[derive(Debug)]
pub(super) struct FillingGroups {
    chosen: FxHashMap<GroupId, EntityRow>,
    lines: Vec<Line>,
    others: Cells,
}

impl FillingGroups {
    pub fn new(chosen: FxHashMap<GroupId, EntityRow>) -> FillingGroups {
        let lines = chosen.iter().map(|_| Line::default()).collect();
        FillingGroups { chosen, lines, others: Cells::default() }
    }

    /// Takes a window.
    pub fn take(&mut self, moment: &dyn Moment, boot: u32, at: u32, slot: u32) {
        let told = GroupReadings::from_moment(moment);
        if let Some(figures) = told.unknown() {
            self.add_to_others(slot, &figures);
        }
        for id in told.ids() {
            let figures = told.figures(id);
            let place = self.chosen.get(&GroupId { boot, id }).filter(|place| place.has(at));
            let Some(number) = place.map(|place| place.number) else {
                self.add_to_others(slot, &figures);
                continue;
            };
            let line = &mut self.lines[number as usize];
            line.cells.add(slot, &figures);
            line.name(id, told.files.get(&id), moment);
            if let Some(row) = told.files.get(&id) {
                line.limit(slot, row);
            }
        }
    }

    /// The kernel's figures are of subtrees, so they cannot be summed over several groups.
    fn add_to_others(&mut self, slot: u32, figures: &[Option<u64>]) {
        let known = |(at, &figure): (usize, &Option<u64>)| figure.filter(|_| at < LEDGER);
        let figures: Vec<Option<u64>> = figures.iter().enumerate().map(known).collect();
        self.others.add(slot, &figures);
    }

    pub fn finish(self) -> Vec<Group> {
        let mut of: Vec<(GroupId, EntityRow)> = self.chosen.into_iter().collect();
        of.sort_by_key(|(_, place)| place.number);
        let mut groups = Vec::with_capacity(of.len() + 1);
        for ((GroupId { boot, id }, _), line) in of.into_iter().zip(self.lines) {
            if line.cells.is_empty() {
                continue;
            }
            let Line { path, names, limits, cells } = line;
            let cells = cells.columns(GROUP_COLUMNS.len());
            let meaning = path.as_deref().and_then(meaning);
            groups.push(Group { key: format!("{boot}.{id}"), path, meaning, names, limits, cells });
        }
        if !self.others.is_empty() {
            let cells = self.others.columns(GROUP_COLUMNS.len());
            groups.push(Group { key: "other".into(), cells, ..Group::default() });
        }
        groups
    }
}

impl Line {
    /// Sets the group's names once they are known.
    fn name(&mut self, id: u64, files: Option<&GroupRow>, moment: &dyn Moment) {
        let book = moment.book();
        if self.path.is_none() {
            let told = book.group(id).map(|group| shortened_path(&group.path));
            self.path = told.or_else(|| files.map(|row| row.sample.name.clone()));
        }
        if self.names == GroupNames::default() {
            if let Some(named) = book.named(Some(id)) {
                self.names = GroupNames::new(&named);
            }
        }
    }

    /// Adds the group's limits from a slot on, if they changed.
    fn limit(&mut self, slot: u32, row: &GroupRow) {
        let sample = &row.sample;
        let (weight, cpus, max) = (sample.weight, sample.allowed_cpus, &sample.max);
        if weight.is_none() && max.is_none() {
            return;
        }
        let last = self.limits.last();
        if !last.is_some_and(|last| (last.1, last.2, &last.3) == (weight, cpus, max)) {
            self.limits.push(LimitOf(slot, weight, cpus, max.clone()));
        }
    }
}
