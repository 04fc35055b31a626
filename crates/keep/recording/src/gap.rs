//! Time that is not recorded.

use serde::{Deserialize, Serialize};

/// Why time is not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GapReason {
    /// No recorder ran.
    NotRunning,
    /// The machine rebooted.
    Boot,
    /// The machine was suspended: CLOCK_MONOTONIC, which measures windows, stood still.
    Suspend,
    /// Writing failed: the disk was full or returned an error.
    NotWritten,
    /// The bytes in the file are damaged.
    Damaged,
    /// Two files hold the same time; the first one counts.
    Overlap,
    /// Left out on purpose: this file is a cut, and this time is outside it.
    Cut,
    /// Reason of a later version.
    #[serde(other)]
    Other,
}

impl GapReason {
    /// The reason in words.
    pub const fn text(self) -> &'static str {
        match self {
            GapReason::NotRunning => "no recorder ran",
            GapReason::Boot => "the machine rebooted",
            GapReason::Suspend => "the machine was suspended",
            GapReason::NotWritten => "it could not be written",
            GapReason::Damaged => "the file is damaged",
            GapReason::Overlap => "two files hold the same time",
            GapReason::Cut => "it was left out",
            GapReason::Other => "for a reason of a later version of exactop",
        }
    }
}

/// A gap between two windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Reason.
    pub why: GapReason,
    /// Length, ns: by CLOCK_MONOTONIC, for a suspend by CLOCK_BOOTTIME; `None` across a reboot.
    pub length_ns: Option<u64>,
    /// Beginning by the wall clock of that time, ns since the epoch.
    pub from_wall_ns: i128,
    /// End by the wall clock of that time, ns since the epoch.
    pub to_wall_ns: i128,
}

/// Content of a gap's frame.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct GapRecord {
    pub why: GapReason,
    /// Suspended time, ns, which CLOCK_MONOTONIC does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended_ns: Option<u64>,
}

impl From<GapReason> for GapRecord {
    fn from(why: GapReason) -> GapRecord {
        GapRecord { why, suspended_ns: None }
    }
}

impl GapRecord {
    pub fn payload(self) -> Vec<u8> {
        serde_json::to_vec(&self).expect("a word as JSON")
    }

    pub fn from_payload(payload: &[u8]) -> Option<GapRecord> {
        serde_json::from_slice(payload).ok()
    }
}
