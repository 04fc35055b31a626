//! A stretch that is read twice: who matters is known once all is read, and figures are kept of these
//! alone, so that a week of windows takes no more memory than an hour.

mod filling;
mod names;

use crate::columns::columns;
use crate::document::Document;
use crate::entities::{choose, Weight, Who};
use crate::moment::{Moment, Recorded};
use crate::slots::{layout, Limits, Piece};
use exactop_model::{Counters, Frame, FrameOptions};
use exactop_recording::{Recording, RecordingError, When, Windows};
pub(crate) use filling::Filling;
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
    let (mut boots, mut pieces) = (Boots::default(), Vec::new());
    let mut weights = FxHashMap::default();
    let mut windows = Windows::of(first, when)?;
    while windows.advance()? {
        let Some(moment) = Recorded::at(windows.replay()) else { continue };
        let (boot, goes_on) = boots.enter(&moment);
        survey(&mut weights, &moment, boot, pieces.len() as u32);
        pieces.push(Piece { goes_on, cpus: moment.window().cpus.len() });
    }
    let slots = layout(&pieces, limits);
    // All others together are a row that lives all the time.
    let others = slots.last().map_or(1, |&slot| slot as usize + 1);
    let room = limits.row_cells.saturating_sub(others);
    let chosen = choose(&weights, &slots, room);
    let mut filling = Filling::new(columns(), slots, chosen);
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
pub(crate) fn survey(
    weights: &mut FxHashMap<Who, Weight>,
    moment: &dyn Moment,
    boot: u32,
    at: u32,
) {
    let (window, book) = (moment.window(), moment.book());
    let mut add = |who: Who, delta: &Counters| {
        let weight = weights.entry(who).or_insert_with(|| Weight::from(at));
        weight.add(delta, at, window.length_ns());
    };
    let frame = Frame::new(window, book, &FrameOptions::default());
    for row in frame.rows.iter().chain(&frame.exited) {
        add(Who::of(row, boot, book), &row.delta);
    }
    for task in book.waited_throughout(window) {
        add(Who::of_task(&task.sample, boot, book), &task.delta);
    }
}
