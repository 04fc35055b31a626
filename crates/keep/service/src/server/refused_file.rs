//! Closes files that readers sent and that are not namespaces. A close may block for ever on the
//! server of a fuse(4) file, so a thread of its own does it.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most files that wait to be closed; above it no files are accepted.
const MOST: usize = 16;

static WAITING: AtomicUsize = AtomicUsize::new(0);

/// True if no more files should be accepted.
pub fn are_many() -> bool {
    WAITING.load(Ordering::Relaxed) >= MOST
}

/// Closes a file in its own thread.
pub fn close(file: OwnedFd) {
    WAITING.fetch_add(1, Ordering::Relaxed);
    let closing = move || {
        drop(file);
        WAITING.fetch_sub(1, Ordering::Relaxed);
    };
    // Without a thread the closure drops the file at once, and the count stays.
    let _ = std::thread::Builder::new().name("exactop-closing".into()).spawn(closing);
}
