//! Frames: the units of a file. The recorder writes each with one write; each can be checked alone.
//!
//! ```text
//! offset  0  magic "EXfr"             32  clock: wall minus monotonic, ns (signed)
//!         4  kind, flags, two zeros   40  length of the payload as it is in the file
//!         8  number in the file (u32) 44  length of the payload once decompressed
//!        12  mark of the file (u32)   48  CRC32C of the payload as it is in the file
//!        16  t0, CLOCK_MONOTONIC ns   52  CRC32C of the 52 bytes before
//!        24  t1                       56  payload, then the length of all of it again (u32)
//! ```
//!
//! Numbers are little-endian. The length at the end lets a reader go backwards from the end of a
//! file. The mark is random for each file: a name or command line that imitates a frame has another
//! mark.

use crate::bounds::{expanded, Payload, LONGEST_HEADER};
use crate::error::FrameError;

/// First bytes of every frame.
pub(crate) const MAGIC: [u8; 4] = *b"EXfr";
/// Bytes of the header, before the payload.
pub(crate) const HEADER: usize = 56;
/// Bytes of the trailer, after the payload.
pub(crate) const TRAILER: usize = 4;
/// Longest payload, bytes, compressed or not.
pub(crate) const LONGEST: u32 = 64 << 20;
/// Flag: the payload is compressed with zstd.
const COMPRESSED: u8 = 1;
/// Shortest payload that is compressed, bytes.
const WORTH_IT: usize = 128;
/// Compression level of zstd.
const LEVEL: i32 = 3;
/// Longest payload for which the context of zstd is kept, bytes. A context takes some 200 KiB for it,
/// and much more for a longer one, whose compression takes longer than making a context.
const REUSED: usize = 16 << 10;

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameKind {
    /// Description of the file in JSON, never compressed. The first frame.
    Header,
    /// All tasks at one instant; decoding can start here.
    Keyframe,
    /// Changes up to the window's end.
    Window,
    /// Names, command lines and memory that were read for rows of the window before.
    Details,
    /// Missing time and its reason.
    Gap,
    /// End of a file that was closed properly.
    Seal,
    /// Message to one reader of a stream; in no file.
    Word,
    /// Answer to a request of one reader of a stream, as JSON; in no file.
    Answer,
    /// Kind of a later version.
    Unknown(u8),
}

impl FrameKind {
    const fn number(self) -> u8 {
        match self {
            FrameKind::Header => 1,
            FrameKind::Keyframe => 2,
            FrameKind::Window => 3,
            FrameKind::Details => 4,
            FrameKind::Gap => 5,
            FrameKind::Seal => 6,
            FrameKind::Word => 7,
            FrameKind::Answer => 8,
            FrameKind::Unknown(number) => number,
        }
    }

    const fn from_number(number: u8) -> FrameKind {
        match number {
            1 => FrameKind::Header,
            2 => FrameKind::Keyframe,
            3 => FrameKind::Window,
            4 => FrameKind::Details,
            5 => FrameKind::Gap,
            6 => FrameKind::Seal,
            7 => FrameKind::Word,
            8 => FrameKind::Answer,
            other => FrameKind::Unknown(other),
        }
    }
}

/// Header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// What it holds.
    pub kind: FrameKind,
    /// Number of the frame in its file, from 0.
    pub number: u32,
    pub(crate) mark: u32,
    /// Beginning of its time, CLOCK_MONOTONIC ns.
    pub t0_ns: u64,
    /// End of its time, CLOCK_MONOTONIC ns.
    pub t1_ns: u64,
    /// Wall clock minus CLOCK_MONOTONIC when the frame was written, ns.
    pub wall_offset_ns: i64,
    flags: u8,
    stored: u32,
    raw: u32,
    payload_crc: u32,
}

impl FrameHeader {
    /// Parses a header; `None` if the bytes are not one.
    pub(crate) fn parse(bytes: &[u8]) -> Option<FrameHeader> {
        let bytes = bytes.get(..HEADER)?;
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let whole = bytes[..4] == MAGIC && crc32c::crc32c(&bytes[..52]) == u32_at(52);
        let header = FrameHeader {
            kind: FrameKind::from_number(bytes[4]),
            flags: bytes[5],
            number: u32_at(8),
            mark: u32_at(12),
            t0_ns: u64_at(16),
            t1_ns: u64_at(24),
            wall_offset_ns: u64_at(32) as i64,
            stored: u32_at(40),
            raw: u32_at(44),
            payload_crc: u32_at(48),
        };
        let possible = header.stored <= LONGEST && header.raw <= LONGEST;
        (whole && possible).then_some(header)
    }

    fn bytes(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = self.kind.number();
        bytes[5] = self.flags;
        bytes[8..12].copy_from_slice(&self.number.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.mark.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.t0_ns.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.t1_ns.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.wall_offset_ns.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.stored.to_le_bytes());
        bytes[44..48].copy_from_slice(&self.raw.to_le_bytes());
        bytes[48..52].copy_from_slice(&self.payload_crc.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..52]);
        bytes[52..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Bytes of the payload in the file.
    pub(crate) fn stored(&self) -> u64 {
        self.stored.into()
    }

    /// Bytes of the whole frame.
    pub(crate) fn length(&self) -> u64 {
        HEADER as u64 + self.stored() + TRAILER as u64
    }

    /// True if the frame can be a file's header.
    pub(crate) fn is_short_and_plain(&self) -> bool {
        self.flags & COMPRESSED == 0 && self.stored() <= LONGEST_HEADER
    }

    pub(crate) fn payload(&self, stored: Vec<u8>) -> Result<Payload, FrameError> {
        let cells = expanded(stored.len());
        if self.flags & COMPRESSED == 0 {
            return Ok(Payload { bytes: stored, cells });
        }
        let raw = self.raw as usize;
        if raw > cells {
            return Err(FrameError::TooMuch);
        }
        let bytes = zstd::bulk::decompress(&stored, raw).map_err(|_| FrameError::Compression)?;
        if bytes.len() == raw {
            Ok(Payload { bytes, cells })
        } else {
            Err(FrameError::Compression)
        }
    }

    /// True if length and checksum of the payload match.
    pub(crate) fn is_payload(&self, stored: &[u8]) -> bool {
        stored.len() as u64 == self.stored() && crc32c::crc32c(stored) == self.payload_crc
    }

    /// Time of the frame.
    pub fn span(&self) -> Span {
        Span { t0_ns: self.t0_ns, t1_ns: self.t1_ns, wall_offset_ns: self.wall_offset_ns }
    }

    /// End by the wall clock of its time, ns since the epoch.
    pub fn wall_t1_ns(&self) -> i128 {
        self.span().wall_t1_ns()
    }
}

/// Time of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Span {
    /// Beginning, CLOCK_MONOTONIC ns.
    pub t0_ns: u64,
    /// End, CLOCK_MONOTONIC ns.
    pub t1_ns: u64,
    /// Wall clock minus CLOCK_MONOTONIC, ns.
    pub wall_offset_ns: i64,
}

impl Span {
    /// Beginning by the wall clock of its time, ns since the epoch.
    pub fn wall_t0_ns(&self) -> i128 {
        i128::from(self.t0_ns) + i128::from(self.wall_offset_ns)
    }

    /// End by the wall clock of its time, ns since the epoch.
    pub fn wall_t1_ns(&self) -> i128 {
        i128::from(self.t1_ns) + i128::from(self.wall_offset_ns)
    }
}

/// Mark of a file and number of a frame in it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FramePosition {
    pub mark: u32,
    pub number: u32,
}

/// Builds frames. Making a context of zstd takes as long as compressing a short window, so the
/// context is kept.
#[derive(Default)]
pub(crate) struct FrameBuilder {
    context: Option<zstd::bulk::Compressor<'static>>,
    packed: Vec<u8>,
}

impl FrameBuilder {
    /// Builds all bytes of a frame.
    pub fn build(
        &mut self,
        kind: FrameKind,
        place: FramePosition,
        span: Span,
        payload: &Payload,
    ) -> Result<Vec<u8>, FrameError> {
        let most = if kind == FrameKind::Header { LONGEST_HEADER } else { LONGEST.into() };
        let bytes = &payload.bytes;
        let raw = u32::try_from(bytes.len()).ok().filter(|&n| u64::from(n) <= most);
        let raw = raw.ok_or(FrameError::TooMuch)?;
        // The header stays readable for people.
        let compress = kind != FrameKind::Header && bytes.len() >= WORTH_IT;
        if compress {
            self.pack(bytes).map_err(|_| FrameError::Compression)?;
        }
        // A payload whose expansion a reader would refuse stays uncompressed.
        let fits = bytes.len().max(payload.cells) <= expanded(self.packed.len());
        let (stored, flags) = match compress && fits {
            true => (&self.packed, COMPRESSED),
            false => (bytes, 0),
        };
        let header = FrameHeader {
            kind,
            flags,
            number: place.number,
            mark: place.mark,
            t0_ns: span.t0_ns,
            t1_ns: span.t1_ns,
            wall_offset_ns: span.wall_offset_ns,
            stored: u32::try_from(stored.len()).map_err(|_| FrameError::TooMuch)?,
            raw,
            payload_crc: crc32c::crc32c(stored),
        };
        let mut frame = Vec::with_capacity(HEADER + stored.len() + TRAILER);
        frame.extend_from_slice(&header.bytes());
        frame.extend_from_slice(stored);
        frame.extend_from_slice(&(header.length() as u32).to_le_bytes());
        Ok(frame)
    }

    /// Compresses into `packed`.
    fn pack(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        if bytes.len() > REUSED {
            self.packed = zstd::bulk::compress(bytes, LEVEL)?;
            return Ok(());
        }
        let context = match &mut self.context {
            Some(context) => context,
            none => none.insert(zstd::bulk::Compressor::new(LEVEL)?),
        };
        self.packed.clear();
        self.packed.reserve(zstd::zstd_safe::compress_bound(bytes.len()));
        context.compress_to_buffer(bytes, &mut self.packed)?;
        Ok(())
    }
}

impl std::fmt::Debug for FrameBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FrameBuilder").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_context_gives_the_same_bytes_as_a_new_one() {
        let mut kept = FrameBuilder::default();
        for length in [WORTH_IT, 5_000, REUSED, REUSED + 1, 200, 3_000_000, 9_000] {
            // Four random bits a byte: compresses to about a half.
            let mut random = 1u64;
            let mut next = || {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (random >> 60) as u8
            };
            let bytes: Vec<u8> = (0..length).map(|_| next()).collect();
            let payload = Payload { bytes, cells: 0 };
            let build = |builder: &mut FrameBuilder| {
                let (kind, span) = (FrameKind::Window, Span::default());
                builder.build(kind, FramePosition::default(), span, &payload).expect("a frame")
            };
            let frame = build(&mut kept);
            assert_eq!(frame, build(&mut FrameBuilder::default()), "{length}");
            assert!(frame.len() < HEADER + length + TRAILER, "{length}: compressed");
        }
        assert!(kept.packed.len() < REUSED);
    }
}
