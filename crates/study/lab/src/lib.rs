//! The lab: scheduler experiments as measurements. It takes the definition of an experiment and gives recorded
//! trials, verdicts and a report. The command alone may depend on it.
//!
//! An experiment is data ([`definition`], [`built_in`]): who runs under which conditions, what is
//! measured, and what theory predicts ([`predict`]). A [`plan`] puts its trials into a random order that a seed
//! decides; a [`trial`] starts the workers, lets the ledger account one window, and ends them;
//! [`validity`] says from the ledger whether the machine left them alone. Every trial is written
//! down at once ([`record`]). From what was written down ([`read_back`]) come medians with intervals
//! ([`statistics`]), verdicts ([`analysis`]), the [`report`], and [`compare`].

pub mod analysis;
mod bounds;
pub mod built_in;
mod check;
pub mod compare;
pub mod definition;
pub mod machine;
pub mod plan;
pub mod predict;
pub mod read_back;
pub mod record;
pub mod report;
pub mod trial;
pub mod validity;

pub use exactop_report::statistics;

use std::path::PathBuf;

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "`path` and `why` are what their names say")]
pub enum LabError {
    /// A definition that is not understood.
    #[error("{from}: {why}")]
    Definition {
        /// The file, or the name of one that is built in.
        from: String,
        /// What is wrong, the value found, what may stand there.
        why: String,
    },
    /// A file that cannot be read or written.
    #[error("cannot {what} {}: {why}", path.display())]
    File {
        /// Read, write, make.
        what: &'static str,
        path: PathBuf,
        why: String,
    },
    /// A file that is not used, or could not be written.
    #[error(transparent)]
    Files(#[from] exactop_files::FileError),
    /// Something that trials need is not there.
    #[error("{0}")]
    Machine(String),
    /// The caller wants it to end.
    #[error("stopped")]
    Stopped,
}

impl LabError {
    pub(crate) fn file(
        what: &'static str,
        path: impl Into<PathBuf>,
        why: impl ToString,
    ) -> LabError {
        LabError::File { what, path: path.into(), why: why.to_string() }
    }
}
