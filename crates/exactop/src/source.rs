//! The source the command line asks for.

use crate::failure::Failure;
use crate::options::resolved::SourceOptions;
use crate::rights::{self, Role};
use exactop_model::Feed;
use exactop_sources::procfs::Procfs;
use exactop_sources::session::{self, Choice, Session};
use exactop_sources::SourceError;
use std::path::Path;

/// Opens it and gives up the rights that it took.
///
/// # Errors
/// Why it cannot be opened.
pub fn open(wanted: &SourceOptions, role: Role) -> Result<Box<dyn Feed>, Failure> {
    let choice = wanted.choice;
    let session = match (&wanted.root, choice) {
        (Some(_), Choice::Ledger | Choice::Snapshot | Choice::Taskstats) => {
            return Err(Failure::usage("--proc-root is for the source procfs only"))
        }
        (Some(root), _) => at(root),
        (None, choice) => session::open(choice, wanted.split),
    };
    match session {
        Ok(session) => {
            let kind = session.provenance().source;
            rights::reduce(role, kind.into(), wanted.root.as_deref().as_slice());
            Ok(Box::new(session))
        }
        Err(error) if !matches!(choice, Choice::Auto | Choice::Procfs) => {
            Err(Failure::failed(format!("{error} ('exactop doctor' says more)")))
        }
        Err(error) => Err(Failure::failed(error)),
    }
}

fn at(root: &Path) -> Result<Session, SourceError> {
    Session::new(Box::new(Procfs::open(root)?), root)
}
