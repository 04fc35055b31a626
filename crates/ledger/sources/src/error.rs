//! Why a source cannot be used: what, the value found, what to do.

use std::io;
use std::path::PathBuf;

/// Why a source cannot be opened or read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "`path` and `error` are what their names say")]
pub enum SourceError {
    /// A file could not be read.
    #[error("cannot read {path}: {error}")]
    Read { path: PathBuf, error: io::Error },
    /// A file holds something else than proc(5) says.
    #[error("{path}: expected {expected}, found '{found}'")]
    Parse {
        path: PathBuf,
        /// What it should hold.
        expected: &'static str,
        /// What it holds, escaped and cut.
        found: String,
    },
    /// The kernel or this user's rights do not allow the ledger.
    #[error("{what}: {advice}")]
    Unavailable {
        /// What was tried and what the answer was.
        what: String,
        /// What would make it work.
        advice: String,
    },
    /// The kernel refused something after the source was opened.
    #[error("{what}: {error}")]
    Kernel {
        /// What was asked.
        what: &'static str,
        /// The answer.
        error: io::Error,
    },
}

/// Whose group counts is what the programs are told before they are loaded.
#[cfg(feature = "bpf")]
impl From<exactop_cgroups::CgroupError> for SourceError {
    fn from(error: exactop_cgroups::CgroupError) -> SourceError {
        SourceError::Unavailable {
            what: error.to_string(),
            advice: "run exactop where /proc is mounted and readable".into(),
        }
    }
}

#[cfg(not(feature = "bpf"))]
impl SourceError {
    pub(crate) fn without_bpf() -> SourceError {
        SourceError::Unavailable {
            what: "this exactop was built without the BPF ledger and snapshot".into(),
            advice: "build it with the feature 'bpf' for exact accounting".into(),
        }
    }
}
