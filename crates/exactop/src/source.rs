//! The source the command line asks for.

use crate::cli::{Source, Split, Watch};
use crate::failure::Failure;
use crate::rights::{self, Role};
use exactop_model::Feed;
use exactop_sources::procfs::Procfs;
use exactop_sources::session::{self, Choice, Session};
use exactop_sources::{SourceError, SplitOptions, SplitPolicy};
use std::path::Path;

/// Opens it.
///
/// # Errors
/// Why it cannot be opened.
pub fn open(watch: &Watch, role: Role) -> Result<Box<dyn Feed>, Failure> {
    from(watch.source, watch.proc_root.as_deref(), split(watch), role)
}

/// Opens a source and gives up the rights that it took; `root` is where /proc is, for tests.
///
/// # Errors
/// Why it cannot be opened.
pub fn from(
    source: Source,
    root: Option<&Path>,
    split: SplitOptions,
    role: Role,
) -> Result<Box<dyn Feed>, Failure> {
    let session = match (root, source) {
        (Some(_), Source::Ledger | Source::Snapshot | Source::Taskstats) => {
            return Err(Failure::usage("--proc-root is for the source procfs only"))
        }
        (Some(root), _) => at(root),
        (None, source) => session::open(choice(source), split),
    };
    match session {
        Ok(session) => {
            let kind = session.provenance().source;
            rights::reduce(role, kind.into(), root.as_slice());
            Ok(Box::new(session))
        }
        Err(error) if !matches!(source, Source::Auto | Source::Procfs) => {
            Err(Failure::failed(format!("{error} ('exactop doctor' says more)")))
        }
        Err(error) => Err(Failure::failed(error)),
    }
}

fn at(root: &Path) -> Result<Session, SourceError> {
    Session::new(Box::new(Procfs::open(root)?), root)
}

fn choice(source: Source) -> Choice {
    match source {
        Source::Auto => Choice::Auto,
        Source::Ledger => Choice::Ledger,
        Source::Snapshot => Choice::Snapshot,
        Source::Taskstats => Choice::Taskstats,
        Source::Procfs => Choice::Procfs,
    }
}

fn split(watch: &Watch) -> SplitOptions {
    let policy = match watch.split {
        Split::Auto => SplitPolicy::Auto,
        Split::Exact => SplitPolicy::Exact,
        Split::Sampled => SplitPolicy::Sampled,
    };
    SplitOptions { policy, irq: watch.irq.policy(), budget: watch.budget / 100.0 }
}

/// Processes that are asked for by number must be there now; later they may go.
///
/// # Errors
/// The first that is not.
pub fn check_pids(watch: &Watch) -> Result<(), Failure> {
    let root = watch.proc_root.as_deref().unwrap_or(Path::new("/proc"));
    match watch.pid.iter().find(|pid| !root.join(pid.to_string()).exists()) {
        Some(pid) => Err(Failure::failed(format!("no process {pid}"))),
        None => Ok(()),
    }
}
