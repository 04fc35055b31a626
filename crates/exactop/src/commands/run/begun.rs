//! A word that a child writes before it becomes the command and that we read in a signal handler:
//! whether there is a command yet.

use rustix::mm::{mmap_anonymous, munmap, MapFlags, ProtFlags};
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Memory that a fork does not copy.
pub struct Begun(*const AtomicBool);

// SAFETY: an atomic that nobody else frees.
unsafe impl Send for Begun {}
// SAFETY: as above.
unsafe impl Sync for Begun {}

impl Begun {
    /// There is no command yet.
    ///
    /// # Errors
    /// No memory.
    pub fn new() -> io::Result<Begun> {
        let (access, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: new memory, which the kernel fills with zeroes: `false`.
        let at =
            unsafe { mmap_anonymous(ptr::null_mut(), size_of::<AtomicBool>(), access, shared)? };
        Ok(Begun(at.cast()))
    }

    /// Says whether.
    pub fn set(&self, begun: bool) {
        self.word().store(begun, Ordering::SeqCst);
    }

    /// Whether the command has begun.
    pub fn get(&self) -> bool {
        self.word().load(Ordering::SeqCst)
    }

    fn word(&self) -> &AtomicBool {
        // SAFETY: mapped as long as this lives, and of this type.
        unsafe { &*self.0 }
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        // SAFETY: our own mapping of this size.
        let _ = unsafe { munmap(self.0.cast_mut().cast(), size_of::<AtomicBool>()) };
    }
}
