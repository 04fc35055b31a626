//! A recording as a timeline: goes back and forward, to a time, or to the next change, in recorded
//! or in joined windows.

use crate::changes::{busy, is_spike};
use crate::error::RecordingError;
use crate::gap::Gap;
use crate::index::{IndexedWindow, RecordingPosition};
use crate::parts::Recording;
use crate::reader::{Reader, Recorded, Step};
use crate::replay::Replay;
use exactop_model::feed::timeline::{Direction, Timeline, TimelineNote, TimelinePosition, Travel};
use exactop_model::ledger::joined::Joined;
use exactop_model::{Ask, Feed, Frame, TaskKey};
use std::collections::VecDeque;

/// Most files whose CPU use is in the cache.
const FILES: usize = 4;

/// A recording that is shown window by window, in any order.
#[derive(Debug)]
pub struct Playback {
    replay: Replay,
    join_ns: Option<u64>,
    shown: Group,
    windows: usize,
    /// Gap right before the shown window.
    gap: Option<Gap>,
    /// Last window that the book has passed; `None` if the book cannot continue from here.
    reached: Option<RecordingPosition>,
    busy: VecDeque<(usize, Vec<Option<f64>>)>,
    begun: bool,
    /// Time that was requested first, ns since the epoch.
    sought: Option<i128>,
    length_ns: u64,
}

/// Adjacent windows that are shown as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    first: IndexedWindow,
    last: IndexedWindow,
}

impl Playback {
    /// Starts at the window that holds a time (ns since the epoch), or at the first after it;
    /// without a time at the first window. `None` if there is no such window.
    ///
    /// # Errors
    /// [`RecordingError`]: a file cannot be read.
    pub fn new(
        recording: Recording,
        wall_ns: Option<i128>,
    ) -> Result<Option<Playback>, RecordingError> {
        let mut replay = Replay::new(Reader::new(recording));
        let (index, recording) = replay.index();
        let found = index.at_time(recording, wall_ns.unwrap_or(i128::MIN))?;
        let Some(first) = found.filter(|f| wall_ns.is_none_or(|at| f.span.wall_t1_ns() > at))
        else {
            return Ok(None);
        };
        let mut playback = Playback {
            replay,
            join_ns: None,
            shown: Group { first, last: first },
            windows: 0,
            gap: None,
            reached: None,
            busy: VecDeque::new(),
            begun: false,
            sought: wall_ns,
            length_ns: 0,
        };
        let there = playback.show_from(playback.shown, Direction::On)?;
        Ok(there.then_some(playback))
    }

    /// The recording.
    pub fn recording(&self) -> &Recording {
        self.replay.reader().recording()
    }

    fn beside(
        &mut self,
        of: IndexedWindow,
        to: Direction,
    ) -> Result<Option<IndexedWindow>, RecordingError> {
        let on = to == Direction::On;
        let (index, recording) = self.replay.index();
        let found = index.beside(recording, of.at, on)?;
        if found.is_some() || !on || !self.replay.follow()? {
            return Ok(found);
        }
        let (index, recording) = self.replay.index();
        index.beside(recording, of.at, on)
    }

    /// True if `window` starts where `before` ends, in the same session.
    fn follows(&self, window: &IndexedWindow, before: &IndexedWindow) -> bool {
        let parts = self.recording().parts();
        let session =
            |at: RecordingPosition| parts.get(at.part).map(|part| (&part.boot_id, part.session));
        before.span.t1_ns == window.span.t0_ns
            && !window.is_after_suspend
            && session(before.at) == session(window.at)
    }

    /// The windows that are shown together with this one.
    fn group(&mut self, of: IndexedWindow) -> Result<Group, RecordingError> {
        let mut group = Group { first: of, last: of };
        let Some(length_ns) = self.join_ns else { return Ok(group) };
        // A window belongs to the stretch that holds its last instant.
        let stretch =
            |w: &IndexedWindow| (w.span.wall_t1_ns() - 1).div_euclid(i128::from(length_ns));
        while let Some(before) = self.beside(group.first, Direction::Back)? {
            if stretch(&before) != stretch(&of) || !self.follows(&group.first, &before) {
                break;
            }
            group.first = before;
        }
        while let Some(after) = self.beside(group.last, Direction::On)? {
            if stretch(&after) != stretch(&of) || !self.follows(&after, &group.last) {
                break;
            }
            group.last = after;
        }
        Ok(group)
    }

    /// Shows these windows, or the nearest readable ones in that direction. Returns false and shows
    /// nothing if there are none.
    fn show_from(&mut self, mut group: Group, to: Direction) -> Result<bool, RecordingError> {
        loop {
            if self.show(group)? {
                return Ok(true);
            }
            let edge = if to == Direction::On { group.last } else { group.first };
            let Some(next) = self.beside(edge, to)? else { return Ok(false) };
            group = self.group(next)?;
        }
    }

    /// Shows these windows; returns false if none can be read.
    fn show(&mut self, group: Group) -> Result<bool, RecordingError> {
        let before = self.beside(group.first, Direction::Back)?;
        let goes_on = self.reached.is_some() && before.map(|b| b.at) == self.reached;
        if !goes_on {
            // Start before a gap, so that the reader reports its reason.
            let from = before.filter(|before| !self.follows(&group.first, before));
            let from = from.unwrap_or(group.first);
            self.replay.go_to(from.at, from.keyframe)?;
        }
        (self.windows, self.gap, self.reached) = (0, None, None);
        let (mut joined, mut gap) = (Joined::default(), None);
        while let Some(step) = self.replay.step()? {
            match step {
                Step::Gap(told) => gap = Some(told),
                // May happen inside the group, where some windows cannot be read: show the rest.
                Step::Opened(whole) => {
                    (self.windows, self.gap, joined) = (0, gap.take(), Joined::default());
                    self.replay.open(*whole);
                }
                Step::Window(recorded) if recorded.at > group.last.at => break,
                Step::Window(recorded) if recorded.at < group.first.at => {
                    self.gap = None;
                    self.replay.pass(*recorded);
                }
                Step::Window(recorded) => {
                    self.take(*recorded, &group, &mut joined);
                    if self.reached.is_some() {
                        break;
                    }
                }
            }
        }
        Ok(self.replay.show(joined))
    }

    /// Adds a window of the group.
    fn take(&mut self, recorded: Recorded, group: &Group, joined: &mut Joined) {
        let (at, span) = (recorded.at, recorded.span);
        if self.windows == 0 {
            self.length_ns = 0;
            self.shown.first = IndexedWindow { at, span, ..group.first };
        }
        self.length_ns += span.t1_ns - span.t0_ns;
        self.windows += 1;
        self.shown.last = IndexedWindow { at, span, ..group.last };
        self.replay.join(recorded, joined, self.windows == 1);
        self.reached = (at == group.last.at).then_some(at);
    }

    fn joined(&mut self, length_ns: Option<u64>) -> Result<(), RecordingError> {
        let (before, shown) = (self.join_ns, self.shown);
        self.join_ns = length_ns;
        self.reached = None;
        let group = self.group(shown.first)?;
        if !self.show(group)? {
            self.join_ns = before;
            self.show(shown)?;
        }
        Ok(())
    }

    fn by(
        &mut self,
        to: Direction,
        windows: usize,
    ) -> Result<Option<TimelineNote>, RecordingError> {
        let end = if to == Direction::On { TimelineNote::End } else { TimelineNote::Begin };
        let (before, mut group, mut went) = (self.shown, self.shown, 0);
        while went < windows {
            let edge = if to == Direction::On { group.last } else { group.first };
            let Some(next) = self.beside(edge, to)? else { break };
            group = self.group(next)?;
            went += 1;
        }
        if went == 0 {
            return Ok(Some(end));
        }
        if !self.show_from(group, to)? {
            self.show(before)?;
            return Ok(Some(end));
        }
        Ok(if went < windows { Some(end) } else { self.gap() })
    }

    fn gap(&self) -> Option<TimelineNote> {
        let Gap { why, from_wall_ns, to_wall_ns, .. } = *self.gap.as_ref()?;
        Some(TimelineNote::Gap { why: why.text(), from_wall_ns, to_wall_ns })
    }

    fn to(&mut self, wall_ns: i128) -> Result<Option<TimelineNote>, RecordingError> {
        let (index, recording) = self.replay.index();
        let Some(found) = index.at_time(recording, wall_ns)? else {
            return Ok(Some(TimelineNote::End));
        };
        let before = self.shown;
        let group = self.group(found)?;
        if !self.show_from(group, Direction::On)? && !self.show_from(group, Direction::Back)? {
            self.show(before)?;
        }
        match self.shown.last.span.wall_t1_ns() <= wall_ns {
            true => Ok(Some(TimelineNote::End)),
            false => Ok(self.gap()),
        }
    }

    /// CPUs in use in each window of a file.
    fn busy(&mut self, part: usize) -> Result<&[Option<f64>], RecordingError> {
        let (index, recording) = self.replay.index();
        let windows = index.windows(recording, part)?;
        let is_it = |(of, list): &(usize, Vec<_>)| *of == part && list.len() == windows.len();
        let list = match self.busy.iter().position(is_it).and_then(|at| self.busy.remove(at)) {
            Some((_, list)) => list,
            None => busy(&recording.segment(&recording.parts()[part].name)?, windows)?,
        };
        self.busy.truncate(FILES - 1);
        self.busy.push_front((part, list));
        Ok(&self.busy[0].1)
    }

    fn busy_in(&mut self, window: &IndexedWindow) -> Result<Option<f64>, RecordingError> {
        let (index, recording) = self.replay.index();
        let list = index.windows(recording, window.at.part)?;
        let place = list.partition_point(|other| other.at < window.at);
        Ok(self.busy(window.at.part)?.get(place).copied().flatten())
    }

    /// The change from `before` to `window`, if any.
    fn change_at(
        &mut self,
        window: &IndexedWindow,
        before: &IndexedWindow,
    ) -> Result<Option<Change>, RecordingError> {
        if !self.follows(window, before) {
            return Ok(Some(Change::Gap));
        }
        let (before, now) = (self.busy_in(before)?, self.busy_in(window)?);
        let spike = before.zip(now).filter(|&(before, now)| is_spike(before, now));
        Ok(spike.map(|(before, now)| Change::Spike(TimelineNote::Spike { before, now })))
    }

    fn change(&mut self, to: Direction) -> Result<Option<TimelineNote>, RecordingError> {
        let end = if to == Direction::On { TimelineNote::End } else { TimelineNote::Begin };
        let shown = self.shown;
        let mut at = if to == Direction::On { shown.last } else { shown.first };
        loop {
            let Some(next) = self.beside(at, to)? else {
                // A change that could not be read may have cleared the shown window.
                if self.replay.window().is_none() {
                    self.show(shown)?;
                }
                return Ok(Some(end));
            };
            at = next;
            let Some(before) = self.beside(at, Direction::Back)? else { continue };
            let Some(change) = self.change_at(&at, &before)? else { continue };
            let group = self.group(at)?;
            if !self.show(group)? {
                continue;
            }
            return Ok(match change {
                Change::Gap => self.gap(),
                Change::Spike(noted) => Some(noted),
            });
        }
    }
}

/// Why a window is a moment of change.
enum Change {
    Gap,
    Spike(TimelineNote),
}

impl Timeline for Playback {
    fn travel(&mut self, to: Travel) -> Result<Option<TimelineNote>, String> {
        let noted = match to {
            Travel::By(direction, windows) => self.by(direction, windows),
            Travel::Change(direction) => self.change(direction),
            Travel::To(wall_ns) => self.to(wall_ns),
        };
        noted.map_err(|error| error.to_string())
    }

    fn join(&mut self, length_ns: Option<u64>) -> Result<(), String> {
        self.joined(length_ns).map_err(|error| error.to_string())
    }

    fn arrived(&self) -> Option<TimelineNote> {
        let sought = self.sought?;
        match &self.gap {
            Some(gap) if (gap.from_wall_ns..gap.to_wall_ns).contains(&sought) => self.gap(),
            None if self.shown.first.span.wall_t0_ns() > sought => Some(TimelineNote::Begin),
            _ => None,
        }
    }

    fn place(&self) -> TimelinePosition {
        let parts = self.recording().parts();
        let recorded = parts.iter().filter_map(|part| part.from_wall_ns.zip(part.to_wall_ns));
        TimelinePosition {
            from_wall_ns: self.shown.first.span.wall_t0_ns(),
            to_wall_ns: self.shown.last.span.wall_t1_ns(),
            length_ns: self.length_ns,
            recorded: recorded.collect(),
            windows: self.windows,
        }
    }

    fn has_exited(&self, task: TaskKey) -> bool {
        let book = self.replay.book();
        let Some(process) = book.process(task.tgid) else { return true };
        let leader = process.leader.and_then(|account| book.task(account));
        task.is_leader() && leader.is_some_and(|leader| leader.key.start_ns != task.start_ns)
    }
}

impl Feed for Playback {
    fn inner(&mut self) -> Option<&mut dyn Feed> {
        Some(&mut self.replay)
    }

    /// Returns the start window first, then each next window. At the end, it returns the last
    /// window again.
    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
        if std::mem::replace(&mut self.begun, true) {
            self.travel(Travel::By(Direction::On, 1))?;
        }
        Ok(self.same_frame(ask))
    }

    fn same_frame(&mut self, ask: &Ask) -> Option<Frame> {
        self.begun = true;
        self.replay.same_frame(ask)
    }

    fn timeline(&mut self) -> Option<&mut dyn Timeline> {
        Some(self)
    }
}
