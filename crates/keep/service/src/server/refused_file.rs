//! Files that somebody passed and that are not what was asked for. Closing one may wait for whoever serves it
//! (fuse(4)), for ever, and nobody else is to wait for that.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};

/// So many may wait to be closed; until then no files are taken.
const MOST: usize = 16;

static WAITING: AtomicUsize = AtomicUsize::new(0);

/// Whether no more of them should be taken.
pub fn are_many() -> bool {
    WAITING.load(Ordering::Relaxed) >= MOST
}

/// Closes one, in a thread that does nothing else.
pub fn close(file: OwnedFd) {
    WAITING.fetch_add(1, Ordering::Relaxed);
    let closing = move || {
        drop(file);
        WAITING.fetch_sub(1, Ordering::Relaxed);
    };
    // Without a thread it is dropped with the closure, at once, and counts on.
    let _ = std::thread::Builder::new().name("exactop-closing".into()).spawn(closing);
}
