//! Which source a session is on: the one that was chosen, or the first that works here.

use super::Session;
use crate::error::SourceError;
use crate::procfs::Procfs;
use crate::source::{Source, SplitOptions};
use crate::taskstats::Taskstats;
use std::path::Path;

/// Which source to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Choice {
    /// The first of the others that works here, in their order; the provenance says why not the
    /// ledger.
    #[default]
    Auto,
    /// The ledger or nothing.
    Ledger,
    /// The task iterator or nothing.
    Snapshot,
    /// Taskstats or nothing.
    Taskstats,
    /// /proc.
    Procfs,
}

/// Opens a session on this machine.
///
/// # Errors
/// `Auto` and `Procfs`: when /proc cannot be read. The others: what they could not get.
pub fn open(choice: Choice, split: SplitOptions) -> Result<Session, SourceError> {
    Session::new(source(choice, split)?, Path::new("/proc"))
}

/// Opens `Auto` where something better was refused: why, is told first where it is not the ledger that works.
///
/// # Errors
/// As [`open`].
pub fn open_instead(refused: &str, split: SplitOptions) -> Result<Session, SourceError> {
    Session::new(automatic(Some(refused), split)?, Path::new("/proc"))
}

/// Opens a source of this machine.
///
/// # Errors
/// As [`open`].
pub fn source(choice: Choice, split: SplitOptions) -> Result<Box<dyn Source>, SourceError> {
    match choice {
        Choice::Procfs => Ok(Box::new(Procfs::open(Path::new("/proc"))?)),
        Choice::Taskstats => Ok(Box::new(Taskstats::open()?)),
        Choice::Ledger => ledger(split),
        Choice::Snapshot => iterated(None),
        Choice::Auto => automatic(None, split),
    }
}

/// The first that works; of the others it tells why not the ledger, and why not what is better still.
fn automatic(refused: Option<&str>, split: SplitOptions) -> Result<Box<dyn Source>, SourceError> {
    let why = match ledger(split) {
        Ok(source) => return Ok(source),
        Err(why) => why.to_string(),
    };
    let why = refused.map_or_else(|| why.clone(), |refused| format!("{refused}; {why}"));
    if let Ok(source) = iterated(Some(&why)) {
        return Ok(source);
    }
    if let Ok(source) = Taskstats::open() {
        return Ok(Box::new(source.because(&why)));
    }
    Ok(Box::new(Procfs::open(Path::new("/proc"))?.because(&why)))
}

#[cfg(feature = "bpf")]
fn ledger(split: SplitOptions) -> Result<Box<dyn Source>, SourceError> {
    use crate::ledger::{Ledger, Options};
    Ok(Box::new(Ledger::open(&Options { split, ..Options::default() })?))
}

#[cfg(feature = "bpf")]
fn iterated(why: Option<&str>) -> Result<Box<dyn Source>, SourceError> {
    let spare = crate::bpf::spare::Spare::hold()?;
    let source = crate::snapshot_source::SnapshotSource::open()?;
    drop(spare);
    Ok(Box::new(match why {
        Some(why) => source.because(why),
        None => source,
    }))
}

#[cfg(not(feature = "bpf"))]
fn ledger(_: SplitOptions) -> Result<Box<dyn Source>, SourceError> {
    Err(SourceError::without_bpf())
}

#[cfg(not(feature = "bpf"))]
fn iterated(_: Option<&str>) -> Result<Box<dyn Source>, SourceError> {
    Err(SourceError::without_bpf())
}
