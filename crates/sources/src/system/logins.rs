//! How many users are logged in, as utmp has it (utmp(5)).

use std::path::Path;

/// `ut_type` of a login.
const USER_PROCESS: i16 = 7;

/// Where the user's name is in a record, and how long it may be.
const NAME: std::ops::Range<usize> = 44..76;

/// Size of a record: where glibc keeps 32-bit times for old programs' sake, and elsewhere.
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

/// Logins with a name, as uptime(1) counts them; `None` without the file or if its records are
/// not of the size this architecture has.
pub(super) fn logged_in(utmp: &Path) -> Option<u32> {
    count(&std::fs::read(utmp).ok()?)
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
        assert_eq!(logged_in(Path::new("/nonexistent")), None);
    }
}
