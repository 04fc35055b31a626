//! Array maps as memory that BPF programs write and this process reads.
//!
//! The memory may change at any time, so it is only read by volatile copy. The users of a copy
//! explain what makes it consistent.

use libbpf_rs::MapHandle;
use rustix::mm::{mmap, munmap, MapFlags, ProtFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr;
use std::sync::atomic::{fence, Ordering};

/// A BPF array map in memory, as far as it is in use. Mapping a map maps all its pages at once, and
/// unused pages would count as resident memory.
pub struct Mapped<T> {
    at: *mut T,
    mapped: usize,
    max: usize,
}

// SAFETY: the pointer is to shared memory that belongs to this value alone; it has no thread
// affinity.
unsafe impl<T> Send for Mapped<T> {}

impl<T: Copy> Mapped<T> {
    /// An array map of `max` elements, not mapped yet.
    pub fn new(max: usize) -> Mapped<T> {
        Mapped { at: ptr::null_mut(), mapped: 0, max }
    }

    /// Makes at least the first `len` elements readable and returns the number of readable ones.
    pub fn grow(&mut self, fd: BorrowedFd<'_>, len: usize) -> io::Result<usize> {
        let len = len.min(self.max);
        if len <= self.mapped {
            return Ok(self.mapped);
        }
        // Map half as much again, so that a growing machine does not remap in every window.
        let wanted = (len + len / 2).clamp(64, self.max.max(64)).min(self.max);
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice; the map's size is `max`
        // elements and the kernel refuses to map more.
        let at = unsafe {
            mmap(ptr::null_mut(), wanted * size_of::<T>(), prot, MapFlags::SHARED, fd, 0)?
        };
        self.unmap();
        self.at = at.cast();
        self.mapped = wanted;
        Ok(wanted)
    }

    /// Number of readable elements.
    pub fn len(&self) -> usize {
        self.mapped
    }

    fn pointer(&self, index: usize) -> *mut T {
        assert!(index < self.mapped, "index {index} of {} mapped", self.mapped);
        // SAFETY: inside the mapping.
        unsafe { self.at.add(index) }
    }

    /// A copy of one element; it may be inconsistent.
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

    /// The result of `read` on an element; `read` must use volatile copies.
    pub fn with<R>(&self, index: usize, read: impl FnOnce(*const T) -> R) -> R {
        let made = read(self.pointer(index));
        fence(Ordering::Acquire);
        made
    }

    /// Overwrites an element. No program may write it at the same time.
    pub fn write(&mut self, index: usize, value: T) {
        fence(Ordering::Release);
        // SAFETY: as in `read`; the caller guarantees that no program writes.
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

/// A table in chunks of `per_chunk` elements; each chunk is an array map of its own.
pub struct Chunked<T> {
    per_chunk: usize,
    chunks: Vec<Mapped<T>>,
}

impl<T: Copy> Chunked<T> {
    /// A table without chunks.
    pub fn new(per_chunk: usize) -> Chunked<T> {
        Chunked { per_chunk, chunks: Vec::new() }
    }

    /// Makes at least the first `len` elements readable, as far as `maps` reach.
    pub fn grow(&mut self, maps: &[MapHandle], len: usize) -> io::Result<()> {
        for (index, map) in maps.iter().enumerate() {
            let in_chunk = len.saturating_sub(index * self.per_chunk).min(self.per_chunk);
            if in_chunk == 0 {
                break;
            }
            if self.chunks.len() == index {
                self.chunks.push(Mapped::new(self.per_chunk));
            }
            self.chunks[index].grow(map.as_fd(), in_chunk)?;
        }
        Ok(())
    }

    /// Number of readable elements.
    pub fn len(&self) -> usize {
        self.chunks.iter().map(Mapped::len).sum()
    }

    /// A copy of one element; it may be inconsistent.
    pub fn read(&self, index: usize) -> T {
        self.chunks[index / self.per_chunk].read(index % self.per_chunk)
    }

    /// One field of an element.
    pub fn field<F: Copy>(&self, index: usize, of: impl Fn(*const T) -> *const F) -> F {
        self.chunks[index / self.per_chunk].field(index % self.per_chunk, of)
    }

    /// The result of `read` on an element; `read` must use volatile copies.
    pub fn with<R>(&self, index: usize, read: impl FnOnce(*const T) -> R) -> R {
        self.chunks[index / self.per_chunk].with(index % self.per_chunk, read)
    }

    /// Overwrites an element. No program may write it at the same time.
    pub fn write(&mut self, index: usize, value: T) {
        self.chunks[index / self.per_chunk].write(index % self.per_chunk, value);
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
