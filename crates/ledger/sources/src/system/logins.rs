//! Number of logged-in users, from utmp (utmp(5)).

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// `ut_type` of a login.
const USER_PROCESS: i16 = 7;

/// Position and length of the user name in a record.
const NAME: std::ops::Range<usize> = 44..76;

/// Size of a record: smaller where glibc keeps 32-bit times for old programs.
const RECORD_BYTES: usize = if cfg!(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "powerpc",
    target_arch = "powerpc64",
    target_pointer_width = "32"
)) {
    384
} else {
    400
};

/// Time until a missing file is tried again; most systems without it never get one.
const AGAIN: Duration = Duration::from_secs(30);

pub(super) struct Logins {
    utmp: PathBuf,
    /// The file is not tried before this instant.
    missing_until: Option<Instant>,
}

impl Logins {
    /// Makes a reader that has not read yet.
    pub fn new(utmp: &Path) -> Logins {
        Logins { utmp: utmp.into(), missing_until: None }
    }

    /// Number of logins with a user name, as uptime(1) counts them. `None` without the file, or if
    /// its records do not have this architecture's size.
    pub fn logged_in(&mut self, now: Instant) -> Option<u32> {
        if self.missing_until.is_some_and(|until| now < until) {
            return None;
        }
        let records = std::fs::read(&self.utmp).ok();
        self.missing_until = records.is_none().then(|| now + AGAIN);
        count(&records?)
    }
}

fn count(records: &[u8]) -> Option<u32> {
    if !records.len().is_multiple_of(RECORD_BYTES) {
        return None;
    }
    let logins = records.chunks_exact(RECORD_BYTES).filter(|record| {
        let kind = i16::from_ne_bytes([record[0], record[1]]);
        kind == USER_PROCESS && record[NAME][0] != 0
    });
    u32::try_from(logins.count()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: i16, name: &[u8]) -> Vec<u8> {
        let mut record = vec![0; RECORD_BYTES];
        record[..2].copy_from_slice(&kind.to_ne_bytes());
        record[NAME][..name.len()].copy_from_slice(name);
        record
    }

    #[test]
    fn logins_with_a_name_count() {
        let records =
            [record(2, b"reboot"), record(7, b"root"), record(7, b""), record(8, b"a")].concat();
        assert_eq!(count(&records), Some(1));
        assert_eq!(count(b""), Some(0));
    }

    #[test]
    fn another_format_is_not_counted() {
        assert_eq!(count(&record(7, b"root")[1..]), None);
    }

    #[test]
    fn a_file_that_is_not_there_is_looked_for_now_and_then() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("utmp");
        let (mut logins, now) = (Logins::new(&path), Instant::now());
        assert_eq!(logins.logged_in(now), None);
        std::fs::write(&path, record(7, b"root")).unwrap();
        assert_eq!(logins.logged_in(now + AGAIN / 2), None);
        assert_eq!(logins.logged_in(now + AGAIN), Some(1));
        assert_eq!(logins.logged_in(now + AGAIN), Some(1), "while it is there each time");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(logins.logged_in(now + AGAIN), None);
    }
}
