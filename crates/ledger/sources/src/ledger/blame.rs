//! Reads the blame book of a window: the waits of parties and their brief ones from the slots, and
//! all other pairs from the CPUs.

use super::closing::Closed;
use super::kernel_side::KernelSide;
use super::skel::types::{ex_book, ex_pair, ex_party};
use crate::bpf::task::comm;
use crate::bpf::wire::{ex_book_sizes, ex_why as Y};
use crate::error::SourceError;
use crate::source::BLAME_FLOOR_NS;
use exactop_model::blame::{Blame, Booked, Culprit, Party, Waits};
use std::ptr;

/// Setting of the blame book, and faults for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlameOptions {
    /// Waits shorter than this, ns, are one sum without a culprit.
    pub floor_ns: u64,
    /// Places for the pairs of a CPU and a window, a power of two.
    pub places: u32,
    /// Most parties.
    pub parties: u32,
    /// For tests: one booking in this number on a CPU is left out; 0: none.
    pub unbooked_one_in: u32,
    /// For tests: time for which a task that becomes another party is half of both, ns; 0: none.
    pub half_another_ns: u64,
}

/// Places for pairs in each of a CPU's two tables.
const PLACES: usize = ex_book_sizes::EX_PAIRS.0 as usize;

impl Default for BlameOptions {
    fn default() -> BlameOptions {
        BlameOptions {
            floor_ns: BLAME_FLOOR_NS,
            places: ex_book_sizes::EX_PAIRS.0,
            parties: ex_book_sizes::EX_PARTIES.0,
            unbooked_one_in: 0,
            half_another_ns: 0,
        }
    }
}

/// The waits of a slot's task as of T.
#[derive(Clone, Copy, Debug, Default)]
pub struct SlotWaits {
    /// Index of the slot.
    pub slot: usize,
    /// Serial of the task; 0: no task lives in the slot.
    pub serial: u64,
    pub party: u16,
    /// Cumulative waits, ns.
    pub waited: u64,
    /// The part of them that is booked, ns.
    pub booked: u64,
    /// The part of them that is in the histograms, ns.
    pub sized: u64,
    /// Booked waits under the floor.
    pub brief: Booked,
    pub dispatches: u64,
    /// True if it waits.
    pub waits: bool,
}

impl SlotWaits {
    fn in_flight(&self) -> i64 {
        self.waited.wrapping_sub(self.booked) as i64
    }
}

/// The reader's memory of the slots and the parties.
pub struct BlameReader {
    slots: Vec<SlotWaits>,
    /// Slots whose task waited at its last look. They may have no event until they are dispatched.
    waiting: Vec<usize>,
    /// By their numbers; the first is no party.
    parties: Vec<Option<Party>>,
    /// True if each number that was given out at the last call has a party.
    knows_all: bool,
    /// End of the window before.
    t_ns: u64,
}

impl BlameReader {
    /// Knows no slot yet.
    pub fn new() -> BlameReader {
        BlameReader {
            slots: Vec::new(),
            waiting: Vec::new(),
            parties: vec![None],
            knows_all: true,
            t_ns: 0,
        }
    }

    /// The book of the window that `closed` ended. `changed`: the slots with an event in it.
    pub fn read(
        &mut self,
        kernel: &KernelSide,
        closed: &Closed,
        changed: &mut [SlotWaits],
    ) -> Result<Blame, SourceError> {
        self.learn_parties(kernel)?;
        let mut blame = Blame::default();
        let mut waiting = Vec::new();
        changed.sort_unstable_by_key(|now| now.slot);
        for now in &*changed {
            self.look(now, &mut blame);
            if now.waits {
                waiting.push(now.slot);
            }
        }
        let passed = closed.t_ns.saturating_sub(self.t_ns);
        for slot in std::mem::take(&mut self.waiting) {
            if changed.binary_search_by_key(&slot, |now| now.slot).is_ok() {
                continue;
            }
            let mut now = self.slots[slot];
            now.waited += passed;
            self.look(&now, &mut blame);
            waiting.push(slot);
        }
        self.waiting = waiting;
        self.t_ns = closed.t_ns;
        self.read_sums(kernel, closed, &mut blame)?;
        for cpu in 0..kernel.possible_cpus {
            self.read_pairs(kernel, closed, cpu, &mut blame);
        }
        Ok(blame)
    }

    /// Enters a slot as of T. Another task in it has ended: its waits in the window are among the sums.
    fn look(&mut self, now: &SlotWaits, blame: &mut Blame) {
        if self.slots.len() <= now.slot {
            self.slots.resize(now.slot + 1, SlotWaits::default());
        }
        let before = std::mem::replace(&mut self.slots[now.slot], *now);
        let ended = Waits { in_flight_delta_ns: -before.in_flight(), ..Waits::default() };
        blame.wait(self.party(before.party), ended);
        let same = before.serial == now.serial;
        let then = if same { before } else { SlotWaits::default() };
        blame.wait(
            self.party(now.party),
            Waits {
                lat_ns: now.waited.wrapping_sub(then.waited) as i64,
                dispatches: now.dispatches.wrapping_sub(then.dispatches) as i64,
                in_flight_delta_ns: now.in_flight(),
            },
        );
        let times = now.brief.times.wrapping_sub(then.brief.times);
        if times > 0 {
            let ns = now.brief.ns.wrapping_sub(then.brief.ns);
            blame.book(self.party(now.party), Culprit::Brief, Booked { ns, times });
        }
    }

    /// A party by its number; `None`: it has no place in the table of parties.
    pub fn party(&self, number: u16) -> Option<Party> {
        self.parties.get(usize::from(number)).copied().flatten()
    }

    /// Reads the parties that are new since the last call. Their numbers are never reused.
    fn learn_parties(&mut self, kernel: &KernelSide) -> Result<(), SourceError> {
        let count = kernel.globals.next_party() as usize;
        if self.knows_all && count < self.parties.len() {
            return Ok(());
        }
        let parties = kernel.parties()?;
        // A program may have taken a number and not have entered the party yet.
        self.knows_all = parties.len() >= count;
        for (party, number) in parties {
            let number = number as usize;
            if self.parties.len() <= number {
                self.parties.resize(number + 1, None);
            }
            self.parties[number] = Some(party_from_raw(&party));
        }
        Ok(())
    }

    /// Sums of closed windows stand still, as moves between groups do.
    fn read_sums(
        &self,
        kernel: &KernelSide,
        closed: &Closed,
        blame: &mut Blame,
    ) -> Result<(), SourceError> {
        for (key, sum) in kernel.party_sums(closed.epoch.wrapping_sub(1))? {
            if key.epoch == closed.epoch {
                continue;
            }
            let party = self.party(key.party as u16);
            let (lat_ns, dispatches) = (sum.waits as i64, sum.dispatches as i64);
            blame.wait(party, Waits { lat_ns, dispatches, in_flight_delta_ns: 0 });
            if sum.times > 0 {
                blame.book(party, Culprit::Other, Booked { ns: sum.ns, times: sum.times });
            }
            kernel.forget_party_sum(&key);
        }
        Ok(())
    }

    /// Takes the pairs of the closed window: no program adds to them any more, and none will until the
    /// next window is closed.
    fn read_pairs(&self, kernel: &KernelSide, closed: &Closed, cpu: usize, blame: &mut Blame) {
        let at = closed.epoch.wrapping_sub(1) as usize & 1;
        kernel.books.with(cpu, |book: *const ex_book| {
            // SAFETY: the pointer is to a CPU's book, and the index is within its two tables.
            let table = unsafe { (&raw const (*book).pairs[at]).cast_mut().cast::<ex_pair>() };
            // SAFETY: as above.
            let used = unsafe { (&raw const (*book).used[at]).cast_mut().cast::<u64>() };
            for word in 0..PLACES / 64 {
                // SAFETY: within the words of this table, which no program writes now.
                let mut left = unsafe { ptr::replace(used.add(word), 0) };
                while left != 0 {
                    let place = 64 * word + left.trailing_zeros() as usize;
                    left &= left - 1;
                    // SAFETY: within the table, as its words are.
                    let taken = unsafe { ptr::replace(table.add(place), ex_pair::default()) };
                    let [victim, culprit] =
                        [32, 16].map(|bit| self.party((taken.pair >> bit) as u16));
                    let why = culprit_of(Y(taken.pair as u16 as u32), culprit);
                    blame.book(victim, why, Booked { ns: taken.ns, times: taken.times });
                }
            }
        });
    }
}

fn culprit_of(why: Y, party: Option<Party>) -> Culprit {
    match why {
        Y::EX_BY_TASK => party.map_or(Culprit::Other, Culprit::Task),
        Y::EX_BY_IDLE => Culprit::Idle,
        Y::EX_BY_INTERRUPTS => Culprit::Interrupts,
        Y::EX_BY_STEAL => Culprit::Steal,
        Y::EX_BY_THROTTLE => Culprit::Throttled,
        Y::EX_BY_BRIEF => Culprit::Brief,
        Y::EX_BY_OLDER => Culprit::Older,
        _ => Culprit::Other,
    }
}

fn party_from_raw(party: &ex_party) -> Party {
    Party {
        cgroup_id: party.cgroup,
        uid: party.uid,
        session: party.session,
        comm: comm(party.comm),
        kthread: party.kthread != 0,
    }
}
