//! Sets of the table: the columns, the order and the filter that answer a question of an incident.

use super::{Action, App, Page};
use crate::keys::KeyCommand;
use crate::settings::{Preset, Settings};
use exactop_model::columns::filter::Filter;
use exactop_model::columns::sort::SortBy;
use exactop_model::columns::{self, Column, ColumnId};
use exactop_model::{Counter, Quality};

/// A question of an incident. The table has a set of columns for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their definitions say it.
pub enum TableSet {
    Cpu,
    Waits,
    Moves,
    New,
}

/// A set as it is built in.
#[derive(Debug)]
pub struct SetDefinition {
    /// Name in the settings: a preset of this name replaces the columns and the sort column.
    pub name: &'static str,
    /// The question that it answers.
    pub question: &'static str,
    /// How to read it, and where to go on.
    pub reading: &'static str,
    columns: &'static [ColumnId],
    sort: ColumnId,
    /// Filter on the rows, in addition to the user's.
    filter: Option<&'static str>,
    /// The counter without which the set shows nothing.
    needs: Option<Counter>,
}

impl TableSet {
    /// The set of a key.
    fn of_key(command: KeyCommand) -> Option<TableSet> {
        Some(match command {
            KeyCommand::WhoUses => TableSet::Cpu,
            KeyCommand::WhoWaits => TableSet::Waits,
            KeyCommand::WhoMoves => TableSet::Moves,
            KeyCommand::WhatIsNew => TableSet::New,
            _ => return None,
        })
    }

    /// The definition.
    pub const fn definition(self) -> &'static SetDefinition {
        match self {
            TableSet::Cpu => &CPU,
            TableSet::Waits => &WAITS,
            TableSet::Moves => &MOVES,
            TableSet::New => &NEW,
        }
    }

    /// Its own filter.
    pub(super) fn filter(self) -> Option<Filter> {
        self.definition().filter.and_then(|text| Filter::parse(text).ok())
    }

    /// Its columns: the user's, if they changed them.
    fn columns(self, settings: &Settings) -> Vec<&'static Column> {
        match self.own(settings) {
            Some(own) => columns::by_ids(&own.columns),
            None => columns::by_ids(self.definition().columns),
        }
    }

    fn sort(self, settings: &Settings) -> &'static Column {
        let own = self.own(settings).and_then(|own| own.sort);
        own.unwrap_or(self.definition().sort).column()
    }

    fn own(self, settings: &Settings) -> Option<&Preset> {
        settings.presets.get(self.definition().name)
    }
}

use ColumnId::*;

const CPU: SetDefinition = SetDefinition {
    name: "cpu",
    question: "who uses the CPU",
    reading: "CPU+ adds exited children",
    columns: &[Pid, User, S, CpuPct, CpuPlusPct, UsrPct, SysPct, LatPct, Threads, Time, Command],
    sort: CpuPct,
    filter: None,
    needs: None,
};

const WAITS: SetDefinition = SetDefinition {
    name: "waits",
    question: "who waits",
    reading: "CPU (LAT%), quota (THR), lock (LCK), disk (BLK); > sorts by the next",
    columns: &[Pid, User, S, CpuPct, LatPct, MsThr, MsLck, MsBlk, MsDfl, MsSlp, Vcx, Icx, Command],
    sort: LatPct,
    filter: None,
    needs: None,
};

const MOVES: SetDefinition = SetDefinition {
    name: "moves",
    question: "who moves between CPUs",
    reading: "MIGR counts the moves; Enter: \"moved by\" says why",
    columns: &[Pid, User, S, LastCpu, Migrations, CpuPct, LatPct, Vcx, Icx, Command],
    sort: Migrations,
    filter: Some("migrations>0"),
    needs: Some(Counter::Migrations),
};

const NEW: SetDefinition = SetDefinition {
    name: "new",
    question: "what is new since the mark",
    reading: "new tasks, and processes with more threads (nTH)",
    columns: &[Pid, Ppid, User, S, CpuPct, CpuPlusPct, Threads, Exited, Elapsed, Command],
    sort: CpuPct,
    filter: None,
    needs: None,
};

impl App {
    /// The keys of incidents, which work on every page; `None`: another key.
    pub(super) fn on_set(&mut self, command: KeyCommand) -> Option<Action> {
        if command == KeyCommand::WhoIsThrottled {
            return Some(self.open_throttled());
        }
        if command == KeyCommand::WhoStarves {
            return Some(self.open_starved());
        }
        let set = TableSet::of_key(command)?;
        let is_shown = self.table.set == Some(set) && self.page == Page::Table;
        Some(match is_shown {
            true => self.leave_set(),
            false => self.enter_set(set),
        })
    }

    fn enter_set(&mut self, set: TableSet) -> Action {
        let SetDefinition { question, reading, needs, .. } = set.definition();
        if set == TableSet::New && self.table.marked.is_none() {
            self.complain("no window is marked: m marks this one; later 6 shows what is new");
            return Action::Draw;
        }
        let missing = |counter: &Counter| {
            let provenance = self.frame().map(|frame| &frame.provenance);
            let source = provenance.filter(|p| p.quality(*counter) == Quality::Missing)?;
            Some(source.source.name())
        };
        match needs.as_ref().and_then(missing) {
            Some(source) => {
                self.complain(format!(
                    "{question}: the source {source} does not measure it: run as root"
                ));
                return Action::Draw;
            }
            None => self.say(format!("{question}: {reading}")),
        }
        self.page = Page::Table;
        self.table.members_of = None;
        self.table.begin_at_top();
        self.use_set(Some(set));
        self.rearranged()
    }

    /// Returns to the usual columns.
    pub(super) fn leave_set(&mut self) -> Action {
        self.say("the usual columns");
        self.table.begin_at_top();
        self.use_set(None);
        self.rearranged()
    }

    /// Sets columns, order and filters to those of a set, or to those of the settings.
    pub(super) fn use_set(&mut self, set: Option<TableSet>) {
        self.table.set = set;
        // The settings were checked, and so was each filter that was added.
        let mut filters = self.settings.filter_list().unwrap_or_default();
        let (columns, sort) = match set {
            Some(set) => {
                filters.extend(set.filter());
                (set.columns(&self.settings), SortBy::column(set.sort(&self.settings)))
            }
            None => (self.settings.column_list(), self.settings.sort_by()),
        };
        self.table.set_columns(columns);
        (self.table.sort, self.table.filters) = (sort, filters);
    }

    /// Saves the columns and the order of the table in the set that is shown.
    pub(super) fn note_columns(&mut self) {
        let columns = &self.table.columns;
        match self.table.set {
            None => self.settings.set_columns(columns),
            Some(set) => {
                let preset = Preset {
                    columns: columns.iter().map(|column| column.id).collect(),
                    sort: Some(self.table.sort.column.id),
                };
                self.settings.presets.insert(set.definition().name.into(), preset);
            }
        }
    }

    /// True if the table shows microstates with their bar.
    pub(crate) fn shows_microstates(&self) -> bool {
        self.settings.microstates && self.table.set.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_is_sound() {
        let all = [TableSet::Cpu, TableSet::Waits, TableSet::Moves, TableSet::New];
        for set in all {
            let definition = set.definition();
            let unique: std::collections::BTreeSet<_> = definition.columns.iter().collect();
            assert_eq!(unique.len(), definition.columns.len(), "{definition:?}");
            assert!(definition.columns.contains(&definition.sort), "{definition:?}");
            assert!(definition.columns.last() == Some(&Command));
            assert!(definition.filter.is_none_or(|text| Filter::parse(text).is_ok()));
        }
    }
}
