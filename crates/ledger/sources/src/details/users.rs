//! User names from a file like /etc/passwd (passwd(5)).
//!
//! A user that only a directory service knows has no name here and is shown by number.

use crate::passwd;
use rustc_hash::FxHashMap;
use std::path::PathBuf;
use std::time::SystemTime;

/// The names as of the file's last change.
pub(super) struct Users {
    path: PathBuf,
    modified: Option<SystemTime>,
    names: FxHashMap<u32, String>,
}

impl Users {
    /// Makes an empty table; the first call of [`Users::name`] reads the file.
    pub fn new(path: PathBuf) -> Users {
        Users { path, modified: None, names: FxHashMap::default() }
    }

    /// The user's name, or the number as text. For an unknown user the file is read again if it
    /// changed.
    pub fn name(&mut self, uid: u32) -> String {
        if !self.names.contains_key(&uid) {
            self.reload();
        }
        self.names.get(&uid).cloned().unwrap_or_else(|| uid.to_string())
    }

    fn reload(&mut self) {
        let modified = std::fs::metadata(&self.path).and_then(|m| m.modified()).ok();
        if modified == self.modified {
            return;
        }
        self.modified = modified;
        if let Ok(text) = std::fs::read(&self.path) {
            self.names = names(&text);
        }
    }
}

/// The first name of a number counts, as for getpwuid(3).
fn names(passwd: &[u8]) -> FxHashMap<u32, String> {
    let mut names = FxHashMap::default();
    for entry in passwd::entries(passwd) {
        let name = || String::from_utf8_lossy(&entry.name).into_owned();
        names.entry(entry.uid).or_insert_with(name);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_name_counts_and_nonsense_is_skipped() {
        let names = names(b"root:x:0:0::/:\ntoor:x:0:0::/:\n# c\n+\npg:x:26:26\nbad:x:y:1\n");
        assert_eq!(names.get(&0).map(String::as_str), Some("root"));
        assert_eq!(names.get(&26).map(String::as_str), Some("pg"));
        assert_eq!(names.len(), 2);
    }

    #[test]
    fn a_user_without_a_name_or_file_is_shown_by_number() {
        assert_eq!(Users::new("/nonexistent".into()).name(4711), "4711");
    }

    #[test]
    fn a_changed_file_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("passwd");
        std::fs::write(&path, "a:x:1:1\n").unwrap();
        let mut users = Users::new(path.clone());
        assert_eq!((users.name(1), users.name(2)), ("a".into(), "2".into()));
        std::fs::write(&path, "a:x:1:1\nb:x:2:2\n").unwrap();
        let later = SystemTime::now() + std::time::Duration::from_secs(5);
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
        assert_eq!(users.name(2), "b");
    }
}
