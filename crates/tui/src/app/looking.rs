//! Taking a frame: arranging its rows and getting the details of those on the screen.

use super::arrange::{arrange, At, RowId};
use super::{App, Page};
use exactop_model::{Frame, Needs, Row, RowKind};
use std::collections::HashSet;

/// Reads details for rows: the feed's [`exactop_model::Feed::details`].
pub type ReadDetails<'a> = &'a mut dyn FnMut(&mut [&mut Row], Needs);

impl App {
    /// Takes a frame that was asked for by [`App::ask`].
    pub fn accept(&mut self, frame: Frame) {
        self.frame_has_threads = self.settings.threads && self.process_page().is_none();
        self.frame = Some(frame);
        self.failure = None;
        self.stale = true;
    }

    /// Brings lines and details up to date with the state; to be called before drawing.
    pub fn look(&mut self, read: ReadDetails) {
        if self.frame.is_none() {
            return;
        }
        if std::mem::take(&mut self.stale) {
            self.read_for_all(read);
            if let Some(frame) = &self.frame {
                self.lines = arrange(frame, &self.rules());
            }
            self.finish_moves();
        }
        if matches!(self.page, Page::Process(_)) {
            self.read_for_page(read);
        } else {
            self.read_for_screen(read);
        }
    }

    /// The order and the filters look at every row.
    fn read_for_all(&mut self, read: ReadDetails) {
        let needs = self.needs_of_all();
        if needs == Needs::NONE || self.process_page().is_some() {
            return;
        }
        if let Some(frame) = &mut self.frame {
            let mut rows: Vec<&mut Row> = frame.rows.iter_mut().collect();
            read(&mut rows, needs);
        }
    }

    fn read_for_screen(&mut self, read: ReadDetails) {
        let shown: HashSet<usize> = self.shown_lines().filter_map(live_index).collect();
        self.read_rows(&shown, read);
        self.note_shown();
    }

    fn read_for_page(&mut self, read: ReadDetails) {
        let Some(page) = self.process_page() else { return };
        let tgid = page.key.tgid;
        let Some(frame) = &self.frame else { return };
        let threads = page.thread_rows(frame);
        let shown: HashSet<usize> = frame
            .rows
            .iter()
            .enumerate()
            .filter(|(_, r)| r.kind == RowKind::Process && r.key.tgid == tgid || r.key.tid == tgid)
            .map(|(i, _)| i)
            .chain(threads.into_iter().skip(page.top).take(usize::from(self.size.1)))
            .collect();
        self.read_rows(&shown, read);
    }

    fn read_rows(&mut self, shown: &HashSet<usize>, read: ReadDetails) {
        let needs = self.row_needs();
        let Some(frame) = &mut self.frame else { return };
        let rows = frame.rows.iter_mut().enumerate().filter(|(i, _)| shown.contains(i));
        let mut rows: Vec<&mut Row> = rows.map(|(_, row)| row).collect();
        if !rows.is_empty() {
            read(&mut rows, needs);
        }
    }

    /// The lines on the screen.
    pub(crate) fn shown_lines(&self) -> impl Iterator<Item = &super::Line> {
        self.lines.iter().skip(self.top).take(self.body_rows())
    }

    /// The row of a line.
    pub(crate) fn id_of(&self, line: &super::Line) -> Option<RowId> {
        self.frame.as_ref().map(|frame| RowId::of(line.at.row(frame)))
    }
}

fn live_index(line: &super::Line) -> Option<usize> {
    match line.at {
        At::Live(i) => Some(i),
        At::Exited(_) => None,
    }
}
