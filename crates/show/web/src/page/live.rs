//! Windows as they are measured, each a document that follows the previous ones.

use crate::page::columns::{columns, ColumnInfo};
use crate::page::document::{Document, DocumentInfo, Words};
use crate::page::entities::{choose, EntityId, EntityRow, Weights};
use crate::page::moment::Moment;
use crate::page::reading::{of_processes, survey, survey_groups, ChosenEntities, Filling};
use crate::page::slots::Limits;
use exactop_model::cgroups::GroupRow;
use exactop_model::findings::Finding;
use exactop_model::text::escape::escape_str;
use exactop_model::{AccountId, Book, Detail, Window};
use exactop_recording::{Machine, Span};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Most rows of a window, of those that used or wanted most.
const ROWS: usize = 120;
/// Most rows that an earlier window had; the rest is `~other`.
const STILL: usize = 120;
/// Most control groups of a window.
const GROUPS: usize = 400;
/// Most threads of processes that pages look at.
const THREADS: usize = 400;
/// Most pairs of the blame book of a window, under each key.
const PAIRS: usize = 60;
/// Most counts of waits by size of a window, under each key.
const SIZE_CELLS: usize = 1000;

/// A window that was just measured.
#[derive(Debug)]
pub struct Measured<'a> {
    /// The window.
    pub window: &'a Window,
    /// The book that yielded it, not advanced since.
    pub book: &'a Book,
    /// Wall clock minus CLOCK_MONOTONIC, ns.
    pub wall_offset_ns: i64,
    /// The machine.
    pub machine: &'a Machine,
    /// Details of processes, by their leaders' accounts.
    pub details: &'a HashMap<AccountId, Detail>,
    /// Figures from the kernel's files of control groups, if they were read.
    pub groups: Option<&'a [GroupRow]>,
    /// Findings on the window.
    pub findings: &'a [Finding],
    /// Processes whose threads are sent, too.
    pub watched: &'a [u32],
}

impl Moment for Measured<'_> {
    fn window(&self) -> &Window {
        self.window
    }

    fn book(&self) -> &Book {
        self.book
    }

    fn span(&self) -> Span {
        let (t0_ns, t1_ns) = (self.window.t0_ns, self.window.t1_ns);
        Span { t0_ns, t1_ns, wall_offset_ns: self.wall_offset_ns }
    }

    fn machine(&self) -> Option<&Machine> {
        Some(self.machine)
    }

    fn is_anonymous(&self) -> bool {
        false
    }

    fn known(&self, leader: AccountId) -> Option<Detail> {
        self.details.get(&leader).cloned()
    }

    fn group_files(&self) -> Option<Vec<GroupRow>> {
        self.groups.map(<[GroupRow]>::to_vec)
    }

    fn findings(&self) -> Vec<Finding> {
        self.findings.to_vec()
    }
}

/// The document before any window: the machine and the columns.
pub fn beginning(machine: &Machine) -> Document {
    let told = columns().into_iter().map(ColumnInfo::from_column).collect();
    let mut document = Document::new(told);
    document.about = DocumentInfo {
        host: escape_str(&machine.host),
        kernel: escape_str(&machine.kernel),
        exactop: escape_str(&machine.exactop),
        ..DocumentInfo::default()
    };
    document
}

/// Makes the documents of consecutive windows.
#[derive(Debug, Default)]
pub struct Live {
    /// Living processes that had a row, and the last window in which they were active.
    had: FxHashMap<EntityId, u64>,
    at: u64,
}

impl Live {
    /// The document of one window, which follows those of [`beginning`] and of the previous
    /// windows. A row stays while its process is idle, so that the page gets its idle states.
    pub fn measured(&mut self, of: &Measured) -> Document {
        let limits = Limits { pairs: PAIRS, size_cells: SIZE_CELLS, ..Limits::default() };
        let mut weights = Weights::new(limits.weighed);
        survey(&mut weights, of, 0, 0);
        let mut chosen = choose(&weights, &[0], ROWS, ROWS);
        let active: FxHashSet<EntityId> = chosen.keys().copied().collect();
        self.remember(&active, of.book);
        for who in self.still(&active) {
            let number = chosen.len() as u32;
            chosen.insert(who, EntityRow { number, first: 0, last: 0 });
        }
        let cpus = of.window.cpus.iter().map(|cpu| cpu.time.cpu).collect();
        let mut groups = Weights::new(limits.weighed);
        survey_groups(&mut groups, of, 0, 0);
        let chosen = ChosenEntities {
            rows: chosen,
            groups: choose(&groups, &[0], GROUPS, GROUPS),
            threads: of_processes(of.watched, of, THREADS),
        };
        let groups_left_out = groups.others(chosen.groups.len());
        let mut filling = Filling::new(columns(), vec![0], chosen, cpus, &limits);
        filling.take(of, 0, true);
        let mut document = filling.finish();
        document.groups_left_out = groups_left_out;
        document.group_columns = &[];
        // These are sent only once.
        document.columns.clear();
        document.size_ends_ns.clear();
        document.accounts = &[];
        let active: FxHashSet<String> = active.iter().map(EntityId::key).collect();
        for row in document.rows.iter_mut().filter(|row| row.kind != "other") {
            // Their identity was sent when they were active.
            if !active.contains(&row.key) {
                let words = std::mem::take(&mut row.words);
                row.words = Words { pid: words.pid, comm: words.comm, ..Words::default() };
            }
        }
        document
    }

    fn remember(&mut self, active: &FxHashSet<EntityId>, book: &Book) {
        self.at += 1;
        let processes = active.iter().filter(|who| matches!(who, EntityId::Process { .. }));
        self.had.extend(processes.map(|who| (*who, self.at)));
        self.had.retain(|who, _| who.lives(book));
    }

    /// Recently active rows that are idle now.
    fn still(&self, active: &FxHashSet<EntityId>) -> Vec<EntityId> {
        let had = self.had.iter().filter(|(who, _)| !active.contains(who));
        let mut still: Vec<(Reverse<u64>, EntityId)> =
            had.map(|(who, &at)| (Reverse(at), *who)).collect();
        still.sort_unstable();
        still.into_iter().take(STILL).map(|(_, who)| who).collect()
    }
}
