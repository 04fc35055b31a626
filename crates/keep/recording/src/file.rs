//! The bytes of a recording file, frame by frame.

use crate::about::{About, Machine, FILE_MAGIC};
use crate::bounds::Payload;
use crate::encode::Encoder;
use crate::error::Bad;
use crate::frame::{build, Kind, Place, Span};
use crate::gap::Stated;
use crate::rows::{DetailKey, Facts, Looked};
use exactop_model::Snapshot;

/// Payload without tables.
fn plain(bytes: Vec<u8>) -> Payload {
    Payload { bytes, cells: 0 }
}

/// Encodes the frames of a file; the caller writes each returned buffer with one write.
#[derive(Debug)]
pub(crate) struct FileBytes {
    encoder: Encoder,
    place: Place,
}

impl FileBytes {
    /// Starts a file; returns its first bytes.
    pub fn begin(
        machine: &Machine,
        session: u64,
        anonymous: bool,
    ) -> Result<(FileBytes, Vec<u8>), Bad> {
        let mut drawn = [0; 4];
        // Without random numbers the mark is predictable: one protection fewer.
        let _ = rustix::rand::getrandom(&mut drawn, rustix::rand::GetRandomFlags::empty());
        let mark = u32::from_le_bytes(drawn);
        let about = About::new(machine, session, mark, anonymous);
        let json = plain(serde_json::to_vec(&about).map_err(|_| Bad::TooMuch)?);
        let place = Place { mark, number: 0 };
        let mut bytes = FileBytes { encoder: Encoder::default(), place };
        let mut begin = FILE_MAGIC.to_vec();
        begin.extend(bytes.frame(Kind::Header, Span::default(), &json)?);
        Ok((bytes, begin))
    }

    /// Resumes a file after its last frame, to seal it.
    pub fn resume(mark: u32, last: u32) -> FileBytes {
        let place = Place { mark, number: last.wrapping_add(1) };
        FileBytes { encoder: Encoder::default(), place }
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

    fn frame(&mut self, kind: Kind, span: Span, payload: &Payload) -> Result<Vec<u8>, Bad> {
        let frame = build(kind, self.place, span, payload)?;
        self.place.number = self.place.number.wrapping_add(1);
        Ok(frame)
    }

    /// Frame of all tasks at `span.t1_ns`.
    pub fn keyframe(&mut self, span: Span, whole: &Snapshot) -> Result<Vec<u8>, Bad> {
        let payload = self.encoder.keyframe(whole)?;
        self.frame(Kind::Keyframe, span, &payload)
    }

    /// Frame of a window.
    pub fn window(&mut self, span: Span, now: &Snapshot) -> Result<Vec<u8>, Bad> {
        let payload = self.encoder.window(now)?;
        self.frame(Kind::Window, span, &payload)
    }

    /// Frame of a window's details and of what was measured on demand.
    pub fn details(
        &mut self,
        span: Span,
        facts: impl IntoIterator<Item = (DetailKey, Facts)>,
        looked: &Looked,
    ) -> Result<Vec<u8>, Bad> {
        let payload = self.encoder.details(facts, looked)?;
        self.frame(Kind::Details, span, &payload)
    }

    /// Frame that says why the time before the next keyframe is missing.
    pub fn gap(&mut self, span: Span, stated: Stated) -> Result<Vec<u8>, Bad> {
        self.frame(Kind::Gap, span, &plain(stated.payload()))
    }

    /// Frame that ends the file.
    pub fn seal(&mut self, span: Span) -> Result<Vec<u8>, Bad> {
        self.frame(Kind::Seal, span, &plain(b"{}".to_vec()))
    }
}
