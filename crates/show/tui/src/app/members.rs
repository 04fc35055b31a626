//! The table of one group's or one total's processes: entered from the page that shows its row, and
//! left back to it.

use super::{Action, App, Page};
use exactop_model::frame::belonging::Belonging;

/// The group or total whose processes the table shows, and the page from which it was entered.
#[derive(Clone, Debug)]
pub(crate) struct MembersOf {
    pub(crate) whose: Belonging,
    from: Page,
}

impl App {
    /// Opens the table of only these processes.
    pub(super) fn enter_members(&mut self, whose: Belonging) -> Action {
        self.say(format!("{whose}: Esc goes back"));
        let from = std::mem::replace(&mut self.page, Page::Table);
        self.table.members_of = Some(MembersOf { whose, from });
        self.table.begin_at_top();
        self.table.scroll_home();
        self.rearranged()
    }

    /// Returns to the page from which the table was entered.
    pub(super) fn leave_members(&mut self) -> Action {
        let Some(MembersOf { from, .. }) = self.table.members_of.take() else {
            return Action::Draw;
        };
        let had_groups = self.ask().groups;
        self.page = from;
        self.table.begin_at_top();
        // A group's files are read at both ends of a window.
        match self.ask().groups && !had_groups {
            true => self.attaching(),
            false => self.rearranged(),
        }
    }
}
