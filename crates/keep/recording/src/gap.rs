//! Time that is not recorded.

use serde::{Deserialize, Serialize};

/// Why time is not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Nobody recorded.
    NotRunning,
    /// The machine was started anew.
    Boot,
    /// The machine was suspended: CLOCK_MONOTONIC, by which windows are measured, stood still.
    Suspend,
    /// It could not be written: no room, or an error of the disk.
    NotWritten,
    /// It is not what was written any more.
    Damaged,
    /// Two files tell of the same time; the first is taken.
    Overlap,
    /// It was left out on purpose: a part was cut out of a recording, and this is of another time.
    Cut,
    /// What a later version knows.
    #[serde(other)]
    Other,
}

impl Why {
    /// In words.
    pub const fn text(self) -> &'static str {
        match self {
            Why::NotRunning => "nobody recorded",
            Why::Boot => "the machine was started anew",
            Why::Suspend => "the machine was suspended",
            Why::NotWritten => "it could not be written",
            Why::Damaged => "the file is damaged",
            Why::Overlap => "two files tell of the same time",
            Why::Cut => "it was left out",
            Why::Other => "for a reason that a later version knows",
        }
    }
}

/// A gap between two windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Why.
    pub why: Why,
    /// How long by CLOCK_MONOTONIC, ns, of a suspend by CLOCK_BOOTTIME; `None` over a boot.
    pub length_ns: Option<u64>,
    /// Its beginning by the wall clock of that time, ns since the epoch.
    pub from_wall_ns: i128,
    /// Its end.
    pub to_wall_ns: i128,
}

/// What a gap's frame says.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Stated {
    pub why: Why,
    /// How long the machine was suspended, which CLOCK_MONOTONIC does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended_ns: Option<u64>,
}

impl From<Why> for Stated {
    fn from(why: Why) -> Stated {
        Stated { why, suspended_ns: None }
    }
}

impl Stated {
    pub fn payload(self) -> Vec<u8> {
        serde_json::to_vec(&self).expect("a word as JSON")
    }

    pub fn of(payload: &[u8]) -> Option<Stated> {
        serde_json::from_slice(payload).ok()
    }
}
