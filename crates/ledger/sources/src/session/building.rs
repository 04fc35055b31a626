//! How a session is put together: its source, who is told of it, and what is wanted from its first window on.

use super::row_details::RowDetails;
use super::watched::{Attaches, Watched};
use super::{memory, Own, Session};
use crate::cgroups::GroupsBeside;
use crate::error::SourceError;
use crate::group_names::GroupNames;
use crate::source::Source;
use crate::system::SystemReader;
use exactop_model::ledger::pooling::Pooling;
use exactop_model::{Book, Tap};
use std::path::Path;

impl Session {
    /// A session on a source; `root` is where /proc is, for details and the header.
    ///
    /// # Errors
    /// [`SourceError::Read`] when `root` cannot be opened.
    pub fn new(source: Box<dyn Source>, root: &Path) -> Result<Session, SourceError> {
        Ok(Session {
            source,
            book: Book::new(),
            details: RowDetails::open(root)?,
            system: SystemReader::open(root),
            window: None,
            watched: Watched::by(Box::new(Own)),
            groups: GroupsBeside::default(),
            names: GroupNames::default(),
            tap: None,
            memory: None,
            spare: memory::Spare::default(),
            pooling: Pooling::default(),
        })
    }

    /// Whoever is to be told of everything from the first snapshot on. It wants to know of the
    /// machine, whatever is on the screen.
    pub fn tapped(mut self, tap: Box<dyn Tap>) -> Session {
        self.tap = Some(tap);
        self
    }

    /// Whoever is to be told of every snapshot, and is no reason to measure anything.
    pub fn remembered(mut self, memory: Box<dyn Tap>) -> Session {
        self.memory = Some(memory);
        self
    }

    /// Names of control groups are wanted from now on. Whoever knows that beforehand says so while it
    /// has all of its rights: what looks at groups that are made comes before others then.
    pub fn name_groups(&mut self) {
        self.names.want();
    }

    /// The source tells names with its snapshots: none is looked for here.
    pub fn names_are_told(&mut self) {
        self.names.leave_to_source();
    }

    /// Programs for the process that is watched are attached by this from now on.
    pub fn look_by(&mut self, attaches: Box<dyn Attaches>) {
        self.watched = Watched::by(attaches);
    }
}
