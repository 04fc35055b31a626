//! Hostile files that try to take all memory or time: the expansion of bytes is limited, and the
//! writer writes nothing that a reader would refuse.

use super::{machine, plain};
use crate::about::{RecordingInfo, FILE_MAGIC};
use crate::bounds::{cells, expanded, Payload, CELLS};
use crate::decode::Decoder;
use crate::encode::Encoder;
use crate::error::FrameError;
use crate::frame::{FrameBuilder, FrameKind, FramePosition, Span, HEADER, TRAILER};
use crate::parts::Recording;
use crate::reader::Reader;
use crate::replay::{Replay, ReplayStep};
use crate::schema::{tables, TableId};
use exactop_model::{Comm, Ident, Snapshot, SourceKind, TaskKey};
use exactop_testkit::samples;
use std::path::Path;
use std::process::Command;

/// Most memory that reading the largest valid file takes, KiB; stated in
/// docs/reference/recording.md.
const MOST_KIB: u64 = 3 << 19;
/// Most memory that reading a refused file takes, KiB.
const LITTLE_KIB: u64 = 160 << 10;
/// Environment variable that names the file to the child.
const FILE: &str = "EXACTOP_TEST_HOSTILE";

/// A snapshot of `count` tasks; their accounts start at `from`.
fn many(at_ns: u64, from: u64, count: usize) -> Snapshot {
    let ident = Ident {
        ppid: 1,
        comm: Comm::new(b"same"),
        uid: 0,
        session: None,
        cgroup_id: None,
        nice: 0,
        prio: 120,
        policy: 0,
        kthread: false,
    };
    let mut snapshot = samples::snapshot(SourceKind::Ledger, at_ns);
    snapshot.complete = false;
    snapshot.tasks = (from..from + count as u64)
        .map(|n| samples::task(n, TaskKey { tgid: n as u32, tid: n as u32, start_ns: n }, ident))
        .collect();
    snapshot
}

/// Most tasks at once, beside the machine's row.
fn most_tasks() -> usize {
    let columns = |which: TableId| which.table().columns.len();
    (CELLS - cells(1, columns(TableId::Machine))) / cells(1, columns(TableId::Task))
}

/// A file of frames, one every second.
struct Planted {
    bytes: Vec<u8>,
    number: u32,
}

impl Planted {
    fn new() -> Planted {
        let about = RecordingInfo::new(&machine(), 1, 0, false);
        let json = plain(serde_json::to_vec(&about).expect("JSON"));
        let header = FrameBuilder::default().build(
            FrameKind::Header,
            FramePosition::default(),
            Span::default(),
            &json,
        );
        Planted { bytes: [&FILE_MAGIC[..], &header.expect("a frame")].concat(), number: 1 }
    }

    fn at_ns(&self) -> u64 {
        u64::from(self.number) * 1_000_000_000
    }

    fn put(&mut self, kind: FrameKind, payload: &Payload) {
        let place = FramePosition { mark: 0, number: self.number };
        let t0_ns = if kind == FrameKind::Keyframe { 0 } else { 1_000_000_000 };
        let span = Span { t0_ns: self.at_ns() - t0_ns, t1_ns: self.at_ns(), wall_offset_ns: 0 };
        self.bytes
            .extend(FrameBuilder::default().build(kind, place, span, payload).expect("a frame"));
        self.number += 1;
    }

    /// Reads the file in a child process; returns windows, gaps and peak memory, KiB.
    fn read(&self, dir: &Path) -> (u64, u64, u64) {
        let path = dir.join("planted.rec");
        std::fs::write(&path, &self.bytes).expect("a file");
        let ours = std::env::current_exe().expect("this test");
        let output = Command::new(ours)
            .args(["--exact", "tests::hostile::child_that_reads", "--nocapture"])
            .env(FILE, &path)
            .output()
            .expect("a child");
        let text = String::from_utf8_lossy(&output.stdout);
        let told = text.lines().find_map(|line| line.split_once("read: ").map(|(_, told)| told));
        let told = told.unwrap_or_else(|| panic!("{text}"));
        let numbers: Vec<u64> = told.split(' ').map(|n| n.parse().expect("a number")).collect();
        (numbers[0], numbers[1], numbers[2])
    }
}

/// Not a test by itself: the child of [`Planted::read`].
#[test]
fn child_that_reads() {
    let Some(path) = std::env::var_os(FILE) else { return };
    let recording = Recording::open(path.as_ref()).expect("a recording");
    let mut replay = Replay::new(Reader::new(recording));
    let (mut windows, mut gaps) = (0, 0);
    loop {
        match replay.forward().expect("readable") {
            ReplayStep::End => break,
            ReplayStep::Window => windows += 1,
            ReplayStep::Gap(_) => gaps += 1,
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").expect("ours");
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a figure");
    println!("\nread: {windows} {gaps} {}", most.trim().trim_end_matches(" kB"));
}

#[test]
fn the_largest_file_is_read_within_a_bound() {
    let most = most_tasks();
    assert!(most > 100_000, "more than machines have: {most}");
    let mut encoder = Encoder::default();
    let mut planted = Planted::new();
    let keyframe = encoder.keyframe(&many(planted.at_ns(), 0, most)).expect("as much as may be");
    planted.put(FrameKind::Keyframe, &keyframe);
    let window = encoder.window(&many(planted.at_ns(), 0, most)).expect("a window");
    planted.put(FrameKind::Window, &window);
    let more = encoder.window(&many(planted.at_ns(), most as u64, 2));
    assert_eq!(more.map(|_| ()), Err(FrameError::TooMuch), "nor is more than that remembered");
    let too_many = Encoder::default().keyframe(&many(planted.at_ns(), 0, most + 1));
    assert_eq!(too_many.map(|_| ()), Err(FrameError::TooMuch));
    let dir = tempfile::tempdir().expect("a directory");
    let (windows, gaps, kib) = planted.read(dir.path());
    assert_eq!((windows, gaps), (1, 0));
    assert!(kib < MOST_KIB, "{kib} KiB");
}

/// Checks that a payload is refused after a keyframe of a few tasks: it expands beyond its limit.
fn refused(payload: &[u8]) {
    let mut planted = Planted::new();
    let keyframe = Encoder::default().keyframe(&many(planted.at_ns(), 0, 10)).expect("a frame");
    planted.put(FrameKind::Keyframe, &keyframe);
    let before = planted.bytes.len();
    planted.put(FrameKind::Window, &plain(payload.to_vec()));
    let stored = planted.bytes.len() - before - HEADER - TRAILER;
    assert!(stored < 1 << 10, "few bytes");
    let payload = Payload { bytes: payload.to_vec(), cells: expanded(stored) };
    let read = Decoder::new(tables()).window(&payload);
    assert_eq!(read.map(|_| ()), Err(FrameError::TooMuch));
    let dir = tempfile::tempdir().expect("a directory");
    let (windows, gaps, kib) = planted.read(dir.path());
    assert_eq!((windows, gaps), (0, 1), "a gap and no figure");
    assert!(kib < LITTLE_KIB, "{kib} KiB");
}

/// A table of `rows` rows; each key is the one before plus one.
fn table(out: &mut Vec<u8>, which: TableId, rows: u64) {
    use crate::values::{put, put_bytes};
    let mut table = Vec::new();
    put(&mut table, rows);
    table.resize(table.len() + rows as usize, 5);
    put(out, which as u64);
    put_bytes(out, &table);
}

#[test]
fn a_few_bytes_never_expand_to_more_rows_than_the_limit() {
    for (which, rows) in [(TableId::Task, 60_000), (TableId::Machine, 2), (TableId::Cpu, 60_000)] {
        let mut payload = vec![0, 0];
        table(&mut payload, which, rows);
        refused(&payload);
    }
    let mut payload = vec![0, 0];
    (0..10).for_each(|_| table(&mut payload, TableId::Exit, 6_000));
    refused(&payload);
}

#[test]
fn a_payload_that_expands_too_far_is_not_decompressed() {
    let packed = zstd::bulk::compress(&vec![0; 64 << 20], 19).expect("packed");
    assert!(packed.len() < 16 << 10);
    // Packed by hand, as no writer packs: the frame states it as compressed.
    let mut planted = Planted::new();
    let keyframe = Encoder::default().keyframe(&many(planted.at_ns(), 0, 10)).expect("a frame");
    planted.put(FrameKind::Keyframe, &keyframe);
    let at = planted.bytes.len();
    planted.put(FrameKind::Header, &plain(packed));
    let frame = &mut planted.bytes[at..];
    (frame[4], frame[5]) = (3, 1);
    frame[44..48].copy_from_slice(&(64_u32 << 20).to_le_bytes());
    let crc = crc32c::crc32c(&frame[..52]);
    frame[52..56].copy_from_slice(&crc.to_le_bytes());
    let dir = tempfile::tempdir().expect("a directory");
    let (windows, gaps, kib) = planted.read(dir.path());
    assert_eq!((windows, gaps), (0, 1));
    assert!(kib < LITTLE_KIB / 4, "{kib} KiB");
}

/// Idle tasks that are all listed: the writer leaves a payload that packs too well uncompressed, so
/// it is read.
#[test]
fn a_payload_that_packs_too_well_is_written_uncompressed() {
    let mut encoder = Encoder::default();
    let mut planted = Planted::new();
    let keyframe = encoder.keyframe(&many(planted.at_ns(), 0, 20_000)).expect("a frame");
    planted.put(FrameKind::Keyframe, &keyframe);
    for _ in 0..3 {
        let window = encoder.window(&many(planted.at_ns(), 0, 20_000)).expect("a window");
        planted.put(FrameKind::Window, &window);
    }
    let dir = tempfile::tempdir().expect("a directory");
    let (windows, gaps, _) = planted.read(dir.path());
    assert_eq!((windows, gaps), (3, 0));
}

#[test]
fn a_header_is_short_and_uncompressed() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("header.rec");
    let about =
        RecordingInfo::new(&crate::Machine { host: "x".repeat(2 << 20), ..machine() }, 1, 0, false);
    let json = plain(serde_json::to_vec(&about).expect("JSON"));
    let place = FramePosition::default();
    let written = FrameBuilder::default().build(FrameKind::Header, place, Span::default(), &json);
    assert_eq!(written, Err(FrameError::TooMuch), "nor is it written");
    let mut frame = FrameBuilder::default()
        .build(FrameKind::Window, place, Span::default(), &json)
        .expect("a frame");
    frame[4] = 1;
    let crc = crc32c::crc32c(&frame[..52]);
    frame[52..56].copy_from_slice(&crc.to_le_bytes());
    std::fs::write(&path, [&FILE_MAGIC[..], &frame].concat()).expect("a file");
    let Err(error) = Recording::open(&path) else { panic!("opened") };
    assert!(error.to_string().contains("longer than 1 MiB"), "{error}");
}
