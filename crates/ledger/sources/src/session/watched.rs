//! What the process whose page is open waits for, which system calls it makes and why it is moved:
//! programs that are attached for it alone, and only as long.

use crate::source::Request;
use exactop_model::ledger::snapshot::ProcessRef;
use exactop_model::on_demand::moves::MoveWindow;
use exactop_model::on_demand::syscalls::SyscallWindow;
use exactop_model::on_demand::waits::WaitWindow;
use exactop_model::on_demand::Looked;
use exactop_model::{Frame, Needs, SourceKind};

/// What programs tell of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// What it waits for.
    Waits,
    /// Its system calls, by call.
    Syscalls,
    /// Why it goes to other CPUs.
    Moves,
}

/// Programs that count as long as this lives.
pub trait Looks {
    /// Ends a window; the next begins.
    ///
    /// # Errors
    /// Why it is not known.
    fn window(&mut self) -> Result<Looked, String>;
}

/// Who attaches programs for a process.
pub trait Attaches {
    /// Attaches those of a subject; `interval_ns`: how often a window is asked for.
    ///
    /// # Errors
    /// Why they cannot be.
    fn attach(
        &mut self,
        subject: Subject,
        pid: u32,
        interval_ns: Option<u64>,
    ) -> Result<Box<dyn Looks>, String>;
}

/// What came of attaching.
type Attached = Result<Box<dyn Looks>, String>;

/// One subject of the process that is watched.
#[derive(Default)]
struct Watch {
    programs: Option<(ProcessRef, Attached)>,
    /// The last window, or why it is not known; from the window after the one in which they were attached.
    told: Option<Result<Looked, String>>,
    /// The last window of the process that was watched last: shown until there is one again.
    kept: Option<(ProcessRef, Looked)>,
}

impl Watch {
    /// Ends the window; from here on this process is watched, or none.
    fn advance(&mut self, process: Option<ProcessRef>, attach: impl FnOnce(u32) -> Attached) {
        if let (Some(Ok(looked)), Some((of, _))) = (self.told.take(), &self.programs) {
            self.kept = Some((*of, looked));
        }
        let Some(process) = process else {
            self.programs = None;
            return;
        };
        self.told = match &mut self.programs {
            Some((of, Ok(programs))) if of.tgid == process.tgid => Some(programs.window()),
            Some((of, Err(why))) if of.tgid == process.tgid => Some(Err(why.clone())),
            other => {
                // Those of another process go first.
                *other = None;
                let programs = attach(process.tgid);
                let failed = programs.as_ref().err().cloned();
                *other = Some((process, programs));
                failed.map(Err)
            }
        };
    }

    /// What there is to show of a process: the last window, or the one before it was last looked away from.
    fn shown<W>(
        &self,
        process: Option<ProcessRef>,
        of: fn(&Looked) -> Option<W>,
    ) -> Option<Result<W, String>> {
        // Of a process that the book does not know, nobody can say that it is the same.
        let is_same =
            |(kept, _): &&(ProcessRef, Looked)| Some(*kept) == process && kept.start_ns != 0;
        let kept = || of(&self.kept.as_ref().filter(is_same)?.1).map(Ok);
        told(self, of).or_else(kept)
    }
}

/// The process that is watched.
pub struct Watched {
    by: Box<dyn Attaches>,
    waits: Watch,
    calls: Watch,
    moves: Watch,
    /// Why nothing is attached, for what was asked for.
    not: Option<(Needs, String)>,
}

impl Watched {
    /// Whoever measures began anew: programs that were its own are gone, and are attached again.
    pub fn forget(&mut self) {
        for watch in [&mut self.waits, &mut self.calls, &mut self.moves] {
            *watch = Watch::default();
        }
    }

    /// By programs that this attaches.
    pub fn by(by: Box<dyn Attaches>) -> Watched {
        let [waits, calls, moves] = [(); 3].map(|()| Watch::default());
        Watched { by, waits, calls, moves, not: None }
    }

    /// Ends the window; from here on the process that is asked for is watched, or none. What cannot
    /// be attached or read is not known on the page, which is no reason not to show the rest.
    /// `start_ns`: when that process began, 0: unknown.
    pub fn advance(&mut self, request: &Request, start_ns: u64, source: SourceKind) {
        // A source that is none of the ledger is there where programs cannot be attached, or were not to be.
        let attaches = source == SourceKind::Ledger;
        let Watched { by, waits, calls, moves, not } = self;
        let subjects = [
            (waits, Subject::Waits, Needs::NONE),
            (calls, Subject::Syscalls, Needs::SYSCALLS),
            (moves, Subject::Moves, Needs::MOVES),
        ];
        for (watch, subject, need) in subjects {
            let pid = request.watch.filter(|_| attaches && request.needs.has(need));
            let process = pid.map(|tgid| ProcessRef { tgid, start_ns });
            watch.advance(process, |pid| by.attach(subject, pid, request.interval_ns));
        }
        *not =
            (request.watch.is_some() && !attaches).then(|| (request.needs, not_attached(source)));
    }

    /// The waits in the last window, or why they are not known.
    pub fn waits(&self) -> Option<Result<WaitWindow, String>> {
        told(&self.waits, waits_of)
    }

    fn calls(&self, process: Option<ProcessRef>) -> Option<Result<SyscallWindow, String>> {
        let calls = self.calls.shown(process, |looked| match looked {
            Looked::Syscalls(window) => Some(window.clone()),
            _ => None,
        });
        calls.or_else(|| self.why_not(Needs::SYSCALLS).map(Err))
    }

    fn moves(&self, process: Option<ProcessRef>) -> Option<Result<MoveWindow, String>> {
        let moves = self.moves.shown(process, |looked| match looked {
            Looked::Moves(window) => Some(window.clone()),
            _ => None,
        });
        moves.or_else(|| self.why_not(Needs::MOVES).map(Err))
    }

    fn why_not(&self, need: Needs) -> Option<String> {
        self.not.as_ref().filter(|(needs, _)| needs.has(need)).map(|(_, why)| why.clone())
    }

    /// Tells a frame of it, that is of this process; what is shown of it needs this.
    pub fn tell(&self, frame: &mut Frame, process: Option<ProcessRef>, needs: Needs) {
        let of = |need| process.filter(|_| needs.has(need));
        frame.waits = self.waits.shown(process, waits_of);
        frame.calls = self.calls(of(Needs::SYSCALLS));
        frame.moves = self.moves(of(Needs::MOVES));
    }
}

fn waits_of(looked: &Looked) -> Option<WaitWindow> {
    match looked {
        Looked::Waits(window) => Some(window.clone()),
        _ => None,
    }
}

fn told<W>(watch: &Watch, of: fn(&Looked) -> Option<W>) -> Option<Result<W, String>> {
    let told = watch.told.as_ref()?;
    Some(
        told.as_ref().map_err(String::clone).and_then(|looked| {
            of(looked).ok_or_else(|| "programs told what was not asked for".into())
        }),
    )
}

fn not_attached(source: SourceKind) -> String {
    let name = source.name();
    format!("counted by programs beside the ledger, and this is the source {name} (exactop doctor)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::on_demand::losses::Losses;
    use exactop_model::on_demand::syscalls::SyscallsBy;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// Notes who is attached for whom, and when they go.
    #[derive(Clone, Default)]
    struct Noted(Rc<RefCell<Vec<String>>>);

    struct Programs(Noted, Subject, u32);

    impl Drop for Programs {
        fn drop(&mut self) {
            self.0 .0.borrow_mut().push(format!("-{:?} {}", self.1, self.2));
        }
    }

    impl Looks for Programs {
        fn window(&mut self) -> Result<Looked, String> {
            let (t0_ns, t1_ns, losses) = (0, 1, Losses::default());
            let by = SyscallsBy::Call;
            Ok(match self.1 {
                Subject::Waits => {
                    Looked::Waits(WaitWindow { t0_ns, t1_ns, rows: Vec::new(), losses })
                }
                Subject::Syscalls => Looked::Syscalls(SyscallWindow {
                    t0_ns,
                    t1_ns,
                    by,
                    rows: Vec::new(),
                    failures: Vec::new(),
                    dispatches: Vec::new(),
                    losses,
                }),
                Subject::Moves => return Err("made to fail".into()),
            })
        }
    }

    impl Attaches for Noted {
        fn attach(
            &mut self,
            subject: Subject,
            pid: u32,
            _: Option<u64>,
        ) -> Result<Box<dyn Looks>, String> {
            self.0.borrow_mut().push(format!("+{subject:?} {pid}"));
            Ok(Box::new(Programs(self.clone(), subject, pid)))
        }
    }

    fn ask(watch: Option<u32>, needs: Needs) -> Request {
        Request { needs, watch, interval_ns: None }
    }

    #[test]
    fn programs_are_there_for_what_is_looked_at_and_no_longer() {
        let noted = Noted::default();
        let done = |noted: &Noted| std::mem::take(&mut *noted.0.borrow_mut());
        let mut watched = Watched::by(Box::new(noted.clone()));
        let ledger = SourceKind::Ledger;
        watched.advance(&ask(None, Needs::SYSCALLS | Needs::MOVES), 5, ledger);
        assert!(done(&noted).is_empty(), "nobody is watched");
        watched.advance(&ask(Some(7), Needs::SYSCALLS), 5, ledger);
        assert_eq!(done(&noted), ["+Waits 7", "+Syscalls 7"]);
        assert_eq!(watched.calls(None), None, "known from the next window on");
        watched.advance(&ask(Some(7), Needs::SYSCALLS), 5, ledger);
        assert!(done(&noted).is_empty() && matches!(watched.calls(None), Some(Ok(_))));
        assert_eq!(watched.moves(None), None);
        watched.advance(&ask(Some(7), Needs::MOVES), 5, ledger);
        assert_eq!(done(&noted), ["-Syscalls 7", "+Moves 7"]);
        assert_eq!(watched.calls(None), None);
        watched.advance(&ask(Some(8), Needs::MOVES), 5, ledger);
        assert_eq!(done(&noted), ["-Waits 7", "+Waits 8", "-Moves 7", "+Moves 8"]);
        watched.advance(&ask(Some(8), Needs::MOVES), 5, ledger);
        assert_eq!(watched.moves(None), Some(Err("made to fail".into())));
        watched.advance(&ask(None, Needs::NONE), 5, ledger);
        assert_eq!(done(&noted), ["-Waits 8", "-Moves 8"]);
    }

    #[test]
    fn what_was_counted_last_is_shown_until_it_is_counted_again() {
        let mut watched = Watched::by(Box::new(Noted::default()));
        let (ledger, calls) = (SourceKind::Ledger, Needs::SYSCALLS);
        let of = |start_ns| Some(ProcessRef { tgid: 7, start_ns });
        watched.advance(&ask(Some(7), calls), 5, ledger);
        assert_eq!(watched.calls(of(5)), None, "there is none yet");
        watched.advance(&ask(Some(7), calls), 5, ledger);
        watched.advance(&ask(None, Needs::NONE), 0, ledger);
        assert_eq!(watched.calls(None), None, "nobody looks");
        for attached in [false, true] {
            assert!(matches!(watched.calls(of(5)), Some(Ok(_))), "{attached}: the last one");
            assert_eq!(watched.calls(of(6)), None, "another has its number by now");
            assert_eq!(watched.waits(), None, "of this window nothing is told");
            watched.advance(&ask(Some(7), calls), 5, ledger);
        }
        watched.forget();
        assert_eq!(watched.calls(of(5)), None);
    }

    #[test]
    fn a_source_without_programs_says_why_where_they_are_asked_for() {
        let noted = Noted::default();
        let mut watched = Watched::by(Box::new(noted.clone()));
        watched.advance(&ask(Some(7), Needs::SYSCALLS), 5, SourceKind::Procfs);
        assert!(noted.0.borrow().is_empty());
        let why = watched.calls(None).expect("said").expect_err("nothing counts");
        assert!(why.contains("procfs"), "{why}");
        assert_eq!((watched.moves(None), watched.waits()), (None, None));
        watched.advance(&ask(None, Needs::SYSCALLS), 5, SourceKind::Procfs);
        assert_eq!(watched.calls(None), None);
    }
}
