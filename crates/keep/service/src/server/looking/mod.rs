//! On-demand programs. Each kind is attached once, for any number of readers, in its own thread,
//! because the kernel needs time to attach it. Their windows end for all readers at once, as the
//! ledger's do. Each reader gets the part that it chose and may see. Readers with the same choice
//! and rights share a `view`.

mod kind;
mod view;

use super::shares::LOOKERS;
use super::visibility::Visibility;
use crate::ask::Look;
use exactop_model::on_demand::{Programs, Subject, SubjectWindow};
use kind::ProbeSet;
use std::fmt;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use view::Looker;
pub use view::Reply;

/// Shortest time between two loads of one kind, however often readers come and go.
const PAUSE: Duration = Duration::from_secs(1);
/// Idle timeout of an on-demand reader, ns; at least three of its windows.
const IDLE_NS: u64 = 60_000_000_000;

type Attached = Result<Box<dyn Programs>, String>;

/// Attaches programs. Those of system calls count all processes, by thread.
#[derive(Clone)]
pub struct Attach(Arc<dyn Fn(Subject) -> Attached + Send + Sync>);

impl Attach {
    /// Attaches with `open`, which runs in the thread that uses the programs.
    pub fn by(
        open: impl Fn(Subject) -> Result<Box<dyn Programs>, String> + Send + Sync + 'static,
    ) -> Attach {
        Attach(Arc::new(open))
    }
}

impl fmt::Debug for Attach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Attach")
    }
}

/// Report of a thread.
#[derive(Debug)]
enum Progress {
    /// The programs count from this instant.
    Attached(u64),
    Ended(SubjectWindow),
    Failed(String),
}

/// All kinds of programs, and their readers.
#[derive(Debug)]
pub struct Probes {
    attach: Option<Attach>,
    kinds: Vec<ProbeSet>,
    /// User of each reader, current or past.
    users: Vec<(u64, u32)>,
    started: u64,
    /// When programs of a kind were last loaded.
    loaded: Vec<(Subject, Instant)>,
    /// Held by the thread of a kind until its programs are detached.
    one_at_a_time: Vec<(Subject, Arc<Mutex<()>>)>,
    told: Receiver<(u64, Progress)>,
    telling: Sender<(u64, Progress)>,
    woken: UnixStream,
    wake: Arc<UnixStream>,
}

impl Probes {
    /// Starts without programs or readers.
    pub fn new() -> io::Result<Probes> {
        let (wake, woken) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        let (telling, told) = channel();
        let (kinds, users) = (Vec::new(), Vec::new());
        let (loaded, one_at_a_time) = (Vec::new(), Vec::new());
        let (attach, started, wake) = (None, 0, Arc::new(wake));
        Ok(Probes {
            attach,
            kinds,
            users,
            started,
            loaded,
            one_at_a_time,
            told,
            telling,
            woken,
            wake,
        })
    }

    /// Sets how programs are attached, for later requests.
    pub fn attach_by(&mut self, attach: Attach) {
        self.attach = Some(attach);
    }

    /// True if this reader reads on-demand programs.
    pub fn has(&self, number: u64) -> bool {
        self.kinds.iter().any(|kind| kind.has(number))
    }

    /// Readable when a thread has reported.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.woken.as_fd()
    }

    /// When the next window should end; `None` if no kind is attached.
    pub fn due_ns(&self) -> Option<u64> {
        self.kinds.iter().filter_map(ProbeSet::due_ns).min()
    }

    /// Ends windows that are due.
    pub fn end_due(&mut self, now_ns: u64) {
        self.kinds.iter_mut().for_each(|kind| kind.end_due(now_ns));
    }

    /// Handles a request; returns the reply if it is ready.
    pub fn ask(
        &mut self,
        number: u64,
        look: &Look,
        seen: impl FnOnce() -> Result<Visibility, String>,
        now_ns: u64,
    ) -> Result<Option<Reply>, String> {
        if !self.has(number) {
            self.come(number, look, seen()?, now_ns)?;
        }
        let kind =
            self.kinds.iter_mut().find(|kind| kind.subject() == look.what && kind.has(number));
        let kind = kind.ok_or("a connection reads one kind of programs: open another one")?;
        Ok(kind.ask(number, look, now_ns))
    }

    fn come(
        &mut self,
        number: u64,
        look: &Look,
        seen: Visibility,
        now_ns: u64,
    ) -> Result<(), String> {
        let attach = self
            .attach
            .clone()
            .ok_or("this daemon attaches no programs for readers: run as root with --source own")?;
        let kinds = &self.kinds;
        self.users.retain(|(number, _)| kinds.iter().any(|kind| kind.has(*number)));
        let uid = seen.uid().unwrap_or(0);
        LOOKERS.one_more(
            self.users.iter().map(|(_, uid)| *uid),
            uid,
            "on-demand connections exist",
        )?;
        self.users.push((number, uid));
        let patience_ns = look.interval_ns.map_or(IDLE_NS, |ns| ns.saturating_mul(3).max(IDLE_NS));
        let looker = Looker::new(number, now_ns, patience_ns);
        let there = self.kinds.iter().position(|kind| kind.subject() == look.what);
        let at = match there {
            Some(at) => at,
            None => {
                let kind = self.start(look.what, attach);
                self.kinds.push(kind.map_err(|error| format!("cannot start a thread: {error}"))?);
                self.kinds.len() - 1
            }
        };
        self.kinds[at].come(look.choice(), seen, looker);
        Ok(())
    }

    /// Starts the thread that loads programs.
    fn start(&mut self, what: Subject, attach: Attach) -> io::Result<ProbeSet> {
        let before = self.loaded.iter().find(|(loaded, _)| *loaded == what);
        let pause = before.map(|(_, at)| PAUSE.saturating_sub(at.elapsed())).unwrap_or_default();
        self.loaded.retain(|(loaded, _)| *loaded != what);
        self.loaded.push((what, Instant::now() + pause));
        self.started += 1;
        let alone = match self.one_at_a_time.iter().find(|(kind, _)| *kind == what) {
            Some((_, alone)) => alone.clone(),
            None => {
                self.one_at_a_time.push((what, Arc::default()));
                self.one_at_a_time[self.one_at_a_time.len() - 1].1.clone()
            }
        };
        let (ends, ended) = channel();
        let (number, telling, wake) = (self.started, self.telling.clone(), self.wake.clone());
        let tell = move |progress| {
            // Fails if the server has ended.
            let _ = telling.send((number, progress));
            // A full pipe means that the server is already awake.
            let _ = (&*wake).write(&[1]);
        };
        std::thread::Builder::new()
            .name("on demand".into())
            .spawn(move || run(what, &attach, pause, &alone, &ended, &tell))?;
        Ok(ProbeSet::new(what, number, ends))
    }

    /// Removes a reader, and programs without readers.
    pub fn leave(&mut self, number: u64) {
        self.kinds.iter_mut().for_each(|kind| kind.leave(number));
        self.kinds.retain(|kind| kind.lookers() > 0);
    }

    /// Handles the reports of threads; returns the replies to readers.
    pub fn replies(&mut self) -> Vec<(u64, Reply)> {
        let mut bytes = [0; 64];
        while (&self.woken).read(&mut bytes).is_ok_and(|n| n > 0) {}
        let mut replies = Vec::new();
        for (number, progress) in self.told.try_iter().collect::<Vec<_>>() {
            // Programs that were removed meanwhile have no readers.
            if let Some(kind) = self.kinds.iter_mut().find(|kind| kind.is(number)) {
                replies.extend(kind.hear(progress));
            }
        }
        self.kinds.retain(|kind| kind.lookers() > 0);
        replies
    }
}

/// The thread: attaches the programs and ends windows until its channel closes. If the previous
/// programs of its kind are still being detached, it waits: there is one set at a time, however
/// often readers come and go.
fn run(
    what: Subject,
    attach: &Attach,
    pause: Duration,
    alone: &Mutex<()>,
    ends: &Receiver<()>,
    tell: &dyn Fn(Progress),
) {
    if ends.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected) {
        return;
    }
    let _alone = alone.lock().unwrap_or_else(PoisonError::into_inner);
    if ends.try_recv() == Err(TryRecvError::Disconnected) {
        return;
    }
    let mut programs = match attach.0(what) {
        Err(why) => return tell(Progress::Failed(why)),
        Ok(programs) => programs,
    };
    tell(Progress::Attached(programs.began_ns()));
    while ends.recv().is_ok() {
        match programs.window() {
            Ok(looked) => tell(Progress::Ended(looked)),
            Err(why) => return tell(Progress::Failed(why)),
        }
    }
}
