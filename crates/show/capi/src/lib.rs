//! libexactop: a source, a daemon or a recording, its snapshots and its windows for C programs. It takes calls of C
//! (`include/exactop.h`, which its test generates) and gives codes and figures. It is a library for other
//! languages, so no crate may depend on it.
//!
//! Every function checks its pointers and catches panics; what went wrong is a code, and
//! `exactop_error` has the words. A source belongs to one thread at a time.

mod counter;
mod daemon;
mod recording;
mod table;

use exactop_model::{Book, FrameOptions, Still, Window};
use exactop_sources::session::{self, Choice};
use exactop_sources::{Request, Source, SourceError, SplitOptions};
use recording::Played;
use std::cell::RefCell;
use std::ffi::{c_char, CStr, CString};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;
use table::exactop_table;

/// How a call went.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types)]
pub enum exactop_status {
    /// It did what it says.
    EXACTOP_OK = 0,
    /// An argument cannot be used: a null pointer, an index past the end, an unknown number.
    EXACTOP_ARGUMENT = 1,
    /// The source cannot be had here, or not by this user.
    EXACTOP_UNAVAILABLE = 2,
    /// Something could not be read.
    EXACTOP_READ = 3,
    /// The source does not know this figure.
    EXACTOP_UNKNOWN = 4,
    /// There is no window yet: it takes two snapshots.
    EXACTOP_NO_WINDOW = 5,
    /// A fault of this library.
    EXACTOP_BUG = 6,
    /// The recording ends here.
    EXACTOP_END = 7,
    /// Time that nobody knows of: of a recording, exactop_error says which, and why; of a daemon, another
    /// one answers, and counters begin anew. The next call goes on.
    EXACTOP_GAP = 8,
}

use exactop_status::*;

/// Where the figures come from; see `exactop --help`, --source.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types)]
pub enum exactop_kind {
    /// The first of the others that works here.
    EXACTOP_AUTO = 0,
    /// BPF events: exact.
    EXACTOP_LEDGER = 1,
    /// The kernel's own counters, by a BPF iterator.
    EXACTOP_SNAPSHOT = 2,
    /// Generic netlink, with a record of each exit.
    EXACTOP_TASKSTATS = 3,
    /// /proc, for anyone.
    EXACTOP_PROCFS = 4,
}

/// An open source.
#[allow(non_camel_case_types)]
pub struct exactop_source {
    origin: Origin,
    name: CString,
}

/// Where its windows come from.
enum Origin {
    Measured(Box<Measured>),
    Recording(Box<Played>),
}

/// Figures of this machine, now.
struct Measured {
    source: Box<dyn Source>,
    book: Book,
    window: Option<Window>,
    /// A snapshot was taken.
    is_open: bool,
}

/// What is said where another daemon answers.
const BEGUN_ANEW: &str =
    "the daemon was started anew, or had let this reader go: counters begin anew here, and \
                          what was since the last snapshot is lost";

impl exactop_source {
    fn book(&self) -> &Book {
        match &self.origin {
            Origin::Measured(measured) => &measured.book,
            Origin::Recording(played) => played.replay.book(),
        }
    }

    fn window(&self) -> Option<&Window> {
        match &self.origin {
            Origin::Measured(measured) => measured.window.as_ref(),
            Origin::Recording(played) => played.replay.window().filter(|_| played.is_at_window),
        }
    }
}

thread_local! {
    static ERROR: RefCell<CString> = RefCell::new(CString::default());
}

/// Remembers what went wrong.
fn fail(status: exactop_status, why: impl std::fmt::Display) -> exactop_status {
    let text: String = why.to_string().chars().filter(|&c| c != '\0').collect();
    ERROR.with(|error| *error.borrow_mut() = CString::new(text).unwrap_or_default());
    status
}

/// Runs the body of a function; a panic must not reach C.
fn guarded(body: impl FnOnce() -> exactop_status) -> exactop_status {
    catch_unwind(AssertUnwindSafe(body))
        .unwrap_or_else(|_| fail(EXACTOP_BUG, "a fault of libexactop: please report it"))
}

fn null() -> exactop_status {
    fail(EXACTOP_ARGUMENT, "a pointer is null")
}

/// What the last call that failed in this thread says: one line. Valid until the next call in this
/// thread; empty if none failed.
#[no_mangle]
pub extern "C" fn exactop_error() -> *const c_char {
    ERROR.with(|error| error.borrow().as_ptr())
}

/// Opens a source. `kind` is an exactop_kind. What it yields must be given to exactop_close.
///
/// # Safety
/// `out` must be valid for writing a pointer.
#[no_mangle]
pub unsafe extern "C" fn exactop_open(kind: u32, out: *mut *mut exactop_source) -> exactop_status {
    guarded(|| {
        if out.is_null() {
            return null();
        }
        let choice = match kind {
            0 => Choice::Auto,
            1 => Choice::Ledger,
            2 => Choice::Snapshot,
            3 => Choice::Taskstats,
            4 => Choice::Procfs,
            other => return fail(EXACTOP_ARGUMENT, format!("no source has the number {other}")),
        };
        match session::source(choice, SplitOptions::default()) {
            Err(error) => refused(&error),
            Ok(source) => {
                // SAFETY: not null; the caller guarantees that it is valid.
                unsafe { out.write(measured(source)) };
                EXACTOP_OK
            }
        }
    })
}

/// A source that takes snapshots now, for C to hold.
fn measured(source: Box<dyn Source>) -> *mut exactop_source {
    let name = CString::new(source.provenance().source.name()).unwrap_or_default();
    let measured = Measured { source, book: Book::new(), window: None, is_open: false };
    let origin = Origin::Measured(Box::new(measured));
    Box::into_raw(Box::new(exactop_source { origin, name }))
}

fn refused(error: &SourceError) -> exactop_status {
    let status = match error {
        SourceError::Unavailable { .. } => EXACTOP_UNAVAILABLE,
        _ => EXACTOP_READ,
    };
    fail(status, error)
}

/// Closes a source; null is nothing. Tables made of it stay.
///
/// # Safety
/// `source` must come from exactop_open and must not be used again.
#[no_mangle]
pub unsafe extern "C" fn exactop_close(source: *mut exactop_source) {
    if !source.is_null() {
        // SAFETY: made by exactop_open.
        let source = unsafe { Box::from_raw(source) };
        let _ = catch_unwind(AssertUnwindSafe(|| drop(source)));
    }
}

/// The source's name: ledger, snapshot, taskstats, procfs or recording; of a daemon that of what it
/// serves, ledger. Valid as long as the source; null for null.
///
/// # Safety
/// `source` must come from exactop_open.
#[no_mangle]
pub unsafe extern "C" fn exactop_source_name(source: *const exactop_source) -> *const c_char {
    // SAFETY: null or made by exactop_open.
    unsafe { source.as_ref() }.map_or(ptr::null(), |source| source.name.as_ptr())
}

/// Takes a snapshot: ends the window that the call before began, and begins the next. In a recording
/// it goes to the next window. A daemon ends windows for all who look at the same instants, ten in a
/// second at most: until the next one this waits.
/// EXACTOP_GAP, of a daemon: it ended, and the one that came after it was taken up, or it had let this
/// reader go. Figures since the last call are lost. A snapshot was taken, whose counters began anew and are
/// not to be subtracted from earlier ones; there is no window until the next call.
///
/// # Safety
/// `source` must come from exactop_open.
#[no_mangle]
pub unsafe extern "C" fn exactop_take(source: *mut exactop_source) -> exactop_status {
    guarded(|| {
        // SAFETY: null or made by exactop_open.
        let Some(source) = (unsafe { source.as_mut() }) else { return null() };
        let measured = match &mut source.origin {
            Origin::Measured(measured) => measured,
            Origin::Recording(played) => return played.take(),
        };
        match measured.source.snapshot(&Request::default()) {
            Err(error) => refused(&error),
            Ok(snapshot) => {
                let begins_anew = measured.source.has_begun_anew();
                if begins_anew {
                    measured.book = Book::new();
                }
                measured.window = measured.book.advance(snapshot);
                // Nobody has figures from before the first one.
                if std::mem::replace(&mut measured.is_open, true) && begins_anew {
                    return fail(EXACTOP_GAP, BEGUN_ANEW);
                }
                EXACTOP_OK
            }
        }
    })
}

/// All tasks as of the last snapshot, with counters since their birth or, in the ledger, since it
/// was opened. What it yields must be given to exactop_table_free.
///
/// # Safety
/// `source` must come from exactop_open; `out` must be valid for writing a pointer.
#[no_mangle]
pub unsafe extern "C" fn exactop_snapshot(
    source: *const exactop_source,
    out: *mut *mut exactop_table,
) -> exactop_status {
    guarded(|| {
        // SAFETY: null or made by exactop_open.
        let Some(source) = (unsafe { source.as_ref() }).filter(|_| !out.is_null()) else {
            return null();
        };
        let table = exactop_table::of_book(source.book());
        // SAFETY: not null; the caller guarantees that it is valid.
        unsafe { out.write(Box::into_raw(Box::new(table))) };
        EXACTOP_OK
    })
}

/// What happened between the last two snapshots: a row a process or, if `threads` is not 0, a
/// thread, and one for each group of exited tasks. What it yields must be given to
/// exactop_table_free.
///
/// # Safety
/// `source` must come from exactop_open; `out` must be valid for writing a pointer.
#[no_mangle]
pub unsafe extern "C" fn exactop_window(
    source: *const exactop_source,
    threads: i32,
    out: *mut *mut exactop_table,
) -> exactop_status {
    guarded(|| {
        // SAFETY: null or made by exactop_open.
        let Some(source) = (unsafe { source.as_ref() }).filter(|_| !out.is_null()) else {
            return null();
        };
        let Some(window) = source.window() else {
            return fail(EXACTOP_NO_WINDOW, "there is no window here: take another snapshot");
        };
        let options =
            FrameOptions { threads: threads != 0, still: Still::All, ..FrameOptions::default() };
        let table = exactop_table::of_window(window, source.book(), &options);
        // SAFETY: not null; the caller guarantees that it is valid.
        unsafe { out.write(Box::into_raw(Box::new(table))) };
        EXACTOP_OK
    })
}

/// The name of a counter, such as run_ns; null past the last. Counters are numbered from 0.
#[no_mangle]
pub extern "C" fn exactop_counter_name(counter: u32) -> *const c_char {
    counter::name(counter).map_or(ptr::null(), CStr::as_ptr)
}

/// The number of the counter of this name, or -1.
///
/// # Safety
/// `name` must be null or a C string.
#[no_mangle]
pub unsafe extern "C" fn exactop_counter_number(name: *const c_char) -> i32 {
    if name.is_null() {
        return -1;
    }
    // SAFETY: the caller's word.
    counter::number(unsafe { CStr::from_ptr(name) })
}
