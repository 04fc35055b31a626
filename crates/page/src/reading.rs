//! A stretch that is read twice: who matters is known once all is read, and figures are kept of these
//! alone, so that a week of windows takes no more memory than an hour.

mod filling;
mod names;

use crate::columns::columns;
use crate::document::Document;
use crate::entities::{choose, Weight, Who};
use crate::slots::{layout, Limits, Piece};
use exactop_model::{Counters, Frame, FrameOptions};
use exactop_recording::{Recording, RecordingError, Replay, When, Windows};
use filling::Filling;
use rustc_hash::FxHashMap;

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
    let mut survey = Survey::default();
    let mut windows = Windows::of(first, when)?;
    while windows.advance()? {
        survey.window(&windows);
    }
    let slots = layout(&survey.pieces, limits);
    // All others together are a row that lives all the time.
    let others = slots.last().map_or(1, |&slot| slot as usize + 1);
    let room = limits.row_cells.saturating_sub(others);
    let chosen = choose(&survey.weights, &slots, room);
    let mut filling = Filling::new(columns(), slots, chosen);
    let mut windows = Windows::of(second, when)?;
    while filling.wants_more() && windows.advance()? {
        filling.window(&windows);
    }
    if !filling.wants_more() {
        // What lies behind the last window.
        windows.advance()?;
    }
    filling.gaps(windows.gaps());
    Ok(filling.finish(limits))
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
    fn enter(&mut self, replay: &Replay) -> (u32, bool) {
        let boot_id = replay.reader().machine().map(|machine| &machine.boot_id);
        if boot_id != self.last.as_ref() {
            self.number += u32::from(self.last.is_some());
            self.last = boot_id.cloned();
            self.until_ns = None;
        }
        let window = replay.window();
        let goes_on = self.until_ns.is_some() && self.until_ns == window.map(|window| window.t0_ns);
        self.until_ns = window.map(|window| window.t1_ns);
        (self.number, goes_on)
    }
}

/// What is known after the first reading.
#[derive(Default)]
struct Survey {
    boots: Boots,
    pieces: Vec<Piece>,
    weights: FxHashMap<Who, Weight>,
}

impl Survey {
    fn window(&mut self, windows: &Windows) {
        let replay = windows.replay();
        let Some(window) = replay.window() else { return };
        let (boot, goes_on) = self.boots.enter(replay);
        let at = self.pieces.len() as u32;
        let options = FrameOptions::default();
        let frame = Frame::new(window, replay.book(), &options);
        for row in frame.rows.iter().chain(&frame.exited) {
            let who = Who::of(row, boot, replay.book());
            self.add(who, &row.delta, at, window.length_ns());
        }
        for task in replay.book().waited_throughout(window) {
            let who = Who::of_task(&task.sample, boot, replay.book());
            self.add(who, &task.delta, at, window.length_ns());
        }
        self.pieces.push(Piece { goes_on, cpus: window.cpus.len() });
    }

    fn add(&mut self, who: Who, delta: &Counters, at: u32, length_ns: u64) {
        let weight = self.weights.entry(who).or_insert_with(|| Weight::from(at));
        weight.add(delta, at, length_ns);
    }
}
