//! A live source with its last windows in memory: the user can go back to them and return.

use crate::frame::Span;
use crate::RecentWindows;
use exactop_model::feed::timeline::{Direction, Timeline, TimelineNote, TimelinePosition, Travel};
use exactop_model::feed::{KeptAsk, KeptRow};
use exactop_model::{
    Ask, Book, Feed, Frame, FrameOptions, IdleRows, Missing, Needs, Row, TaskKey, Window,
};
use std::cell::{RefCell, RefMut};
use std::ops::{Range, RangeInclusive};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Why figures that are measured on demand are missing in earlier windows.
const NOT_KEPT: &str = "measured only while displayed, and not kept with earlier windows";

/// Time after which no further piece is decoded for a graph: the screen must not stall. One piece
/// is decoded in any case, as for the window that a key shows.
const DECODING: Duration = Duration::from_millis(50);

/// An earlier window, or several as one. It stays also when its history drops it.
struct Shown {
    /// Numbers of the first window and of the last.
    first: usize,
    n: usize,
    /// Times of the two.
    spans: [Span; 2],
    window: Window,
    book: Book,
}

/// A feed with its last windows.
pub struct Remembering {
    feed: Box<dyn Feed>,
    kept: Rc<RefCell<RecentWindows>>,
    /// The earlier window on the screen; `None` while live.
    shown: Option<Shown>,
    /// Length of joined windows, ns.
    join_ns: Option<u64>,
}

impl Remembering {
    /// Wraps a feed; `kept` holds its windows.
    pub fn new(feed: Box<dyn Feed>, kept: Rc<RefCell<RecentWindows>>) -> Remembering {
        Remembering { feed, kept, shown: None, join_ns: None }
    }

    /// The windows, ready to be read.
    fn kept(&self) -> RefMut<'_, RecentWindows> {
        let mut kept = self.kept.borrow_mut();
        kept.settle();
        kept
    }

    /// Shows window `n`, joined with those before it or, if `goes_on`, after it. Returns false if
    /// it does not exist.
    fn show(&mut self, n: usize, goes_on: bool) -> bool {
        let (first, last) = self.together(n, goes_on);
        let kept = self.kept();
        let found = match first == last {
            true => kept.window(n),
            false => kept.joined(first, last),
        };
        let found = found.zip(kept.span(first)).zip(kept.span(last));
        drop(kept);
        let is_there = found.is_some();
        if let Some((((window, book), begin), end)) = found {
            self.shown = Some(Shown { first, n: last, spans: [begin, end], window, book });
        }
        is_there
    }

    /// First and last of the windows that are shown as one.
    fn together(&self, n: usize, goes_on: bool) -> (usize, usize) {
        let (kept, join_ns) = (self.kept(), self.join_ns.unwrap_or(0));
        let span = |n: usize| kept.span(n).unwrap_or_default();
        let fits = |first, last| span(last).t1_ns.saturating_sub(span(first).t0_ns) <= join_ns;
        // A restarted source continues neither figures nor accounts.
        let adjoins = |n: usize| span(n).t1_ns == span(n + 1).t0_ns;
        match goes_on {
            true => (
                n,
                (n..kept.numbers().end)
                    .take_while(|&last| last == n || adjoins(last - 1) && fits(n, last))
                    .last()
                    .unwrap_or(n),
            ),
            false => (
                (kept.numbers().start..=n)
                    .rev()
                    .take_while(|&first| first == n || adjoins(first) && fits(first, n))
                    .last()
                    .unwrap_or(n),
                n,
            ),
        }
    }
}

impl Shown {
    /// Fills in details that the window itself holds. Other details were not read then; the PID may
    /// be another process's now.
    fn fill(&self, feed: &mut dyn Feed, row: &mut Row) {
        if let Some(uid) = row.uid() {
            row.detail.user = feed.user(uid).ok_or(Missing::NotRead);
        }
        if let Some(group) = row.ident.cgroup_id.and_then(|id| self.book.group(id)) {
            row.detail.cgroup = Ok(group.path.clone());
            row.detail.named = Ok(Arc::clone(&group.named));
        }
    }

    fn frame(&self, feed: &mut dyn Feed, ask: &Ask) -> Frame {
        let mut frame = Frame::new(&self.window, &self.book, &ask.options);
        frame.subjects = ask.refused(NOT_KEPT);
        frame.groups = ask.groups.then(|| Err(NOT_KEPT.into()));
        if let Some(sums) = &mut frame.sums {
            sums.name_users(|uid| feed.user(uid));
        }
        frame
    }
}

/// The row of a task in a window. A task that did nothing has one, too.
fn kept_row(window: &Window, book: &Book, ask: &KeptAsk) -> KeptRow {
    let row = |still| {
        let options = FrameOptions { threads: ask.thread, still, ..FrameOptions::default() };
        let frame = Frame::new(window, book, &options);
        frame.rows.into_iter().find(|row| row.key == ask.task)
    };
    // Most windows need no rows of idle tasks, which are the most.
    let row = row(IdleRows::Hide).or_else(|| row(IdleRows::All));
    KeptRow { t0_ns: window.t0_ns, t1_ns: window.t1_ns, row }
}

impl Feed for Remembering {
    fn inner(&mut self) -> Option<&mut dyn Feed> {
        Some(&mut *self.feed)
    }

    fn same_frame(&mut self, ask: &Ask) -> Option<Frame> {
        match &self.shown {
            Some(shown) => Some(shown.frame(&mut *self.feed, ask)),
            None => self.feed.same_frame(ask),
        }
    }

    fn details(&mut self, rows: &mut [&mut Row], needs: Needs) {
        let Remembering { feed, shown, .. } = self;
        match shown {
            Some(shown) => rows.iter_mut().for_each(|row| shown.fill(&mut **feed, row)),
            None => feed.details(rows, needs),
        }
    }

    fn timeline(&mut self) -> Option<&mut dyn Timeline> {
        match self.shown {
            Some(_) => Some(self),
            None => None,
        }
    }

    fn kept_rows(&mut self, ask: &KeptAsk) -> Vec<KeptRow> {
        let begun = Instant::now();
        let (mut rows, mut ask) = (Vec::new(), *ask);
        while rows.len() < ask.most && (rows.is_empty() || begun.elapsed() < DECODING) {
            let mut piece = Vec::new();
            let take = &mut |window: &Window, book: &Book| piece.push(kept_row(window, book, &ask));
            self.kept().piece_until(ask.until_ns, take);
            let Some(oldest) = piece.first() else { break };
            ask.until_ns = oldest.t0_ns;
            piece.append(&mut rows);
            rows = piece;
        }
        rows
    }

    fn look_back(&mut self, windows: usize) -> bool {
        let Range { start, end } = self.kept().numbers();
        // The newest window is the present.
        let wanted = (end.max(1) - 1).saturating_sub(windows).max(start);
        end - start > 1 && self.show(wanted, false)
    }

    fn look_on(&mut self) {
        (self.shown, self.join_ns) = (None, None);
    }
}

impl Timeline for Remembering {
    fn travel(&mut self, to: Travel) -> Result<Option<TimelineNote>, String> {
        let Some(shown) = &self.shown else { return Ok(None) };
        let numbers = self.kept().numbers();
        let last = numbers.end.saturating_sub(1);
        // Joined windows are one step.
        let (now, first) = (shown.n, shown.first);
        let goes_on = matches!(to, Travel::By(Direction::On, _) | Travel::Change(Direction::On));
        let (wanted, noted) = match to {
            // Gaps are no steps here: each kept window counts as a change.
            Travel::Change(Direction::Back) | Travel::By(Direction::Back, _)
                if first <= numbers.start =>
            {
                (now, Some(TimelineNote::Begin))
            }
            Travel::Change(Direction::On) | Travel::By(Direction::On, _) if now >= last => {
                (last, Some(TimelineNote::End))
            }
            Travel::Change(Direction::Back) => (first - 1, None),
            Travel::Change(Direction::On) => ((now + 1).max(numbers.start), None),
            Travel::By(Direction::Back, windows) => {
                (first.saturating_sub(windows).max(numbers.start), None)
            }
            Travel::By(Direction::On, windows) => {
                (now.saturating_add(windows).clamp(numbers.start, last), None)
            }
            Travel::To(wall_ns) => self.at(wall_ns, numbers.start..=last),
        };
        match noted.is_some() && wanted == now || self.show(wanted, goes_on) {
            true => Ok(noted),
            false => Err("cannot read the stored window".into()),
        }
    }

    fn join(&mut self, length_ns: Option<u64>) -> Result<(), String> {
        let Some(now) = self.shown.as_ref().map(|shown| shown.n) else { return Ok(()) };
        if now < self.kept().numbers().start {
            return Err(
                "cannot join a window that left the memory: ] shows the oldest in it".into()
            );
        }
        let before = std::mem::replace(&mut self.join_ns, length_ns);
        if self.show(now, false) {
            return Ok(());
        }
        self.join_ns = before;
        Err("cannot read the stored windows".into())
    }

    fn arrived(&self) -> Option<TimelineNote> {
        None
    }

    fn place(&self) -> TimelinePosition {
        let kept = self.kept();
        let Range { start, end } = kept.numbers();
        let ends = kept.span(start).zip(end.checked_sub(1).and_then(|last| kept.span(last)));
        let recorded = ends.map(|(first, last)| (first.wall_t0_ns(), last.wall_t1_ns()));
        let recorded = recorded.into_iter().collect();
        let Some(shown) = &self.shown else {
            return TimelinePosition { recorded, ..TimelinePosition::default() };
        };
        let [begin, end] = shown.spans;
        TimelinePosition {
            from_wall_ns: begin.wall_t0_ns(),
            to_wall_ns: end.wall_t1_ns(),
            length_ns: end.t1_ns.saturating_sub(begin.t0_ns),
            recorded,
            windows: 1 + shown.n - shown.first,
        }
    }

    fn has_exited(&self, task: TaskKey) -> bool {
        let Some(Shown { book, .. }) = &self.shown else { return false };
        let Some(process) = book.process(task.tgid) else { return true };
        let leader = process.leader.and_then(|account| book.task(account));
        task.is_leader() && leader.is_some_and(|leader| leader.key.start_ns != task.start_ns)
    }
}

impl Remembering {
    /// The window that holds a time, or the first after it; else the last, with [`TimelineNote::End`].
    fn at(
        &self,
        wall_ns: i128,
        mut numbers: RangeInclusive<usize>,
    ) -> (usize, Option<TimelineNote>) {
        let kept = self.kept();
        let ends = |n: usize| kept.span(n).is_some_and(|span| span.wall_t1_ns() > wall_ns);
        let last = *numbers.end();
        numbers.find(|&n| ends(n)).map_or((last, Some(TimelineNote::End)), |n| (n, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;
    use exactop_model::{IdleRows, RowKind, SourceKind, Tap};

    /// The made-up machine, one window further at each call. Its details are the current ones.
    struct Live {
        looks: u64,
        book: Book,
        window: Option<Window>,
        kept: Rc<RefCell<RecentWindows>>,
    }

    impl Feed for Live {
        fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
            self.looks += 1;
            let now = exactop_testkit::snapshot(SourceKind::Ledger, self.looks, None);
            self.kept.snapshot(&now, &self.book);
            self.window = self.book.advance(now);
            Ok(self.same_frame(ask))
        }

        fn same_frame(&mut self, ask: &Ask) -> Option<Frame> {
            Some(Frame::new(self.window.as_ref()?, &self.book, &ask.options))
        }

        fn details(&mut self, _: &mut [&mut Row], _: Needs) {
            panic!("what is read now may be of another process");
        }

        fn user(&mut self, uid: u32) -> Option<String> {
            (uid == 0).then(|| "root".into())
        }
    }

    fn remembering(windows: u64) -> (Remembering, Vec<Frame>) {
        let kept = Rc::new(RefCell::new(RecentWindows::new(Machine::this("a test"))));
        let live = Live { looks: 0, book: Book::new(), window: None, kept: kept.clone() };
        let mut feed = Remembering::new(Box::new(live), kept);
        let frames = (0..=windows).filter_map(|_| feed.next_frame(&ask()).expect("a frame"));
        let frames = frames.collect();
        (feed, frames)
    }

    fn ask() -> Ask {
        let mut ask = Ask { needs: Needs::MACHINE, ..Ask::default() };
        ask.options.still = IdleRows::All;
        ask
    }

    fn instants(frame: &Frame) -> (u64, u64) {
        (frame.t0_ns, frame.t1_ns)
    }

    /// Also where a piece begins or ends within the windows that are asked for.
    #[test]
    fn a_task_has_its_row_of_every_kept_window() {
        let (mut feed, frames) = remembering(70);
        let task = frames[0].rows.iter().find(|row| row.kind == RowKind::Process);
        let task = task.expect("a process").key;
        let row = |frame: &Frame| frame.rows.iter().find(|row| row.key == task).cloned();
        for (until, most) in [(69, 300), (69, 5), (40, 300), (29, 1), (30, 1), (0, 300)] {
            let until_ns = frames[until].t1_ns;
            let mut rows: Vec<KeptRow> = Vec::new();
            loop {
                let until_ns = rows.first().map_or(until_ns, |row| row.t0_ns);
                let ask =
                    KeptAsk { task, thread: false, until_ns, most: most - rows.len().min(most) };
                let mut earlier = feed.kept_rows(&ask);
                if earlier.is_empty() {
                    break;
                }
                earlier.append(&mut rows);
                rows = earlier;
            }
            assert!(rows.len() >= most.min(until + 1), "{} of {most}", rows.len());
            let shown = &frames[until + 1 - rows.len()..=until];
            for (kept, frame) in rows.iter().zip(shown) {
                assert_eq!((kept.t0_ns, kept.t1_ns), (frame.t0_ns, frame.t1_ns));
                assert_eq!(kept.row, row(frame), "until window {until}");
            }
        }
        let nobody = KeptAsk { task, thread: false, until_ns: frames[0].t0_ns, most: 9 };
        assert_eq!(feed.kept_rows(&nobody), []);
    }

    #[test]
    fn all_methods_except_those_of_the_past_are_forwarded() {
        let kept = Rc::new(RefCell::new(RecentWindows::new(Machine::this("a test"))));
        let layer = |feed| Box::new(Remembering::new(feed, kept)) as Box<dyn Feed>;
        let of_the_past = ["timeline", "look_back", "look_on"];
        assert_eq!(exactop_testkit::not_forwarded(layer), of_the_past);
    }

    #[test]
    fn every_step_shows_a_recorded_window_and_the_live_view_continues() {
        let (mut feed, frames) = remembering(6);
        assert!(feed.timeline().is_none());
        for (windows, first) in [(1, 4), (9, 0), (0, 5)] {
            assert!(feed.look_back(windows));
            let frame = feed.same_frame(&ask()).expect("a window");
            assert_eq!(instants(&frame), instants(&frames[first]), "{windows} back");
        }
        let shown = |feed: &mut Remembering| {
            let frame = feed.same_frame(&ask()).expect("a window");
            (instants(&frame), frame.books)
        };
        let was = |n: usize| (instants(&frames[n]), frames[n].books);
        let travel = |feed: &mut Remembering, to| {
            feed.timeline().expect("a time line").travel(to).expect("it can be read")
        };
        assert_eq!(shown(&mut feed), was(5), "the last is shown");
        assert_eq!(travel(&mut feed, Travel::By(Direction::Back, 1)), None);
        assert_eq!(shown(&mut feed), was(4));
        assert_eq!(travel(&mut feed, Travel::Change(Direction::Back)), None);
        assert_eq!(shown(&mut feed), was(3), "a change is a step");
        assert_eq!(travel(&mut feed, Travel::By(Direction::Back, 10)), None);
        assert_eq!(shown(&mut feed), was(0));
        assert_eq!(travel(&mut feed, Travel::By(Direction::Back, 1)), Some(TimelineNote::Begin));
        assert_eq!(travel(&mut feed, Travel::By(Direction::On, 2)), None);
        assert_eq!(shown(&mut feed), was(2));
        let place = feed.timeline().expect("a time line").place();
        assert_eq!(place.length_ns, exactop_testkit::WINDOW);
        // Each end reads the wall clock anew, with nanoseconds of difference: on it, a window ends
        // beside the beginning of the next.
        let inside = place.from_wall_ns - i128::from(exactop_testkit::WINDOW / 2);
        assert_eq!(travel(&mut feed, Travel::To(inside)), None);
        assert_eq!(shown(&mut feed), was(1));
        assert_eq!(travel(&mut feed, Travel::To(i128::MAX)), Some(TimelineNote::End));
        assert_eq!(shown(&mut feed), was(5));
        feed.look_on();
        assert!(feed.timeline().is_none());
        let next = feed.next_frame(&ask()).expect("a frame").expect("a window");
        assert_eq!(next.t0_ns, frames[5].t1_ns, "the next window is closed");
    }

    /// Also after the history has dropped the window on the screen.
    #[test]
    fn windows_are_kept_while_an_earlier_one_is_shown() {
        let (mut feed, frames) = remembering(5);
        assert!(feed.look_back(0));
        let travel = |feed: &mut Remembering, to| {
            feed.timeline().expect("a time line").travel(to).expect("it can be read")
        };
        let shown = |feed: &mut Remembering| {
            let place = feed.timeline().expect("a time line").place();
            (instants(&feed.same_frame(&ask()).expect("a window")), place.from_wall_ns)
        };
        travel(&mut feed, Travel::By(Direction::Back, 3));
        let was = shown(&mut feed);
        assert_eq!(was.0, instants(&frames[1]));
        let mut ended = Vec::new();
        for _ in 0..400 {
            ended.extend(feed.next_frame(&ask()).expect("a frame"));
            let place = feed.timeline().expect("a time line").place();
            assert!(place.recorded.iter().all(|&(from, to)| from > 0 && from < to));
        }
        assert_eq!(ended[0].t0_ns, frames[4].t1_ns);
        assert!(ended.windows(2).all(|two| two[0].t1_ns == two[1].t0_ns), "without a gap");
        assert_eq!(shown(&mut feed), was, "it stays");
        let join = feed.timeline().expect("a time line").join(Some(3 * exactop_testkit::WINDOW));
        assert!(join.is_err_and(|why| why.contains("left the memory")));
        feed.timeline().expect("a time line").join(None).expect_err("it is not kept, either");
        assert_eq!(travel(&mut feed, Travel::By(Direction::Back, 1)), Some(TimelineNote::Begin));
        assert_eq!(shown(&mut feed), was);
        assert_eq!(travel(&mut feed, Travel::By(Direction::On, 1)), None);
        let oldest = feed.kept().numbers().start;
        assert_eq!(shown(&mut feed).0, instants(&ended[oldest - frames.len()]), "the oldest");
        assert_eq!(travel(&mut feed, Travel::By(Direction::On, usize::MAX)), None);
        assert_eq!(shown(&mut feed).0, instants(&ended[399]));
    }

    #[test]
    fn windows_are_joined_and_stepped_through_as_one() {
        let (mut feed, frames) = remembering(9);
        assert!(feed.look_back(0));
        let timeline = |feed: &mut Remembering, length_ns| {
            feed.timeline().expect("a time line").join(length_ns).expect("they can be read");
        };
        timeline(&mut feed, Some(3 * exactop_testkit::WINDOW));
        let shown = |feed: &mut Remembering| {
            let frame = feed.same_frame(&ask()).expect("a window");
            let place = feed.timeline().expect("a time line").place();
            (instants(&frame), place.windows, frame.books.residual_ns)
        };
        let from_to = |first: usize, last: usize| (frames[first].t0_ns, frames[last].t1_ns);
        assert_eq!(shown(&mut feed), (from_to(6, 8), 3, 0));
        let travel = |feed: &mut Remembering, to| {
            feed.timeline().expect("a time line").travel(to).expect("it can be read")
        };
        assert_eq!(travel(&mut feed, Travel::By(Direction::Back, 1)), None);
        assert_eq!(shown(&mut feed), (from_to(3, 5), 3, 0));
        assert_eq!(travel(&mut feed, Travel::By(Direction::On, 1)), None);
        assert_eq!(shown(&mut feed), (from_to(6, 8), 3, 0));
        assert_eq!(travel(&mut feed, Travel::By(Direction::On, 1)), Some(TimelineNote::End));
        assert_eq!(shown(&mut feed), (from_to(6, 8), 3, 0), "the end is where it was");
        timeline(&mut feed, None);
        assert_eq!(shown(&mut feed), (from_to(8, 8), 1, 0));
    }

    #[test]
    fn details_of_an_earlier_window_come_only_from_that_window() {
        let (mut feed, _) = remembering(3);
        feed.look_back(1);
        let mut frame = feed.same_frame(&ask()).expect("a window");
        let row = frame.rows.iter_mut().find(|row| row.kind != RowKind::Exited).expect("a row");
        row.ident.uid = 0;
        let all = [Needs::STAT, Needs::STATM, Needs::CMDLINE, Needs::USER, Needs::CGROUP];
        let ident = row.ident;
        feed.details(&mut [&mut *row], all.into_iter().fold(Needs::NAMES, Needs::with));
        assert_eq!(row.detail.user.as_deref(), Ok("root"));
        assert!(row.detail.cmdline.is_err() && row.detail.res.is_err());
        assert!(row.detail.cgroup.is_err() && row.detail.time_ns.is_err());
        assert_eq!(row.ident, ident, "nice values and the like are those of then");
    }
}
