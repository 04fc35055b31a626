//! A stretch that is read twice: who matters is known once all is read, and figures are kept of these
//! alone, so that a week of windows takes no more memory than an hour.

mod filling;
mod names;

use crate::columns::columns;
use crate::document::Document;
use crate::entities::{choose, Weights, Who};
use crate::moment::{Moment, Recorded};
use crate::slots::{layout, Limits, Piece};
use exactop_model::window::TaskDelta;
use exactop_model::{Frame, FrameOptions};
use exactop_recording::{Recording, RecordingError, When, Windows};
pub(crate) use filling::{key, Filling};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// Reads a stretch of a recording, which is given twice, opened at the same time.
///
/// # Errors
/// [`RecordingError`]: a file cannot be read.
pub fn read(
    recordings: [Recording; 2],
    when: When,
    limits: &Limits,
) -> Result<Document, RecordingError> {
    let [first, second] = recordings;
    let (mut boots, mut pieces) = (Boots::default(), Vec::new());
    let (mut weights, mut cpus) = (Weights::new(limits.weighed), BTreeSet::new());
    let mut windows = Windows::of(first, when)?;
    while windows.advance()? {
        let Some(moment) = Recorded::at(windows.replay()) else { continue };
        let (boot, goes_on) = boots.enter(&moment);
        survey(&mut weights, &moment, boot, pieces.len() as u32);
        for cpu in &moment.window().cpus {
            cpus.insert(cpu.time.cpu);
            if cpus.len() > limits.cpu_cells {
                cpus.pop_last();
            }
        }
        pieces.push(Piece { goes_on, cpus: moment.window().cpus.len() });
    }
    let slots = layout(&pieces, limits);
    // All others together are a row that lives all the time.
    let others = slots.last().map_or(1, |&slot| slot as usize + 1);
    let room = limits.row_cells.saturating_sub(others);
    let chosen = choose(&weights, &slots, room, limits.rows);
    let left_out = weights.others(chosen.len());
    drop(weights);
    let cpus = cpus.into_iter().take(limits.cpus(others)).collect();
    let mut filling = Filling::new(columns(), slots, chosen, cpus, limits);
    let mut boots = Boots::default();
    let mut windows = Windows::of(second, when)?;
    while filling.wants_more() && windows.advance()? {
        filling.gaps(windows.gaps());
        let Some(moment) = Recorded::at(windows.replay()) else { continue };
        let (boot, goes_on) = boots.enter(&moment);
        filling.take(&moment, boot, goes_on);
    }
    if !filling.wants_more() {
        // What lies behind the last window.
        windows.advance()?;
    }
    filling.gaps(windows.gaps());
    let mut document = filling.finish();
    document.rows_left_out = left_out;
    Ok(document)
}

/// Numbers of boots: one that comes again later is another one, as far as a page goes.
#[derive(Debug, Default)]
struct Boots {
    last: Option<String>,
    number: u32,
    until_ns: Option<u64>,
}

impl Boots {
    /// Goes on to a window: which boot it is of, and whether it goes on where the last one ended.
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

/// Adds what speaks for everyone in a window, of which this is the number.
pub(crate) fn survey(weights: &mut Weights, moment: &dyn Moment, boot: u32, at: u32) {
    let (window, book) = (moment.window(), moment.book());
    let length_ns = window.length_ns();
    let frame = Frame::new(window, book, &FrameOptions::default());
    for row in frame.rows.iter().chain(&frame.exited) {
        weights.add(Who::of(row, boot, book), &row.delta, at, length_ns);
    }
    for task in waiting_alone(moment, &frame) {
        weights.add(Who::of_task(&task.sample, boot, book), &task.delta, at, length_ns);
    }
}

/// Tasks that waited for a CPU all through a window and are in no row of its frame: nothing happened to any
/// task of their processes.
pub(crate) fn waiting_alone(moment: &dyn Moment, frame: &Frame) -> Vec<TaskDelta> {
    let mut waiting = moment.book().waited_throughout(moment.window());
    if !waiting.is_empty() {
        let told: FxHashSet<u32> = frame.rows.iter().map(|row| row.key.tgid).collect();
        waiting.retain(|task| !told.contains(&task.sample.key.tgid));
    }
    waiting
}
