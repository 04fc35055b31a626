//! The bytes of a recording file, frame by frame.

use crate::about::{Machine, RecordingInfo, FILE_MAGIC};
use crate::bounds::Payload;
use crate::encode::Encoder;
use crate::error::FrameError;
use crate::frame::{FrameBuilder, FrameKind, FramePosition, Span};
use crate::gap::GapRecord;
use crate::rows::{DetailKey, Facts, PageData};
use exactop_model::Snapshot;

/// Payload without tables.
fn plain(bytes: Vec<u8>) -> Payload {
    Payload { bytes, cells: 0 }
}

/// Encodes the frames of a file; the caller writes each returned buffer with one write.
#[derive(Debug)]
pub(crate) struct FileBytes {
    encoder: Encoder,
    place: FramePosition,
    frames: FrameBuilder,
}

impl FileBytes {
    /// Starts a file; returns its first bytes.
    pub fn begin(
        machine: &Machine,
        session: u64,
        anonymous: bool,
    ) -> Result<(FileBytes, Vec<u8>), FrameError> {
        let mut drawn = [0; 4];
        // Without random numbers the mark is predictable: one protection fewer.
        let _ = rustix::rand::getrandom(&mut drawn, rustix::rand::GetRandomFlags::empty());
        let mark = u32::from_le_bytes(drawn);
        let about = RecordingInfo::new(machine, session, mark, anonymous);
        let json = plain(serde_json::to_vec(&about).map_err(|_| FrameError::TooMuch)?);
        let place = FramePosition { mark, number: 0 };
        let (encoder, frames) = (Encoder::default(), FrameBuilder::default());
        let mut bytes = FileBytes { encoder, place, frames };
        let mut begin = FILE_MAGIC.to_vec();
        begin.extend(bytes.frame(FrameKind::Header, Span::default(), &json)?);
        Ok((bytes, begin))
    }

    /// Resumes a file after its last frame, to seal it.
    pub fn resume(mark: u32, last: u32) -> FileBytes {
        let place = FramePosition { mark, number: last.wrapping_add(1) };
        FileBytes { encoder: Encoder::default(), place, frames: FrameBuilder::default() }
    }

    /// Returns the encoder with its lasting details, for the next file.
    pub fn known(self) -> Encoder {
        self.encoder
    }

    /// Takes over an encoder; the first keyframe includes its lasting details.
    pub fn know(&mut self, known: Encoder) {
        self.encoder = known;
    }

    /// True if a keyframe is due.
    pub fn is_long(&self) -> bool {
        self.encoder.is_long()
    }

    fn frame(
        &mut self,
        kind: FrameKind,
        span: Span,
        payload: &Payload,
    ) -> Result<Vec<u8>, FrameError> {
        let frame = self.frames.build(kind, self.place, span, payload)?;
        self.place.number = self.place.number.wrapping_add(1);
        Ok(frame)
    }

    /// Frame of all tasks at `span.t1_ns`.
    pub fn keyframe(&mut self, span: Span, whole: &Snapshot) -> Result<Vec<u8>, FrameError> {
        let payload = self.encoder.keyframe(whole)?;
        self.frame(FrameKind::Keyframe, span, &payload)
    }

    pub fn window(&mut self, span: Span, now: &Snapshot) -> Result<Vec<u8>, FrameError> {
        let payload = self.encoder.window(now)?;
        self.frame(FrameKind::Window, span, &payload)
    }

    /// Frame of a window's details and of what was measured on demand.
    pub fn details(
        &mut self,
        span: Span,
        facts: impl IntoIterator<Item = (DetailKey, Facts)>,
        page: &PageData,
    ) -> Result<Vec<u8>, FrameError> {
        let payload = self.encoder.details(facts, page)?;
        self.frame(FrameKind::Details, span, &payload)
    }

    /// Frame that says why the time before the next keyframe is missing.
    pub fn gap(&mut self, span: Span, stated: GapRecord) -> Result<Vec<u8>, FrameError> {
        self.frame(FrameKind::Gap, span, &plain(stated.payload()))
    }

    /// Frame that ends the file.
    pub fn seal(&mut self, span: Span) -> Result<Vec<u8>, FrameError> {
        self.frame(FrameKind::Seal, span, &plain(b"{}".to_vec()))
    }
}
