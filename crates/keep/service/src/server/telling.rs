//! One story, and those who are told it: the same bytes for all of them, whoever comes when.

use super::readers::{Place, Reader};
use exactop_model::Snapshot;
use exactop_recording::stream::Outgoing;
use exactop_recording::{Bad, Machine};
use rustix::time::{clock_gettime, ClockId};
use std::sync::Arc;

/// What is told at the end of a window.
pub struct Told<'a> {
    /// When it began.
    pub t0_ns: u64,
    /// What changed in it.
    pub now: &'a Snapshot,
    /// Everyone at its end, for those who come now.
    pub whole: &'a dyn Fn() -> Option<Snapshot>,
}

/// The bytes of a story.
#[derive(Debug, Default)]
pub struct Telling {
    outgoing: Option<Outgoing>,
}

impl Telling {
    /// Tells these, of whom some may have asked for the first time.
    ///
    /// # Errors
    /// [`Bad`]: more than is read. What they have does not go on then.
    pub fn tell(
        &mut self,
        machine: &Machine,
        told: &Told,
        readers: &mut [&mut Reader],
    ) -> Result<(), Bad> {
        let Some(mut outgoing) = self.outgoing(machine, told.now.at_ns, readers)? else {
            return Ok(());
        };
        let wall_offset_ns = wall_offset_ns();
        if readers.iter().any(|reader| reader.place == Place::Follows) {
            let window = outgoing.window(told.t0_ns, told.now, wall_offset_ns)?;
            tell_all(readers, &window.into());
        }
        // Those who asked, and were not there when it began.
        let come = readers.iter().any(|reader| reader.is_due());
        if come {
            let beginning: Arc<[u8]> = outgoing.beginning().into();
            let come = readers.iter_mut().filter(|reader| reader.is_due());
            come.for_each(|reader| reader.follow(&beginning));
        }
        if come || outgoing.is_long() {
            if let Some(whole) = (told.whole)() {
                tell_all(readers, &outgoing.keyframe(&whole, wall_offset_ns)?.into());
            }
        }
        self.outgoing = Some(outgoing);
        Ok(())
    }

    /// The bytes so far; `None`: there is nobody to be told.
    fn outgoing(
        &mut self,
        machine: &Machine,
        at_ns: u64,
        readers: &[&mut Reader],
    ) -> Result<Option<Outgoing>, Bad> {
        let outgoing = self.outgoing.take();
        match readers.is_empty() {
            true => Ok(None),
            false => outgoing.map_or_else(|| Outgoing::begin(machine, at_ns), Ok).map(Some),
        }
    }
}

fn tell_all(readers: &mut [&mut Reader], bytes: &Arc<[u8]>) {
    let follow = readers.iter_mut().filter(|reader| reader.place == Place::Follows);
    follow.for_each(|reader| reader.tell(bytes));
}

/// What the wall clock is ahead of CLOCK_MONOTONIC.
fn wall_offset_ns() -> i64 {
    let wall = clock_gettime(ClockId::Realtime);
    let wall_ns = i128::from(wall.tv_sec) * 1_000_000_000 + i128::from(wall.tv_nsec);
    i64::try_from(wall_ns - i128::from(super::now_ns())).unwrap_or(i64::MAX)
}
