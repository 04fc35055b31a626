//! Values as text in a table cell: short, aligned by unit, `-` if missing.

use crate::columns::unit::Unit;
use crate::frame::value::{Datum, Value};
use std::fmt::{Arguments, Write};

/// The text of a table cell.
pub fn cell(value: &Value, unit: Unit) -> String {
    let mut out = String::new();
    push_cell(&mut out, value, unit);
    out
}

/// Appends the text of [`cell`].
pub fn push_cell(out: &mut String, value: &Value, unit: Unit) {
    match value {
        Value::Missing(_) => out.push('-'),
        Value::Known(Datum::Text(text)) => out.push_str(text),
        // A task that did nothing has 0; most rows of a long table do.
        Value::Known(Datum::Pct(0.0) | Datum::Real(0.0)) => out.push_str("0.0"),
        Value::Known(Datum::Pct(n) | Datum::Real(n)) => append(out, format_args!("{n:.1}")),
        Value::Known(Datum::Ns(ns)) if unit == Unit::Time => push_cpu_time(out, *ns),
        Value::Known(Datum::Bytes(bytes)) => push_size(out, *bytes, 9.95),
        Value::Known(Datum::Count(n)) if unit == Unit::Count => push_count(out, *n),
        Value::Known(Datum::Ns(n) | Datum::Count(n)) => append(out, format_args!("{n}")),
        Value::Known(Datum::Int(i)) => append(out, format_args!("{i}")),
    }
}

/// A live view formats some hundred figures at each look, so they go into one text. Writing to a
/// `String` does not fail.
fn append(out: &mut String, text: Arguments) {
    let _ = out.write_fmt(text);
}

fn written(push: impl FnOnce(&mut String)) -> String {
    let mut out = String::new();
    push(&mut out);
    out
}

/// Text of a change in this unit: with its sign, `0` for no change.
pub fn change(change: &Value, unit: Unit) -> String {
    let (sign, amount) = match change {
        Value::Known(Datum::Int(n)) => (n.signum(), whole(n.unsigned_abs(), unit)),
        Value::Known(Datum::Real(n) | Datum::Pct(n)) => {
            let sign = if *n < 0.0 { -1 } else { 1 };
            (sign, Datum::Pct(n.abs()))
        }
        other => return cell(other, unit),
    };
    signed(sign < 0, cell(&Value::Known(amount), unit))
}

/// An amount with its sign; an amount that shows as 0 has none.
pub fn signed(negative: bool, amount: String) -> String {
    match amount.chars().any(|c| ('1'..='9').contains(&c)) {
        false => amount,
        true if negative => format!("-{amount}"),
        true => format!("+{amount}"),
    }
}

fn whole(n: u64, unit: Unit) -> Datum {
    match unit {
        Unit::Bytes => Datum::Bytes(n),
        Unit::Pct => Datum::Pct(n as f64),
        Unit::Ns | Unit::Time => Datum::Ns(n),
        Unit::Count | Unit::Int | Unit::Id | Unit::Text => Datum::Count(n),
    }
}

/// A count per second; below 100 with one digit after the point.
pub fn rate(count: u64, seconds: f64) -> String {
    if seconds <= 0.0 {
        return "-".into();
    }
    match count as f64 / seconds {
        rate if rate >= 99.95 || count == 0 => format!("{rate:.0}"),
        rate => format!("{rate:.1}"),
    }
}

/// Per cent with one digit after the point, as top.
pub fn percent(pct: f64) -> String {
    format!("{pct:.1}")
}

/// A duration with three digits and its unit: `950ns`, `12.3us`, `4.56ms`, `1.23s`, `3600s`.
pub fn duration(ns: u64) -> String {
    let units =
        [(1_000u64, 1u64, "ns"), (1_000_000, 1_000, "us"), (1_000_000_000, 1_000_000, "ms")];
    let (unit, name) = units
        .iter()
        .find(|(below, _, _)| ns < *below - *below / 2000)
        .map_or((1_000_000_000, "s"), |&(_, unit, name)| (unit, name));
    let value = ns as f64 / unit as f64;
    match value {
        _ if unit == 1 => format!("{ns}{name}"),
        ..9.995 => format!("{value:.2}{name}"),
        ..99.95 => format!("{value:.1}{name}"),
        _ => format!("{value:.0}{name}"),
    }
}

/// `minutes:seconds.hundredths`, as TIME+ of top; wider units if there are many minutes.
pub fn cpu_time(ns: u64) -> String {
    written(|out| push_cpu_time(out, ns))
}

fn push_cpu_time(out: &mut String, ns: u64) {
    let hundredths = ns / 10_000_000;
    let (minutes, rest) = (hundredths / 6000, hundredths % 6000);
    match minutes {
        0..=9999 => append(out, format_args!("{minutes}:{:02}.{:02}", rest / 100, rest % 100)),
        10_000..=599_999 => append(out, format_args!("{},{:02}h", minutes / 60, minutes % 60)),
        _ => append(out, format_args!("{}d", minutes / 1440)),
    }
}

/// Bytes in powers of 1024 with at most four characters and a unit: `3.2M`, `212M`, `1.0G`.
pub fn size(bytes: u64) -> String {
    written(|out| push_size(out, bytes, 9.95))
}

/// Like [`size`] with one more digit, for the memory of a machine: `23.5G`.
pub fn long_size(bytes: u64) -> String {
    written(|out| push_size(out, bytes, 99.95))
}

fn push_size(out: &mut String, bytes: u64, tenths_below: f64) {
    const LETTERS: [char; 6] = ['K', 'M', 'G', 'T', 'P', 'E'];
    if bytes < 1024 {
        return append(out, format_args!("{bytes}"));
    }
    let mut value = bytes as f64 / 1024.0;
    let mut letter = 0;
    while value >= 999.5 && letter + 1 < LETTERS.len() {
        value /= 1024.0;
        letter += 1;
    }
    let digits = usize::from(value < tenths_below);
    append(out, format_args!("{value:.digits$}{}", LETTERS[letter]));
}

/// A count in at most six characters: exact up to 99,999, then thousands, millions, billions.
pub fn count(n: u64) -> String {
    written(|out| push_count(out, n))
}

fn push_count(out: &mut String, n: u64) {
    match n {
        0..=99_999 => append(out, format_args!("{n}")),
        100_000..=9_999_999 => append(out, format_args!("{}K", n / 1000)),
        10_000_000..=9_999_999_999 => append(out, format_args!("{}M", n / 1_000_000)),
        _ => append(out, format_args!("{}G", n / 1_000_000_000)),
    }
}

/// An integer with separators: `3,512`.
pub fn thousands(n: u64) -> String {
    let mut out = n.to_string();
    let digits = out.len();
    for at in (1..digits).rev().filter(|at| (digits - at).is_multiple_of(3)) {
        out.insert(at, ',');
    }
    out
}

/// Cuts or pads text to a display width.
pub fn pad(text: &str, width: usize, left: bool) -> String {
    let cut: String = text.chars().take(width).collect();
    if left {
        format!("{cut:<width$}")
    } else {
        format!("{cut:>width$}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_three_digits_at_every_edge() {
        let texts: Vec<String> = [
            0,
            999,
            1_000,
            9_994,
            9_995,
            99_949,
            99_950,
            999_499,
            999_500,
            1_000_000,
            12_345_678,
            999_999_999,
            1_234_000_000,
            3_600_000_000_000,
        ]
        .map(duration)
        .into();
        let expected = [
            "0ns", "999ns", "1.00us", "9.99us", "10.0us", "99.9us", "100us", "999us", "1.00ms",
            "1.00ms", "12.3ms", "1.00s", "1.23s", "3600s",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn sizes_keep_two_digits() {
        let shown: Vec<_> =
            [0, 1023, 1024, 3_355_443, 222_298_112, 1 << 30, u64::MAX].map(size).into();
        assert_eq!(shown, ["0", "1023", "1.0K", "3.2M", "212M", "1.0G", "16E"]);
    }

    #[test]
    fn a_change_has_a_sign_unless_it_is_zero() {
        let pct = |now, then| {
            let known = |n| Value::Known(Datum::Pct(n));
            change(&known(now).change_since(&known(then)), Unit::Pct)
        };
        assert_eq!([pct(12.5, 2.0), pct(2.0, 12.5), pct(2.0, 2.01)], ["+10.5", "-10.5", "0.0"]);
        let bytes = |now, then| {
            let known = |n| Value::Known(Datum::Bytes(n));
            change(&known(now).change_since(&known(then)), Unit::Bytes)
        };
        assert_eq!([bytes(4096, 1024), bytes(0, 2048), bytes(7, 7)], ["+3.0K", "-2.0K", "0"]);
        let ns = Value::Known(Datum::Ns(14_340_000_000));
        assert_eq!(change(&ns.change_since_nothing(), Unit::Time), "+0:14.34");
        assert_eq!(change(&ns.change_to_nothing(), Unit::Ns), "-14340000000");
        let missing = Value::Missing(crate::frame::value::Missing::NotRead);
        assert_eq!(change(&ns.change_since(&missing), Unit::Ns), "-");
        assert_eq!(missing.change_since_nothing(), missing);
    }

    #[test]
    fn separators_stand_before_threes() {
        assert_eq!([0, 999, 1000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn cpu_time_has_the_format_of_top() {
        assert_eq!(cpu_time(14_340_000_000), "0:14.34");
        assert_eq!(cpu_time(182_110_000_000), "3:02.11");
        assert_eq!(cpu_time(600_000_000_000_000), "166,40h");
    }
}
