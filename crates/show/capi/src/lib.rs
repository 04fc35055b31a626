//! libexactop: a source, a daemon or a recording, its snapshots and its windows for C programs. It
//! takes calls of C (`include/exactop.h`, which its test generates) and returns codes and figures.
//! It is a library for other languages, so no crate may depend on it.
//!
//! Every function checks its pointers and catches panics. It returns a code, and `exactop_error`
//! returns the text of a failure. One thread at a time may use a source.

mod counter;
mod daemon;
mod recording;
mod table;

use exactop_model::{Book, FrameOptions, IdleRows, Window};
use exactop_sources::session::{self, Choice};
use exactop_sources::{Request, Source, SourceError, SplitOptions};
use recording::Played;
use std::cell::RefCell;
use std::ffi::{c_char, CStr, CString};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;
use table::exactop_table;

/// Result of a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types)]
pub enum exactop_status {
    /// Success.
    EXACTOP_OK = 0,
    /// An argument is invalid: a null pointer, an index past the end, an unknown number.
    EXACTOP_ARGUMENT = 1,
    /// The source is not available on this machine, or not to this user.
    EXACTOP_UNAVAILABLE = 2,
    /// A read failed.
    EXACTOP_READ = 3,
    /// The source does not measure this figure.
    EXACTOP_UNKNOWN = 4,
    /// There is no window yet: a window needs two snapshots.
    EXACTOP_NO_WINDOW = 5,
    /// A bug of this library.
    EXACTOP_BUG = 6,
    /// The recording ends here.
    EXACTOP_END = 7,
    /// A gap in the figures. Of a recording: exactop_error names the time and the reason. Of a
    /// daemon: another daemon answers, and counters start again. The next call continues.
    EXACTOP_GAP = 8,
}

use exactop_status::*;

/// Source of the figures; see `exactop --help`, --source.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types)]
pub enum exactop_kind {
    /// The first of the others that works here.
    EXACTOP_AUTO = 0,
    /// BPF events: exact.
    EXACTOP_LEDGER = 1,
    /// The kernel's own counters, read by a BPF iterator.
    EXACTOP_SNAPSHOT = 2,
    /// Generic netlink, with a record of each exit.
    EXACTOP_TASKSTATS = 3,
    /// /proc, for every user.
    EXACTOP_PROCFS = 4,
}

/// An open source.
#[allow(non_camel_case_types)]
pub struct exactop_source {
    origin: Origin,
    name: CString,
}

/// Origin of the windows.
enum Origin {
    Measured(Box<Measured>),
    Recording(Box<Played>),
}

/// Live figures of this machine.
struct Measured {
    source: Box<dyn Source>,
    book: Book,
    window: Option<Window>,
    /// True after the first snapshot.
    is_open: bool,
}

/// Error text after another daemon answered.
const BEGUN_ANEW: &str =
    "the daemon restarted, or had disconnected this reader: counters begin anew here, and \
                          figures since the last snapshot are lost";

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

/// Stores the text of an error for exactop_error.
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

/// Text of the last call that failed in this thread: one line. Valid until the next call in this
/// thread; empty if no call failed.
#[no_mangle]
pub extern "C" fn exactop_error() -> *const c_char {
    ERROR.with(|error| error.borrow().as_ptr())
}

/// Opens a source. `kind` is an exactop_kind. The caller must close the source with exactop_close.
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

/// A live source as a pointer for C.
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

/// Closes a source; null does nothing. Tables made from it stay valid.
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

/// Name of the source: ledger, snapshot, taskstats, procfs or recording; a daemon has the name of
/// its own source, ledger. Valid as long as the source; null for null.
///
/// # Safety
/// `source` must come from exactop_open.
#[no_mangle]
pub unsafe extern "C" fn exactop_source_name(source: *const exactop_source) -> *const c_char {
    // SAFETY: null or made by exactop_open.
    unsafe { source.as_ref() }.map_or(ptr::null(), |source| source.name.as_ptr())
}

/// Takes a snapshot: ends the window that the previous call began, and begins the next. In a
/// recording it goes to the next window. A daemon ends windows at the same instants for all
/// readers, at most ten per second; the call waits for the next one.
/// EXACTOP_GAP, only with a daemon: the daemon ended and this reader connected to its successor, or
/// the daemon had disconnected this reader. Figures since the last call are lost. A snapshot was
/// taken, but its counters started again: do not subtract earlier ones from it. There is no window
/// until the next call.
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
                // Before the first snapshot there are no figures to lose.
                if std::mem::replace(&mut measured.is_open, true) && begins_anew {
                    return fail(EXACTOP_GAP, BEGUN_ANEW);
                }
                EXACTOP_OK
            }
        }
    })
}

/// All tasks as of the last snapshot. Counters count since a task's birth or, in the ledger, since
/// the ledger was opened. The caller must free the table with exactop_table_free.
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

/// The changes between the last two snapshots: one row per process or, if `threads` is not 0, per
/// thread, and one per group of exited tasks. The caller must free the table with
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
            FrameOptions { threads: threads != 0, still: IdleRows::All, ..FrameOptions::default() };
        let table = exactop_table::of_window(window, source.book(), &options);
        // SAFETY: not null; the caller guarantees that it is valid.
        unsafe { out.write(Box::into_raw(Box::new(table))) };
        EXACTOP_OK
    })
}

/// Name of a counter, such as run_ns; null past the last. Counters are numbered from 0.
#[no_mangle]
pub extern "C" fn exactop_counter_name(counter: u32) -> *const c_char {
    counter::name(counter).map_or(ptr::null(), CStr::as_ptr)
}

/// Number of the counter of this name, or -1.
///
/// # Safety
/// `name` must be null or a C string.
#[no_mangle]
pub unsafe extern "C" fn exactop_counter_number(name: *const c_char) -> i32 {
    if name.is_null() {
        return -1;
    }
    // SAFETY: the caller guarantees that it is valid.
    counter::number(unsafe { CStr::from_ptr(name) })
}
