//! Builds a session: its source, its taps, and what it measures from the first window on.

use super::row_details::RowDetails;
use super::watched::{Attaches, WatchedProcess};
use super::{memory, OwnPrograms, Session};
use crate::cgroups::GroupsBeside;
use crate::error::SourceError;
use crate::group_names::GroupNames;
use crate::leader_names::LeaderNames;
use crate::source::Source;
use crate::system::SystemReader;
use exactop_model::ledger::pooling::Pooling;
use exactop_model::{Book, Degraded, Tap};
use std::path::Path;

impl Session {
    /// Makes a session on a source; `root` is the /proc for details and the header.
    ///
    /// # Errors
    /// [`SourceError::Read`] if `root` cannot be opened.
    pub fn new(source: Box<dyn Source>, root: &Path) -> Result<Session, SourceError> {
        Ok(Session {
            source,
            book: Book::new(),
            details: RowDetails::open(root)?,
            system: SystemReader::open(root),
            window: None,
            watched: WatchedProcess::by(Box::new(OwnPrograms)),
            groups: GroupsBeside::default(),
            names: GroupNames::default(),
            leader_names: LeaderNames::open(root)?,
            tap: None,
            memory: None,
            spare: memory::Spare::default(),
            pooling: Pooling::default(),
            degraded: Degraded::default(),
        })
    }

    /// Adds a tap that gets everything from the first snapshot on. The session then always reads
    /// the machine's values, whatever the screen shows.
    pub fn tapped(mut self, tap: Box<dyn Tap>) -> Session {
        self.tap = Some(tap);
        self
    }

    /// Adds a tap that gets every snapshot and does not make the session measure anything.
    pub fn remembered(mut self, memory: Box<dyn Tap>) -> Session {
        self.memory = Some(memory);
        self
    }

    /// Requests names of control groups from now on. A caller that needs them says so while it
    /// still has all rights: the thread that reads names of new groups then gets a high priority.
    pub fn name_groups(&mut self) {
        self.names.want();
    }

    /// Leaves names to the source, which delivers them with its snapshots.
    pub fn leave_names_to_source(&mut self) {
        self.names.leave_to_source();
        self.leader_names.leave_to_source();
    }

    /// Attaches programs for the watched process through `attaches` from now on.
    pub fn attach_through(&mut self, attaches: Box<dyn Attaches>) {
        self.watched = WatchedProcess::by(attaches);
    }
}
