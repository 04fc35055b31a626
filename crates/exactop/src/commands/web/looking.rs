//! Programs for the processes that somebody looks at on the page: attached when the first does, in a thread of their
//! own, since the kernel takes its time over them; gone when nobody does any more.

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
    let attend = move || {
        let mut attending = Attending { looks, places, interval, held: BTreeMap::new() };
        attending.go_on();
    };
    let thread = std::thread::Builder::new().name("web-looks".into()).spawn(attend);
    thread.map(drop).map_err(Failure::cannot("start the thread that attaches programs"))
}

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
    Waits(Windows<WaitTimes>),
    Calls(Windows<Syscalls>),
}

struct Attending {
    looks: Arc<Looks>,
    places: Places,
    interval: Duration,
    held: BTreeMap<(u32, Kind), Result<Programs, String>>,
}

impl Attending {
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
        let (places, interval) = (&self.places, self.interval);
        let open = || Programs::open(pid, kind, places.clone(), interval).map_err(told);
        let opened = self.held.entry((pid, kind)).or_insert_with(open);
        if let Err(why) = opened {
            refuse(&self.looks, pid, kind, why);
        }
    }

    fn tell(&mut self) {
        for (&(pid, kind), held) in &mut self.held {
            let json = match held {
                Ok(programs) => programs.window(),
                Err(why) => Err(why.clone()),
            };
            match json {
                Ok(json) => {
                    self.looks.tell(pid, kind == Kind::Calls, kind.name(), json.trim_end());
                }
                Err(why) => {
                    refuse(&self.looks, pid, kind, &why);
                    *held = Err(why);
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
        Failure::Failed(error) => exactop_model::escape::harmless(&format!("{error:#}")),
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
                Ok(Programs::Waits(opened.source()))
            }
            Kind::Calls => {
                let options = Options { pids: vec![pid], ..Options::default() };
                let own = || Syscalls::open(&options);
                let opened = Windows::open(places, ask(What::Syscalls), own)?;
                Ok(Programs::Calls(opened.source()))
            }
        }
    }

    /// Ends a window: as JSON.
    fn window(&mut self) -> Result<String, String> {
        match self {
            Programs::Waits(windows) => {
                let of = |looked| match looked {
                    Looked::Waits(window) => Some(window),
                    _ => None,
                };
                let window: WaitWindow = windows.next(WaitTimes::window, of)?;
                Ok(waits::json(&window, true))
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
