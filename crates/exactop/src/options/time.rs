//! Points in time and time ranges as users type them.

use exactop_recording::TimeRange;
use jiff::civil::{DateTime, Time};
use jiff::{Span, Timestamp, ToSpan, Zoned};
use std::time::Duration;

/// Parses a point in time: RFC 3339, `2026-11-22 14:03`, `14:03` (the last such time), `yesterday
/// 14:00`, `2h ago`, `now`. Returns nanoseconds since the epoch.
pub fn point(text: &str, now: &Zoned) -> Result<i128, String> {
    let wrong = || {
        format!("'{text}' is not a time: write '14:03', 'yesterday 14:00', '2h ago' or RFC 3339")
    };
    let text = text.trim();
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Ok(instant.as_nanosecond());
    }
    let found = match text.split_once(' ') {
        _ if text == "now" => Some(now.clone()),
        Some(("yesterday", time)) => now.checked_sub(1.day()).ok().and_then(|day| at(&day, time)),
        Some(("today", time)) => at(now, time),
        _ if text.ends_with("ago") => {
            text.parse::<Span>().ok().and_then(|span| now.checked_add(span).ok())
        }
        _ if text.contains('-') => {
            let time = text.parse::<DateTime>().ok();
            time.and_then(|time| time.to_zoned(now.time_zone().clone()).ok())
        }
        _ if text.contains(':') => last(now, text),
        _ => None,
    };
    found.map(|zoned| zoned.timestamp().as_nanosecond()).ok_or_else(wrong)
}

/// Parses a point in time for a recording that ends at `end_wall_ns`: a time of day alone is the
/// last such time before that end.
pub fn point_in(text: &str, now: &Zoned, end_wall_ns: Option<i128>) -> Result<i128, String> {
    let text = text.trim();
    let of_a_day = text.contains(':') && !text.contains(|c: char| c == '-' || c.is_whitespace());
    let end = end_wall_ns.filter(|_| of_a_day);
    let end = end.and_then(|end| Timestamp::from_nanosecond(end).ok());
    let end = end.map(|end| end.to_zoned(now.time_zone().clone())).filter(|end| end < now);
    match end.and_then(|end| last(&end, text)) {
        Some(zoned) => Ok(zoned.timestamp().as_nanosecond()),
        None => point(text, now),
    }
}

fn at(day: &Zoned, time: &str) -> Option<Zoned> {
    let time: Time = time.parse().ok()?;
    day.date().to_datetime(time).to_zoned(day.time_zone().clone()).ok()
}

/// A time of day: of today, or of yesterday if it is later than now.
fn last(now: &Zoned, time: &str) -> Option<Zoned> {
    let today = at(now, time)?;
    match today > *now {
        true => at(&now.checked_sub(1.day()).ok()?, time),
        false => Some(today),
    }
}

/// Parses a duration: a number and s, m, h, d or w.
pub fn stretch(text: &str) -> Result<Duration, String> {
    let units = [("s", 1), ("m", 60), ("h", 3600), ("d", 86_400), ("w", 604_800)];
    let scaled = |(unit, seconds): (&str, u64)| {
        text.strip_suffix(unit)?.trim().parse::<u64>().ok()?.checked_mul(seconds)
    };
    match units.into_iter().find_map(scaled) {
        Some(seconds) if seconds > 0 => Ok(Duration::from_secs(seconds)),
        _ => Err("write a number and s, m, h, d or w, as in 12h or 7d".into()),
    }
}

/// Parses a time range: begin and length, `03:12+5m`. For a recording that ends at `end_wall_ns`,
/// as in [`point_in`].
fn piece(text: &str, now: &Zoned, end_wall_ns: Option<i128>) -> Result<TimeRange, String> {
    let wrong = || {
        format!(
            "'{text}' is not a time: write '14:03', 'yesterday 14:00', '2h ago' or RFC 3339; add a length \
             for a time range, as in '03:12+5m'"
        )
    };
    let (from, length) = text.rsplit_once('+').ok_or_else(wrong)?;
    let from = point_in(from, now, end_wall_ns)?;
    let length = stretch(length).map_err(|_| wrong())?;
    let length = i128::try_from(length.as_nanos()).map_err(|_| wrong())?;
    Ok(TimeRange { from: Some(from), to: Some(from + length) })
}

/// Parses a time range, or a point in time as the start of an open range, as in [`point_in`].
pub fn when(text: &str, now: &Zoned, end_wall_ns: Option<i128>) -> Result<TimeRange, String> {
    piece(text, now, end_wall_ns).or_else(|why| {
        let from = point_in(text, now, end_wall_ns).map_err(|_| why)?;
        Ok(TimeRange { from: Some(from), to: None })
    })
}

/// Parses a size: a number and K, M, G or T (of 1024).
pub fn size(text: &str) -> Result<u64, String> {
    let units = [("K", 10), ("M", 20), ("G", 30), ("T", 40)];
    let scaled = |(unit, bits): (&str, u32)| {
        text.strip_suffix(unit)?.trim().parse::<u64>().ok()?.checked_mul(1 << bits)
    };
    match units.into_iter().find_map(scaled) {
        Some(bytes) if bytes >= 1 << 20 => Ok(bytes),
        _ => Err("write a number and K, M, G or T, 1M or more, as in 500M or 2G".into()),
    }
}

/// A point in time as text, in this time zone.
pub fn shown(wall_ns: i128, now: &Zoned) -> String {
    match Timestamp::from_nanosecond(wall_ns) {
        Ok(instant) => {
            let zoned = instant.to_zoned(now.time_zone().clone());
            zoned.strftime("%Y-%m-%d %H:%M:%S").to_string()
        }
        Err(_) => "-".into(),
    }
}

/// Now, in this machine's time zone.
pub fn now() -> Zoned {
    Timestamp::now().to_zoned(exactop_files::zone::local())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Zoned {
        "2026-11-22T14:30:00+01:00[+01:00]".parse().expect("a time")
    }

    fn read(text: &str) -> String {
        match point(text, &now()) {
            Ok(ns) => Timestamp::from_nanosecond(ns).expect("in range").to_string(),
            Err(why) => why,
        }
    }

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, expected) in [
            ("2026-11-22T12:00:00Z", "2026-11-22T12:00:00Z"),
            ("2026-11-22T12:00:00.5+02:00", "2026-11-22T10:00:00.5Z"),
            ("2026-11-21 09:15", "2026-11-21T08:15:00Z"),
            ("14:03", "2026-11-22T13:03:00Z"),
            ("14:03:07", "2026-11-22T13:03:07Z"),
            ("14:45", "2026-11-21T13:45:00Z"),
            ("today 14:45", "2026-11-22T13:45:00Z"),
            ("yesterday 14:00", "2026-11-21T13:00:00Z"),
            ("2h ago", "2026-11-22T11:30:00Z"),
            ("1h 30m ago", "2026-11-22T12:00:00Z"),
            ("3 days ago", "2026-11-19T13:30:00Z"),
            ("now", "2026-11-22T13:30:00Z"),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        for text in ["", "soon", "25:00", "yesterday", "2h", "2026-13-01 00:00", "14"] {
            assert!(read(text).contains("is not a time"), "{text}: {}", read(text));
        }
    }

    #[test]
    fn pieces_have_a_beginning_and_a_length() {
        for text in ["14:03+10m", "2026-11-22T14:03:00+01:00+10m", "27m ago+10m"] {
            let piece = piece(text, &now(), None).expect(text);
            let from = point("14:03", &now()).expect("a time");
            assert_eq!(
                (piece.from, piece.to),
                (Some(from), Some(from + 600_000_000_000)),
                "{text}"
            );
        }
        for text in ["14:03", "+5m", "14:03+", "14:03+5", "2026-11-22T14:03:00+01:00"] {
            assert!(piece(text, &now(), None).is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_of_day_is_in_the_recording() {
        let end: Timestamp = "2026-11-20T10:00:00Z".parse().expect("a time");
        let read = |text: &str| {
            let ns = point_in(text, &now(), Some(end.as_nanosecond())).expect(text);
            Timestamp::from_nanosecond(ns).expect("in range").to_string()
        };
        assert_eq!(read("10:59"), "2026-11-20T09:59:00Z");
        assert_eq!(read("11:01"), "2026-11-19T10:01:00Z");
        assert_eq!(read("2h ago"), "2026-11-22T11:30:00Z");
        assert_eq!(read("yesterday 14:00"), "2026-11-21T13:00:00Z");
        assert_eq!(read("2026-11-21 09:15"), "2026-11-21T08:15:00Z");
        assert_eq!(read("2026-11-22T12:00:00Z"), "2026-11-22T12:00:00Z");
        // 14:03 of the day before, as it ends at 11:00 by this clock.
        let found = piece("14:03+10m", &now(), Some(end.as_nanosecond())).expect("a piece");
        let from: Timestamp = "2026-11-19T13:03:00Z".parse().expect("a time");
        let from = from.as_nanosecond();
        assert_eq!(found, TimeRange { from: Some(from), to: Some(from + 600_000_000_000) });
    }

    #[test]
    fn stretches_and_sizes_have_units() {
        assert_eq!(stretch("7d"), Ok(Duration::from_secs(7 * 86_400)));
        assert_eq!(stretch("90s"), Ok(Duration::from_secs(90)));
        assert_eq!((size("2G"), size("500M")), (Ok(2 << 30), Ok(500 << 20)));
        for text in ["", "7", "0d", "-1d", "d", "1y", "99999999999999999999w"] {
            assert!(stretch(text).is_err(), "{text}");
        }
        for text in ["", "2", "1K", "-1G", "99999999999T"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
