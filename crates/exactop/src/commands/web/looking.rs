//! Attaches programs for the processes whose page a browser shows. A separate thread attaches them
//! at the first reader, because the kernel takes long, and detaches them after the last. Programs
//! that end by themselves, such as those of a stopped daemon, are attached again.

use super::super::on_demand::shared;
use crate::failure::Failure;
use crate::options::looking::Places;
use exactop_model::on_demand::{Programs, Subject, SubjectWindow};
use exactop_service::ask::Look;
use exactop_sources::on_demand;
use exactop_sources::session::Attached;
use exactop_views::on_demand::{json, waits};
use exactop_web::Looks;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Starts the thread that attaches programs.
///
/// # Errors
/// The thread cannot be started.
pub fn begin(looks: &Arc<Looks>, places: Places, interval: Duration) -> Result<(), Failure> {
    let looks = Arc::clone(looks);
    let open =
        move |pid, subject| open(pid, subject, places.clone(), interval).map_err(failure_text);
    let attend = move || {
        let open = Box::new(open);
        let mut attending =
            Attending { looks, open, interval, again: AGAIN, held: BTreeMap::new() };
        attending.go_on();
    };
    let thread = std::thread::Builder::new().name("web-looks".into()).spawn(attend);
    thread.map(drop).map_err(Failure::cannot("start the thread that attaches programs"))
}

/// Time until the next attempt after a failure: a daemon may serve by then.
const AGAIN: Duration = Duration::from_secs(3);

/// Name of the event on the page.
fn event(subject: Subject) -> &'static str {
    match subject {
        Subject::Syscalls => "calls",
        other => other.name(),
    }
}

/// Result of attaching.
enum Attachment {
    /// Programs, and whether they have reported a window yet.
    Counts(Box<dyn Programs>, bool),
    /// The reason of a failure, and the time of the next attempt.
    Refused(String, Instant),
}

struct Attending {
    looks: Arc<Looks>,
    open: Box<dyn Fn(u32, Subject) -> Attached>,
    interval: Duration,
    again: Duration,
    held: BTreeMap<(u32, Subject), Attachment>,
}

impl Attending {
    fn go_on(&mut self) {
        let (mut known, mut due) = (BTreeMap::new(), Instant::now());
        loop {
            let wanted = self.looks.wait(&known, due);
            // Dropping programs detaches them.
            self.held.retain(|(pid, subject), _| {
                wanted.get(pid).is_some_and(|&calls| calls || *subject == Subject::Waits)
            });
            let is_due = Instant::now() >= due;
            if is_due && known == wanted {
                self.tell();
            }
            for (&pid, &calls) in &wanted {
                self.attach(pid, Subject::Waits);
                if calls {
                    self.attach(pid, Subject::Syscalls);
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

    fn attach(&mut self, pid: u32, subject: Subject) {
        let is_due = match self.held.get(&(pid, subject)) {
            None => true,
            Some(Attachment::Counts(..)) => false,
            Some(Attachment::Refused(_, due)) => *due <= Instant::now(),
        };
        if is_due {
            let held = match (self.open)(pid, subject) {
                Ok(programs) => Attachment::Counts(programs, false),
                Err(why) => Attachment::Refused(why, Instant::now() + self.again),
            };
            self.held.insert((pid, subject), held);
        }
        if let Some(Attachment::Refused(why, _)) = self.held.get(&(pid, subject)) {
            refuse(&self.looks, pid, subject, why);
        }
    }

    fn tell(&mut self) {
        for (&(pid, subject), held) in &mut self.held {
            // The code that attaches reports a failure.
            let Attachment::Counts(programs, has_told) = held else { continue };
            match programs.window() {
                Ok(window) => {
                    *has_told = true;
                    let json = match &window {
                        SubjectWindow::Waits(waits) => waits::json_of_threads(waits),
                        other => json(other, true),
                    };
                    let is_calls = subject == Subject::Syscalls;
                    self.looks.tell(pid, is_calls, event(subject), json.trim_end());
                }
                // The programs ended: attach again at once. If they never reported, wait first.
                Err(why) => {
                    let pause = if *has_told { Duration::ZERO } else { self.again };
                    *held = Attachment::Refused(why, Instant::now() + pause);
                }
            }
        }
    }
}

fn refuse(looks: &Looks, pid: u32, subject: Subject, why: &str) {
    let told = serde_json::json!({ "what": event(subject), "why": why });
    looks.tell(pid, subject == Subject::Syscalls, "refused", &told.to_string());
}

fn failure_text(failure: Failure) -> String {
    match failure {
        Failure::Failed(error) => exactop_model::text::escape::harmless(&format!("{error:#}")),
        _ => "its wakeups and system calls cannot be read".into(),
    }
}

/// Opens programs for one process.
fn open(
    pid: u32,
    subject: Subject,
    places: Places,
    interval: Duration,
) -> Result<Box<dyn Programs>, Failure> {
    let ask = Look {
        interval_ns: u64::try_from(interval.as_nanos()).ok(),
        pids: vec![pid],
        ..Look::at(subject)
    };
    let choice = ask.choice();
    let own = || on_demand::open(subject, &choice);
    Ok(shared::open(places, ask, own)?.source())
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::on_demand::losses::Losses;
    use exactop_model::on_demand::waits::WaitWindow;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// A fake kernel: the programs or the reason of the refusal, and how often programs were
    /// attached.
    #[derive(Default)]
    struct Kernel {
        refuses: Option<&'static str>,
        attached: usize,
    }

    struct Made(Rc<RefCell<Kernel>>);

    impl Programs for Made {
        fn began_ns(&self) -> u64 {
            0
        }

        fn window(&mut self) -> Result<SubjectWindow, String> {
            let (rows, losses) = (Vec::new(), Losses::default());
            let window = WaitWindow { t0_ns: 0, t1_ns: 1, rows, losses };
            self.0.borrow().refuses.map_or(Ok(window.into()), |why| Err(why.into()))
        }
    }

    fn attending(kernel: &Rc<RefCell<Kernel>>, again: Duration) -> Attending {
        let kernel = Rc::clone(kernel);
        let open = move |_, _| {
            kernel.borrow_mut().attached += 1;
            let refuses = kernel.borrow().refuses;
            let made = || Ok(Box::new(Made(Rc::clone(&kernel))) as Box<dyn Programs>);
            refuses.map_or_else(made, |why| Err(why.into()))
        };
        let looks = Arc::new(Looks::new("key".into()));
        let interval = Duration::from_secs(1);
        Attending { looks, open: Box::new(open), interval, again, held: BTreeMap::new() }
    }

    fn counts(attending: &Attending) -> bool {
        matches!(attending.held.get(&(7, Subject::Waits)), Some(Attachment::Counts(..)))
    }

    #[test]
    fn programs_of_a_stopped_daemon_are_attached_at_its_successor() {
        let kernel = Rc::new(RefCell::new(Kernel::default()));
        let mut attending = attending(&kernel, Duration::ZERO);
        let pass = |attending: &mut Attending| {
            attending.tell();
            attending.attach(7, Subject::Waits);
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
    fn a_refused_attach_is_retried_after_a_pause() {
        let kernel = Rc::new(RefCell::new(Kernel { refuses: Some("no rights"), attached: 0 }));
        let mut attending = attending(&kernel, Duration::from_secs(3600));
        (0..5).for_each(|_| attending.attach(7, Subject::Waits));
        assert_eq!(kernel.borrow().attached, 1);
        attending.attach(8, Subject::Waits);
        assert_eq!(kernel.borrow().attached, 2, "another process may be looked at");
    }
}
