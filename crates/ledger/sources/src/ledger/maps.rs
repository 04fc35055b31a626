//! The ledger's kernel side as memory: arrays that the BPF programs write and this process reads.
//!
//! The memory may change at any time, so it is only read by volatile copy. The users of a copy
//! explain what makes it consistent.

use super::skel::types;
use crate::bpf::wire::{ex_book_sizes, ex_error, ex_table};
use crate::source::FollowedProcess;
use std::ptr;
use std::sync::atomic::{fence, AtomicU32, AtomicU64, Ordering};

// The counterpart of the assertions in bpf/wire.h.
const _: () = {
    assert!(size_of::<types::ex_cum>() == 264);
    assert!(size_of::<types::ex_ident>() == 72);
    assert!(size_of::<types::ex_slot>() == 832);
    assert!(size_of::<types::ex_cpu>() == 576);
    assert!(size_of::<types::ex_group_key>() == 72);
    assert!(size_of::<types::ex_group>() == 824);
    assert!(size_of::<types::ex_zombie>() == 96);
    assert!(size_of::<types::ex_move_key>() == 24);
    assert!(size_of::<types::ex_party>() == 40);
    assert!(size_of::<types::ex_book>() == 55_616);
};

/// A table that grows while the ledger runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Table {
    /// Slots for tasks.
    Slots = ex_table::EX_TABLE_SLOTS.0,
    /// Exited groups.
    Groups = ex_table::EX_TABLE_GROUPS.0,
}

/// Places in a list of what is new in a map.
const NEW_LISTED: usize = ex_book_sizes::EX_NEW_LISTED.0 as usize;

/// The programs' global variables.
#[derive(Clone, Copy)]
pub struct Globals(*mut types::bss);

// SAFETY: as for `Mapped`.
unsafe impl Send for Globals {}

macro_rules! read_global {
    ($field:ident, $type:ty) => {
        pub fn $field(&self) -> $type {
            // SAFETY: libbpf mapped the .bss map for as long as the object lives.
            let value = unsafe { ptr::read_volatile(&raw const (*self.0).$field) };
            fence(Ordering::Acquire);
            value
        }
    };
}

macro_rules! write_global {
    ($set:ident, $field:ident, $type:ty) => {
        pub fn $set(&self, value: $type) {
            fence(Ordering::SeqCst);
            // SAFETY: as above; the programs only read this field.
            unsafe { ptr::write_volatile(&raw mut (*self.0).$field, value) };
            fence(Ordering::SeqCst);
        }
    };
}

impl Globals {
    /// The globals of a loaded object.
    pub fn new(bss: &'static mut types::bss) -> Globals {
        Globals(bss)
    }

    read_global!(epoch, u32);
    write_global!(set_epoch, epoch, u32);
    write_global!(set_read_epoch, read_epoch, u32);
    write_global!(set_seeded, seeded, u32);
    write_global!(set_watch_tgid, watch_tgid, u32);
    write_global!(set_split_run, split_run, u32);
    write_global!(set_irq_run, irq_run, u32);
    write_global!(set_lead_ns, lead_ns, u64);
    read_global!(boundary_t, [u64; 2]);
    read_global!(late, u32);
    read_global!(moves_posted, u64);
    read_global!(next_party, u32);
    read_global!(repaired_ns, u64);
    read_global!(repaired_wait_ns, u64);
    read_global!(audited, u32);
    read_global!(events_lost, u64);
    read_global!(dirty_n, [u32; 2]);
    read_global!(next_slot, u32);
    read_global!(next_group, u32);
    read_global!(zombies_now, i64);
    read_global!(born_tasks, u64);
    read_global!(errors, [u64; ex_error::EX_ERRORS.0 as usize]);

    /// Tells the programs the new number of slots or groups, and that they may ask again.
    pub fn set_ready(&self, table: Table, count: u32) {
        // SAFETY: as above. The count is written first, so that a program that asks again finds it.
        unsafe {
            ptr::write_volatile(&raw mut (*self.0).ready[table as usize], count);
            fence(Ordering::SeqCst);
            ptr::write_volatile(&raw mut (*self.0).asked[table as usize], 0);
        }
    }

    /// Number of slots or groups.
    pub fn ready(&self, table: Table) -> u32 {
        // SAFETY: as above.
        unsafe { ptr::read_volatile(&raw const (*self.0).ready[table as usize]) }
    }

    /// Writes an entry of the followed processes. The tree number is cleared first and set last, and
    /// programs read it before and after the rest. So a program reads no entry, the old one or the
    /// new one.
    pub fn set_followed(&self, at: usize, new: FollowedProcess) {
        // SAFETY: as above; `at` is bounded by the array.
        unsafe {
            let entry = &raw mut (*self.0).followed[at];
            ptr::write_volatile(&raw mut (*entry).tree, 0);
            fence(Ordering::SeqCst);
            ptr::write_volatile(&raw mut (*entry).tgid, new.tgid);
            ptr::write_volatile(&raw mut (*entry).start, new.start_ns);
            fence(Ordering::SeqCst);
            ptr::write_volatile(&raw mut (*entry).tree, new.tree);
            fence(Ordering::SeqCst);
        }
    }

    write_global!(set_followed_n, followed_n, u32);

    /// Takes the list of sums that were made in a closed window: parties, with the epoch in the lower
    /// half. `None`: it does not name all of them.
    pub fn take_new_sums(&self, epoch: u32) -> Option<Vec<u64>> {
        let at = epoch as usize & 1;
        // SAFETY: as above. Programs may still add at most what the window's last events left.
        unsafe { take_listed(&raw mut (*self.0).new_sums_n[at], &raw mut (*self.0).new_sums[at]) }
    }

    /// Takes the serials of the zombies since the last call. `None`: the list does not name all of
    /// them.
    pub fn take_new_zombies(&self) -> Option<Vec<u64>> {
        // SAFETY: as above.
        unsafe { take_listed(&raw mut (*self.0).new_zombies_n, &raw mut (*self.0).new_zombies) }
    }

    /// True if waits of a closed window found no place. Clears the mark.
    pub fn take_unplaced(&self, epoch: u32) -> bool {
        // SAFETY: as above.
        let count =
            unsafe { AtomicU32::from_ptr(&raw mut (*self.0).unplaced_n[epoch as usize & 1]) };
        count.swap(0, Ordering::SeqCst) != 0
    }

    /// Empties the list of changed slots for an epoch that is not published yet.
    pub fn clear_dirty(&self, epoch: u32) {
        // SAFETY: as above. Only this list: programs may be adding to the other one.
        unsafe {
            ptr::write_volatile(&raw mut (*self.0).dirty_n[epoch as usize & 1], 0);
        }
    }
}

/// Empties a list of what is new in a map, to which programs add. `None`: it does not name all of it.
///
/// # Safety
/// The pointers are to mapped memory that only programs and this function write.
unsafe fn take_listed(count: *mut u32, places: *mut [u64; NEW_LISTED]) -> Option<Vec<u64>> {
    // SAFETY: guaranteed by the caller.
    let count = unsafe { AtomicU32::from_ptr(count) }.swap(0, Ordering::SeqCst) as usize;
    let listed = (0..count.min(NEW_LISTED)).map(|place| {
        // SAFETY: within the places. Zero is an entry that a program has yet to write.
        let place = unsafe { AtomicU64::from_ptr(places.cast::<u64>().add(place)) };
        Some(place.swap(0, Ordering::SeqCst)).filter(|&listed| listed != 0)
    });
    // Takes each entry, also after one that is not there yet.
    let listed: Vec<_> = listed.collect();
    (count <= NEW_LISTED).then(|| listed.into_iter().collect()).flatten()
}
