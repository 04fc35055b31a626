//! History of a live view: its last windows, in memory. The bytes are a recording's, in pieces that
//! each begin with a keyframe, so the oldest piece can be dropped.

use crate::about::Machine;
use crate::clocks::Clocks;
use crate::error::FrameError;
use crate::frame::Span;
use crate::stream::{Incoming, Outgoing, StreamItem};
use exactop_model::ledger::joined::Joined;
use exactop_model::{Book, Row, Snapshot, Tap, Window};
use std::collections::VecDeque;
use std::ops::Range;

/// Windows kept, plus up to a piece: a piece is dropped as a whole. Fewer at [`BYTES`].
pub const WINDOWS: usize = 300;
/// Most bytes kept. If one keyframe takes more, nothing is kept.
pub const BYTES: usize = 4 << 20;
/// Most windows of a piece. To show its last window, the whole piece is decoded.
const OF_A_PIECE: usize = 30;
/// Windows that are encoded together. A live view refreshes seldom, and each time the encoder comes
/// into the CPU's caches anew.
const TOGETHER: usize = 10;
/// Most tasks of windows that are not encoded yet.
const TASKS: usize = 1_000;
/// A piece is full when its windows exceed this fraction (1/n) of the most bytes.
const PART_OF_A_PIECE: usize = 8;
/// A piece is full when its windows have this many rows, some 30 ms of decoding, and this many for
/// each row of its keyframe, which takes most of the bytes of a short piece.
const ROWS: usize = 8_000;
const ROWS_OF_A_ROW: usize = 8;

/// The last windows. Each has a number that stays: the first one of the view is 0.
#[derive(Debug)]
pub struct RecentWindows {
    machine: Machine,
    pieces: VecDeque<Piece>,
    /// Windows before the first piece.
    dropped: usize,
    /// Encodes the bytes of the last piece.
    out: Option<Outgoing>,
    /// Last windows of the last piece, not encoded yet.
    recent: Vec<Recent>,
    bytes: usize,
    most_bytes: usize,
    /// One keyframe exceeds the most bytes: stop keeping.
    given_up: bool,
}

/// A window that is not encoded yet.
#[derive(Debug)]
struct Recent {
    t0_ns: u64,
    now: Snapshot,
    wall_offset_ns: i64,
}

/// A keyframe and the windows after it.
#[derive(Debug)]
struct Piece {
    everyone: Vec<u8>,
    windows: Vec<(Span, Vec<u8>)>,
    /// Rows of the windows, also of those that are not encoded yet.
    rows: usize,
    most_rows: usize,
}

impl Piece {
    fn bytes(&self) -> usize {
        self.everyone.len() + self.of_windows()
    }

    fn of_windows(&self) -> usize {
        self.windows.iter().map(|(_, bytes)| bytes.len()).sum()
    }

    /// True if the next window but `recent` starts a new piece.
    fn is_full(&self, recent: usize, most_bytes: usize) -> bool {
        self.windows.len() + recent >= OF_A_PIECE
            || self.rows >= self.most_rows
            || self.of_windows() * PART_OF_A_PIECE > most_bytes
    }
}

impl RecentWindows {
    /// Starts an empty history of this machine.
    pub fn new(machine: Machine) -> RecentWindows {
        let (pieces, most_bytes) = (VecDeque::new(), BYTES);
        let (out, recent, dropped) = (None, Vec::new(), 0);
        let (bytes, given_up) = (0, false);
        RecentWindows { machine, pieces, dropped, out, recent, bytes, most_bytes, given_up }
    }

    /// Sets another limit, for tests.
    #[cfg(test)]
    fn bounded(self, most_bytes: usize) -> RecentWindows {
        RecentWindows { most_bytes, ..self }
    }

    /// Number of windows.
    pub fn len(&self) -> usize {
        self.pieces.iter().map(|piece| piece.windows.len()).sum()
    }

    /// True if there are no windows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Numbers of the windows.
    pub fn numbers(&self) -> Range<usize> {
        self.dropped..self.dropped + self.len()
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Piece of window `n`, and its index in the piece.
    fn place(&self, n: usize) -> Option<(&Piece, usize)> {
        let mut left = n.checked_sub(self.dropped)?;
        for piece in &self.pieces {
            if left < piece.windows.len() {
                return Some((piece, left));
            }
            left -= piece.windows.len();
        }
        None
    }

    /// Time of window `n`.
    pub fn span(&self, n: usize) -> Option<Span> {
        let (piece, at) = self.place(n)?;
        Some(piece.windows[at].0)
    }

    /// Window `n` and its book; `None` if it is not kept or cannot be decoded.
    pub fn window(&self, n: usize) -> Option<(Window, Book)> {
        let (mut book, mut last) = (Book::new(), None);
        self.read(n, n, &mut |_, snapshot| last = book.advance(snapshot))?;
        Some((last?, book))
    }

    /// Windows `first` to `last` as one, and the book of the last; `None` as for [`RecentWindows::window`].
    pub fn joined(&self, first: usize, last: usize) -> Option<(Window, Book)> {
        let (mut book, mut joined) = (Book::new(), Joined::default());
        self.read(first, last, &mut |n, snapshot| {
            let is_part = n.is_some_and(|n| n >= first);
            if is_part {
                joined.before(&snapshot, &book);
            }
            if let Some(window) = book.advance(snapshot).filter(|_| is_part) {
                joined.add(window, &book);
            }
        })?;
        Some((joined.window()?, book))
    }

    /// Passes each window of the newest piece that has one which ended at `until_ns` or before, the
    /// oldest first, with its book. Later windows of that piece are left out.
    pub(crate) fn piece_until(&self, until_ns: u64, take: &mut dyn FnMut(&Window, &Book)) {
        let mut end = self.numbers().end;
        for piece in self.pieces.iter().rev() {
            let first = end - piece.windows.len();
            let over = piece.windows.partition_point(|(span, _)| span.t1_ns <= until_ns);
            if let Some(last) = (first + over).checked_sub(1).filter(|_| over > 0) {
                let mut book = Book::new();
                self.read(first, last, &mut |_, snapshot| {
                    if let Some(window) = book.advance(snapshot) {
                        take(&window, &book);
                    }
                });
                return;
            }
            end = first;
        }
    }

    /// Decodes the snapshots from the keyframe before `first` to the end of `last`; passes each to
    /// `take` with the number of the window that it ends.
    fn read(
        &self,
        first: usize,
        last: usize,
        take: &mut dyn FnMut(Option<usize>, Snapshot),
    ) -> Option<()> {
        self.place(first)?;
        self.place(last)?;
        let mut n = self.dropped;
        let mut is_open = false;
        for piece in &self.pieces {
            let begin = n;
            n += piece.windows.len();
            if n <= first || begin > last {
                continue;
            }
            let mut incoming = Incoming::new();
            incoming.push(&piece.everyone);
            for (at, (_, bytes)) in (begin..=last).zip(&piece.windows) {
                incoming.push(bytes);
                while let Some(heard) = incoming.next_item().ok()? {
                    match heard {
                        // A reader that comes from the piece before already knows all tasks.
                        StreamItem::Whole(_) if is_open => {}
                        StreamItem::Whole(snapshot) => take(None, *snapshot),
                        StreamItem::Window(_, snapshot) => take(Some(at), *snapshot),
                        StreamItem::Machine(_) | StreamItem::Word(_) | StreamItem::Answer(_) => {}
                    }
                }
                is_open = true;
            }
        }
        Some(())
    }

    fn add(
        &mut self,
        now: &Snapshot,
        before: &Book,
        wall_offset_ns: i64,
    ) -> Result<(), FrameError> {
        let Some(t0_ns) = before.at_ns() else {
            // The source restarted: new figures do not continue the kept ones.
            self.encode()?;
            self.out = None;
            return Ok(());
        };
        let (recent, most_bytes) = (self.recent.len(), self.most_bytes);
        let is_full = self.pieces.back().is_none_or(|piece| piece.is_full(recent, most_bytes));
        if is_full || self.out.as_ref().is_none_or(Outgoing::is_long) {
            self.encode()?;
            let Some(whole) = before.whole() else { return Ok(()) };
            let mut out = Outgoing::begin(&self.machine, t0_ns)?;
            let mut everyone = out.beginning().to_vec();
            everyone.extend(out.keyframe(&whole, wall_offset_ns)?);
            everyone.shrink_to_fit();
            self.bytes += everyone.len();
            let windows = Vec::with_capacity(OF_A_PIECE);
            let most_rows = ROWS.max(ROWS_OF_A_ROW * whole.tasks.len());
            self.pieces.push_back(Piece { everyone, windows, rows: 0, most_rows });
            self.out = Some(out);
        }
        if let Some(piece) = self.pieces.back_mut() {
            piece.rows += now.tasks.len() + now.exited.len();
        }
        self.recent.push(Recent { t0_ns, now: now.clone(), wall_offset_ns });
        let tasks: usize = self.recent.iter().map(|recent| recent.now.tasks.len()).sum();
        if self.recent.len() >= TOGETHER || tasks > TASKS {
            self.encode()?;
        }
        Ok(())
    }

    /// Encodes the windows that are not encoded yet.
    fn encode(&mut self) -> Result<(), FrameError> {
        let (Some(out), Some(piece)) = (&mut self.out, self.pieces.back_mut()) else {
            return Ok(());
        };
        for Recent { t0_ns, now, wall_offset_ns } in self.recent.drain(..) {
            let mut bytes = out.window(t0_ns, &now, wall_offset_ns)?;
            bytes.shrink_to_fit();
            self.bytes += bytes.len();
            let span = Span { t0_ns, t1_ns: now.at_ns, wall_offset_ns };
            piece.windows.push((span, bytes));
        }
        Ok(())
    }

    /// Encodes the last windows too: only encoded ones are read.
    pub(crate) fn settle(&mut self) {
        if self.encode().is_err() {
            self.forget();
        }
        self.let_go();
    }

    /// Drops the oldest pieces.
    fn let_go(&mut self) {
        while let Some(oldest) = self.pieces.front().filter(|_| self.pieces.len() > 1) {
            let enough = self.len() - oldest.windows.len() >= WINDOWS;
            if !enough && self.bytes <= self.most_bytes {
                return;
            }
            self.bytes -= oldest.bytes();
            self.dropped += oldest.windows.len();
            self.pieces.pop_front();
        }
        if self.bytes > self.most_bytes {
            self.forget();
            self.given_up = true;
        }
    }

    fn forget(&mut self) {
        (self.out, self.bytes, self.dropped) = (None, 0, self.numbers().end);
        self.pieces.clear();
        self.recent.clear();
    }
}

impl Tap for RecentWindows {
    fn snapshot(&mut self, now: &Snapshot, before: &Book) {
        if self.given_up {
            return;
        }
        // A window that cannot be encoded would leave a hole: drop all before it.
        if self.add(now, before, Clocks::now().wall_offset_ns).is_err() {
            self.forget();
        }
        self.let_go();
    }

    fn details(&mut self, _: &Row) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::machine;
    use exactop_model::{Frame, FrameOptions, IdleRows, SourceKind};
    use exactop_testkit::snapshot;

    fn frame(window: &Window, book: &Book) -> Frame {
        let options =
            FrameOptions { still: IdleRows::All, findings: true, ..FrameOptions::default() };
        Frame::new(window, book, &options)
    }

    /// Keeps `count` windows; also returns the frame of each.
    fn kept(count: u64, most_bytes: usize) -> (RecentWindows, Vec<Frame>) {
        let mut kept = RecentWindows::new(machine()).bounded(most_bytes);
        let (mut book, mut frames) = (Book::new(), Vec::new());
        for n in 0..=count {
            let now = snapshot(SourceKind::Ledger, n, None);
            kept.snapshot(&now, &book);
            let window = book.advance(now);
            frames.extend(window.map(|window| frame(&window, &book)));
        }
        kept.settle();
        (kept, frames)
    }

    #[test]
    fn windows_of_a_restarted_source_do_not_continue_the_kept_ones() {
        let (mut kept, frames) = kept(5, usize::MAX);
        assert_eq!((frames.len(), kept.pieces.len()), (5, 1));
        let mut book = Book::new();
        for n in 10..13 {
            let now = snapshot(SourceKind::Ledger, n, None);
            kept.snapshot(&now, &book);
            book.advance(now);
        }
        kept.settle();
        assert_eq!((kept.pieces.len(), kept.len()), (2, 7), "and the time between is in none");
    }

    /// Sorts rows, which come in no particular order.
    fn in_order(mut frame: Frame) -> Frame {
        frame.rows.sort_by_key(|row| row.key);
        frame.exited.sort_by_key(|row| (row.ident.ppid, row.ident.comm));
        frame
    }

    #[test]
    fn every_window_is_shown_as_it_was() {
        let (kept, frames) = kept(70, BYTES);
        assert_eq!((kept.len(), frames.len()), (70, 70));
        for (n, was) in frames.into_iter().enumerate() {
            let (window, book) = kept.window(n).expect("it is kept");
            let span = kept.span(n).expect("it was");
            assert_eq!((span.t0_ns, span.t1_ns), (was.t0_ns, was.t1_ns));
            assert_eq!(in_order(frame(&window, &book)), in_order(was), "window {n}");
        }
        assert!(kept.window(70).is_none() && kept.span(70).is_none());
    }

    #[test]
    fn windows_are_joined_also_where_a_piece_ends() {
        let (kept, frames) = kept(70, BYTES);
        for (first, last) in [(0, 0), (3, 9), (25, 40), (10, 69)] {
            let (window, book) = kept.joined(first, last).expect("they are kept");
            let joined = frame(&window, &book);
            assert_eq!((joined.t0_ns, joined.t1_ns), (frames[first].t0_ns, frames[last].t1_ns));
            let sum = |of: fn(&Frame) -> u64| frames[first..=last].iter().map(of).sum::<u64>();
            assert_eq!(joined.books.total_ns, sum(|frame| frame.books.total_ns));
            let used = |frame: &Frame| frame.books.tasks_ns + frame.books.exited_ns;
            assert_eq!(used(&joined), sum(used), "windows {first} to {last}");
            assert_eq!(joined.books.residual_ns, 0);
        }
        assert!(kept.joined(60, 70).is_none());
    }

    #[test]
    fn the_oldest_pieces_are_dropped_by_number_and_by_bytes() {
        let (many, frames) = kept(700, BYTES);
        assert!((WINDOWS..WINDOWS + OF_A_PIECE).contains(&many.len()), "{}", many.len());
        assert_eq!(many.numbers().end, 700, "the others keep their numbers");
        let last = many.span(699).expect("the last");
        assert_eq!(last.t1_ns, frames[699].t1_ns, "the newest stay");
        let all: usize = many.pieces.iter().map(Piece::bytes).sum();
        assert_eq!(all, many.bytes());
        let (few, _) = kept(700, 60_000);
        assert!(few.bytes() <= 60_000 && !few.is_empty(), "{}", few.bytes());
        assert!(few.len() < many.len());
        for (n, most_bytes) in (10..200).zip((5_000..40_000).step_by(700)) {
            let (kept, _) = kept(n, most_bytes);
            assert!(kept.bytes() <= most_bytes, "{} of {most_bytes}", kept.bytes());
        }
        let (none, _) = kept(20, 100);
        assert_eq!((none.len(), none.bytes()), (0, 0), "everyone alone takes more");
    }

    /// The whole piece before a window is decoded to show it.
    #[test]
    fn a_storm_of_exits_makes_short_pieces() {
        const STORM: usize = 3_000;
        let mut kept = RecentWindows::new(machine());
        let (mut book, mut frames) = (Book::new(), Vec::new());
        for n in 0..=12 {
            let mut now = snapshot(SourceKind::Ledger, n, None);
            let one = *now.exited.first().expect("an exited group");
            now.exited = (0..STORM as u64)
                .map(|group| {
                    let mut exited = one;
                    exited.account.0 += 1_000_000 + n * STORM as u64 + group;
                    exited
                })
                .collect();
            kept.snapshot(&now, &book);
            frames.extend(book.advance(now).map(|window| frame(&window, &book)));
        }
        kept.settle();
        assert_eq!((kept.len(), frames.len()), (12, 12));
        let rows = |piece: &Piece| piece.rows < ROWS + 2 * STORM;
        assert!(kept.pieces.len() >= 3 && kept.pieces.iter().all(rows), "{}", kept.pieces.len());
        for (n, was) in frames.into_iter().enumerate() {
            let (window, book) = kept.window(n).expect("it is kept");
            assert_eq!(in_order(frame(&window, &book)), in_order(was), "window {n}");
        }
    }

    #[test]
    fn the_snapshot_that_opens_a_book_closes_no_window() {
        let (kept, frames) = kept(0, BYTES);
        assert_eq!((kept.len(), frames.len(), kept.bytes()), (0, 0, 0));
    }
}
