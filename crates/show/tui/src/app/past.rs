//! A recording on the screen: the current window, playing, and the keys of the time line.

use super::action::{Action, WindowAction};
use super::question::{Prompt, Question};
use super::App;
use crate::keys::KeyCommand;
use exactop_model::feed::timeline::{Direction, TimelineNote, TimelinePosition, Travel};
use exactop_model::on_demand::Subject;
use exactop_model::{Ask, Frame, FrameOptions, Needs};

/// Lengths of merged windows, ns, and their names.
const JOINED: [(u64, &str); 5] = [
    (1_000_000_000, "1 s"),
    (10_000_000_000, "10 s"),
    (60_000_000_000, "1 min"),
    (600_000_000_000, "10 min"),
    (3_600_000_000_000, "1 h"),
];

/// Place in a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownPast {
    /// The current window and the extent of the recording.
    pub place: TimelinePosition,
    /// Beginning of the window by the local clock.
    pub from: String,
    /// Beginning and end of the recording.
    pub bounds: (String, String),
    /// Index of the length of merged windows.
    joined: Option<usize>,
    /// True if these are the kept last windows of a live machine, not a recording.
    pub kept: bool,
}

impl ShownPast {
    /// Length of merged windows.
    pub fn joined(&self) -> Option<&'static str> {
        Some(JOINED[self.joined?].1)
    }

    /// The next longer length; after the longest, the recorded windows. Lengths up to that of a
    /// recorded window are skipped.
    fn longer(&self) -> Option<usize> {
        let recorded_ns = self.place.length_ns / self.place.windows.max(1) as u64;
        let from = self.joined.map_or(0, |joined| joined + 1);
        (from..JOINED.len()).find(|&n| JOINED[n].0 > recorded_ns)
    }
}

impl App {
    /// Shows a recording: it stands still until the user plays it.
    pub(crate) fn begin_past(&mut self) {
        self.past = Some(ShownPast::default());
        self.paused = true;
    }

    /// Shows the last windows of a live machine, one by one.
    pub(crate) fn begin_looking_back(&mut self) {
        self.past = Some(ShownPast { kept: true, ..ShownPast::default() });
        self.paused = true;
    }

    /// Returns to the live machine.
    pub(crate) fn end_looking_back(&mut self) {
        (self.past, self.paused) = (None, false);
    }

    /// True if earlier windows of a live machine are shown.
    pub fn is_looking_back(&self) -> bool {
        self.past.as_ref().is_some_and(|past| past.kept)
    }

    /// The request for a window of the present that ends while an earlier one is shown: what the
    /// table needs, without the figures of a page.
    pub(crate) fn ask_for_present(&self) -> Ask {
        let ask = self.ask();
        let FrameOptions { threads, still, .. } = ask.options;
        let options = FrameOptions { threads, still, ..FrameOptions::default() };
        Ask { options, watch: None, groups: false, ..ask }
    }

    /// Notes a window of the present that ended while an earlier one is shown.
    pub(crate) fn note_present(&mut self, frame: &Frame) {
        self.failure = None;
        let owed = if self.shows_owed { Needs::subject(Subject::Owed) } else { Needs::NONE };
        self.note_window(frame, owed);
        if let Some(task) = self.tracked_task() {
            let row = frame.rows.iter().find(|row| row.key == task);
            self.tracked.note(task, row, frame);
        }
    }

    /// Shows windows unmerged.
    pub(crate) fn not_joined(&mut self) {
        if let Some(past) = &mut self.past {
            past.joined = None;
        }
    }

    pub(crate) fn stop_playing(&mut self) {
        self.paused = true;
    }

    /// Sets the current window; `local`: formats a time by the local clock.
    pub(crate) fn set_place(
        &mut self,
        place: TimelinePosition,
        local: &mut dyn FnMut(i128) -> String,
    ) {
        let Some(past) = &mut self.past else { return };
        let (begin, end) = place.bounds();
        past.from = local(place.from_wall_ns);
        past.bounds = (local(begin), local(end));
        past.place = place;
    }

    /// Keys of the time line, on every page; `None`: the key does what it does otherwise.
    pub(super) fn on_time(&mut self, command: KeyCommand) -> Option<Action> {
        let past = self.past.as_mut()?;
        let by = |direction, windows| {
            Some(Action::Window(WindowAction::Travel(Travel::By(direction, windows))))
        };
        match command {
            KeyCommand::WindowBack => by(Direction::Back, 1),
            KeyCommand::WindowOn => by(Direction::On, 1),
            KeyCommand::TenBack => by(Direction::Back, 10),
            KeyCommand::TenOn => by(Direction::On, 10),
            KeyCommand::ChangeBack => {
                Some(Action::Window(WindowAction::Travel(Travel::Change(Direction::Back))))
            }
            KeyCommand::ChangeOn => {
                Some(Action::Window(WindowAction::Travel(Travel::Change(Direction::On))))
            }
            KeyCommand::GoTo => {
                let label = "to a time, as in 14:03, 2h ago, yesterday 14:00";
                Some(self.ask_person(Prompt::new(Question::Time, label, None)))
            }
            KeyCommand::Play => {
                self.paused = !self.paused;
                match (self.paused, past.kept) {
                    (true, _) => Some(Action::Draw),
                    (false, false) => Some(Action::Refresh),
                    // No key of the past ends a window of the present.
                    (false, true) => by(Direction::On, 1),
                }
            }
            KeyCommand::Join => {
                past.joined = past.longer();
                Some(Action::Window(WindowAction::Join(past.joined.map(|joined| JOINED[joined].0))))
            }
            KeyCommand::Kill
            | KeyCommand::Renice
            | KeyCommand::Affinity
            | KeyCommand::MoveToGroup
            | KeyCommand::Weight
            | KeyCommand::Limit => {
                let kept = self.is_looking_back();
                let what = if kept { "this window is over" } else { "this is a recording" };
                self.complain(format!("{what}: signals and limits work only on the present"));
                Some(Action::Draw)
            }
            _ => None,
        }
    }
}

/// The note about the window that was reached, in words. `kept`: of a live machine.
pub(crate) fn noted(
    noted: TimelineNote,
    by: Travel,
    kept: bool,
    local: &mut dyn FnMut(i128) -> String,
) -> String {
    let change = matches!(by, Travel::Change(_));
    match noted {
        TimelineNote::Begin if kept => "this is the oldest window in memory".into(),
        TimelineNote::End if kept => {
            "this is the newest window in memory: Esc returns to the present".into()
        }
        TimelineNote::Spike { before, now } => {
            let what = if now > before { "more" } else { "less" };
            format!("a spike: {now:.2} CPUs in use, {what} than the {before:.2} before")
        }
        TimelineNote::Gap { why, from_wall_ns, to_wall_ns } => {
            let (from, to) = (local(from_wall_ns), local(to_wall_ns));
            format!("not recorded from {from} to {to}: {why}")
        }
        TimelineNote::Begin if change => "no change before this window".into(),
        TimelineNote::End if change => "no change after this window".into(),
        TimelineNote::Begin => "the recording begins here".into(),
        TimelineNote::End => "the recording ends here".into(),
    }
}
