//! One stream for many readers: the same bytes for all of them, whenever they connect.

use super::readers::{Reader, ReaderStage};
use exactop_model::Snapshot;
use exactop_recording::stream::Outgoing;
use exactop_recording::{FrameError, Machine};
use rustix::time::{clock_gettime, ClockId};
use std::sync::Arc;

/// A window to send.
pub struct WindowEnd<'a> {
    /// Beginning of the window, CLOCK_MONOTONIC ns.
    pub t0_ns: u64,
    /// What changed in it.
    pub now: &'a Snapshot,
    /// All tasks at its end, for new readers.
    pub whole: &'a dyn Fn() -> Option<Snapshot>,
}

/// The encoder of a stream.
#[derive(Debug, Default)]
pub struct SnapshotStream {
    outgoing: Option<Outgoing>,
}

impl SnapshotStream {
    /// Sends a window to these readers; some may be new.
    ///
    /// # Errors
    /// [`FrameError`]: a snapshot exceeds a limit. The readers' streams cannot continue then.
    pub fn tell(
        &mut self,
        machine: &Machine,
        told: &WindowEnd,
        readers: &mut [&mut Reader],
    ) -> Result<(), FrameError> {
        let Some(mut outgoing) = self.outgoing(machine, told.now.at_ns, readers)? else {
            return Ok(());
        };
        let wall_offset_ns = wall_offset_ns();
        if readers.iter().any(|reader| reader.stage == ReaderStage::Follows) {
            let window = outgoing.window(told.t0_ns, told.now, wall_offset_ns)?;
            tell_all(readers, &window.into());
        }
        // New readers, which have requested windows.
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

    /// The encoder; `None` if there are no readers.
    fn outgoing(
        &mut self,
        machine: &Machine,
        at_ns: u64,
        readers: &[&mut Reader],
    ) -> Result<Option<Outgoing>, FrameError> {
        let outgoing = self.outgoing.take();
        match readers.is_empty() {
            true => Ok(None),
            false => outgoing.map_or_else(|| Outgoing::begin(machine, at_ns), Ok).map(Some),
        }
    }
}

fn tell_all(readers: &mut [&mut Reader], bytes: &Arc<[u8]>) {
    let follow = readers.iter_mut().filter(|reader| reader.stage == ReaderStage::Follows);
    follow.for_each(|reader| reader.tell(bytes));
}

/// Wall clock minus CLOCK_MONOTONIC, ns.
fn wall_offset_ns() -> i64 {
    let wall = clock_gettime(ClockId::Realtime);
    let wall_ns = i128::from(wall.tv_sec) * 1_000_000_000 + i128::from(wall.tv_nsec);
    i64::try_from(wall_ns - i128::from(super::now_ns())).unwrap_or(i64::MAX)
}
