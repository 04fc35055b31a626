//! The second reading: puts figures into slots.

use super::groups::FillingGroups;
use super::names::{update, words};
use super::threads::{FillingThreads, Leaders};
use super::{waiting_alone, ChosenEntities};
use crate::page::accounts::{Accounts, Peak, Peaks};
use crate::page::cells::Cells;
use crate::page::columns::{is_of_rows_alone, of_row, of_still, ColumnInfo};
use crate::page::document::{self, Cpu, Document, Words};
use crate::page::entities::{EntityId, EntityRow};
use crate::page::gaps::{self, Gaps};
use crate::page::marks::{Marks, WindowTime};
use crate::page::moment::Moment;
use crate::page::pairs::FillingPairs;
use crate::page::sizes::FillingSizes;
use crate::page::slots::Limits;
use exactop_model::columns::Context;
use exactop_model::ledger::exactness::WindowState;
use exactop_model::text::escape::escape_str;
use exactop_model::{Books, Column, Frame, FrameOptions, Row, RowKind, Window};
use exactop_recording::{Gap, Span};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

/// A row of the page while it is read.
#[derive(Debug, Default)]
struct Line {
    words: Words,
    is_kernel: bool,
    threads: Vec<(u32, u32)>,
    cells: Cells,
}

impl Line {
    /// Adds the number of threads from a slot on, if it changed.
    fn threads(&mut self, slot: u32, row: &Row) {
        let Some(threads) = row.threads.filter(|_| row.kind != RowKind::Exited) else { return };
        match self.threads.last_mut() {
            Some((_, last)) if *last == threads => {}
            Some((at, last)) if *at == slot => *last = threads,
            _ => self.threads.push((slot, threads)),
        }
    }
}

/// A document while it is filled.
pub(crate) struct Filling {
    columns: Vec<&'static Column>,
    /// The slot of each window.
    layout: Vec<u32>,
    chosen: FxHashMap<EntityId, EntityRow>,
    lines: Vec<Line>,
    others: Cells,
    groups: FillingGroups,
    threads: FillingThreads,
    pairs: FillingPairs,
    sizes: FillingSizes,
    at: usize,
    peaks: Peaks,
    /// CPUs that have figures.
    strips: BTreeSet<u32>,
    cpus: BTreeMap<u32, Cpu>,
    marks: Marks,
    gaps: Gaps,
    document: Document,
}

impl Filling {
    pub fn new(
        columns: Vec<&'static Column>,
        layout: Vec<u32>,
        chosen: ChosenEntities,
        strips: BTreeSet<u32>,
        limits: &Limits,
    ) -> Filling {
        let told = columns.iter().map(|column| ColumnInfo::from_column(column)).collect();
        let ChosenEntities { rows: chosen, groups, threads } = chosen;
        let lines = chosen.iter().map(|_| Line::default()).collect();
        Filling {
            columns,
            layout,
            chosen,
            lines,
            others: Cells::default(),
            groups: FillingGroups::new(groups),
            threads: FillingThreads::new(threads),
            pairs: FillingPairs::new(limits.pairs),
            sizes: FillingSizes::new(limits.size_cells),
            at: 0,
            peaks: Peaks::default(),
            strips,
            cpus: BTreeMap::new(),
            marks: Marks::new(limits.marks),
            gaps: Gaps::new(limits.gaps),
            document: Document::new(told),
        }
    }

    /// True while the first reading had more windows.
    pub fn wants_more(&self) -> bool {
        self.at < self.layout.len()
    }

    pub fn gaps(&mut self, gaps: &[Gap]) {
        for gap in gaps {
            let (from_us, to_us) = (us(gap.from_wall_ns), us(gap.to_wall_ns));
            self.gaps.add(gaps::Gap { from_us, to_us, why: gap.why.text() });
        }
    }

    /// Takes a window of a boot; `goes_on`: it begins where the previous one ended.
    pub fn take(&mut self, moment: &dyn Moment, boot: u32, goes_on: bool) {
        let (window, span) = (moment.window(), moment.span());
        let slot = self.layout[self.at];
        let begins = self.at == 0 || self.layout[self.at - 1] != slot;
        if begins {
            self.end_slot();
        }
        self.about(moment);
        self.accounts(window, span, begins);
        self.cpus(window, slot as usize);
        let then = WindowTime {
            from_us: us(span.wall_t0_ns()),
            to_us: us(span.wall_t1_ns()),
            length_ns: window.length_ns(),
            goes_on,
        };
        self.marks.take(&moment.findings(), then, boot);
        self.rows(moment, boot, slot);
        let at = self.at as u32;
        self.groups.take(moment, boot, at, slot);
        self.threads.take(moment, boot, (at, slot), &self.columns);
        let slots = &mut self.document.slots;
        slots.blame_ns[slot as usize] += self.pairs.take(moment, slot);
        slots.sizes_ns[slot as usize] += self.sizes.take(moment, slot);
        self.at += 1;
    }

    fn about(&mut self, moment: &dyn Moment) {
        let window = moment.window();
        let about = &mut self.document.about;
        if let Some(machine) = moment.machine() {
            about.host = escape_str(&machine.host);
            about.kernel = escape_str(&machine.kernel);
            about.exactop = escape_str(&machine.exactop);
        }
        about.source = window.end.provenance.source.name().into();
        about.anonymous |= moment.is_anonymous();
        about.cpus = about.cpus.max(window.cpus.len());
        about.windows += 1;
        match window.state() {
            WindowState::Exact => {}
            WindowState::Repaired => about.repaired += 1,
            WindowState::Inexact => about.inexact += 1,
        }
    }

    fn accounts(&mut self, window: &Window, span: Span, begins: bool) {
        let source = window.end.provenance.source;
        let accounts = Accounts::from_books(&Books::from_window(window), source);
        let slots = &mut self.document.slots;
        let span_us = (us(span.wall_t0_ns()), us(span.wall_t1_ns()));
        slots.add(begins, span_us, (window.length_ns(), window.state() as u8), &accounts);
        let at = slots.windows.last().map_or(0, |windows| windows - 1);
        let length_ns = window.length_ns();
        self.peaks.take(Peak { at, from_us: span_us.0, length_ns, accounts });
    }

    fn end_slot(&mut self) {
        let slots = &mut self.document.slots;
        let peaks = std::mem::take(&mut self.peaks);
        if slots.windows.last().is_some_and(|&windows| windows > 1) {
            let slot = slots.windows.len() as u32 - 1;
            slots.peaks.extend(peaks.windows().into_iter().map(|peak| (slot, peak)));
        }
    }

    fn cpus(&mut self, window: &Window, slot: usize) {
        let mut left_out = 0;
        for delta in &window.cpus {
            let number = delta.time.cpu;
            if !self.strips.contains(&number) {
                left_out += 1;
                continue;
            }
            let cpu = self.cpus.entry(number).or_default();
            cpu.cpu = number;
            cpu.busy_ns.resize(slot + 1, None);
            cpu.most_permille.resize(slot + 1, None);
            let time = &delta.time;
            let taken = [time.irq_ns, time.steal_ns].map(|ns| ns.unwrap_or(0));
            let used = [time.task_ns, time.unnamed_ns].into_iter().chain(taken);
            let busy_ns = used.fold(0, u64::saturating_add);
            let permille = u128::from(busy_ns) * 1000 / u128::from(window.length_ns().max(1));
            let permille = u16::try_from(permille).unwrap_or(u16::MAX);
            let sum = &mut cpu.busy_ns[slot];
            *sum = Some(sum.unwrap_or(0).saturating_add(busy_ns));
            let most = &mut cpu.most_permille[slot];
            *most = Some(most.unwrap_or(0).max(permille));
        }
        let most = &mut self.document.cpus_left_out;
        *most = left_out.max(*most);
    }

    fn rows(&mut self, moment: &dyn Moment, boot: u32, slot: u32) {
        let (window, book) = (moment.window(), moment.book());
        let frame = Frame::new(window, book, &FrameOptions::default());
        let context = context(window);
        let (mut seen, at) = (FxHashSet::default(), self.at as u32);
        for row in frame.rows.iter().chain(&frame.exited) {
            let figures = of_row(row, &self.columns, &context);
            let who = EntityId::from_row(row, boot, book);
            let Some(number) =
                self.chosen.get(&who).filter(|place| place.has(at)).map(|p| p.number)
            else {
                self.add_to_others(slot, figures);
                continue;
            };
            let line = &mut self.lines[number as usize];
            line.cells.add(slot, &figures);
            line.is_kernel = row.ident.kthread;
            line.threads(slot, row);
            update(&mut line.words, words(&who, &row.ident, row.account, moment));
            seen.insert(number);
        }
        for task in waiting_alone(moment, &frame) {
            let who = EntityId::of_task(&task.sample, boot, book);
            if !self.chosen.get(&who).is_some_and(|place| place.has(at)) {
                let figures = of_still(&task, &self.columns);
                self.add_to_others(slot, figures);
            }
        }
        self.still(moment, &seen, (boot, slot));
    }

    fn add_to_others(&mut self, slot: u32, mut figures: Vec<Option<u64>>) {
        for (figure, column) in figures.iter_mut().zip(&self.columns) {
            *figure = figure.filter(|_| !is_of_rows_alone(column));
        }
        self.others.add(slot, &figures);
    }

    /// Adds living rows without an event in the window.
    fn still(&mut self, moment: &dyn Moment, seen: &FxHashSet<u32>, (of_boot, slot): (u32, u32)) {
        let (window, book) = (moment.window(), moment.book());
        let at = self.at as u32;
        for (who, place) in &self.chosen {
            let EntityId::Process { boot, tgid, start_ns } = *who else { continue };
            if boot != of_boot || !place.has(at) || seen.contains(&place.number) {
                continue;
            }
            let Some(process) = book.process(tgid) else { continue };
            // A row has its head's key: the leader may be gone, or never seen.
            let Some(head) = process.head().and_then(|head| book.task(head)) else { continue };
            if head.key.start_ns != start_ns {
                continue;
            }
            let line = &mut self.lines[place.number as usize];
            if line.cells.is_empty() {
                line.is_kernel = head.ident.kthread;
                line.words = words(who, &book.leader(head).ident, Some(head.account), moment);
            }
            for task in process.tasks.iter().filter_map(|&task| book.still(task, window.t0_ns)) {
                let figures = of_still(&task, &self.columns);
                line.cells.add(slot, &figures);
            }
        }
    }

    pub fn finish(mut self) -> Document {
        self.end_slot();
        let slots = self.document.slots.from_us.len();
        let columns = self.columns.len();
        let mut cpus: Vec<Cpu> = self.cpus.into_values().collect();
        for cpu in &mut cpus {
            cpu.busy_ns.resize(slots, None);
            cpu.most_permille.resize(slots, None);
        }
        let mut of: Vec<(EntityId, EntityRow)> = self.chosen.into_iter().collect();
        of.sort_by_key(|(_, place)| place.number);
        let leaders = Leaders::from_rows(of.iter().map(|(who, _)| who));
        let mut rows: Vec<document::Row> = Vec::with_capacity(of.len() + 1);
        for ((who, _), line) in of.into_iter().zip(self.lines) {
            // A chosen row without figures.
            if line.cells.is_empty() {
                continue;
            }
            let kind = match who {
                EntityId::Exited { .. } => "exited",
                EntityId::Process { .. } if line.is_kernel => "kernel",
                EntityId::Process { .. } => "process",
            };
            let cells = line.cells.columns(columns);
            let Line { words, threads, .. } = line;
            rows.push(document::Row { key: who.key(), kind, words, threads, cells });
        }
        if !self.others.is_empty() {
            let words = Words { comm: "~other".into(), ..Words::default() };
            let cells = self.others.columns(columns);
            let (key, threads) = ("other".into(), Vec::new());
            rows.push(document::Row { key, kind: "other", words, threads, cells });
        }
        let mut document = self.document;
        (document.marks, document.marks_left_out) = self.marks.finish();
        (document.gaps, document.gaps_left_out) = self.gaps.finish();
        (document.cpus, document.rows) = (cpus, rows);
        document.groups = self.groups.finish();
        document.threads = self.threads.finish(&leaders, columns);
        document.pairs = self.pairs.finish();
        document.sizes = self.sizes.finish();
        document
    }
}

fn context(window: &Window) -> Context {
    Context {
        window_ns: window.length_ns(),
        cpus: window.cpus.len() as u32,
        of_machine: false,
        command_line: false,
        memory_total: None,
        boottime_ns: None,
    }
}

fn us(ns: i128) -> i64 {
    i64::try_from(ns / 1000).unwrap_or(i64::MAX)
}
