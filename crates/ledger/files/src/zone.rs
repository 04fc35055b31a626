//! Reads the time zone from files of limited length, because `TZ` may name any file.

use crate::read;
use jiff::tz::TimeZone;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Longest zone file, bytes; the longest in the database has some 4,000.
const LONGEST: u64 = 1 << 16;
/// Directory of the zone database, unless `TZDIR` names another.
const DATABASE: &str = "/usr/share/zoneinfo";
/// The machine's zone.
const LOCAL: &str = "/etc/localtime";

/// The zone of `TZ` (tzset(3)), else the machine's, else UTC.
pub fn local() -> TimeZone {
    let directory = std::env::var_os("TZDIR").map_or(DATABASE.into(), PathBuf::from);
    match std::env::var_os("TZ") {
        None => file(Path::new(LOCAL)).unwrap_or(TimeZone::UTC),
        Some(asked) => named(&asked, &directory).unwrap_or(TimeZone::UTC),
    }
}

/// A file, a name in the database, or a rule such as `CET-1CEST,M3.5.0,M10.5.0/3`.
fn named(asked: &OsString, directory: &Path) -> Option<TimeZone> {
    let asked = asked.to_str()?;
    let name = asked.strip_prefix(':').unwrap_or(asked);
    let path = Path::new(name);
    if path.is_absolute() {
        return file(path);
    }
    let inside = path.components().all(|part| matches!(part, Component::Normal(_)));
    let known = (inside && !name.is_empty()).then(|| file(&directory.join(path))).flatten();
    known.or_else(|| TimeZone::posix(name).ok())
}

fn file(path: &Path) -> Option<TimeZone> {
    let bytes = read(path, LONGEST).ok()?;
    TimeZone::tzif("", &bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    fn offset(asked: &str) -> Option<i32> {
        let noon = Timestamp::from_second(1_750_000_000).expect("a time");
        Some(named(&asked.into(), Path::new(DATABASE))?.to_offset(noon).seconds())
    }

    #[test]
    fn a_zone_is_a_rule_a_name_or_a_file() {
        assert_eq!(offset("CET-1CEST,M3.5.0,M10.5.0/3"), Some(7200));
        assert_eq!(offset("UTC0"), Some(0));
        assert_eq!(offset("../../../etc/passwd"), None);
        assert_eq!(offset(":/etc/passwd"), None);
    }

    #[test]
    fn an_endless_or_empty_file_is_no_zone() {
        for endless in [":/dev/zero", "/dev/zero", "/dev/null", "/proc/kmsg", "/"] {
            assert_eq!(offset(endless), None, "{endless}");
        }
    }
}
