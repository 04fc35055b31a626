//! A window and the state at its end, recorded or just measured.

use exactop_model::cgroups::GroupRow;
use exactop_model::findings::{self, Finding};
use exactop_model::{AccountId, Book, Detail, Window};
use exactop_recording::{Machine, Replay, Span};

/// A window for the page.
pub(crate) trait Moment {
    fn window(&self) -> &Window;
    /// The book that yielded it, not advanced since.
    fn book(&self) -> &Book;
    fn span(&self) -> Span;
    fn machine(&self) -> Option<&Machine>;
    /// True if names were replaced.
    fn is_anonymous(&self) -> bool;
    /// Details of the process whose leader has this account.
    fn known(&self, leader: AccountId) -> Option<Detail>;
    /// Name of a user, as read for one of the user's processes.
    fn user(&self, uid: u32) -> Option<String> {
        let book = self.book();
        let leaders = book.processes().filter_map(|(_, process)| process.leader);
        let theirs = leaders.filter(|&l| book.task(l).is_some_and(|task| task.ident.uid == uid));
        theirs.filter_map(|leader| self.known(leader)?.user.ok()).next()
    }
    /// Figures from the kernel's files of control groups over the window, if they were read.
    fn group_files(&self) -> Option<Vec<GroupRow>>;
    fn findings(&self) -> Vec<Finding> {
        findings::find(self.window(), self.book())
    }
}

pub(crate) struct Recorded<'a> {
    replay: &'a Replay,
    window: &'a Window,
    span: Span,
}

impl Recorded<'_> {
    /// The window at which a replay stands.
    pub fn at(replay: &Replay) -> Option<Recorded<'_>> {
        Some(Recorded { replay, window: replay.window()?, span: replay.span()? })
    }
}

impl Moment for Recorded<'_> {
    fn window(&self) -> &Window {
        self.window
    }

    fn book(&self) -> &Book {
        self.replay.book()
    }

    fn span(&self) -> Span {
        self.span
    }

    fn machine(&self) -> Option<&Machine> {
        self.replay.reader().machine()
    }

    fn is_anonymous(&self) -> bool {
        self.replay.reader().is_anonymous()
    }

    fn known(&self, leader: AccountId) -> Option<Detail> {
        self.replay.known(leader)
    }

    fn user(&self, uid: u32) -> Option<String> {
        self.replay.user(uid)
    }

    fn group_files(&self) -> Option<Vec<GroupRow>> {
        self.replay.group_rows()
    }
}
