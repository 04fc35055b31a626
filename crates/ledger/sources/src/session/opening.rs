//! Chooses the source of a session: the user's choice, or the first source that works here.

use super::Session;
use crate::error::SourceError;
use crate::procfs::Procfs;
use crate::source::{Source, SplitOptions};
use crate::taskstats::Taskstats;
use std::path::Path;

/// Choice of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Choice {
    /// The first of the others that works here, in their order; the provenance gives the reason
    /// against the ledger.
    #[default]
    Auto,
    /// The ledger, or an error.
    Ledger,
    /// The BPF task iterator, or an error.
    Snapshot,
    /// Taskstats, or an error.
    Taskstats,
    /// /proc.
    Procfs,
}

/// Opens a session on this machine.
///
/// # Errors
/// `Auto` and `Procfs`: /proc cannot be read. The others: the source cannot be opened.
pub fn open(choice: Choice, split: SplitOptions) -> Result<Session, SourceError> {
    Session::new(source(choice, split)?, Path::new("/proc"))
}

/// Opens `Auto` after a better source was refused. If the ledger does not work either, the
/// provenance gives the reason `refused` first.
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

/// Opens the first source that works. Its provenance gives the reason against the ledger and
/// against any better source.
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
    use super::memory;
    use crate::ledger::{BlameOptions, Ledger, Options, WaitSizesOptions};
    let floor = |floor_ns| BlameOptions { floor_ns, ..BlameOptions::default() };
    let blame = split.blame_floor_ns.map(floor);
    let wait_sizes = blame.filter(|_| split.wait_sizes).map(|_| WaitSizesOptions::default());
    memory::end_phase();
    let ledger = Ledger::open(&Options { split, blame, wait_sizes, ..Options::default() })?;
    memory::end_phase();
    Ok(Box::new(ledger))
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
