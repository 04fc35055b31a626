//! Marks a window: rows then show their change since, until the mark is dropped.

use super::action::{Action, WindowAction};
use super::arrange::{MarkedWindow, ReadDetails, Rules};
use super::sets::TableSet;
use super::{App, Page};
use exactop_model::{Ask, Frame, IdleRows, Row};

impl App {
    /// Marks the window, or drops the mark.
    pub(super) fn on_mark(&mut self) -> Action {
        if self.table.marked.take().is_none() {
            return Action::Window(WindowAction::Mark);
        }
        self.say("mark dropped: rows show figures, not changes");
        if self.table.set == Some(TableSet::New) {
            self.use_set(None);
        }
        self.forget_widths();
        self.rearranged()
    }

    /// The request to the feed before [`App::mark`]: a row for every task.
    pub fn ask_for_mark(&self) -> Ask {
        let mut ask = self.ask();
        ask.options.still = IdleRows::All;
        ask
    }

    /// Marks the window of this frame, which has a row for every task; `None`: there was no window
    /// yet. Reads the columns of all rows now, because they cannot be read later.
    pub fn mark(&mut self, frame: Option<Frame>, read: ReadDetails) {
        let Some(mut frame) = frame else {
            return self.complain("no window to mark yet: the first is being measured");
        };
        let needs = self.row_needs();
        let mut rows: Vec<&mut Row> = frame.rows.iter_mut().collect();
        read(&mut rows, needs);
        let from = match &self.past {
            Some(past) => Some(past.from.clone()),
            // The clock on the screen at the end of the window.
            None => frame.system.local_time.as_deref().map(exactop_model::text::escape::escape_str),
        };
        let threads = self.settings.threads;
        self.table.marked = Some(MarkedWindow { from, frame, threads });
        self.say("marked: rows show their change since (6: what is new, m drops the mark)");
    }

    /// Drops the mark if its rows are of the other kind (threads or processes).
    pub(super) fn let_go_of_other_kind(&mut self, threads: bool) {
        let on_page = self.process_page().is_some();
        if !on_page && self.table.marked.as_ref().is_some_and(|marked| marked.threads != threads) {
            self.table.marked = None;
            self.forget_widths();
            if self.table.set == Some(TableSet::New) {
                self.use_set(None);
            }
            let kind = if threads { "processes" } else { "threads" };
            self.say(format!("mark dropped, because it was of {kind}: m marks this window"));
        }
    }

    /// Rules for the marked window: those of the frame, but without filters.
    pub(super) fn rules_of_marked(&self, marked: &MarkedWindow) -> Rules<'_> {
        let mut rules = self.rules(&marked.frame, marked.threads);
        (rules.hide_idle, rules.hide_kernel, rules.only_new) = (false, false, false);
        (rules.filters, rules.user) = (&[], None);
        (rules.members_of, rules.folded) = (None, None);
        rules
    }

    /// The marked window, if rows are compared with one.
    pub(crate) fn shown_against(&self) -> Option<&MarkedWindow> {
        self.table.marked.as_ref().filter(|_| self.page == Page::Table)
    }
}
