//! Reads a time range twice. The first reading finds the important rows; the second keeps figures
//! of these only, so that a week of windows needs no more memory than an hour.

mod filling;
mod groups;
mod names;
mod threads;

use crate::page::columns::columns;
use crate::page::document::Document;
use crate::page::entities::{choose, wanted_ns, EntityId, EntityRow, GroupId, Thread, Weights};
use crate::page::moment::{Moment, Recorded};
use crate::page::slots::{layout, Limits, Piece};
use exactop_model::ledger::window::TaskDelta;
use exactop_model::{Frame, FrameOptions};
use exactop_recording::{Recording, RecordingError, TimeRange, Windows};
pub(crate) use filling::Filling;
pub(crate) use groups::survey as survey_groups;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
pub(crate) use threads::of_processes;

/// Rows that have figures of their own.
#[derive(Debug, Default)]
pub(crate) struct ChosenEntities {
    pub rows: FxHashMap<EntityId, EntityRow>,
    pub groups: FxHashMap<GroupId, EntityRow>,
    pub threads: FxHashMap<Thread, EntityRow>,
}

/// Weights of all rows.
#[derive(Debug)]
struct Survey {
    rows: Weights,
    groups: Weights<GroupId>,
    threads: Weights<Thread>,
}

impl Survey {
    fn new(most: usize) -> Survey {
        Survey { rows: Weights::new(most), groups: Weights::new(most), threads: Weights::new(most) }
    }

    fn take(&mut self, moment: &dyn Moment, boot: u32, at: u32) {
        survey(&mut self.rows, moment, boot, at);
        survey_groups(&mut self.groups, moment, boot, at);
        threads::survey(&mut self.threads, moment, boot, at);
    }

    /// Chooses the rows for which there is room besides the rest, which is in every slot.
    fn choose(&self, slots: &[u32], limits: &Limits) -> ChosenEntities {
        let others = slots.last().map_or(1, |&slot| slot as usize + 1);
        let room = |cells: usize| cells.saturating_sub(others);
        ChosenEntities {
            rows: choose(&self.rows, slots, room(limits.row_cells), limits.rows),
            groups: choose(&self.groups, slots, room(limits.group_cells), limits.groups),
            threads: choose(&self.threads, slots, limits.thread_cells, limits.threads),
        }
    }
}

/// Reads a time range of a recording, which is passed twice, opened at the same time.
///
/// # Errors
/// [`RecordingError`]: a file cannot be read.
pub fn read(
    recordings: [Recording; 2],
    when: TimeRange,
    limits: &Limits,
) -> Result<Document, RecordingError> {
    let [first, second] = recordings;
    let (mut boots, mut pieces) = (Boots::default(), Vec::new());
    let (mut weights, mut cpus) = (Survey::new(limits.weighed), BTreeSet::new());
    let mut windows = Windows::from_recording(first, when)?;
    while windows.advance()? {
        let Some(moment) = Recorded::at(windows.replay()) else { continue };
        let (boot, goes_on) = boots.enter(&moment);
        weights.take(&moment, boot, pieces.len() as u32);
        for cpu in &moment.window().cpus {
            cpus.insert(cpu.time.cpu);
            if cpus.len() > limits.cpu_cells {
                cpus.pop_last();
            }
        }
        pieces.push(Piece { goes_on, cpus: moment.window().cpus.len() });
    }
    let slots = layout(&pieces, limits);
    let chosen = weights.choose(&slots, limits);
    let left_out = [
        weights.rows.others(chosen.rows.len()),
        weights.groups.others(chosen.groups.len()),
        weights.threads.others(chosen.threads.len()),
    ];
    drop(weights);
    let last = slots.last().map_or(1, |&slot| slot as usize + 1);
    let cpus = cpus.into_iter().take(limits.cpus(last)).collect();
    let mut filling = Filling::new(columns(), slots, chosen, cpus, limits);
    let mut boots = Boots::default();
    let mut windows = Windows::from_recording(second, when)?;
    while filling.wants_more() && windows.advance()? {
        filling.gaps(windows.gaps());
        let Some(moment) = Recorded::at(windows.replay()) else { continue };
        let (boot, goes_on) = boots.enter(&moment);
        filling.take(&moment, boot, goes_on);
    }
    if !filling.wants_more() {
        // Time after the last window.
        windows.advance()?;
    }
    filling.gaps(windows.gaps());
    let mut document = filling.finish();
    [document.rows_left_out, document.groups_left_out, document.threads_left_out] = left_out;
    Ok(document)
}

/// Numbers of boots. On a page, a boot that returns later is another one.
#[derive(Debug, Default)]
struct Boots {
    last: Option<String>,
    number: u32,
    until_ns: Option<u64>,
}

impl Boots {
    /// Enters a window: returns the number of its boot, and whether it begins where the last one
    /// ended.
    fn enter(&mut self, moment: &dyn Moment) -> (u32, bool) {
        let boot_id = moment.machine().map(|machine| &machine.boot_id);
        if boot_id != self.last.as_ref() {
            self.number += u32::from(self.last.is_some());
            self.last = boot_id.cloned();
            self.until_ns = None;
        }
        let window = moment.window();
        let goes_on = self.until_ns == Some(window.t0_ns);
        self.until_ns = Some(window.t1_ns);
        (self.number, goes_on)
    }
}

/// Adds the weights of all rows in window number `at`.
pub(crate) fn survey(weights: &mut Weights, moment: &dyn Moment, boot: u32, at: u32) {
    let (window, book) = (moment.window(), moment.book());
    let length_ns = window.length_ns();
    let frame = Frame::new(window, book, &FrameOptions::default());
    for row in frame.rows.iter().chain(&frame.exited) {
        weights.add(EntityId::from_row(row, boot, book), wanted_ns(&row.delta), at, length_ns);
    }
    for task in waiting_alone(moment, &frame) {
        let who = EntityId::of_task(&task.sample, boot, book);
        weights.add(who, wanted_ns(&task.delta), at, length_ns);
    }
}

/// Tasks that waited for a CPU during a whole window and are in no row of its frame, because no
/// task of their processes had an event.
pub(crate) fn waiting_alone(moment: &dyn Moment, frame: &Frame) -> Vec<TaskDelta> {
    let mut waiting = moment.book().waited_throughout(moment.window());
    if !waiting.is_empty() {
        let told: FxHashSet<u32> = frame.rows.iter().map(|row| row.key.tgid).collect();
        waiting.retain(|task| !told.contains(&task.sample.key.tgid));
    }
    waiting
}
