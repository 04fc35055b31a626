//! Settings as text: durations, sizes and words.

use crate::options::parse::address;
use crate::options::time::{size, stretch};
use exactop_model::blame::rows::KEYS;
use exactop_model::owner::Grouping;
use exactop_recording::Sync;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};
use std::net::SocketAddr;
use std::time::Duration;

/// Parses a text value of the file.
pub(super) fn text<'de, T, D: Deserializer<'de>>(
    from: D,
    value: impl Fn(&str) -> Result<T, String>,
) -> Result<T, D::Error> {
    let text = String::deserialize(from)?;
    value(&text).map_err(|why| D::Error::custom(format!("'{text}': {why}")))
}

pub(super) fn listens<'de, D: Deserializer<'de>>(from: D) -> Result<Option<SocketAddr>, D::Error> {
    let text = String::deserialize(from)?;
    address(&text).map(Some).map_err(D::Error::custom)
}

/// The amount in the largest unit that divides it.
fn in_units(amount: u64, units: &[(&str, u64)]) -> String {
    let fits = units.iter().find(|(_, unit)| amount.is_multiple_of(*unit) && amount >= *unit);
    fits.map_or(format!("{amount}{}", units[units.len() - 1].0), |(name, unit)| {
        format!("{}{name}", amount / unit)
    })
}

pub(super) mod length {
    use super::*;

    const UNITS: [(&str, u64); 5] =
        [("w", 604_800), ("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)];

    pub fn serialize<S: Serializer>(length: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&in_units(length.as_secs(), &UNITS))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        text(from, stretch)
    }
}

/// An optional duration.
pub(super) mod some_length {
    use super::*;

    pub fn serialize<S: Serializer>(length: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        super::length::serialize(&length.unwrap_or_default(), to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        text(from, stretch).map(Some)
    }
}

/// A duration that may be zero.
pub(super) mod pause {
    use super::*;

    pub fn serialize<S: Serializer>(length: &Duration, to: S) -> Result<S::Ok, S::Error> {
        super::length::serialize(length, to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        text(from, |text| match text {
            "0s" => Ok(Duration::ZERO),
            text => stretch(text),
        })
    }
}

/// Microseconds, up to a second.
pub(super) mod microseconds {
    use super::*;

    pub fn serialize<S: Serializer>(length: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&format!("{}us", length.as_micros()))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        let wrong = || "write microseconds up to a second, such as 5us".to_string();
        text(from, |text| {
            let number = text.strip_suffix("us").and_then(|number| number.trim().parse().ok());
            number.filter(|us| *us <= 1_000_000).map(Duration::from_micros).ok_or_else(wrong)
        })
    }
}

pub(super) mod bytes {
    use super::*;

    const UNITS: [(&str, u64); 5] =
        [("T", 1 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10), ("", 1)];

    pub fn serialize<S: Serializer>(bytes: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&in_units(*bytes, &UNITS))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        text(from, size)
    }
}

/// An optional size.
pub(super) mod some_bytes {
    use super::*;

    pub fn serialize<S: Serializer>(bytes: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
        super::bytes::serialize(&bytes.unwrap_or_default(), to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
        text(from, size).map(Some)
    }
}

pub(super) mod sync {
    use super::*;
    use crate::commands::record::SYNCS;

    pub fn serialize<S: Serializer>(sync: &Sync, to: S) -> Result<S::Ok, S::Error> {
        let word = SYNCS.iter().find(|(_, value, _)| value == sync);
        to.serialize_str(word.map_or("window", |(word, _, _)| word))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Sync, D::Error> {
        text(from, |text| {
            let word = SYNCS.iter().find(|(word, _, _)| *word == text);
            word.map(|(_, value, _)| *value).ok_or_else(|| "write window, 10s or none".into())
        })
    }
}

/// A key of the blame book.
pub(super) mod blame_by {
    use super::*;

    pub fn serialize<S: Serializer>(by: &Grouping, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(by.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Grouping, D::Error> {
        text(from, |name| Grouping::parse(name, &KEYS).map_err(|error| error.to_string()))
    }
}

pub(super) mod labels {
    use super::*;

    pub fn serialize<S: Serializer>(by: &[Grouping], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(by.iter().map(|by| by.name()))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Grouping>, D::Error> {
        let names = Vec::<String>::deserialize(from)?;
        names
            .iter()
            .map(|name| Grouping::parse(name, &Grouping::LABELS).map_err(D::Error::custom))
            .collect()
    }
}
