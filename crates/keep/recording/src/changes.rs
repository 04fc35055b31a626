//! Finds spikes: windows whose CPU use differs far from the window before. The search reads only
//! the table of CPUs, so it is cheap.

use crate::decode::Decoder;
use crate::error::RecordingError;
use crate::frame::FrameKind;
use crate::index::{FrameAt, IndexedWindow};
use crate::segment::{FrameSlot, Segment};
use exactop_model::CpuSample;

/// Smallest step that counts as a spike, in CPUs.
const CPUS: f64 = 0.5;
/// Smallest step that counts as a spike, as a share of the lower of the two values.
const SHARE: f64 = 0.5;

/// True if the step from `before` to `now` (CPUs in use) is a spike.
pub(crate) fn is_spike(before: f64, now: f64) -> bool {
    let step = (now - before).abs();
    step >= CPUS && step >= SHARE * before.min(now)
}

/// CPUs in use in each of these windows of one file; `None` for a window that cannot be read.
pub(crate) fn busy(
    segment: &Segment,
    windows: &[IndexedWindow],
) -> Result<Vec<Option<f64>>, RecordingError> {
    let mut meter = Meter {
        segment,
        decoder: Decoder::new(&segment.about().tables),
        keyframe: None,
        last: None,
    };
    windows.iter().map(|window| meter.window(window)).collect()
}

struct Meter<'a> {
    segment: &'a Segment,
    decoder: Decoder,
    keyframe: Option<FrameAt>,
    last: Option<Vec<CpuSample>>,
}

impl Meter<'_> {
    fn window(&mut self, window: &IndexedWindow) -> Result<Option<f64>, RecordingError> {
        if self.keyframe != Some(window.keyframe) {
            self.keyframe = Some(window.keyframe);
            self.last = self.cpus(window.keyframe.at, FrameKind::Keyframe)?;
        }
        // After an unreadable window, nothing can be decoded until the next keyframe.
        let Some(before) = self.last.take() else { return Ok(None) };
        self.last = self.cpus(window.at.at, FrameKind::Window)?;
        let length_ns = window.span.t1_ns.saturating_sub(window.span.t0_ns);
        let Some(now) = self.last.as_ref().filter(|_| length_ns > 0) else { return Ok(None) };
        let used = |cpu: &CpuSample| cpu.task_ns.wrapping_add(cpu.unnamed_ns);
        let since = |now: &CpuSample| {
            let then = before.iter().find(|then| then.cpu == now.cpu)?;
            used(now).checked_sub(used(then))
        };
        let all: u64 = now.iter().filter_map(since).sum();
        Ok(Some(all as f64 / length_ns as f64))
    }

    fn cpus(&mut self, at: u64, kind: FrameKind) -> Result<Option<Vec<CpuSample>>, RecordingError> {
        let FrameSlot::Frame(header) = self.segment.find(at)? else { return Ok(None) };
        let payload = self.segment.payload(&header, at).filter(|_| header.kind == kind);
        Ok(payload
            .and_then(|payload| self.decoder.cpus(&payload, kind == FrameKind::Keyframe).ok()))
    }
}
