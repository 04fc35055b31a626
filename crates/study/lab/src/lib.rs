//! The lab: scheduler experiments as measurements. It takes the definition of an experiment and
//! gives recorded trials, verdicts and a report. The command alone may depend on it.
//!
//! An experiment is data ([`definition`], [`built_in`]): workers, conditions, a metric, and the
//! prediction of theory ([`predict`]). A [`plan`] orders its trials at random, from a seed. A
//! [`trial`] starts the workers, measures one window with the ledger, and ends the workers.
//! [`validity`] discards trials that the machine disturbed. Every trial is written at once
//! ([`record`]). [`read_back`] reads the trials; [`statistics`] computes medians with intervals,
//! [`analysis`] verdicts, [`report`] the page, and [`compare`] compares two runs.

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

#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "`path` and `why` are what their names say")]
pub enum LabError {
    /// A definition is invalid.
    #[error("{from}: {why}")]
    Definition {
        /// Its file, or the name of a built-in experiment.
        from: String,
        /// What is wrong, the value found, and what is allowed.
        why: String,
    },
    /// A file cannot be read or written.
    #[error("cannot {what} {}: {why}", path.display())]
    File {
        /// The operation: read, write, make.
        what: &'static str,
        path: PathBuf,
        why: String,
    },
    /// A file is unsafe, or cannot be written.
    #[error(transparent)]
    Files(#[from] exactop_files::FileError),
    /// The machine lacks something that trials need.
    #[error("{0}")]
    Machine(String),
    /// The caller wants to stop.
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
