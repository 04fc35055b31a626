//! Those who are in a PID namespace of their own: each namespace is told of its own tasks, by the
//! numbers that these have in it, and of all others one sum.

mod filter;

use super::readers::Reader;
use super::seen::start_ticks;
use super::telling::{Telling, Told};
use exactop_model::{Book, Snapshot, TaskKey};
use exactop_recording::{Bad, Machine};
use exactop_sources::pid_namespace::PidNamespace;
use filter::{Filter, Numbers};
use std::sync::Arc;

/// So many namespaces are told something: each costs a look at everyone who did something.
const NAMESPACES: usize = 16;
/// So many of those of one user, if that is not root, so that nobody takes all of them.
const OF_ONE: usize = 4;

/// One namespace.
#[derive(Debug)]
struct Inside {
    namespace: Arc<PidNamespace>,
    filter: Filter,
    book: Book,
    telling: Telling,
}

/// All who are told something.
#[derive(Debug, Default)]
pub struct Insides {
    all: Vec<Inside>,
}

impl Numbers for PidNamespace {
    fn of(&self, key: &TaskKey) -> Option<(u32, u32)> {
        let tid = self.number(key.tid).ok()??;
        let tgid = match key.is_leader() {
            true => tid,
            false => self.process_number(key.tid).ok()??,
        };
        // Its number may be another's by now: what is told was measured of who began then.
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        (start_ticks(key.tid)? == key.start_ns / tick_ns).then_some((tgid, tid))
    }
}

impl Insides {
    /// Nobody has been told anything that goes on.
    pub fn forget(&mut self) {
        self.all.clear();
    }

    /// Tells those of these readers who are in a namespace of their own; `book` is everyone's.
    ///
    /// # Errors
    /// [`Bad`]: more than is read.
    pub fn tell(
        &mut self,
        machine: &Machine,
        t0_ns: u64,
        now: &Snapshot,
        book: &Book,
        readers: &mut [Reader],
    ) -> Result<(), Bad> {
        let is_there = |inside: &Inside| {
            readers.iter().any(|reader| reader.is_told() && reader.is_in(&inside.namespace))
        };
        self.all.retain(is_there);
        // Who has asked for nothing yet costs no look at everyone.
        let told = readers.iter().filter(|reader| reader.is_told());
        for namespace in told.filter_map(|reader| reader.namespace.as_ref()) {
            if self.all.iter().all(|inside| inside.namespace.id() != namespace.id()) {
                self.all.push(Inside::of(namespace.clone()));
            }
        }
        // What the host is called is not told where everyone has a name of their own.
        let machine = Machine { host: String::new(), ..machine.clone() };
        for inside in &mut self.all {
            let of_it = readers.iter_mut().filter(|reader| reader.is_in(&inside.namespace));
            let mut of_it: Vec<&mut Reader> = of_it.collect();
            inside.tell(&machine, t0_ns, now, book, &mut of_it)?;
        }
        Ok(())
    }
}

/// Those of these namespaces, each with the user who asks from there, who are one too many: why.
pub fn too_many<Id: PartialEq>(asked: impl Iterator<Item = (Id, u32)>) -> Vec<Option<String>> {
    let mut told: Vec<(Id, u32)> = Vec::new();
    let mut refused = |(id, uid): (Id, u32)| {
        if told.iter().any(|(there, _)| *there == id) {
            return None;
        }
        let of_theirs = told.iter().filter(|(_, user)| *user == uid).count();
        if told.len() >= NAMESPACES {
            return Some(format!("{NAMESPACES} PID namespaces are told something already"));
        }
        if uid != 0 && of_theirs >= OF_ONE {
            return Some(format!("{OF_ONE} PID namespaces of yours are told something already"));
        }
        told.push((id, uid));
        None
    };
    asked.map(&mut refused).collect()
}

impl Inside {
    fn of(namespace: Arc<PidNamespace>) -> Inside {
        let (filter, book, telling) = (Filter::default(), Book::new(), Telling::default());
        Inside { namespace, filter, book, telling }
    }

    fn tell(
        &mut self,
        machine: &Machine,
        t0_ns: u64,
        now: &Snapshot,
        book: &Book,
        readers: &mut [&mut Reader],
    ) -> Result<(), Bad> {
        let now = match self.book.at_ns() {
            Some(_) => self.filter.told(now, &*self.namespace),
            None => match book.whole() {
                Some(whole) => self.filter.told(&whole, &*self.namespace),
                None => return Ok(()),
            },
        };
        self.book.advance(now.clone());
        let whole = || self.book.whole();
        self.telling.tell(machine, &Told { t0_ns, now: &now, whole: &whole }, readers)
    }
}

#[cfg(test)]
mod tests;
