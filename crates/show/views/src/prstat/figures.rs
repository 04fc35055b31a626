//! Figures and names as prstat(8) of illumos writes them, in three to nine characters.

use exactop_model::text::escape;
use exactop_model::{MicroState, Row};

/// Per cent in three characters: with tenths below 9.95, else whole; clamped to 0..100.
pub fn percent(value: f64) -> String {
    let value = value.clamp(0.0, 100.0);
    match value < 9.95 {
        true => format!("{value:.1}"),
        false => format!("{value:.0}"),
    }
}

/// Tenths of a per cent in four characters.
pub fn tenths(n: i64) -> String {
    match n {
        0..1000 => format!("{}.{}", n / 10, n % 10),
        _ => (n / 10).to_string(),
    }
}

/// A count in three characters, truncated: `1K` is 1,000 to 1,999, `.1M` is 100,000 to 199,999.
/// From a million on prstat's buffer is too small (it prints `.10`); here the same steps continue.
pub fn count(n: u64) -> String {
    const STEPS: [(u64, &str); 3] = [(1_000_000_000, "G"), (1_000_000, "M"), (1000, "K")];
    for (i, (unit, tag)) in STEPS.iter().enumerate() {
        // Three digits do not fit before a letter: they become a tenth of the next unit.
        let tenths_of = i.checked_sub(1).map(|above| STEPS[above]);
        match tenths_of {
            Some((above, tag)) if n >= above / 10 && n < above => {
                return format!(".{}{tag}", n * 10 / above);
            }
            _ if n >= *unit => return format!("{:2}{tag}", n / unit),
            _ => {}
        }
    }
    format!("{n:3}")
}

/// A size in five characters: KiB up to 9999, then rounded to M, G and T.
pub fn size(bytes: u64) -> String {
    let mut n = bytes / 1024;
    let mut tags = ['K', 'M', 'G', 'T'].iter();
    let mut tag = tags.next();
    while n >= 10_000 {
        let Some(next) = tags.next() else { break };
        n = (n + 512) / 1024;
        tag = Some(next);
    }
    format!("{n:4}{}", tag.unwrap_or(&'T'))
}

/// CPU time as hours:minutes:seconds, truncated to seconds.
pub fn time(ns: u64) -> String {
    let s = ns / 1_000_000_000;
    format!("{:3}:{:02}:{:02}", s / 3600, s % 3600 / 60, s % 60)
}

/// The state: `sleep run zombie stop idle wait cpuN`. A kernel worker without work is idle. A
/// thread whose cgroup has used up its quota waits.
pub fn state(row: &Row) -> String {
    let name = match (row.letter, row.doing.state) {
        ('Z', _) => "zombie",
        (_, MicroState::Run) => {
            return row.doing.cpu.map_or("run".into(), |cpu| format!("cpu{cpu:<3}"));
        }
        (_, MicroState::Lat | MicroState::LatPreempt) => "run",
        (_, MicroState::Throttle) => "wait",
        (_, MicroState::Stop) | ('T' | 't', _) => "stop",
        ('I', _) => "idle",
        // A source that reads /proc cannot distinguish a running task from one in a run queue.
        ('R', MicroState::Unknown) => "run",
        _ => "sleep",
    };
    name.into()
}

/// Priority as prstat counts it: a larger value runs first. 0 to 39 is fair, 40 and above is real
/// time.
pub fn priority(prio: i32) -> String {
    format!("{:3}", 139 - prio)
}

/// A name in a column of `width` characters; a cut name ends in `*`.
pub fn name(name: &str, width: usize, cut: bool) -> String {
    let name = escape::escape_str(name);
    if !cut || name.chars().count() <= width {
        return name;
    }
    name.chars().take(width - 1).chain(['*']).collect()
}

/// The first `width` characters of a program's name; unprintable characters become `?`.
pub fn program(bytes: &[u8], width: usize) -> String {
    escape::replaced(bytes, '?').chars().take(width).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn per_cent_changes_its_form_at_9_95_and_stays_within_bounds() {
        let shown: Vec<String> = [
            -1.0, 0.0, 0.049, 0.051, 7.8, 9.94, 9.949_999, 9.95, 10.4, 11.5, 12.5, 99.49, 99.5,
            100.0, 250.0,
        ]
        .map(percent)
        .into();
        let expected = [
            "0.0", "0.0", "0.0", "0.1", "7.8", "9.9", "9.9", "10", "10", "12", "12", "99", "100",
            "100", "100",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn counts_are_cut_off_and_three_wide() {
        let shown = [0, 7, 999, 1000, 1999, 2000, 9999, 10_000, 99_999].map(count);
        assert_eq!(shown, ["  0", "  7", "999", " 1K", " 1K", " 2K", " 9K", "10K", "99K"]);
        let shown = [100_000, 199_999, 200_000, 999_999, 1_000_000, 99_999_999].map(count);
        assert_eq!(shown, [".1M", ".1M", ".2M", ".9M", " 1M", "99M"]);
        let shown = [100_000_000, 999_999_999, 1_000_000_000, 99_999_999_999].map(count);
        assert_eq!(shown, [".1G", ".9G", " 1G", "99G"]);
    }

    #[test]
    fn sizes_are_rounded_where_the_letter_changes() {
        const K: u64 = 1024;
        let kib = |n: u64| size(n * K);
        assert_eq!([0, 1, 9999].map(kib), ["   0K", "   1K", "9999K"]);
        assert_eq!(size(K - 1), "   0K");
        // 10,000 K is 9.8 M; 10,751 K is 1 K less than 10.5 M.
        assert_eq!([10_000, 10_751, 10_752].map(kib), ["  10M", "  10M", "  11M"]);
        assert_eq!([9999 * K, 9999 * K + 511].map(kib), ["9999M", "9999M"]);
        assert_eq!([9999 * K + 512, 20 * K * K].map(kib), ["  10G", "  20G"]);
        assert_eq!(kib(20 * K * K * K), "  20T");
    }

    #[test]
    fn time_is_hours_minutes_and_whole_seconds() {
        const S: u64 = 1_000_000_000;
        let shown = [0, S - 1, S, 59 * S, 60 * S, 3599 * S, 3600 * S, 359_999 * S].map(time);
        let expected = [
            "  0:00:00",
            "  0:00:00",
            "  0:00:01",
            "  0:00:59",
            "  0:01:00",
            "  0:59:59",
            "  1:00:00",
            " 99:59:59",
        ];
        assert_eq!(shown, expected);
        assert_eq!([3_599_999 * S, 3_600_000 * S].map(time), ["999:59:59", "1000:00:00"]);
    }

    #[test]
    fn names_over_the_width_end_in_a_star() {
        assert_eq!(name("postgres", 8, true), "postgres");
        assert_eq!(name("postgresql", 8, true), "postgre*");
        assert_eq!(name("postgresql", 8, false), "postgresql");
        assert_eq!(name("a\x1bb", 8, true), "a\\x1bb");
    }

    #[test]
    fn programs_are_cut_without_a_mark() {
        assert_eq!(program(b"a-long-name-of-15", 12), "a-long-name-");
        assert_eq!(program(b"ev\x1b[2J\xff\n", 16), "ev?[2J??");
        assert_eq!(program("naïve".as_bytes(), 16), "naïve");
    }

    #[test]
    fn priorities_grow_with_importance() {
        assert_eq!(
            [139, 120, 100, 99, 0, -1].map(priority),
            ["  0", " 19", " 39", " 40", "139", "140"]
        );
    }
}
