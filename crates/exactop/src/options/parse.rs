//! Parses option values. An error names the value found and the expected form.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use exactop_model::columns::filter::Filter;
use exactop_model::columns::sort::SortBy;
use exactop_model::columns::{self, Column};
use exactop_model::owner::Grouping;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// A list of columns on the command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns(pub Vec<&'static Column>);

/// A sort column with its direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SortField(pub SortBy);

/// A word, its value, and its help; empty where the word explains itself.
pub type Word<T> = (&'static str, T, &'static str);

/// A parser for one of these words.
pub fn one_of<T>(words: &'static [Word<T>]) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let possible = words.iter().map(|(word, _, help)| match *help {
        "" => PossibleValue::new(*word),
        help => PossibleValue::new(*word).help(help),
    });
    PossibleValuesParser::new(possible).try_map(move |typed: String| {
        let found = words.iter().find(|(word, ..)| *word == typed);
        found.map(|&(_, value, _)| value).ok_or("write one of the possible values")
    })
}

/// A parser for a dimension to sum by.
pub fn by(offered: &'static [Grouping]) -> impl TypedValueParser<Value = Grouping> {
    let words = offered.iter().map(|by| PossibleValue::new(by.name()).help(by.help()));
    PossibleValuesParser::new(words).try_map(|word: String| Grouping::parse(&word, offered))
}

/// Parses a number of windows.
pub fn windows(text: &str) -> Result<u64, String> {
    let why = "write a number of windows, 1 or more, or leave it out to go on until stopped";
    count(text).map_err(|_| why.into())
}

/// Parses a whole number, 1 or more.
pub fn count(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(n @ 1..) => Ok(n),
        _ => Err("write a whole number, 1 or more".into()),
    }
}

/// Parses a whole number, 0 or more.
pub fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "write a whole number, 0 or more".into())
}

/// Most groups of a window with a row of their own.
pub const MOST_GROUPS: usize = 100_000;

/// Parses the number of groups with a row of their own.
pub fn groups(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=MOST_GROUPS) => Ok(n),
        _ => Err(format!("write a whole number of groups, 1 to {MOST_GROUPS}")),
    }
}

/// Parses an address to listen at.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        let why = match text.rsplit_once(':') {
            _ if text.parse::<IpAddr>().is_ok() => "it has no port".into(),
            Some((_, port)) if port.parse::<u16>().is_err() => format!("'{port}' is not a port"),
            Some((host, _)) if host.parse::<Ipv6Addr>().is_ok() => {
                format!("'{host}' has no brackets, as in [::1]:8080")
            }
            Some((host, _)) => format!("'{host}' is not a numeric address"),
            None => "it has no port".into(),
        };
        format!("{why}: write ADDRESS:PORT, such as 127.0.0.1:8080")
    })
}

/// Parses an interval in seconds.
pub fn seconds(text: &str) -> Result<f64, String> {
    exactop_tui::parse_interval(text)
}

/// The widest line, as in top.
pub const MAX_WIDTH: usize = 512;

/// Parses a line width.
pub fn width(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 3..=MAX_WIDTH) => Ok(n),
        _ => Err(format!("write a width of 3 to {MAX_WIDTH} columns")),
    }
}

/// Parses a part of the machine's CPU time, in per cent.
pub fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(n) if (0.0..=100.0).contains(&n) => Ok(n),
        _ => Err("write per cent of the machine's CPU time, 0 to 100".into()),
    }
}

/// Parses a PID.
pub fn pid(text: &str) -> Result<u32, String> {
    match text.trim().parse() {
        Ok(n @ 1..=0x7fff_ffff) => Ok(n),
        _ => Err("write a process id, a number from 1".into()),
    }
}

/// Parses a filter expression.
pub fn filter(text: &str) -> Result<Filter, String> {
    Filter::parse(text).map_err(|error| error.to_string())
}

/// Parses a sort field as top writes it.
pub fn sort_field(text: &str) -> Result<SortField, String> {
    let (descending, name) = match text.as_bytes().first() {
        Some(b'+') => (Some(true), &text[1..]),
        Some(b'-') => (Some(false), &text[1..]),
        _ => (None, text),
    };
    let natural = SortBy::column(column(name)?);
    Ok(SortField(SortBy { descending: descending.unwrap_or(natural.descending), ..natural }))
}

/// Parses a list of columns.
pub fn columns(text: &str) -> Result<Columns, String> {
    let mut list: Vec<&'static Column> = Vec::new();
    for name in text.split(',').map(str::trim) {
        if name.is_empty() {
            return Err("an empty name is in the list: write COLUMN,COLUMN".into());
        }
        let column = column(name)?;
        if list.contains(&column) {
            return Err(format!("column '{name}' occurs twice: write it once"));
        }
        list.push(column);
    }
    Ok(Columns(list))
}

fn column(name: &str) -> Result<&'static Column, String> {
    columns::find(name).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sort_field_has_tops_signs() {
        let direction = |text: &str| sort_field(text).map(|f| f.0.descending);
        assert_eq!(direction("%CPU"), Ok(true));
        assert_eq!(direction("-%CPU"), Ok(false));
        assert_eq!(direction("pid"), Ok(false));
        assert_eq!(direction("+pid"), Ok(true));
        assert!(direction("").is_err());
    }

    #[test]
    fn an_error_names_the_wrong_part_of_an_address() {
        assert_eq!(address("[::1]:80").map(|address| address.port()), Ok(80));
        let why = |text| {
            let why = address(text).expect_err("no address");
            why.strip_suffix(": write ADDRESS:PORT, such as 127.0.0.1:8080").map(String::from)
        };
        for (text, what) in [
            ("127.0.0.1", "it has no port"),
            ("::1", "it has no port"),
            ("x", "it has no port"),
            ("127.0.0.1:99999", "'99999' is not a port"),
            ("127.0.0.1:", "'' is not a port"),
            ("fe80::1:99999", "'99999' is not a port"),
            ("localhost:80", "'localhost' is not a numeric address"),
        ] {
            assert_eq!(why(text).as_deref(), Some(what));
        }
    }

    #[test]
    fn a_misspelt_column_gets_a_suggestion() {
        let message = columns("pid,comand").unwrap_err();
        assert_eq!(message, "no column 'comand': did you mean 'command'?");
        assert!(columns("pid,qqqqqqqq").unwrap_err().contains("to list them"));
    }
}
