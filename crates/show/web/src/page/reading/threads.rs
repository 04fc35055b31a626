//! Threads of processes that have several: their figures, window by window.

use crate::page::cells::Cells;
use crate::page::columns::{of_still, of_thread};
use crate::page::document;
use crate::page::entities::{wanted_ns, EntityId, EntityRow, Thread, Weights};
use crate::page::moment::Moment;
use exactop_model::ledger::window::TaskDelta;
use exactop_model::{Book, Column, Comm, TaskKey};
use rustc_hash::{FxHashMap, FxHashSet};

/// Adds the weight of every active thread in a window.
pub(super) fn survey(weights: &mut Weights<Thread>, moment: &dyn Moment, boot: u32, at: u32) {
    let (window, book) = (moment.window(), moment.book());
    let length_ns = window.length_ns();
    for task in window.tasks.iter().filter(|task| has_others(task, book)) {
        let key = task.sample.key;
        weights.add(Thread { boot, key }, wanted_ns(&task.delta), at, length_ns);
    }
}

/// True if the process has more threads: a single thread is the process.
fn has_others(task: &TaskDelta, book: &Book) -> bool {
    book.process(task.sample.key.tgid).is_some_and(|process| process.tasks.len() > 1)
}

/// Threads of some processes, at most `most`, the largest users of CPU time in a window first.
pub(crate) fn of_processes(
    processes: &[u32],
    moment: &dyn Moment,
    most: usize,
) -> FxHashMap<Thread, EntityRow> {
    let (window, book) = (moment.window(), moment.book());
    let mut weights: FxHashMap<TaskKey, u64> = FxHashMap::default();
    for &tgid in processes {
        let tasks = book.process(tgid).filter(|process| process.tasks.len() > 1);
        let tasks = tasks.into_iter().flat_map(|process| &process.tasks);
        weights.extend(tasks.filter_map(|&task| Some((book.task(task)?.key, 0))));
    }
    for task in &window.tasks {
        if let Some(weight) = weights.get_mut(&task.sample.key) {
            *weight = wanted_ns(&task.delta);
        }
    }
    let mut keys: Vec<(TaskKey, u64)> = weights.into_iter().collect();
    keys.sort_by_key(|&(key, weight)| (std::cmp::Reverse(weight), key));
    let keys = keys.into_iter().take(most).zip(0..);
    keys.map(|((key, _), number)| {
        (Thread { boot: 0, key }, EntityRow { number, first: 0, last: 0 })
    })
    .collect()
}

/// A thread while it is read.
#[derive(Debug, Default)]
struct Line {
    comm: Comm,
    cells: Cells,
}

/// Threads while they are filled.
#[derive(Debug)]
pub(super) struct FillingThreads {
    chosen: FxHashMap<Thread, EntityRow>,
    lines: Vec<Line>,
}

impl FillingThreads {
    pub fn new(chosen: FxHashMap<Thread, EntityRow>) -> FillingThreads {
        let lines = chosen.iter().map(|_| Line::default()).collect();
        FillingThreads { chosen, lines }
    }

    /// Takes a window.
    pub fn take(&mut self, moment: &dyn Moment, boot: u32, place: (u32, u32), of: &[&Column]) {
        if self.chosen.is_empty() {
            return;
        }
        let (window, book, (at, slot)) = (moment.window(), moment.book(), place);
        let mut seen = FxHashSet::default();
        for task in &window.tasks {
            let thread = Thread { boot, key: task.sample.key };
            let Some(place) = self.chosen.get(&thread).filter(|place| place.has(at)) else {
                continue;
            };
            seen.insert(place.number);
            self.lines[place.number as usize].add(slot, task, of_thread(task, of));
        }
        for (thread, place) in &self.chosen {
            if thread.boot != boot || !place.has(at) || seen.contains(&place.number) {
                continue;
            }
            // The thread lives, and stayed in one state all the time.
            let tasks = book.process(thread.key.tgid).into_iter().flat_map(|p| &p.tasks);
            let mut found =
                tasks.filter(|&&task| book.task(task).is_some_and(|t| t.key == thread.key));
            if let Some(task) = found.next().and_then(|&task| book.still(task, window.t0_ns)) {
                self.lines[place.number as usize].add(slot, &task, of_still(&task, of));
            }
        }
    }

    /// Finishes the threads; the leaders' start times identify their processes.
    pub fn finish(self, leaders: &Leaders, columns: usize) -> Vec<document::Thread> {
        let mut of: Vec<(Thread, EntityRow)> = self.chosen.into_iter().collect();
        of.sort_by_key(|(_, place)| place.number);
        let told = |((thread, _), line): ((Thread, EntityRow), Line)| {
            let process = leaders.0.get(&(thread.boot, thread.key.tgid))?;
            (!line.cells.is_empty()).then(|| document::Thread {
                key: format!("{}.{}.{}", thread.boot, thread.key.tid, thread.key.start_ns),
                process: process.key(),
                tid: thread.key.tid,
                comm: line.comm.to_string(),
                cells: line.cells.columns(columns),
            })
        };
        of.into_iter().zip(self.lines).filter_map(told).collect()
    }
}

impl Line {
    fn add(&mut self, slot: u32, task: &TaskDelta, figures: Vec<Option<u64>>) {
        self.comm = task.sample.ident.comm;
        self.cells.add(slot, &figures);
    }
}

/// The last process of each PID.
#[derive(Debug, Default)]
pub(super) struct Leaders(FxHashMap<(u32, u32), EntityId>);

impl Leaders {
    /// Leaders of processes that have rows.
    pub fn from_rows<'a>(rows: impl Iterator<Item = &'a EntityId>) -> Leaders {
        let process = |who: &EntityId| match *who {
            EntityId::Process { boot, tgid, .. } => Some(((boot, tgid), *who)),
            EntityId::Exited { .. } => None,
        };
        Leaders(rows.filter_map(process).collect())
    }
}
