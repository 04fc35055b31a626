//! Takes a frame: arranges its rows at once, and reads the details of those on the screen.

use super::arrange::{Arranged, Entry, ReadDetails};
use super::{App, Page};
use exactop_model::on_demand::owed::OwedWindow;
use exactop_model::text::escape::escape_str;
use exactop_model::{Frame, Needs, Row, RowKind, TaskKey};
use std::collections::HashSet;

impl App {
    /// Takes a frame that [`App::ask`] requested. Its rows are arranged before this returns, so the
    /// lines always belong to the frame.
    pub fn accept(&mut self, frame: Frame, read: ReadDetails) {
        if !self.is_looking_back() {
            self.failure = None;
        }
        if let Some(Err(why)) = frame.subjects.get::<OwedWindow>().filter(|_| self.shows_owed) {
            self.shows_owed = false;
            self.complain(format!("no idle time owed: {}", escape_str(why)));
        }
        self.note_recent(&frame);
        self.note_ran_on(&frame);
        let threads = self.settings.threads && self.process_page().is_none();
        self.arrange(frame, threads, read);
        self.note_tracked();
    }

    /// Arranges the current frame again if the order or the selection of rows changed.
    pub fn settle(&mut self, read: ReadDetails) {
        if !self.table.stale {
            return;
        }
        if let Some(arranged) = self.arranged.take() {
            let (frame, threads) = arranged.take_apart();
            self.arrange(frame, threads, read);
        }
    }

    fn arrange(&mut self, mut frame: Frame, threads: bool, read: ReadDetails) {
        self.table.stale = false;
        self.read_for_all(&mut frame, read);
        self.let_go_of_other_kind(threads);
        let rules = self.rules(&frame, threads);
        let marked = self.table.marked.as_ref().filter(|_| self.process_page().is_none());
        let marked = marked.map(|marked| (marked, self.rules_of_marked(marked)));
        self.arranged = Some(Arranged::new(frame, &rules, marked));
        self.finish_moves();
    }

    /// Reads the details of the rows on the screen and notes what the user sees. Call this right
    /// before drawing.
    pub fn look(&mut self, read: ReadDetails) {
        self.settle(read);
        if self.arranged.is_some() {
            if matches!(self.page, Page::Process(_)) {
                self.read_for_page(read);
            } else {
                self.read_for_screen(read);
            }
        }
        self.note_seen();
    }

    /// The order and the filters need details of every row.
    fn read_for_all(&mut self, frame: &mut Frame, read: ReadDetails) {
        let needs = self.needs_of_all();
        if needs == Needs::NONE || self.process_page().is_some() {
            return;
        }
        let exited = frame.exited.iter_mut().filter(|_| needs.of_exited() != Needs::NONE);
        let mut rows: Vec<&mut Row> = frame.rows.iter_mut().chain(exited).collect();
        read(&mut rows, needs);
    }

    fn read_for_screen(&mut self, read: ReadDetails) {
        let (needs, count) = (self.row_needs(), self.body_rows());
        if let Some(arranged) = &mut self.arranged {
            arranged.read_lines(self.table.top, count, needs, read);
        }
        self.note_shown();
    }

    fn read_for_page(&mut self, read: ReadDetails) {
        let (Some(page), Some(frame)) = (self.process_page(), self.frame()) else { return };
        let tgid = page.key.tgid;
        let threads = page.thread_rows(frame).into_iter().skip(page.top);
        let shown: HashSet<TaskKey> =
            threads.take(usize::from(self.size.1)).map(|row| row.key).collect();
        let needs = self.row_needs();
        let is_shown = |row: &Row| {
            let stands_for_it = row.kind == RowKind::Process || row.key.is_leader();
            row.key.tgid == tgid && (stands_for_it || shown.contains(&row.key))
        };
        if let Some(arranged) = &mut self.arranged {
            arranged.read_where(is_shown, needs, read);
        }
    }

    /// The lines on the screen.
    pub(crate) fn shown_entries(&self) -> impl Iterator<Item = Entry<'_>> {
        let all = self.arranged.iter().flat_map(Arranged::entries);
        all.skip(self.table.top).take(self.body_rows())
    }
}
