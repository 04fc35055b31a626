//! Errors of a source: what failed, the value found, what to do.

use std::io;
use std::path::PathBuf;

/// Why a source cannot be opened or read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "`path` and `error` are what their names say")]
pub enum SourceError {
    /// A file could not be read.
    #[error("cannot read {path}: {error}")]
    Read { path: PathBuf, error: io::Error },
    /// A file differs from its description in proc(5).
    #[error("cannot parse {path} (found '{found}' for {expected}): report this with the kernel's version")]
    Parse {
        path: PathBuf,
        /// The expected content.
        expected: &'static str,
        /// The content found, escaped and cut.
        found: String,
    },
    /// The kernel or the user's rights do not permit this source.
    #[error("{what}: {advice}")]
    Unavailable {
        /// What failed, with the kernel's answer.
        what: String,
        /// What to do.
        advice: String,
    },
    /// The kernel refused a request after the source was opened.
    #[error("{what}: {error}")]
    Kernel { what: &'static str, error: io::Error },
}

/// The programs need the hierarchy of control groups before they are loaded.
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
