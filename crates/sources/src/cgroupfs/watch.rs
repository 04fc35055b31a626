//! Groups over windows: the kernel's files and, where it can be had, the ledger.

use super::{CgroupError, Hierarchy};
use exactop_model::cgroups::{self, GroupSample, GroupUse, Groups};
use rustc_hash::FxHashMap;

/// What a window takes from the ledger.
type Uses = FxHashMap<u64, GroupUse>;

/// Groups, one window after the other.
pub struct Watch {
    hierarchy: Hierarchy,
    before: Vec<GroupSample>,
    t0_ns: u64,
    ledger: Result<Follow, String>,
}

impl Watch {
    /// Opens the ledger, if there is one, and the first window.
    ///
    /// # Errors
    /// When there are no groups; a ledger that cannot be had is no error.
    pub fn open() -> Result<Watch, CgroupError> {
        let hierarchy = Hierarchy::of_this_machine()?;
        let ledger = Follow::open().map_err(|error| error.to_string());
        let before = hierarchy.groups();
        Ok(Watch { hierarchy, before, t0_ns: now_ns(), ledger })
    }

    /// Ends the window; the next begins.
    pub fn window(&mut self) -> Groups {
        let after = self.hierarchy.groups();
        let t1_ns = now_ns();
        let uses = match self.ledger.as_mut().map(Follow::window) {
            Ok(Ok(uses)) => Ok(uses),
            Ok(Err(error)) => Err(error.to_string()),
            Err(why) => Err(why.clone()),
        };
        let rows = cgroups::rows(&self.before, &after, uses.as_ref().ok());
        self.before = after;
        let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
        Groups {
            t0_ns: std::mem::replace(&mut self.t0_ns, t1_ns),
            t1_ns,
            cpus: listed(online.trim()).max(1),
            no_ledger: uses.err(),
            rows,
        }
    }
}

/// How many CPUs a list such as `0-3,8` has.
fn listed(list: &str) -> u32 {
    let of = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(last.parse::<u32>().ok()?.checked_sub(first.parse().ok()?)? + 1)
    };
    list.split(',').filter_map(of).sum()
}

/// CLOCK_MONOTONIC, ns.
fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(feature = "bpf")]
mod follow {
    use super::Uses;
    use crate::error::SourceError;
    use crate::ledger::{Ledger, Options};
    use crate::source::{Request, Source};
    use exactop_model::{cgroups, Book};

    /// A ledger whose tasks are summed by group.
    pub struct Follow {
        ledger: Ledger,
        book: Book,
    }

    impl Follow {
        pub fn open() -> Result<Follow, SourceError> {
            let ledger = Ledger::open(&Options { calibrate: false, ..Options::default() })?;
            let mut follow = Follow { ledger, book: Book::new() };
            follow.window()?;
            Ok(follow)
        }

        pub fn window(&mut self) -> Result<Uses, SourceError> {
            let snapshot = self.ledger.snapshot(&Request::default())?;
            let window = self.book.advance(snapshot);
            Ok(window.map_or_else(Uses::default, |window| cgroups::uses(&window, &self.book)))
        }
    }
}

#[cfg(not(feature = "bpf"))]
mod follow {
    use super::Uses;
    use crate::error::SourceError;

    /// There is no ledger in this build.
    pub struct Follow;

    impl Follow {
        pub fn open() -> Result<Follow, SourceError> {
            Err(SourceError::Unavailable {
                what: "this exactop was built without the BPF ledger".into(),
                advice: "build it with the feature 'bpf'".into(),
            })
        }

        pub fn window(&mut self) -> Result<Uses, SourceError> {
            Ok(Uses::default())
        }
    }
}

use follow::Follow;
