//! On-demand programs of the live view: for the process whose page is open, attached for that process
//! alone, while its page is open; and for the whole machine, while the view shows their figures.

use crate::source::Request;
use exactop_model::ledger::snapshot::ProcessRef;
use exactop_model::on_demand::{Listed, Panel, Programs, Subject, SubjectWindow};
use exactop_model::{Frame, Needs, SourceKind};

/// Attaches programs.
pub trait Attaches {
    /// Attaches the programs of a subject for these processes; with no `pids`, for all.
    /// `interval_ns` is the time between two requests for a window.
    ///
    /// # Errors
    /// The reason, if they cannot be attached.
    fn attach(&mut self, subject: Subject, pids: &[u32], interval_ns: Option<u64>) -> Attached;
}

/// Placeholder for all processes, for subjects without a page.
const MACHINE: ProcessRef = ProcessRef { tgid: 0, start_ns: 0 };

/// The process that a subject counts, or [`MACHINE`]; `None`: no page is open.
fn counted(subject: Subject, of_page: Option<ProcessRef>) -> Option<ProcessRef> {
    match subject.panel() {
        Some(_) => of_page,
        None => Some(MACHINE),
    }
}

/// Attached programs, or the reason why they are missing.
pub type Attached = Result<Box<dyn Programs>, String>;

/// One subject of the watched process.
#[derive(Default)]
struct Watch {
    programs: Option<(ProcessRef, Attached)>,
    /// The last window or its error; `None` until one window after attaching.
    told: Option<Result<SubjectWindow, String>>,
    /// The last window of the process that was watched last; it is shown until there is a new one.
    kept: Option<(ProcessRef, SubjectWindow)>,
}

impl Watch {
    /// Ends the window, and watches this process or none from here on.
    fn advance(&mut self, process: Option<ProcessRef>, attach: impl FnOnce(&[u32]) -> Attached) {
        if let (Some(Ok(window)), Some((of, _))) = (self.told.take(), &self.programs) {
            self.kept = Some((*of, window));
        }
        let Some(process) = process else {
            self.programs = None;
            return;
        };
        self.told = match &mut self.programs {
            Some((of, Ok(programs))) if of.tgid == process.tgid => Some(programs.window()),
            Some((of, Err(why))) if of.tgid == process.tgid => Some(Err(why.clone())),
            other => {
                // Detach the programs of another process first.
                *other = None;
                let pids = [process.tgid];
                let programs = attach(if process == MACHINE { &[] } else { &pids });
                let failed = programs.as_ref().err().cloned();
                *other = Some((process, programs));
                failed.map(Err)
            }
        };
    }

    /// The window to show of a process: the last one, or else the last one of an earlier watch.
    fn shown(&self, process: Option<ProcessRef>) -> Option<Result<SubjectWindow, String>> {
        // Without a start time the process may be another one with the same number.
        let is_same =
            |(kept, _): &&(ProcessRef, SubjectWindow)| Some(*kept) == process && kept.start_ns != 0;
        let kept = || self.kept.as_ref().filter(is_same).map(|(_, window)| Ok(window.clone()));
        self.told.clone().or_else(kept)
    }
}

/// The watched process and its programs.
pub struct WatchedProcess {
    by: Box<dyn Attaches>,
    subjects: [Watch; Subject::ALL.len()],
    /// Why nothing is attached for these needs.
    refused: Option<(Needs, String)>,
}

impl WatchedProcess {
    /// Drops all programs after the source began again. Programs of the old source are gone and are
    /// attached again.
    pub fn forget(&mut self) {
        self.subjects = Default::default();
    }

    /// Attaches programs through `by`.
    pub fn by(by: Box<dyn Attaches>) -> WatchedProcess {
        WatchedProcess { by, subjects: Default::default(), refused: None }
    }

    /// Ends the window, and watches the requested process or none from here on. If programs cannot
    /// be attached or read, the page shows the reason and everything else. `start_ns`: start time
    /// of that process; 0: unknown.
    pub fn advance(&mut self, request: &Request, start_ns: u64, source: SourceKind) {
        // With another source than the ledger, programs cannot be attached or are not wanted.
        let attaches = source == SourceKind::Ledger;
        let of_page = request.watch.map(|tgid| ProcessRef { tgid, start_ns });
        let mut counts = of_page.is_some();
        for (watch, &subject) in self.subjects.iter_mut().zip(Subject::ALL) {
            let is_needed = request.needs.has(Needs::subject(subject));
            let process = counted(subject, of_page).filter(|_| is_needed);
            counts |= process.is_some();
            let process = process.filter(|_| attaches);
            watch.advance(process, |pids| self.by.attach(subject, pids, request.interval_ns));
        }
        self.refused = (counts && !attaches).then(|| (request.needs, not_attached(source)));
    }

    /// The last window of a subject or its error, without earlier watches.
    pub fn last_window<W: Listed + Clone>(&self) -> Option<Result<W, String>> {
        let told = self.subjects[W::SUBJECT as usize].told.as_ref()?;
        Some(told.as_ref().map_err(String::clone).and_then(|window| {
            W::from_window(window).cloned().ok_or_else(|| {
                "cannot show what the programs returned, which is another subject".into()
            })
        }))
    }

    fn shown(
        &self,
        subject: Subject,
        process: Option<ProcessRef>,
    ) -> Option<Result<SubjectWindow, String>> {
        let asked = |(needs, _): &&(Needs, String)| needs.has(Needs::subject(subject));
        // Subjects that are always on the page show the reason themselves.
        let is_always = subject.panel() == Some(Panel::Always);
        let not = || self.refused.as_ref().filter(asked).filter(|_| !is_always);
        let why_not = || not().map(|(_, why)| Err(why.clone()));
        self.subjects[subject as usize].shown(process).or_else(why_not)
    }

    /// Adds the windows of the process to its frame, as far as the view needs them.
    pub fn tell(&self, frame: &mut Frame, process: Option<ProcessRef>, needs: Needs) {
        for &subject in Subject::ALL {
            let process = counted(subject, process).filter(|_| needs.has(Needs::subject(subject)));
            frame.subjects.tell(subject, self.shown(subject, process));
        }
    }
}

fn not_attached(source: SourceKind) -> String {
    let name = source.name();
    format!("the source {name} does not measure this: run as root for the ledger")
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::on_demand::losses::Losses;
    use exactop_model::on_demand::syscalls::{SyscallWindow, SyscallsBy};
    use exactop_model::on_demand::waits::WaitWindow;
    use std::cell::RefCell;
    use std::rc::Rc;

    const CALLS: Needs = Needs::subject(Subject::Syscalls);
    const MOVES: Needs = Needs::subject(Subject::Moves);

    /// Records which programs are attached for which process, and when they are dropped.
    #[derive(Clone, Default)]
    struct Noted(Rc<RefCell<Vec<String>>>);

    struct Made(Noted, Subject, String);

    impl Drop for Made {
        fn drop(&mut self) {
            self.0 .0.borrow_mut().push(format!("-{:?} {}", self.1, self.2));
        }
    }

    impl Programs for Made {
        fn began_ns(&self) -> u64 {
            0
        }

        fn window(&mut self) -> Result<SubjectWindow, String> {
            let (t0_ns, t1_ns, losses) = (0, 1, Losses::default());
            let by = SyscallsBy::Call;
            Ok(match self.1 {
                Subject::Waits => {
                    SubjectWindow::Waits(WaitWindow { t0_ns, t1_ns, rows: Vec::new(), losses })
                }
                Subject::Syscalls => SubjectWindow::Syscalls(SyscallWindow {
                    t0_ns,
                    t1_ns,
                    by,
                    rows: Vec::new(),
                    failures: Vec::new(),
                    dispatches: Vec::new(),
                    losses,
                }),
                _ => return Err("made to fail".into()),
            })
        }
    }

    impl Attaches for Noted {
        fn attach(&mut self, subject: Subject, pids: &[u32], _: Option<u64>) -> Attached {
            let of = pids.iter().map(u32::to_string).collect::<String>();
            self.0.borrow_mut().push(format!("+{subject:?} {of}"));
            Ok(Box::new(Made(self.clone(), subject, of)))
        }
    }

    fn ask(watch: Option<u32>, needs: Needs) -> Request {
        Request { needs, watch, ..Request::default() }
    }

    #[test]
    fn programs_are_attached_only_while_their_page_is_open() {
        let noted = Noted::default();
        let done = |noted: &Noted| std::mem::take(&mut *noted.0.borrow_mut());
        let mut watched = WatchedProcess::by(Box::new(noted.clone()));
        let ledger = SourceKind::Ledger;
        watched.advance(&ask(None, CALLS | MOVES), 5, ledger);
        assert!(done(&noted).is_empty(), "no process is watched");
        watched.advance(&ask(Some(7), CALLS), 5, ledger);
        assert_eq!(done(&noted), ["+Waits 7", "+Syscalls 7"]);
        assert_eq!(watched.shown(Subject::Syscalls, None), None, "known from the next window on");
        watched.advance(&ask(Some(7), CALLS), 5, ledger);
        assert!(
            done(&noted).is_empty()
                && matches!(watched.shown(Subject::Syscalls, None), Some(Ok(_)))
        );
        assert_eq!(watched.shown(Subject::Moves, None), None);
        watched.advance(&ask(Some(7), MOVES), 5, ledger);
        assert_eq!(done(&noted), ["-Syscalls 7", "+Moves 7"]);
        assert_eq!(watched.shown(Subject::Syscalls, None), None);
        watched.advance(&ask(Some(8), MOVES), 5, ledger);
        assert_eq!(done(&noted), ["-Waits 7", "+Waits 8", "-Moves 7", "+Moves 8"]);
        watched.advance(&ask(Some(8), MOVES), 5, ledger);
        assert_eq!(watched.shown(Subject::Moves, None), Some(Err("made to fail".into())));
        watched.advance(&ask(None, Needs::NONE), 5, ledger);
        assert_eq!(done(&noted), ["-Waits 8", "-Moves 8"]);
    }

    #[test]
    fn a_subject_on_no_page_counts_the_machine_while_the_view_shows_it() {
        let noted = Noted::default();
        let done = |noted: &Noted| std::mem::take(&mut *noted.0.borrow_mut());
        let mut watched = WatchedProcess::by(Box::new(noted.clone()));
        let owed = Needs::subject(Subject::Owed);
        watched.advance(&ask(None, owed), 0, SourceKind::Ledger);
        assert_eq!(done(&noted), ["+Owed "], "it has no processes of its own");
        watched.advance(&ask(Some(7), owed), 5, SourceKind::Ledger);
        assert_eq!(done(&noted), ["+Waits 7"], "a page leaves it as it is");
        assert_eq!(watched.shown(Subject::Owed, None), Some(Err("made to fail".into())));
        watched.advance(&ask(None, Needs::NONE), 0, SourceKind::Ledger);
        assert_eq!(done(&noted), ["-Waits 7", "-Owed "]);
        watched.advance(&ask(None, owed), 0, SourceKind::Procfs);
        assert!(
            done(&noted).is_empty() && matches!(watched.shown(Subject::Owed, None), Some(Err(_)))
        );
    }

    #[test]
    fn the_last_window_is_shown_until_there_is_a_new_one() {
        let mut watched = WatchedProcess::by(Box::new(Noted::default()));
        let (ledger, calls) = (SourceKind::Ledger, CALLS);
        let of = |start_ns| Some(ProcessRef { tgid: 7, start_ns });
        watched.advance(&ask(Some(7), calls), 5, ledger);
        assert_eq!(watched.shown(Subject::Syscalls, of(5)), None, "there is none yet");
        watched.advance(&ask(Some(7), calls), 5, ledger);
        watched.advance(&ask(None, Needs::NONE), 0, ledger);
        assert_eq!(watched.shown(Subject::Syscalls, None), None, "nobody looks");
        for attached in [false, true] {
            assert!(
                matches!(watched.shown(Subject::Syscalls, of(5)), Some(Ok(_))),
                "{attached}: the last one"
            );
            assert_eq!(
                watched.shown(Subject::Syscalls, of(6)),
                None,
                "another has its number by now"
            );
            assert_eq!(watched.last_window::<WaitWindow>(), None, "this window has none");
            watched.advance(&ask(Some(7), calls), 5, ledger);
        }
        watched.forget();
        assert_eq!(watched.shown(Subject::Syscalls, of(5)), None);
    }

    #[test]
    fn a_source_without_programs_gives_the_reason_on_request() {
        let noted = Noted::default();
        let mut watched = WatchedProcess::by(Box::new(noted.clone()));
        watched.advance(&ask(Some(7), CALLS), 5, SourceKind::Procfs);
        assert!(noted.0.borrow().is_empty());
        let why =
            watched.shown(Subject::Syscalls, None).expect("said").expect_err("nothing counts");
        assert!(why.contains("procfs"), "{why}");
        assert_eq!(
            (watched.shown(Subject::Moves, None), watched.last_window::<WaitWindow>()),
            (None, None)
        );
        watched.advance(&ask(None, CALLS), 5, SourceKind::Procfs);
        assert_eq!(watched.shown(Subject::Syscalls, None), None);
    }
}
