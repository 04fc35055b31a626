//! A flag in memory shared with the child. The child sets it before it becomes the command; our
//! signal handler reads it to know whether a command exists.

use rustix::mm::{mmap_anonymous, munmap, MapFlags, ProtFlags};
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Memory that a fork shares instead of copying.
pub struct StartFlag(*const AtomicBool);

// SAFETY: an atomic that only this value frees.
unsafe impl Send for StartFlag {}
// SAFETY: as above.
unsafe impl Sync for StartFlag {}

impl StartFlag {
    /// A new flag: no command yet.
    ///
    /// # Errors
    /// The kernel has no memory.
    pub fn new() -> io::Result<StartFlag> {
        let (access, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: new memory, which the kernel fills with zeroes: `false`.
        let at =
            unsafe { mmap_anonymous(ptr::null_mut(), size_of::<AtomicBool>(), access, shared)? };
        Ok(StartFlag(at.cast()))
    }

    /// Sets the flag.
    pub fn set(&self, begun: bool) {
        self.word().store(begun, Ordering::SeqCst);
    }

    /// True if the command has begun.
    pub fn get(&self) -> bool {
        self.word().load(Ordering::SeqCst)
    }

    fn word(&self) -> &AtomicBool {
        // SAFETY: mapped while this value lives, and of this type.
        unsafe { &*self.0 }
    }
}

impl Drop for StartFlag {
    fn drop(&mut self) {
        // SAFETY: our own mapping of this size.
        let _ = unsafe { munmap(self.0.cast_mut().cast(), size_of::<AtomicBool>()) };
    }
}
