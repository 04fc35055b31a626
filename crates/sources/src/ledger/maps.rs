//! The kernel's side of the ledger as memory: arrays that the BPF programs write and we read.
//!
//! Everything in here changes under our eyes, so it is only ever read by volatile copy; what makes
//! a copy consistent is said where it is used.

use super::skel::types;
use rustix::mm::{mmap, munmap, MapFlags, ProtFlags};
use std::io;
use std::os::fd::BorrowedFd;
use std::ptr;
use std::sync::atomic::{fence, Ordering};

// The other side of the assertions in bpf/wire.h.
const _: () = {
    assert!(size_of::<types::ex_cum>() == 256);
    assert!(size_of::<types::ex_ident>() == 64);
    assert!(size_of::<types::ex_slot>() == 672);
    assert!(size_of::<types::ex_cpu>() == 512);
    assert!(size_of::<types::ex_group_key>() == 64);
    assert!(size_of::<types::ex_group>() == 784);
};

/// A BPF array map mapped into memory, as much of it as is in use: mapping a map maps all its
/// pages at once, and unused ones would count as resident memory.
pub struct Mapped<T> {
    at: *mut T,
    mapped: usize,
    max: usize,
}

// The pointer is to shared memory that belongs to this value alone; it has no thread affinity.
unsafe impl<T> Send for Mapped<T> {}

impl<T: Copy> Mapped<T> {
    /// An array map of `max` elements; nothing is mapped yet.
    pub fn new(max: usize) -> Mapped<T> {
        Mapped { at: ptr::null_mut(), mapped: 0, max }
    }

    /// Makes at least the first `len` elements readable; how many are.
    ///
    /// # Errors
    /// What mmap(2) says.
    pub fn grow(&mut self, fd: BorrowedFd<'_>, len: usize) -> io::Result<usize> {
        let len = len.min(self.max);
        if len <= self.mapped {
            return Ok(self.mapped);
        }
        // Half as much again, so that a growing machine does not remap at every window.
        let wanted = (len + len / 2).clamp(64, self.max.max(64)).min(self.max);
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice; the map's size is `max`
        // elements and the kernel refuses to map more.
        let at = unsafe {
            mmap(ptr::null_mut(), wanted * size_of::<T>(), prot, MapFlags::SHARED, fd, 0)?
        };
        self.unmap();
        self.at = at.cast();
        self.mapped = wanted;
        Ok(wanted)
    }

    /// How many elements are readable.
    pub fn len(&self) -> usize {
        self.mapped
    }

    fn pointer(&self, index: usize) -> *mut T {
        assert!(index < self.mapped, "index {index} of {} mapped", self.mapped);
        // SAFETY: inside the mapping.
        unsafe { self.at.add(index) }
    }

    /// A copy of one element, not necessarily consistent.
    pub fn read(&self, index: usize) -> T {
        // SAFETY: in bounds, aligned by the kernel's page-aligned mapping, plain data.
        let copy = unsafe { ptr::read_volatile(self.pointer(index)) };
        fence(Ordering::Acquire);
        copy
    }

    /// One field of an element.
    pub fn field<F: Copy>(&self, index: usize, of: impl Fn(*const T) -> *const F) -> F {
        // SAFETY: `of` takes a field's address with `addr_of!`, so it is in bounds.
        let copy = unsafe { ptr::read_volatile(of(self.pointer(index))) };
        fence(Ordering::Acquire);
        copy
    }

    /// Overwrites an element that no program writes at the moment.
    pub fn write(&mut self, index: usize, value: T) {
        fence(Ordering::Release);
        // SAFETY: as in `read`; the caller knows that nobody else writes.
        unsafe { ptr::write_volatile(self.pointer(index), value) }
    }

    fn unmap(&mut self) {
        if self.mapped > 0 {
            // SAFETY: our own mapping of exactly this size.
            let _ = unsafe { munmap(self.at.cast(), self.mapped * size_of::<T>()) };
            self.mapped = 0;
        }
    }
}

impl<T> Drop for Mapped<T> {
    fn drop(&mut self) {
        if self.mapped > 0 {
            // SAFETY: our own mapping of exactly this size.
            let _ = unsafe { munmap(self.at.cast(), self.mapped * size_of::<T>()) };
        }
    }
}

/// The programs' global variables.
pub struct Globals(*mut types::bss);

// As for `Mapped`.
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
            // SAFETY: as above; the programs only read what the reader writes.
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
    write_global!(set_mark_children_of, mark_children_of, u32);
    write_global!(set_split_run, split_run, u32);
    write_global!(set_lead_ns, lead_ns, u64);
    read_global!(boundary_t, [u64; 2]);
    read_global!(late, u32);
    read_global!(dirty_n, [u32; 2]);
    read_global!(next_slot, u32);
    read_global!(next_group, u32);
    read_global!(born_tasks, u64);
    read_global!(errors, [u64; 8]);

    /// Starts the list of changed slots of an epoch that is not published yet.
    pub fn clear_dirty(&self, epoch: u32) {
        // SAFETY: as above. Only this element: programs may be adding to the other.
        unsafe {
            ptr::write_volatile(&raw mut (*self.0).dirty_n[epoch as usize & 1], 0);
        }
    }
}
