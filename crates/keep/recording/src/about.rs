//! The first frame of a file: a JSON description of the machine, the version and the tables.

use crate::schema::{tables, Table};
use serde::{Deserialize, Serialize};

/// The first bytes of a file.
pub(crate) const FILE_MAGIC: &[u8; 8] = b"EXACTOP\n";
/// File format version that this code writes; it reads all versions up to this one.
pub const FORMAT: u32 = 1;

/// The recorded machine and the version of exactop that recorded it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Host name.
    pub host: String,
    /// Boot id; all times of one boot are on the same clock.
    pub boot_id: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor architecture.
    pub architecture: String,
    /// Version of exactop.
    pub exactop: String,
}

impl Machine {
    /// Describes the machine that this process runs on.
    pub fn this(exactop: &str) -> Machine {
        let name = rustix::system::uname();
        let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
        let boot_id = exactop_files::read("/proc/sys/kernel/random/boot_id".as_ref(), 64);
        Machine {
            host: text(name.nodename()),
            boot_id: boot_id.map_or_else(
                // Without a boot id each start counts as its own boot, so no two files seem
                // continuous.
                |_| format!("unknown-{}", std::process::id()),
                |bytes| String::from_utf8_lossy(&bytes).trim().to_string(),
            ),
            kernel: text(name.release()),
            architecture: text(name.machine()),
            exactop: exactop.into(),
        }
    }
}

/// Content of the first frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingInfo {
    /// Format version of the frames that follow.
    pub format: u32,
    /// The recorded machine.
    #[serde(flatten)]
    pub machine: Machine,
    /// Session id: when the session began, CLOCK_MONOTONIC ns. Files of one session continue each
    /// other.
    pub session: u64,
    /// Random mark in the header of every frame of this file.
    pub mark: u32,
    /// True if names were replaced.
    #[serde(default)]
    pub anonymous: bool,
    /// Tables and their columns; a table's number is its index.
    pub tables: Vec<Table>,
}

impl RecordingInfo {
    /// Describes a file that this version writes.
    pub(crate) fn new(
        machine: &Machine,
        session: u64,
        mark: u32,
        anonymous: bool,
    ) -> RecordingInfo {
        let tables = tables().to_vec();
        RecordingInfo { format: FORMAT, machine: machine.clone(), session, mark, anonymous, tables }
    }
}

/// Format and version of the writer: the part that every version can read.
#[derive(Deserialize)]
pub(crate) struct Form {
    pub format: u32,
    #[serde(default)]
    pub exactop: String,
}
