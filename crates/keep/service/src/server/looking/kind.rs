//! On-demand programs of one kind: when their windows end, and their readers.

use super::view::{Looker, Reply, View};
use super::Progress;
use crate::ask::Look;
use crate::schedule::{Schedule, WindowRequest};
use crate::server::visibility::Visibility;
use exactop_model::on_demand::{Choice, Subject};
use std::sync::mpsc::Sender;

/// A window ends at least this often, ns, even without a request. The kernel's table of exited
/// tasks is small, and their owners are looked up at a window's end.
const PIECE_NS: u64 = 1_000_000_000;

/// Programs of one kind, and their readers.
#[derive(Debug)]
pub struct ProbeSet {
    what: Subject,
    /// Start number of these programs, unique in this daemon.
    number: u64,
    /// Tells the thread to end a window; dropping it ends the thread.
    ends: Sender<()>,
    is_attached: bool,
    is_ending: bool,
    ended_ns: u64,
    schedule: Schedule,
    /// One for each user, so that the owner of each process is looked up once.
    visibilities: Vec<Visibility>,
    views: Vec<View>,
}

impl ProbeSet {
    /// Programs that are being attached, without readers yet.
    pub fn new(what: Subject, number: u64, ends: Sender<()>) -> ProbeSet {
        let (is_attached, is_ending, ended_ns) = (false, false, 0);
        let (schedule, visibilities, views) = (Schedule::default(), Vec::new(), Vec::new());
        ProbeSet {
            what,
            number,
            ends,
            is_attached,
            is_ending,
            ended_ns,
            schedule,
            visibilities,
            views,
        }
    }

    pub fn subject(&self) -> Subject {
        self.what
    }

    /// True if these are start number `number`.
    pub fn is(&self, number: u64) -> bool {
        self.number == number
    }

    /// True if this reader reads them.
    pub fn has(&self, looker: u64) -> bool {
        self.views.iter().any(|view| view.has(looker))
    }

    /// Number of readers.
    pub fn lookers(&self) -> usize {
        self.views.iter().map(|view| view.numbers().len()).sum()
    }

    /// When the next window should end.
    pub fn due_ns(&self) -> Option<u64> {
        let piece_ns = self.ended_ns + PIECE_NS;
        let due_ns = self.schedule.due_ns().map_or(piece_ns, |due_ns| due_ns.min(piece_ns));
        (self.is_attached && !self.is_ending).then_some(due_ns)
    }

    /// Ends a window if it is due.
    pub fn end_due(&mut self, now_ns: u64) {
        if self.due_ns().is_some_and(|due_ns| due_ns <= now_ns) {
            // A thread that failed reports it by itself.
            self.is_ending = self.ends.send(()).is_ok();
        }
    }

    /// Adds a reader.
    pub fn come(&mut self, choice: Choice, visibility: Visibility, looker: Looker) {
        let same = |view: &&mut View| view.is_of(&choice) && view.sees(&visibility);
        match self.views.iter_mut().find(same) {
            Some(view) => view.come(looker),
            None => {
                let mut view = View::new(choice, &visibility);
                view.come(looker);
                self.views.push(view);
            }
        }
        if self.visibilities.iter().all(|there| there.uid() != visibility.uid()) {
            self.visibilities.push(visibility);
        }
    }

    /// A reader asks for a window; returns what is ready.
    pub fn ask(&mut self, number: u64, look: &Look, now_ns: u64) -> Option<Reply> {
        let view = self.views.iter_mut().find(|view| view.has(number))?;
        // An end far in the future counts as now.
        let after_ns = look.after_ns.unwrap_or(now_ns).min(now_ns);
        let (after_ns, reply) = view.ask(number, after_ns, now_ns);
        let (interval_ns, ends, at_once) = (look.interval_ns, 1, false);
        let asked = WindowRequest { interval_ns, after_ns, ends, at_once };
        self.schedule.ask(number, asked, now_ns);
        reply
    }

    /// Removes a reader.
    pub fn leave(&mut self, number: u64) {
        self.schedule.leave(number);
        self.views.iter_mut().for_each(|view| view.leave(number));
        self.views.retain(|view| view.numbers().len() > 0);
        self.visibilities.retain(|visibility| self.views.iter().any(|view| view.sees(visibility)));
    }

    /// Handles a report of the thread; returns the replies to readers.
    pub fn hear(&mut self, progress: Progress) -> Vec<(u64, Reply)> {
        match progress {
            Progress::Attached(at_ns) => {
                self.is_attached = true;
                self.ended_ns = at_ns;
                self.schedule.ended(at_ns);
                self.views.iter_mut().flat_map(|view| view.begin(at_ns)).collect()
            }
            Progress::Ended(looked) => {
                let (t0_ns, t1_ns) = looked.span_ns();
                self.is_ending = false;
                self.ended_ns = t1_ns;
                self.schedule.ended(t1_ns);
                let mut replies = Vec::new();
                for visibility in &mut self.visibilities {
                    visibility.since(t0_ns);
                    let theirs = self.views.iter_mut().filter(|view| view.sees(visibility));
                    replies.extend(theirs.flat_map(|view| view.take(&looked, visibility)));
                }
                replies
            }
            Progress::Failed(why) => {
                let refused = |number| (number, Reply::Refusal(why.clone()));
                let all = self.views.drain(..);
                all.flat_map(|view| view.numbers().map(refused).collect::<Vec<_>>()).collect()
            }
        }
    }
}
