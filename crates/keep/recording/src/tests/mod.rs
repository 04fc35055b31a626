//! Files of another version, and a full disk.

use crate::about::{RecordingInfo, FILE_MAGIC, FORMAT};
use crate::bounds::Payload;
use crate::error::RecordingError;
use crate::frame::{FrameBuilder, FrameKind, FramePosition, Span};
use crate::gap::GapReason;
use crate::parts::Recording;
use crate::reader::{Reader, Step};
use crate::schema::{Table, Type};
use crate::values::{put, put_bytes, put_table, PreviousRows, Row};
use crate::Machine;
use serde_json::json;
use std::path::Path;

mod hostile;

pub(crate) fn machine() -> Machine {
    let text = || "x".to_string();
    let (host, boot_id, kernel, architecture) = (text(), text(), text(), text());
    Machine { host, boot_id, kernel, architecture, exactop: "9.0.0".into() }
}

fn plain(bytes: Vec<u8>) -> Payload {
    Payload { bytes, cells: 0 }
}

fn file(path: &Path, about: &impl serde::Serialize, payloads: &[(FrameKind, u64, Vec<u8>)]) {
    let mut bytes = FILE_MAGIC.to_vec();
    let json = plain(serde_json::to_vec(about).expect("JSON"));
    bytes.extend(
        FrameBuilder::default()
            .build(FrameKind::Header, FramePosition::default(), Span::default(), &json)
            .expect("a frame"),
    );
    for (number, (kind, t1_ns, payload)) in (1..).zip(payloads) {
        let span = Span { t0_ns: t1_ns - 1, t1_ns: *t1_ns, wall_offset_ns: 0 };
        let payload = plain(payload.clone());
        bytes.extend(
            FrameBuilder::default()
                .build(*kind, FramePosition { mark: 0, number }, span, &payload)
                .expect("a frame"),
        );
    }
    std::fs::write(path, bytes).expect("a file");
}

#[test]
fn a_later_format_is_refused_by_its_version() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("later");
    file(&path, &json!({ "format": FORMAT + 1, "exactop": "9.0.0", "new": [1] }), &[]);
    let error = Recording::open(&path).expect_err("refused");
    assert!(matches!(error, RecordingError::Later { found, .. } if found == FORMAT + 1));
    assert!(error.to_string().contains("use exactop 9.0.0 or later"), "{error}");
    std::fs::write(&path, b"something else, long enough to be looked at as a whole file header")
        .expect("a file");
    let error = Recording::open(&path).expect_err("refused");
    assert!(matches!(error, RecordingError::NotARecording { .. }), "{error}");
}

/// A file with other columns: it lacks one of ours, has a column and a table of its own, and
/// numbers all differently.
#[test]
fn columns_are_taken_by_name() {
    let column = |name: &str, kind| (name.to_string(), kind);
    let machine_columns = vec![
        column("later_ns", Type::Uint),
        column("source", Type::Text),
        column("user_ns", Type::Uint),
        column("complete", Type::Bool),
        column("at_ns", Type::Uint),
        column("uptime_s", Type::Int),
    ];
    let table =
        |table: &str, columns| Table { table: table.into(), key: "nothing".into(), columns };
    let tables =
        vec![table("later", vec![column("x", Type::Other)]), table("machine", machine_columns)];
    let about = RecordingInfo { tables, ..RecordingInfo::new(&machine(), 1, 0, false) };
    let payload = |at_ns| {
        let mut out = Vec::new();
        put(&mut out, 0);
        put(&mut out, 1);
        put_bytes(&mut out, b"ledger");
        let later = Row::new(3, &[Some(4)]);
        put_table(&mut out, 0, vec![later], &mut PreviousRows::default());
        let values = [Some(5), Some(0), Some(6), Some(1), Some(at_ns), Some(8)];
        let row = Row::new(0, &values);
        put_table(&mut out, 1, vec![row], &mut PreviousRows::default());
        out
    };
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("other");
    let later = (FrameKind::Unknown(200), 77, vec![1, 2, 3]);
    file(&path, &about, &[later, (FrameKind::Keyframe, 77, payload(77))]);
    let mut reader = Reader::new(Recording::open(&path).expect("a recording"));
    let Ok(Some(Step::Opened(whole))) = reader.step() else { panic!("a keyframe") };
    assert_eq!((whole.at_ns, whole.complete, whole.cost.user_ns), (77, true, 6));
    assert_eq!((whole.born, whole.system.load), (None, None), "what is not there is missing");
    assert_eq!(whole.system.uptime_s, None, "a column of another type is another column");
    assert!(matches!(reader.step(), Ok(None)));
    // A required figure must be there.
    file(&path, &about, &[(FrameKind::Keyframe, 77, vec![0, 0])]);
    let mut reader = Reader::new(Recording::open(&path).expect("a recording"));
    let Ok(Some(Step::Gap(gap))) = reader.step() else { panic!("its time is a gap") };
    assert_eq!((gap.why, gap.length_ns), (GapReason::Damaged, Some(1)));
    assert!(matches!(reader.step(), Ok(None)));
    assert!(reader.damaged_bytes() > 0);
}

mod payloads {
    use crate::bounds::{Payload, CELLS};
    use crate::decode::Decoder;
    use crate::encode::Encoder;
    use crate::schema::tables;
    use exactop_fuzzing::{corpus, Target};

    /// Past the checksums: decoding any payload ends, in an error or a snapshot.
    #[test]
    fn fuzz_payload() {
        let (whole, next) = crate::tests::snapshots();
        let mut encoder = Encoder::default();
        let (keyframe, window) = (encoder.keyframe(&whole), encoder.window(&next));
        let (keyframe, window) = (keyframe.expect("a frame"), window.expect("a frame"));
        let begun = {
            let mut decoder = Decoder::new(tables());
            decoder.keyframe(&keyframe).expect("a keyframe");
            decoder
        };
        Target::new(corpus!("payload")).examples([keyframe.bytes, window.bytes]).run(|bytes| {
            let payload = Payload { bytes: bytes.to_vec(), cells: CELLS };
            let _ = Decoder::new(tables()).keyframe(&payload);
            let _ = begun.clone().window(&payload);
            let _ = begun.clone().details(&payload);
        });
    }
}

/// Two consecutive snapshots of a made-up machine.
fn snapshots() -> (exactop_model::Snapshot, exactop_model::Snapshot) {
    let at = |n| exactop_testkit::snapshot(exactop_model::SourceKind::Ledger, n, None);
    (at(0), at(1))
}
