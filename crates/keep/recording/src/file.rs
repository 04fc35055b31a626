//! One file that is written: its bytes, frame by frame.

use crate::about::{About, Machine, FILE_MAGIC};
use crate::bounds::Payload;
use crate::encode::Encoder;
use crate::error::Bad;
use crate::frame::{build, Kind, Place, Span};
use crate::gap::Stated;
use crate::rows::{DetailKey, Facts, Looked};
use exactop_model::Snapshot;

/// What is no table.
fn plain(bytes: Vec<u8>) -> Payload {
    Payload { bytes, cells: 0 }
}

/// Makes the bytes of a file; whoever has it puts them somewhere, each piece with one write.
#[derive(Debug)]
pub(crate) struct FileBytes {
    encoder: Encoder,
    place: Place,
}

impl FileBytes {
    /// A file: what it begins with.
    pub fn begin(
        machine: &Machine,
        session: u64,
        anonymous: bool,
    ) -> Result<(FileBytes, Vec<u8>), Bad> {
        let mut drawn = [0; 4];
        // Without random numbers the mark is one that somebody could guess: a guard less.
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

    /// Goes on with a file whose last frame is known, to close it.
    pub fn resume(mark: u32, last: u32) -> FileBytes {
        let place = Place { mark, number: last.wrapping_add(1) };
        FileBytes { encoder: Encoder::default(), place }
    }

    /// What is known of who is there, for the file that comes next.
    pub fn known(self) -> Encoder {
        self.encoder
    }

    /// Goes on with what was known: its first keyframe tells it.
    pub fn know(&mut self, known: Encoder) {
        self.encoder = known;
    }

    /// Whether a keyframe should come next.
    pub fn is_long(&self) -> bool {
        self.encoder.is_long()
    }

    fn frame(&mut self, kind: Kind, span: Span, payload: &Payload) -> Result<Vec<u8>, Bad> {
        let frame = build(kind, self.place, span, payload)?;
        self.place.number = self.place.number.wrapping_add(1);
        Ok(frame)
    }

    /// Everyone at `span.t1_ns`.
    pub fn keyframe(&mut self, span: Span, whole: &Snapshot) -> Result<Vec<u8>, Bad> {
        let payload = self.encoder.keyframe(whole)?;
        self.frame(Kind::Keyframe, span, &payload)
    }

    /// A window.
    pub fn window(&mut self, span: Span, now: &Snapshot) -> Result<Vec<u8>, Bad> {
        let payload = self.encoder.window(now)?;
        self.frame(Kind::Window, span, &payload)
    }

    /// What was read for rows of it, and what was looked at beside.
    pub fn details(
        &mut self,
        span: Span,
        facts: impl IntoIterator<Item = (DetailKey, Facts)>,
        looked: &Looked,
    ) -> Result<Vec<u8>, Bad> {
        let payload = self.encoder.details(facts, looked)?;
        self.frame(Kind::Details, span, &payload)
    }

    /// Why the time before the next keyframe is not here.
    pub fn gap(&mut self, span: Span, stated: Stated) -> Result<Vec<u8>, Bad> {
        self.frame(Kind::Gap, span, &plain(stated.payload()))
    }

    /// The end.
    pub fn seal(&mut self, span: Span) -> Result<Vec<u8>, Bad> {
        self.frame(Kind::Seal, span, &plain(b"{}".to_vec()))
    }
}
