//! Why a source cannot be used: what, the value found, what to do.

use std::io;
use std::path::PathBuf;

/// Why a source cannot be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A file could not be read.
    #[error("cannot read {path}: {error}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file holds something else than proc(5) says.
    #[error("{path}: expected {expected}, found '{found}'")]
    Parse {
        /// Which.
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

#[cfg(not(feature = "bpf"))]
impl SourceError {
    pub(crate) fn without_bpf() -> SourceError {
        SourceError::Unavailable {
            what: "this exactop was built without the BPF ledger and snapshot".into(),
            advice: "build it with the feature 'bpf' for exact accounting".into(),
        }
    }
}
