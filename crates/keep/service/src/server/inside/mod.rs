//! Serves readers in PID namespaces of their own. Each namespace gets its own tasks, by their
//! numbers in it, and one sum for all others.

mod filter;

use super::readers::Reader;
use super::telling::{SnapshotStream, WindowEnd};
use super::visibility::start_ticks;
use exactop_model::{Book, Snapshot, TaskKey};
use exactop_recording::{FrameError, Machine};
use exactop_sources::pid_namespace::PidNamespace;
use filter::{Filter, Numbers};
use std::sync::Arc;

/// Most namespaces served: each costs a scan of all tasks that changed.
const NAMESPACES: usize = 16;
/// Most namespaces of one user except root, so that one user cannot take all.
const OF_ONE: usize = 4;

#[derive(Debug)]
struct Inside {
    namespace: Arc<PidNamespace>,
    filter: Filter,
    book: Book,
    telling: SnapshotStream,
}

/// All served namespaces.
#[derive(Debug, Default)]
pub struct Insides {
    all: Vec<Inside>,
}

impl Numbers for PidNamespace {
    fn numbers(&self, key: &TaskKey) -> Option<(u32, u32)> {
        let tid = self.number(key.tid).ok()??;
        let tgid = match key.is_leader() {
            true => tid,
            false => self.process_number(key.tid).ok()??,
        };
        // The number may belong to another task by now: the figures are of the task that began at
        // that instant.
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        (start_ticks(key.tid)? == key.start_ns / tick_ns).then_some((tgid, tid))
    }
}

impl Insides {
    /// Drops all state; the next snapshot starts over.
    pub fn forget(&mut self) {
        self.all.clear();
    }

    /// Sends the window to the readers in namespaces; `book` holds all tasks.
    ///
    /// # Errors
    /// [`FrameError`]: a snapshot exceeds a limit.
    pub fn tell(
        &mut self,
        machine: &Machine,
        t0_ns: u64,
        now: &Snapshot,
        book: &Book,
        readers: &mut [Reader],
    ) -> Result<(), FrameError> {
        let is_there = |inside: &Inside| {
            readers.iter().any(|reader| reader.has_requested() && reader.is_in(&inside.namespace))
        };
        self.all.retain(is_there);
        // A reader that has not asked yet causes no scan.
        let told = readers.iter().filter(|reader| reader.has_requested());
        for namespace in told.filter_map(|reader| reader.namespace.as_ref()) {
            if self.all.iter().all(|inside| inside.namespace.id() != namespace.id()) {
                self.all.push(Inside::new(namespace.clone()));
            }
        }
        // Readers in a container do not get the host's name.
        let machine = Machine { host: String::new(), ..machine.clone() };
        for inside in &mut self.all {
            let of_it = readers.iter_mut().filter(|reader| reader.is_in(&inside.namespace));
            let mut of_it: Vec<&mut Reader> = of_it.collect();
            inside.tell(&machine, t0_ns, now, book, &mut of_it)?;
        }
        Ok(())
    }
}

/// For each reader's namespace and user, the reason if it is above a limit.
pub fn too_many<Id: PartialEq>(asked: impl Iterator<Item = (Id, u32)>) -> Vec<Option<String>> {
    let mut told: Vec<(Id, u32)> = Vec::new();
    let mut refused = |(id, uid): (Id, u32)| {
        if told.iter().any(|(there, _)| *there == id) {
            return None;
        }
        let of_theirs = told.iter().filter(|(_, user)| *user == uid).count();
        if told.len() >= NAMESPACES {
            return Some(format!("{NAMESPACES} PID namespaces are served already"));
        }
        if uid != 0 && of_theirs >= OF_ONE {
            return Some(format!("{OF_ONE} of your PID namespaces are served already"));
        }
        told.push((id, uid));
        None
    };
    asked.map(&mut refused).collect()
}

impl Inside {
    fn new(namespace: Arc<PidNamespace>) -> Inside {
        let (filter, book, telling) = (Filter::default(), Book::new(), SnapshotStream::default());
        Inside { namespace, filter, book, telling }
    }

    fn tell(
        &mut self,
        machine: &Machine,
        t0_ns: u64,
        now: &Snapshot,
        book: &Book,
        readers: &mut [&mut Reader],
    ) -> Result<(), FrameError> {
        let now = match self.book.at_ns() {
            Some(_) => self.filter.filtered(now, &*self.namespace),
            None => match book.whole() {
                Some(whole) => self.filter.filtered(&whole, &*self.namespace),
                None => return Ok(()),
            },
        };
        self.book.advance(now.clone());
        let whole = || self.book.whole();
        self.telling.tell(machine, &WindowEnd { t0_ns, now: &now, whole: &whole }, readers)
    }
}

#[cfg(test)]
mod tests;
