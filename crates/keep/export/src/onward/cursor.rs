//! The cursor: how far a log has been delivered. A file beside the log, replaced whole each time.

use crate::carrier::Label;
use exactop_files::{Directory, FileError};
use exactop_recording::SENDERS;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Longest cursor file, bytes.
const LONGEST: u64 = 65_536;
/// Earlier destinations that are remembered.
const OTHERS: usize = 7;

/// The last window that was delivered, or left out with a notice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    /// Number of its file in the log.
    pub file: u64,
    pub boot_id: String,
    /// Its end, CLOCK_MONOTONIC ns.
    pub t1_ns: u64,
    /// Its end by the wall clock of that time, ns since the epoch.
    pub wall_ns: i64,
}

/// A batch whose delivery is not confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UnderWay {
    /// Name of the batch.
    #[serde(flatten)]
    pub label: Label,
    /// Number of the log's file with its first window.
    pub file: u64,
    /// Its last window.
    pub last: Position,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Saved {
    to: String,
    #[serde(flatten)]
    position: Option<Position>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    under_way: Option<UnderWay>,
    /// Cursors of earlier destinations, for a return to one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    others: Vec<Saved>,
}

/// The cursor file of a log and a destination.
#[derive(Debug)]
pub(super) struct Cursor {
    directory: Directory,
    name: &'static str,
    to: String,
    others: Vec<Saved>,
}

impl Cursor {
    /// Opens the cursor of a log and a destination; creates its directory if missing.
    pub fn open(log: &Path, name: &'static str, to: String) -> Result<Cursor, FileError> {
        let directory = Directory::open(log)?.within(SENDERS)?;
        let mut others = all(&directory, name);
        others.retain(|saved| saved.to != to);
        others.truncate(OTHERS);
        Ok(Cursor { directory, name, to, others })
    }

    /// Last confirmed position, and the unconfirmed batch. An unreadable file counts as missing.
    pub fn read(&self) -> (Option<Position>, Option<UnderWay>) {
        let saved = all(&self.directory, self.name).into_iter().find(|saved| saved.to == self.to);
        saved.map_or((None, None), |saved| (saved.position, saved.under_way))
    }

    /// Saves a confirmed position.
    pub fn save(&self, position: &Position) -> Result<(), FileError> {
        self.write(Some(position.clone()), None)
    }

    /// Saves a batch that is about to be delivered, after the position `stands`.
    pub fn begin(&self, stands: Option<&Position>, under_way: UnderWay) -> Result<(), FileError> {
        self.write(stands.cloned(), Some(under_way))
    }

    fn write(
        &self,
        position: Option<Position>,
        under_way: Option<UnderWay>,
    ) -> Result<(), FileError> {
        let (to, others) = (self.to.clone(), self.others.clone());
        let saved = Saved { to, position, under_way, others };
        self.directory.replace(self.name, &serde_json::to_vec(&saved).unwrap_or_default())
    }
}

/// All destinations in the file, the last used first.
fn all(directory: &Directory, name: &str) -> Vec<Saved> {
    let bytes = directory.read(name, LONGEST).ok();
    let saved = bytes.and_then(|bytes| serde_json::from_slice::<Saved>(&bytes).ok());
    saved.map_or(Vec::new(), |mut saved| {
        let mut all = std::mem::take(&mut saved.others);
        all.insert(0, saved);
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const NAME: &str = "clickhouse.json";

    #[test]
    fn a_cursor_resumes_and_knows_the_unconfirmed_batch() {
        let dir = tempfile::tempdir().expect("a directory");
        let open = |to: &str| Cursor::open(dir.path(), NAME, to.into()).expect("a cursor");
        let at = |t1_ns| Position { file: 7, boot_id: "b".into(), t1_ns, wall_ns: -1 };
        let label = Label { day: "day=1".into(), name: "h_b_1".into() };
        let under_way = UnderWay { label, file: 6, last: at(9) };
        open("a").begin(None, under_way.clone()).expect("saved");
        assert_eq!(open("a").read(), (None, Some(under_way.clone())));
        open("a").save(&at(1)).expect("saved");
        assert_eq!(open("a").read(), (Some(at(1)), None));
        for n in 0..20 {
            open(&n.to_string()).save(&at(n)).expect("saved");
        }
        open("19").begin(Some(&at(19)), under_way.clone()).expect("saved");
        open("17").save(&at(99)).expect("saved");
        assert_eq!(open("19").read(), (Some(at(19)), Some(under_way)));
        assert_eq!(open("17").read(), (Some(at(99)), None));
        assert_eq!((open("a").read(), open("3").read()), ((None, None), (None, None)));
        fs::write(
            dir.path().join(SENDERS).join(NAME),
            "{\"to\":\"a\",\"file\":7,\"boot_id\":\"b\",\"t1_ns\":1,\"wall_ns\":-1}",
        )
        .expect("as it was before there were others");
        assert_eq!(open("a").read(), (Some(at(1)), None));
    }

    #[test]
    fn each_destination_has_its_own_cursor() {
        let dir = tempfile::tempdir().expect("a directory");
        let open = |to: &str| Cursor::open(dir.path(), NAME, to.into()).expect("a cursor");
        let position = Position { file: 7, boot_id: "b\"".into(), t1_ns: u64::MAX, wall_ns: -1 };
        let cursor = open("http://a/ db");
        assert_eq!(cursor.read().0, None);
        cursor.save(&position).expect("saved");
        cursor.save(&Position { file: 8, ..position.clone() }).expect("saved");
        assert_eq!(cursor.read().0, Some(Position { file: 8, ..position }));
        assert_eq!(open("http://b/ db").read(), (None, None));
        fs::write(dir.path().join(SENDERS).join(NAME), "{\"to\":").expect("written");
        assert_eq!(cursor.read().0, None);
        // The cursor does not follow a link to another user's file.
        let other = dir.path().join("other");
        fs::write(&other, "theirs").expect("written");
        let own = dir.path().join(SENDERS).join(NAME);
        fs::remove_file(&own).expect("removed");
        std::os::unix::fs::symlink(&other, &own).expect("a link");
        assert_eq!(cursor.read().0, None);
        cursor
            .save(&Position { file: 9, boot_id: "b".into(), t1_ns: 1, wall_ns: 1 })
            .expect("saved");
        assert_eq!(fs::read_to_string(&other).expect("it"), "theirs");
        assert_eq!(cursor.read().0.map(|position| position.file), Some(9));
        fs::remove_file(&own).expect("removed");
        fs::remove_dir(dir.path().join(SENDERS)).expect("removed");
        std::os::unix::fs::symlink("/tmp", dir.path().join(SENDERS)).expect("a link");
        assert!(
            Cursor::open(dir.path(), NAME, "x".into()).is_err(),
            "a link is no directory of ours"
        );
    }
}
