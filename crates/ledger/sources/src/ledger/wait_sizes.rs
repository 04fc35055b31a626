//! Reads the histograms of waits of a window: what dispatches counted, from the CPUs, and what is in
//! flight, from the slots.

use super::blame::{BlameReader, SlotWaits};
use super::closing::Closed;
use super::kernel_side::KernelSide;
use super::skel::types::ex_wait_size;
use crate::bpf::wire::ex_book_sizes;
use crate::error::SourceError;
use exactop_model::blame::sizes::{Sized, WaitKind, BUCKETS};
use exactop_model::blame::{Blame, Party, Waits};
use rustc_hash::FxHashMap;

/// Setting of the histograms, and a fault for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitSizesOptions {
    /// Places for the sizes of a CPU and a window, a power of two; 32 bytes each. Waits without a
    /// place are those of `~other`.
    pub places: u32,
    /// For tests: one wait in this number is left out; 0: none.
    pub unsized_one_in: u32,
}

impl Default for WaitSizesOptions {
    fn default() -> WaitSizesOptions {
        WaitSizesOptions { places: ex_book_sizes::EX_WAIT_PLACES.0, unsized_one_in: 0 }
    }
}

const _: () = assert!(BUCKETS == ex_book_sizes::EX_WAIT_BUCKETS.0 as usize);

/// Places of a CPU and a window: those of parties, and those of nobody.
fn of_a_window(places: u32) -> u32 {
    places + 2 * BUCKETS as u32
}

impl WaitSizesOptions {
    /// Places of a machine with this number of CPUs.
    pub(super) fn of_the_machine(&self, cpus: u32) -> u32 {
        2 * cpus * of_a_window(self.places)
    }
}

/// A slot's waits that are in no histogram yet.
struct Open {
    party: Option<Party>,
    ns: i64,
    /// True if they go on.
    grows: bool,
}

/// The reader's memory of the waits in flight.
pub struct WaitSizesReader {
    places: usize,
    /// By slot.
    open: FxHashMap<usize, Open>,
    /// End of the window before.
    t_ns: u64,
}

impl WaitSizesReader {
    /// Knows no slot yet. `places`: those of a CPU and a window.
    pub fn new(places: u32) -> WaitSizesReader {
        let places = of_a_window(places) as usize;
        WaitSizesReader { places, open: FxHashMap::default(), t_ns: 0 }
    }

    /// Adds the histograms of the window that `closed` ended to its blame book, which has read the
    /// same `changed` slots.
    pub fn read(
        &mut self,
        kernel: &KernelSide,
        closed: &Closed,
        changed: &[SlotWaits],
        parties: &BlameReader,
        blame: &mut Blame,
    ) -> Result<(), SourceError> {
        for (party, waits) in &blame.waits {
            let waits = Waits { in_flight_delta_ns: 0, ..*waits };
            blame.sizes.entry(*party).or_default().waits = waits;
        }
        self.look(closed, changed, parties, blame);
        for (key, lost) in kernel.unplaced(closed.epoch.wrapping_sub(1))? {
            if key.epoch == closed.epoch {
                continue;
            }
            let (lat_ns, dispatches) = (lost.ns as i64, lost.dispatches as i64);
            let lost = Waits { lat_ns, dispatches, in_flight_delta_ns: 0 };
            blame.sizes.entry(parties.party(key.party as u16)).or_default().waits.take(&lost);
            blame.sizes.entry(None).or_default().waits.add(&lost);
            kernel.forget_unplaced(&key);
        }
        for cpu in 0..kernel.possible_cpus {
            read_sizes(kernel, self.places, cpu, closed, parties, blame);
        }
        Ok(())
    }

    /// Enters what is in flight as of T. A slot without an event may wait since then.
    fn look(
        &mut self,
        closed: &Closed,
        changed: &[SlotWaits],
        parties: &BlameReader,
        blame: &mut Blame,
    ) {
        let mut add = |party, ns| {
            blame.sizes.entry(party).or_default().waits.in_flight_delta_ns += ns;
        };
        let passed = closed.t_ns.saturating_sub(self.t_ns) as i64;
        self.t_ns = closed.t_ns;
        for now in changed {
            if let Some(before) = self.open.remove(&now.slot) {
                add(before.party, -before.ns);
            }
        }
        for open in self.open.values_mut().filter(|open| open.grows) {
            open.ns += passed;
            add(open.party, passed);
        }
        for now in changed {
            let ns = now.waited.wrapping_sub(now.sized) as i64;
            if ns != 0 || now.waits {
                let party = parties.party(now.party);
                add(party, ns);
                self.open.insert(now.slot, Open { party, ns, grows: now.waits });
            }
        }
    }
}

/// Takes the sizes that a CPU counted in the closed window: no program adds to them any more, and
/// none will until the next window is closed.
fn read_sizes(
    kernel: &KernelSide,
    places: usize,
    cpu: usize,
    closed: &Closed,
    parties: &BlameReader,
    blame: &mut Blame,
) {
    let window = 2 * cpu + (closed.epoch.wrapping_sub(1) as usize & 1);
    for place in window * places..(window + 1) * places {
        let taken = kernel.wait_sizes.read(place);
        if taken.size == 0 {
            continue;
        }
        let kind = if taken.size >> 8 & 1 == 0 { WaitKind::Woken } else { WaitKind::Preempted };
        let sized = Sized { ns: taken.ns, count: taken.times, max_ns: taken.max };
        let sizes = blame.sizes.entry(parties.party((taken.size >> 16) as u16)).or_default();
        sizes.histogram_mut(kind).add_to(taken.size as usize & 0xff, sized);
        kernel.wait_sizes.with(place, |place| {
            // SAFETY: the pointer is to a place in mapped, writable memory.
            unsafe { place.cast_mut().write_volatile(ex_wait_size::default()) };
        });
    }
}
