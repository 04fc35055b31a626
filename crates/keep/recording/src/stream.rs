//! A recording as a stream: the bytes of a file, sent as windows end.
//!
//! One sender serves many receivers with the same bytes. A receiver that connects later gets the
//! file's beginning and continues from the next keyframe. The sender can also send a message or an
//! answer to one receiver, as frames that belong to no file.

use crate::about::{Form, Machine, RecordingInfo, FILE_MAGIC, FORMAT};
use crate::bounds::{Payload, LONGEST_HEADER};
use crate::decode::Decoder;
use crate::error::FrameError;
use crate::file::FileBytes;
use crate::frame::{
    FrameBuilder, FrameHeader, FrameKind, FramePosition, Span, HEADER, LONGEST, TRAILER,
};
use exactop_model::Snapshot;

/// Longest answer, bytes of JSON.
pub const LONGEST_ANSWER: usize = LONGEST as usize;

/// Encodes the stream.
#[derive(Debug)]
pub struct Outgoing {
    bytes: FileBytes,
    begin: Vec<u8>,
}

impl Outgoing {
    /// Starts a stream of this machine; `at_ns` is its first instant (CLOCK_MONOTONIC ns).
    ///
    /// # Errors
    /// [`FrameError`]: the machine's description exceeds a limit.
    pub fn begin(machine: &Machine, at_ns: u64) -> Result<Outgoing, FrameError> {
        let (bytes, begin) = FileBytes::begin(machine, at_ns, false)?;
        Ok(Outgoing { bytes, begin })
    }

    /// The first bytes for every receiver.
    pub fn beginning(&self) -> &[u8] {
        &self.begin
    }

    /// Encodes all tasks, for new receivers; the others know them already.
    ///
    /// # Errors
    /// [`FrameError`]: the snapshot exceeds a limit.
    pub fn keyframe(
        &mut self,
        whole: &Snapshot,
        wall_offset_ns: i64,
    ) -> Result<Vec<u8>, FrameError> {
        let (t0_ns, t1_ns) = (whole.at_ns, whole.at_ns);
        self.bytes.keyframe(Span { t0_ns, t1_ns, wall_offset_ns }, whole)
    }

    /// True if a keyframe is due because of the texts since the last. A keyframe empties the memory
    /// of both ends.
    pub fn is_long(&self) -> bool {
        self.bytes.is_long()
    }

    /// Encodes what changed since `t0_ns`.
    ///
    /// # Errors
    /// [`FrameError`]: the window exceeds a limit.
    pub fn window(
        &mut self,
        t0_ns: u64,
        now: &Snapshot,
        wall_offset_ns: i64,
    ) -> Result<Vec<u8>, FrameError> {
        self.bytes.window(Span { t0_ns, t1_ns: now.at_ns, wall_offset_ns }, now)
    }
}

/// Encodes a message to one receiver.
///
/// # Errors
/// [`FrameError`]: the message exceeds a limit.
pub fn word(text: &str) -> Result<Vec<u8>, FrameError> {
    let payload = Payload { bytes: text.as_bytes().to_vec(), cells: 0 };
    FrameBuilder::default().build(
        FrameKind::Word,
        FramePosition::default(),
        Span::default(),
        &payload,
    )
}

/// Encodes an answer (JSON) to one receiver.
///
/// # Errors
/// [`FrameError`]: the answer exceeds a limit.
pub fn answer(json: Vec<u8>) -> Result<Vec<u8>, FrameError> {
    let payload = Payload { bytes: json, cells: 0 };
    FrameBuilder::default().build(
        FrameKind::Answer,
        FramePosition::default(),
        Span::default(),
        &payload,
    )
}

/// A received item.
#[derive(Clone, Debug)]
pub enum StreamItem {
    /// Machine and schema of the stream.
    Machine(Box<RecordingInfo>),
    /// All tasks at an instant. Only the first is new to the receiver.
    Whole(Box<Snapshot>),
    /// Changes up to `span.t1_ns`.
    Window(Span, Box<Snapshot>),
    /// A message.
    Word(String),
    /// An answer, as JSON.
    Answer(Vec<u8>),
}

/// Why a stream cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The stream does not begin with the magic bytes of a recording.
    #[error("its first bytes are not those of a recording")]
    NotARecording,
    /// A later version wrote the stream, in a format that is unknown here.
    #[error("its format is {found}, and this exactop reads up to {known}: use exactop {version}")]
    Later {
        /// Format of the stream.
        found: u32,
        /// Latest format known here.
        known: u32,
        /// Version of exactop that wrote the stream.
        version: String,
    },
    /// The header cannot be read.
    #[error("its header is damaged: {0}")]
    Header(String),
    /// A frame is damaged, or not the next one.
    #[error("a frame is damaged")]
    Damaged,
    /// A frame is whole, but its content is invalid.
    #[error("a frame is invalid: {0}")]
    Bad(#[from] FrameError),
}

/// Decodes a stream as its bytes arrive.
#[derive(Debug, Default)]
pub struct Incoming {
    bytes: Vec<u8>,
    /// Bytes of `bytes` that were decoded.
    read: usize,
    stream: Option<(u32, Decoder)>,
    /// Number of the next frame; `None` before the first keyframe.
    expected: Option<u32>,
}

impl Incoming {
    /// Creates an empty decoder.
    pub fn new() -> Incoming {
        Incoming::default()
    }

    /// Adds received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.read);
        self.read = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Decodes the next item; `None` if more bytes are needed.
    ///
    /// # Errors
    /// [`StreamError`]: nothing after it can be decoded.
    pub fn next_item(&mut self) -> Result<Option<StreamItem>, StreamError> {
        loop {
            let begins = self.stream.is_none() && !self.is_beside();
            let magic = if begins { FILE_MAGIC.len() } else { 0 };
            let rest = &self.bytes[self.read..];
            if begins && !FILE_MAGIC.starts_with(&rest[..rest.len().min(magic)]) {
                return Err(StreamError::NotARecording);
            }
            let Some(start) = rest.get(magic..magic + HEADER) else { return Ok(None) };
            let header = FrameHeader::parse(start).ok_or(StreamError::Damaged)?;
            if begins && (header.kind != FrameKind::Header || header.stored() > LONGEST_HEADER) {
                return Err(StreamError::NotARecording);
            }
            let end = magic + usize::try_from(header.length()).map_err(|_| StreamError::Damaged)?;
            let Some(frame) = rest.get(magic + HEADER..end - TRAILER) else { return Ok(None) };
            if rest.len() < end {
                return Ok(None);
            }
            if !header.is_payload(frame) {
                return Err(StreamError::Damaged);
            }
            let payload = header.payload(frame.to_vec())?;
            self.read += end;
            if let Some(heard) = self.hear(&header, &payload)? {
                return Ok(Some(heard));
            }
        }
    }

    /// A refusal or an answer may come before any stream.
    fn is_beside(&self) -> bool {
        let header = self.bytes.get(self.read..self.read + HEADER).and_then(FrameHeader::parse);
        header.is_some_and(|header| matches!(header.kind, FrameKind::Word | FrameKind::Answer))
    }

    fn hear(
        &mut self,
        header: &FrameHeader,
        payload: &Payload,
    ) -> Result<Option<StreamItem>, StreamError> {
        if header.kind == FrameKind::Word {
            return Ok(Some(StreamItem::Word(
                String::from_utf8_lossy(&payload.bytes).into_owned(),
            )));
        }
        if header.kind == FrameKind::Answer {
            return Ok(Some(StreamItem::Answer(payload.bytes.clone())));
        }
        let Some((mark, decoder)) = &mut self.stream else {
            let about = about(&payload.bytes)?;
            self.stream = Some((about.mark, Decoder::new(&about.tables)));
            return Ok(Some(StreamItem::Machine(Box::new(about))));
        };
        if header.mark != *mark || self.expected.is_some_and(|n| n != header.number) {
            return Err(StreamError::Damaged);
        }
        let heard = match header.kind {
            FrameKind::Keyframe => Some(StreamItem::Whole(Box::new(decoder.keyframe(payload)?))),
            // The instant that the window starts from was not received.
            FrameKind::Window if self.expected.is_none() => return Ok(None),
            FrameKind::Window => {
                Some(StreamItem::Window(header.span(), Box::new(decoder.window(payload)?)))
            }
            // Kinds that a later version may send.
            _ => None,
        };
        if self.expected.is_some() || header.kind == FrameKind::Keyframe {
            self.expected = Some(header.number.wrapping_add(1));
        }
        Ok(heard)
    }
}

fn about(payload: &[u8]) -> Result<RecordingInfo, StreamError> {
    let invalid = |error: serde_json::Error| StreamError::Header(error.to_string());
    let form: Form = serde_json::from_slice(payload).map_err(invalid)?;
    if form.format > FORMAT {
        let (found, version) = (form.format, form.exactop);
        return Err(StreamError::Later { found, known: FORMAT, version });
    }
    serde_json::from_slice(payload).map_err(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::machine;
    use exactop_model::{Ident, SourceKind, TaskKey};
    use exactop_testkit::samples;

    /// A stream of a few windows with keyframes between, and its bytes.
    fn sent() -> (Vec<Snapshot>, Vec<u8>) {
        let mut out = Outgoing::begin(&machine(), 1).unwrap();
        let mut bytes = out.beginning().to_vec();
        let snapshots: Vec<Snapshot> = (1..6).map(|n| snapshot(n * 1_000)).collect();
        bytes.extend(out.keyframe(&snapshots[0], 7).unwrap());
        for (n, pair) in snapshots.windows(2).enumerate() {
            if n == 2 {
                bytes.extend(out.keyframe(&pair[0], 7).unwrap());
            }
            bytes.extend(out.window(pair[0].at_ns, &pair[1], 7).unwrap());
        }
        (snapshots, bytes)
    }

    fn snapshot(at_ns: u64) -> Snapshot {
        let key = TaskKey { tgid: 5, tid: 5, start_ns: at_ns };
        let tasks = vec![samples::task(at_ns, key, Ident::default())];
        Snapshot { tasks, ..samples::snapshot(SourceKind::Ledger, at_ns) }
    }

    fn heard(incoming: &mut Incoming) -> Vec<StreamItem> {
        std::iter::from_fn(|| incoming.next_item().unwrap()).collect()
    }

    #[test]
    fn a_stream_in_any_pieces_yields_the_sent_snapshots() {
        let (snapshots, bytes) = sent();
        for size in [1, 7, 56, 1000, bytes.len()] {
            let mut incoming = Incoming::new();
            let mut all = Vec::new();
            for piece in bytes.chunks(size) {
                incoming.push(piece);
                all.extend(heard(&mut incoming));
            }
            assert!(matches!(&all[0], StreamItem::Machine(about) if about.machine == machine()));
            assert!(matches!(&all[1], StreamItem::Whole(whole) if **whole == snapshots[0]));
            let windows = all.iter().filter_map(|heard| match heard {
                StreamItem::Window(span, now) => Some((span.t0_ns, now)),
                _ => None,
            });
            let windows: Vec<_> = windows.collect();
            assert_eq!(windows.len(), 4);
            for (pair, (t0_ns, now)) in snapshots.windows(2).zip(windows) {
                assert_eq!((pair[0].at_ns, &pair[1]), (t0_ns, &**now));
            }
        }
    }

    #[test]
    fn a_late_receiver_begins_with_the_next_keyframe() {
        let (snapshots, _) = sent();
        let mut out = Outgoing::begin(&machine(), 1).unwrap();
        out.keyframe(&snapshots[0], 0).unwrap();
        let unseen = out.window(1, &snapshots[1], 0).unwrap();
        let mut incoming = Incoming::new();
        incoming.push(out.beginning());
        incoming.push(&unseen);
        incoming.push(&out.keyframe(&snapshots[1], 0).unwrap());
        incoming.push(&out.window(snapshots[1].at_ns, &snapshots[2], 0).unwrap());
        let all = heard(&mut incoming);
        assert_eq!(all.len(), 3, "{all:?}");
        assert!(matches!(&all[1], StreamItem::Whole(whole) if **whole == snapshots[1]));
        assert!(matches!(&all[2], StreamItem::Window(_, now) if **now == snapshots[2]));
    }

    #[test]
    fn a_missing_or_foreign_frame_is_refused() {
        let (snapshots, _) = sent();
        let mut out = Outgoing::begin(&machine(), 1).unwrap();
        let mut other = Outgoing::begin(&machine(), 1).unwrap();
        let key = out.keyframe(&snapshots[0], 0).unwrap();
        out.window(1_000, &snapshots[1], 0).unwrap();
        let next = out.window(2_000, &snapshots[2], 0).unwrap();
        let foreign = other.keyframe(&snapshots[0], 0).unwrap();
        for wrong in [&next, &foreign] {
            let mut incoming = Incoming::new();
            incoming.push(out.beginning());
            incoming.push(&key);
            heard(&mut incoming);
            incoming.push(wrong);
            assert_eq!(incoming.next_item().unwrap_err(), StreamError::Damaged);
        }
    }

    #[test]
    fn a_message_is_received_before_a_stream_and_within_it() {
        let (_, bytes) = sent();
        let mut incoming = Incoming::new();
        incoming.push(&word("no").unwrap());
        assert!(
            matches!(incoming.next_item().unwrap(), Some(StreamItem::Word(text)) if text == "no")
        );
        incoming.push(&bytes);
        assert_eq!(heard(&mut incoming).len(), 7);
        incoming.push(&answer(b"{}".to_vec()).unwrap());
        assert!(
            matches!(incoming.next_item().unwrap(), Some(StreamItem::Answer(json)) if json == b"{}")
        );
        incoming.push(&word("that was all").unwrap());
        assert!(matches!(incoming.next_item().unwrap(), Some(StreamItem::Word(_))));
    }

    #[test]
    fn damage_at_any_byte_is_refused_or_waits_for_more() {
        let (snapshots, bytes) = sent();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x41;
            let mut incoming = Incoming::new();
            incoming.push(&damaged);
            while let Ok(Some(heard)) = incoming.next_item() {
                if let StreamItem::Whole(now) | StreamItem::Window(_, now) = heard {
                    assert!(snapshots.contains(&now), "byte {at}");
                }
            }
        }
    }

    #[test]
    fn a_foreign_or_later_stream_is_refused() {
        let mut incoming = Incoming::new();
        incoming.push(b"HTTP/1.1 400");
        assert_eq!(incoming.next_item().unwrap_err(), StreamError::NotARecording);
        let later = br#"{"format":2,"exactop":"9.0"}"#;
        let payload = Payload { bytes: later.to_vec(), cells: 0 };
        let position = FramePosition::default();
        let header = FrameBuilder::default()
            .build(FrameKind::Header, position, Span::default(), &payload)
            .unwrap();
        let mut incoming = Incoming::new();
        incoming.push(&[FILE_MAGIC.as_slice(), &header].concat());
        let refused = incoming.next_item().unwrap_err();
        assert!(matches!(&refused, StreamError::Later { version, .. } if version == "9.0"));
    }
}
