//! What a file says of itself in its first frame, as JSON.

use crate::schema::{tables, Table};
use serde::{Deserialize, Serialize};

/// The first bytes of a file.
pub(crate) const FILE_MAGIC: &[u8; 8] = b"EXACTOP\n";
/// The form that this version writes; it reads all up to it.
pub const FORMAT: u32 = 1;

/// The machine that is recorded, and by what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Its name.
    pub host: String,
    /// Which boot: times of one boot are on one clock.
    pub boot_id: String,
    /// The kernel's release.
    pub kernel: String,
    /// The processor's architecture.
    pub architecture: String,
    /// The version of exactop.
    pub exactop: String,
}

impl Machine {
    /// This one, as of now.
    pub fn this(exactop: &str) -> Machine {
        let name = rustix::system::uname();
        let text = |text: &std::ffi::CStr| text.to_string_lossy().into_owned();
        let boot_id = exactop_files::read("/proc/sys/kernel/random/boot_id".as_ref(), 64);
        Machine {
            host: text(name.nodename()),
            boot_id: boot_id.map_or_else(
                // Without it every start counts as a boot of its own: nothing is taken for continuous.
                |_| format!("unknown-{}", std::process::id()),
                |bytes| String::from_utf8_lossy(&bytes).trim().to_string(),
            ),
            kernel: text(name.release()),
            architecture: text(name.machine()),
            exactop: exactop.into(),
        }
    }
}

/// All that the first frame says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The form of what follows.
    pub format: u32,
    /// Whose figures they are.
    #[serde(flatten)]
    pub machine: Machine,
    /// Files of one session continue each other: when it began, CLOCK_MONOTONIC ns.
    pub session: u64,
    /// What all of its frames have in their headers.
    pub mark: u32,
    /// Names were replaced.
    #[serde(default)]
    pub anonymous: bool,
    /// The tables and their columns, by number.
    pub tables: Vec<Table>,
}

impl About {
    /// Of a file that this version writes.
    pub(crate) fn new(machine: &Machine, session: u64, mark: u32, anonymous: bool) -> About {
        let tables = tables().to_vec();
        About { format: FORMAT, machine: machine.clone(), session, mark, anonymous, tables }
    }
}

/// The form and who wrote it: what every version can read.
#[derive(Deserialize)]
pub(crate) struct Form {
    pub format: u32,
    #[serde(default)]
    pub exactop: String,
}
