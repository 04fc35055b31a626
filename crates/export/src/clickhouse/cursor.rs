//! How far a log is in the store: in a file of its own beside the log, replaced whole each time.

use exactop_files::{Directory, FileError};
use exactop_recording::SENDERS;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What it is called.
const NAME: &str = "clickhouse.json";
/// No such file is longer.
const LONGEST: u64 = 65_536;

/// The last window that is in the store, or was left out for a reason that was told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    /// The number of the log's file that it is in.
    pub file: u64,
    pub boot_id: String,
    /// Its end by CLOCK_MONOTONIC,
    pub t1_ns: u64,
    /// and by the wall clock of then, ns since the epoch.
    pub wall_ns: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Saved {
    /// Which store.
    to: String,
    #[serde(flatten)]
    position: Position,
}

/// The file.
#[derive(Debug)]
pub(super) struct Cursor {
    directory: Directory,
    to: String,
}

impl Cursor {
    /// Of a log and a store; its directory is made if need be.
    pub fn open(log: &Path, to: String) -> Result<Cursor, FileError> {
        Ok(Cursor { directory: Directory::open(log)?.within(SENDERS)?, to })
    }

    /// Where it stood. One of another store, or that cannot be read, is none: the store is asked anyway.
    pub fn read(&self) -> Option<Position> {
        let bytes = self.directory.read(NAME, LONGEST).ok()?;
        let saved: Saved = serde_json::from_slice(&bytes).ok()?;
        (saved.to == self.to).then_some(saved.position)
    }

    /// It stands there from now on, whatever happens.
    pub fn save(&self, position: &Position) -> Result<(), FileError> {
        let saved = Saved { to: self.to.clone(), position: position.clone() };
        let bytes = serde_json::to_vec(&saved).unwrap_or_default();
        self.directory.replace(NAME, &bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn it_stands_where_it_stood_for_the_same_store_alone() {
        let dir = tempfile::tempdir().expect("a directory");
        let open = |to: &str| Cursor::open(dir.path(), to.into()).expect("a cursor");
        let position = Position { file: 7, boot_id: "b\"".into(), t1_ns: u64::MAX, wall_ns: -1 };
        let cursor = open("http://a/ db");
        assert_eq!(cursor.read(), None);
        cursor.save(&position).expect("saved");
        cursor.save(&Position { file: 8, ..position.clone() }).expect("saved");
        assert_eq!(cursor.read(), Some(Position { file: 8, ..position }));
        assert_eq!(open("http://b/ db").read(), None);
        fs::write(dir.path().join(SENDERS).join(NAME), "{\"to\":").expect("written");
        assert_eq!(cursor.read(), None);
        // Nobody else's file is written through a link.
        let other = dir.path().join("other");
        fs::write(&other, "theirs").expect("written");
        let own = dir.path().join(SENDERS).join(NAME);
        fs::remove_file(&own).expect("removed");
        std::os::unix::fs::symlink(&other, &own).expect("a link");
        assert_eq!(cursor.read(), None);
        cursor
            .save(&Position { file: 9, boot_id: "b".into(), t1_ns: 1, wall_ns: 1 })
            .expect("saved");
        assert_eq!(fs::read_to_string(&other).expect("it"), "theirs");
        assert_eq!(cursor.read().map(|position| position.file), Some(9));
        fs::remove_file(&own).expect("removed");
        fs::remove_dir(dir.path().join(SENDERS)).expect("removed");
        std::os::unix::fs::symlink("/tmp", dir.path().join(SENDERS)).expect("a link");
        assert!(Cursor::open(dir.path(), "x".into()).is_err(), "a link is no directory of ours");
    }
}
