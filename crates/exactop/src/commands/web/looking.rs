//! Programs for the processes that somebody looks at on the page: attached when the first does, in a thread of their
//! own, since the kernel takes its time over them; gone when nobody does any more. Those that end by themselves, as a
//! daemon's do with it, are attached anew.

use super::super::on_demand::shared::Windows;
use crate::failure::Failure;
use crate::options::looking::Places;
use exactop_model::on_demand::syscalls::SyscallWindow;
use exactop_model::on_demand::waits::WaitWindow;
use exactop_model::on_demand::Looked;
use exactop_service::ask::{Look, What};
use exactop_sources::on_demand::syscalls::{Options, Syscalls};
use exactop_sources::on_demand::waits::WaitTimes;
use exactop_views::on_demand::{syscalls, waits};
use exactop_web::Looks;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Begins to attach programs for those who look.
///
/// # Errors
/// There is no thread to be had.
pub fn begin(looks: &Arc<Looks>, places: Places, interval: Duration) -> Result<(), Failure> {
    let looks = Arc::clone(looks);
    let open = move |pid, kind| {
        let opened = Programs::open(pid, kind, places.clone(), interval);
        opened.map_err(told)
    };
    let attend = move || {
        let open = Box::new(open);
        let mut attending =
            Attending { looks, open, interval, again: AGAIN, held: BTreeMap::new() };
        attending.go_on();
    };
    let thread = std::thread::Builder::new().name("web-looks".into()).spawn(attend);
    thread.map(drop).map_err(Failure::cannot("start the thread that attaches programs"))
}

/// What could not be attached is tried again after so long: a daemon may have come by then.
const AGAIN: Duration = Duration::from_secs(3);

/// What is told of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Waits,
    Calls,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Kind::Waits => "waits",
            Kind::Calls => "calls",
        }
    }
}

/// Programs for one process.
enum Programs {
    Waits(Box<Windows<WaitTimes>>),
    Calls(Box<Windows<Syscalls>>),
}

/// Whatever counts.
trait Counts {
    /// Ends a window: as JSON, on one line.
    fn window(&mut self) -> Result<String, String>;
}

/// What came of attaching.
enum Held<P> {
    /// With whether anything was told of them yet.
    Counts(P, bool),
    /// Why not, and when it is to be tried again.
    Refused(String, Instant),
}

struct Attending<P> {
    looks: Arc<Looks>,
    open: Box<dyn Fn(u32, Kind) -> Result<P, String>>,
    interval: Duration,
    again: Duration,
    held: BTreeMap<(u32, Kind), Held<P>>,
}

impl<P: Counts> Attending<P> {
    fn go_on(&mut self) {
        let (mut known, mut due) = (BTreeMap::new(), Instant::now());
        loop {
            let wanted = self.looks.wait(&known, due);
            // What goes is detached.
            self.held.retain(|(pid, kind), _| {
                wanted.get(pid).is_some_and(|&calls| calls || *kind == Kind::Waits)
            });
            let is_due = Instant::now() >= due;
            if is_due && known == wanted {
                self.tell();
            }
            for (&pid, &calls) in &wanted {
                self.attach(pid, Kind::Waits);
                if calls {
                    self.attach(pid, Kind::Calls);
                }
            }
            if known.is_empty() {
                due = Instant::now() + self.interval;
            } else if is_due {
                due = (due + self.interval).max(Instant::now() + self.interval / 2);
            }
            known = wanted;
        }
    }

    fn attach(&mut self, pid: u32, kind: Kind) {
        let is_due = match self.held.get(&(pid, kind)) {
            None => true,
            Some(Held::Counts(..)) => false,
            Some(Held::Refused(_, due)) => *due <= Instant::now(),
        };
        if is_due {
            let held = match (self.open)(pid, kind) {
                Ok(programs) => Held::Counts(programs, false),
                Err(why) => Held::Refused(why, Instant::now() + self.again),
            };
            self.held.insert((pid, kind), held);
        }
        if let Some(Held::Refused(why, _)) = self.held.get(&(pid, kind)) {
            refuse(&self.looks, pid, kind, why);
        }
    }

    fn tell(&mut self) {
        for (&(pid, kind), held) in &mut self.held {
            // Why not is told where they are attached.
            let Held::Counts(programs, has_told) = held else { continue };
            match programs.window() {
                Ok(json) => {
                    *has_told = true;
                    self.looks.tell(pid, kind == Kind::Calls, kind.name(), json.trim_end());
                }
                // They are gone: others may be had at once. Those that never told anything may do so again.
                Err(why) => {
                    let pause = if *has_told { Duration::ZERO } else { self.again };
                    *held = Held::Refused(why, Instant::now() + pause);
                }
            }
        }
    }
}

fn refuse(looks: &Looks, pid: u32, kind: Kind, why: &str) {
    let told = serde_json::json!({ "what": kind.name(), "why": why });
    looks.tell(pid, kind == Kind::Calls, "refused", &told.to_string());
}

fn told(failure: Failure) -> String {
    match failure {
        Failure::Failed(error) => exactop_model::text::escape::harmless(&format!("{error:#}")),
        _ => "it cannot be looked at".into(),
    }
}

impl Programs {
    fn open(pid: u32, kind: Kind, places: Places, interval: Duration) -> Result<Programs, Failure> {
        let ask = |what| Look {
            interval_ns: u64::try_from(interval.as_nanos()).ok(),
            pids: vec![pid],
            ..Look::at(what)
        };
        match kind {
            Kind::Waits => {
                let own = || WaitTimes::open(&[pid]);
                let opened = Windows::open(places, ask(What::Waits), own)?;
                Ok(Programs::Waits(Box::new(opened.source())))
            }
            Kind::Calls => {
                let options = Options { pids: vec![pid], ..Options::default() };
                let own = || Syscalls::open(&options);
                let opened = Windows::open(places, ask(What::Syscalls), own)?;
                Ok(Programs::Calls(Box::new(opened.source())))
            }
        }
    }
}

impl Counts for Programs {
    fn window(&mut self) -> Result<String, String> {
        match self {
            Programs::Waits(windows) => {
                let of = |looked| match looked {
                    Looked::Waits(window) => Some(window),
                    _ => None,
                };
                let window: WaitWindow = windows.next(WaitTimes::window, of)?;
                Ok(waits::json_of_threads(&window))
            }
            Programs::Calls(windows) => {
                let of = |looked| match looked {
                    Looked::Syscalls(window) => Some(window),
                    _ => None,
                };
                let window: SyscallWindow = windows.next(Syscalls::window, of)?;
                Ok(syscalls::json(&window))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// What there is: programs, or why not; and how often some were attached.
    #[derive(Default)]
    struct Kernel {
        refuses: Option<&'static str>,
        attached: usize,
    }

    struct Made(Rc<RefCell<Kernel>>);

    impl Counts for Made {
        fn window(&mut self) -> Result<String, String> {
            self.0.borrow().refuses.map_or(Ok("{}\n".into()), |why| Err(why.into()))
        }
    }

    fn attending(kernel: &Rc<RefCell<Kernel>>, again: Duration) -> Attending<Made> {
        let kernel = Rc::clone(kernel);
        let open = move |_, _| {
            kernel.borrow_mut().attached += 1;
            let refuses = kernel.borrow().refuses;
            refuses.map_or_else(|| Ok(Made(Rc::clone(&kernel))), |why| Err(why.into()))
        };
        let looks = Arc::new(Looks::new("key".into()));
        let interval = Duration::from_secs(1);
        Attending { looks, open: Box::new(open), interval, again, held: BTreeMap::new() }
    }

    fn counts(attending: &Attending<Made>) -> bool {
        matches!(attending.held.get(&(7, Kind::Waits)), Some(Held::Counts(..)))
    }

    #[test]
    fn programs_that_went_with_a_daemon_are_attached_anew_when_there_is_one() {
        let kernel = Rc::new(RefCell::new(Kernel::default()));
        let mut attending = attending(&kernel, Duration::ZERO);
        let pass = |attending: &mut Attending<Made>| {
            attending.tell();
            attending.attach(7, Kind::Waits);
            counts(attending)
        };
        assert!(pass(&mut attending) && pass(&mut attending));
        assert_eq!(kernel.borrow().attached, 1, "those that count are left alone");
        kernel.borrow_mut().refuses = Some("it has ended");
        assert!(!pass(&mut attending) && !pass(&mut attending));
        kernel.borrow_mut().refuses = None;
        assert!(pass(&mut attending), "the next daemon's");
        assert_eq!(kernel.borrow().attached, 4);
    }

    #[test]
    fn what_is_refused_is_not_tried_all_the_time() {
        let kernel = Rc::new(RefCell::new(Kernel { refuses: Some("no rights"), attached: 0 }));
        let mut attending = attending(&kernel, Duration::from_secs(3600));
        (0..5).for_each(|_| attending.attach(7, Kind::Waits));
        assert_eq!(kernel.borrow().attached, 1);
        attending.attach(8, Kind::Waits);
        assert_eq!(kernel.borrow().attached, 2, "another process may be looked at");
    }
}
