//! Programs that are attached while somebody looks: one set of each kind, however many look, in a
//! thread of its own, as the kernel takes its time over them. Their windows end for all at once, as
//! those of the ledger do; each of those who look has what they chose of them, and may see. Who chose the
//! same and may see the same shares a `view`.

mod kind;
mod view;

use super::seen::Seen;
use super::shares::LOOKERS;
use crate::ask::Look;
use exactop_model::on_demand::{Programs, Subject, SubjectWindow};
use kind::Kind;
use std::fmt;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use view::Looker;
pub use view::Reply;

/// Programs of a kind are loaded at most so often, however often somebody comes and goes.
const PAUSE: Duration = Duration::from_secs(1);
/// Whoever has not asked for so long, and for three of their windows, looks no longer.
const IDLE_NS: u64 = 60_000_000_000;

type Attached = Result<Box<dyn Programs>, String>;

/// How programs are attached: of system calls, those that tell everyone's by thread.
#[derive(Clone)]
pub struct Attach(Arc<dyn Fn(Subject) -> Attached + Send + Sync>);

impl Attach {
    /// By this, which is called in the thread that alone uses what it makes.
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

/// What a thread tells.
#[derive(Debug)]
enum Progress {
    /// They count from then on.
    Attached(u64),
    Ended(SubjectWindow),
    Failed(String),
}

/// All who look.
#[derive(Debug)]
pub struct Looking {
    attach: Option<Attach>,
    kinds: Vec<Kind>,
    /// Whose each of those is who look, or did.
    users: Vec<(u64, u32)>,
    started: u64,
    /// When programs of a kind were loaded last.
    loaded: Vec<(Subject, Instant)>,
    /// Held by the thread that has programs of a kind, until they are gone from the kernel.
    one_at_a_time: Vec<(Subject, Arc<Mutex<()>>)>,
    told: Receiver<(u64, Progress)>,
    telling: Sender<(u64, Progress)>,
    woken: UnixStream,
    wake: Arc<UnixStream>,
}

impl Looking {
    /// Nobody looks yet.
    pub fn new() -> io::Result<Looking> {
        let (wake, woken) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        let (telling, told) = channel();
        let (kinds, users) = (Vec::new(), Vec::new());
        let (loaded, one_at_a_time) = (Vec::new(), Vec::new());
        let (attach, started, wake) = (None, 0, Arc::new(wake));
        Ok(Looking {
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

    /// Whoever asks from now on has programs attached by this.
    pub fn attach_by(&mut self, attach: Attach) {
        self.attach = Some(attach);
    }

    /// Whether somebody looks.
    pub fn has(&self, number: u64) -> bool {
        self.kinds.iter().any(|kind| kind.has(number))
    }

    /// Has something to read when a thread told something.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.woken.as_fd()
    }

    /// When a window of some programs is to end; `None`: nobody waits.
    pub fn due_ns(&self) -> Option<u64> {
        self.kinds.iter().filter_map(Kind::due_ns).min()
    }

    /// Ends windows whose time has come.
    pub fn end_due(&mut self, now_ns: u64) {
        self.kinds.iter_mut().for_each(|kind| kind.end_due(now_ns));
    }

    /// Somebody looks: what they can be sent at once.
    ///
    /// # Errors
    /// Why they may not.
    pub fn ask(
        &mut self,
        number: u64,
        look: &Look,
        seen: impl FnOnce() -> Result<Seen, String>,
        now_ns: u64,
    ) -> Result<Option<Reply>, String> {
        if !self.has(number) {
            self.come(number, look, seen()?, now_ns)?;
        }
        let kind = self.kinds.iter_mut().find(|kind| kind.what() == look.what && kind.has(number));
        let kind = kind.ok_or("a connection looks at one kind of programs")?;
        Ok(kind.ask(number, look, now_ns))
    }

    fn come(&mut self, number: u64, look: &Look, seen: Seen, now_ns: u64) -> Result<(), String> {
        let attach = self.attach.clone().ok_or("this daemon attaches no programs for others")?;
        let kinds = &self.kinds;
        self.users.retain(|(number, _)| kinds.iter().any(|kind| kind.has(*number)));
        let uid = seen.uid().unwrap_or(0);
        LOOKERS.one_more(self.users.iter().map(|(_, uid)| *uid), uid, "connections look")?;
        self.users.push((number, uid));
        let patience_ns = look.interval_ns.map_or(IDLE_NS, |ns| ns.saturating_mul(3).max(IDLE_NS));
        let looker = Looker::new(number, now_ns, patience_ns);
        let there = self.kinds.iter().position(|kind| kind.what() == look.what);
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

    /// Has programs loaded.
    fn start(&mut self, what: Subject, attach: Attach) -> io::Result<Kind> {
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
            // Nobody to tell: the server has ended.
            let _ = telling.send((number, progress));
            // Full: it is awake already.
            let _ = (&*wake).write(&[1]);
        };
        std::thread::Builder::new()
            .name("on demand".into())
            .spawn(move || run(what, &attach, pause, &alone, &ended, &tell))?;
        Ok(Kind::new(what, number, ends))
    }

    /// Somebody looks no longer; programs at which nobody looks go.
    pub fn leave(&mut self, number: u64) {
        self.kinds.iter_mut().for_each(|kind| kind.leave(number));
        self.kinds.retain(|kind| kind.lookers() > 0);
    }

    /// What threads told: who is to be sent what.
    pub fn replies(&mut self) -> Vec<(u64, Reply)> {
        let mut bytes = [0; 64];
        while (&self.woken).read(&mut bytes).is_ok_and(|n| n > 0) {}
        let mut replies = Vec::new();
        for (number, progress) in self.told.try_iter().collect::<Vec<_>>() {
            // Of one that went meanwhile nobody wants to know.
            if let Some(kind) = self.kinds.iter_mut().find(|kind| kind.is(number)) {
                replies.extend(kind.hear(progress));
            }
        }
        self.kinds.retain(|kind| kind.lookers() > 0);
        replies
    }
}

/// The thread: attaches, and ends windows until nobody is there to say so. Where the last ones of its kind
/// are still being taken away, it waits for that: however often somebody comes and goes, there is one set.
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
