//! Tables of rows: all tasks at an instant, or their changes in a window.

use crate::counter;
use crate::exactop_status::{self, *};
use crate::{fail, guarded, null};
use exactop_model::frame::Books;
use exactop_model::ledger::snapshot::TaskSample;
use exactop_model::{Book, Counters, Frame, FrameOptions, Row, RowKind, Window};
use std::ffi::c_char;

/// Rows; a table of a window also has its balance.
#[allow(non_camel_case_types)]
pub struct exactop_table {
    rows: Vec<(exactop_row, Counters)>,
    books: Option<(exactop_books, Option<u64>)>,
}

/// Kind of a row.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types)]
pub enum exactop_row_kind {
    /// One thread.
    EXACTOP_TASK = 0,
    /// A process.
    EXACTOP_PROCESS = 1,
    /// Tasks that exited in the window.
    EXACTOP_EXITED = 2,
}

/// Identity and state of a row.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct exactop_row {
    /// Kind of the row: an exactop_row_kind.
    pub kind: u32,
    /// Process (thread group id); 0 for exited groups.
    pub pid: u32,
    /// Thread id; of a process that of its leader.
    pub tid: u32,
    /// Parent process; of exited groups the nearest living ancestor, or 0.
    pub ppid: u32,
    /// Effective user; of exited groups as of their end. UINT32_MAX, which is no user's id:
    /// unknown.
    pub uid: u32,
    /// Of exited groups: number of processes that exited.
    pub exited: u32,
    /// Start on CLOCK_BOOTTIME, ns.
    pub start_ns: u64,
    /// The part of the life inside the window, of all threads, ns; EXACTOP_MISSING in snapshots.
    pub life_ns: u64,
    /// Command name: raw bytes, null-terminated. May hold control characters.
    pub comm: [c_char; 16],
    /// R S D T t Z I, or X for exited groups.
    pub state: c_char,
}

/// A figure that is unknown or not measured.
pub const EXACTOP_MISSING: u64 = u64::MAX;

/// The CPUs' time in a window by account, ns. A figure may be EXACTOP_MISSING: interrupts and steal
/// that are not measured are part of other accounts, and not every source sees exits.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(non_camel_case_types)]
pub struct exactop_books {
    /// Start of the window on CLOCK_MONOTONIC, ns.
    pub t0_ns: u64,
    /// End of the window on CLOCK_MONOTONIC, ns.
    pub t1_ns: u64,
    /// Number of CPUs times the length of the window.
    pub total_ns: u64,
    /// Living tasks.
    pub tasks_ns: u64,
    /// Exited tasks.
    pub exited_ns: u64,
    /// Executing, but the task is unknown.
    pub unnamed_ns: u64,
    /// Interrupts.
    pub irq_ns: u64,
    /// Stolen by the hypervisor.
    pub steal_ns: u64,
    /// Idle.
    pub idle_ns: u64,
    /// Offline.
    pub offline_ns: u64,
    /// The total less all other accounts: 0 when the books close.
    pub residual_ns: i64,
    /// Number of CPUs.
    pub cpus: u32,
    /// 1 if the window is exact or repaired: the residual is 0, missed events were repaired, and
    /// the source does not sample.
    pub exact: u32,
}

// Callers provide the memory for these, so within libexactop.so.0 they never grow.
const _: () = assert!(size_of::<exactop_books>() == 96 && size_of::<exactop_row>() == 64);

impl exactop_table {
    /// A table of all tasks in the book.
    pub fn of_book(book: &Book) -> exactop_table {
        exactop_table {
            rows: book.tasks().map(|sample| (of_sample(&sample), sample.counters)).collect(),
            books: None,
        }
    }

    /// A table of a window.
    pub fn of_window(window: &Window, book: &Book, options: &FrameOptions) -> exactop_table {
        let frame = Frame::new(window, book, options);
        let all = frame.rows.iter().chain(&frame.exited);
        let rows = all.map(|row| (of_row(row), row.delta)).collect();
        exactop_table { rows, books: Some((of_frame(&frame), frame.books.outside_ns)) }
    }
}

fn comm(name: exactop_model::Comm) -> [c_char; 16] {
    name.0.map(|byte| byte as c_char)
}

fn of_sample(sample: &TaskSample) -> exactop_row {
    exactop_row {
        kind: match sample.threads {
            Some(_) => exactop_row_kind::EXACTOP_PROCESS,
            None => exactop_row_kind::EXACTOP_TASK,
        } as u32,
        pid: sample.key.tgid,
        tid: sample.key.tid,
        ppid: sample.ident.ppid,
        uid: sample.ident.uid,
        exited: 0,
        start_ns: sample.key.start_ns,
        life_ns: EXACTOP_MISSING,
        comm: comm(sample.ident.comm),
        state: sample.letter as c_char,
    }
}

fn of_row(row: &Row) -> exactop_row {
    exactop_row {
        kind: match row.kind {
            RowKind::Task => exactop_row_kind::EXACTOP_TASK,
            RowKind::Process => exactop_row_kind::EXACTOP_PROCESS,
            RowKind::Exited => exactop_row_kind::EXACTOP_EXITED,
        } as u32,
        pid: row.key.tgid,
        tid: row.key.tid,
        ppid: row.ident.ppid,
        uid: row.uid().unwrap_or(u32::MAX),
        exited: u32::try_from(row.exited_processes).unwrap_or(u32::MAX),
        start_ns: row.key.start_ns,
        life_ns: row.life_ns,
        comm: comm(row.ident.comm),
        state: row.letter as c_char,
    }
}

fn of_frame(frame: &Frame) -> exactop_books {
    let Books { total_ns, tasks_ns, exited_ns, unnamed_ns, idle_ns, offline_ns, .. } = frame.books;
    exactop_books {
        t0_ns: frame.t0_ns,
        t1_ns: frame.t1_ns,
        total_ns,
        tasks_ns,
        exited_ns: frame.provenance.source.exited(exited_ns).unwrap_or(EXACTOP_MISSING),
        unnamed_ns,
        irq_ns: frame.books.irq_ns.unwrap_or(EXACTOP_MISSING),
        steal_ns: frame.books.steal_ns.unwrap_or(EXACTOP_MISSING),
        idle_ns,
        offline_ns,
        residual_ns: frame.books.residual_ns,
        cpus: frame.cpus.len() as u32,
        exact: u32::from(frame.exact),
    }
}

/// Number of rows of a table; 0 for null.
///
/// # Safety
/// `table` must be null or come from this library.
#[no_mangle]
pub unsafe extern "C" fn exactop_table_len(table: *const exactop_table) -> usize {
    // SAFETY: null, or a table that this library made.
    unsafe { table.as_ref() }.map_or(0, |table| table.rows.len())
}

/// Identity and state of a row.
///
/// # Safety
/// `table` must be null or come from this library; `out` must be valid for writing a row.
#[no_mangle]
pub unsafe extern "C" fn exactop_table_row(
    table: *const exactop_table,
    index: usize,
    out: *mut exactop_row,
) -> exactop_status {
    guarded(|| {
        // SAFETY: null, or a table that this library made.
        let Some(table) = (unsafe { table.as_ref() }).filter(|_| !out.is_null()) else {
            return null();
        };
        let Some((row, _)) = table.rows.get(index) else { return past_the_end(table, index) };
        // SAFETY: not null; the caller guarantees that it is valid.
        unsafe { out.write(*row) };
        EXACTOP_OK
    })
}

/// A counter of a row: cumulative in snapshots, of the window in windows. `counter` is a number
/// from exactop_counter_number.
///
/// # Safety
/// `table` must be null or come from this library; `out` must be valid for writing a number.
#[no_mangle]
pub unsafe extern "C" fn exactop_table_counter(
    table: *const exactop_table,
    index: usize,
    counter: u32,
    out: *mut u64,
) -> exactop_status {
    guarded(|| {
        // SAFETY: null, or a table that this library made.
        let Some(table) = (unsafe { table.as_ref() }).filter(|_| !out.is_null()) else {
            return null();
        };
        let Some((_, counters)) = table.rows.get(index) else { return past_the_end(table, index) };
        let Some(which) = counter::from_number(counter) else {
            return fail(EXACTOP_ARGUMENT, format!("no counter has the number {counter}"));
        };
        match counters.get(which) {
            None => fail(EXACTOP_UNKNOWN, format!("this source does not know {}", which.info().id)),
            Some(value) => {
                // SAFETY: not null; the caller guarantees that it is valid.
                unsafe { out.write(value) };
                EXACTOP_OK
            }
        }
    })
}

/// The balance of a window.
///
/// # Safety
/// `table` must be null or come from this library; `out` must be valid for writing the books.
#[no_mangle]
pub unsafe extern "C" fn exactop_table_books(
    table: *const exactop_table,
    out: *mut exactop_books,
) -> exactop_status {
    guarded(|| {
        // SAFETY: null, or a table that this library made.
        let Some(table) = (unsafe { table.as_ref() }).filter(|_| !out.is_null()) else {
            return null();
        };
        let Some((books, _)) = table.books else { return no_balance() };
        // SAFETY: not null; the caller guarantees that it is valid.
        unsafe { out.write(books) };
        EXACTOP_OK
    })
}

/// Another account of a window's balance, ns: tasks outside of the PID namespace that the daemon
/// reports on. EXACTOP_UNKNOWN: the daemon reports on all tasks, so there is no such account.
///
/// # Safety
/// `table` must be null or come from this library; `out` must be valid for writing a number.
#[no_mangle]
pub unsafe extern "C" fn exactop_table_outside(
    table: *const exactop_table,
    out: *mut u64,
) -> exactop_status {
    guarded(|| {
        // SAFETY: null, or a table that this library made.
        let Some(table) = (unsafe { table.as_ref() }).filter(|_| !out.is_null()) else {
            return null();
        };
        match table.books {
            None => no_balance(),
            Some((_, None)) => fail(EXACTOP_UNKNOWN, "no task is outside: all are reported"),
            Some((_, Some(outside_ns))) => {
                // SAFETY: not null; the caller guarantees that it is valid.
                unsafe { out.write(outside_ns) };
                EXACTOP_OK
            }
        }
    })
}

fn no_balance() -> exactop_status {
    fail(EXACTOP_NO_WINDOW, "a snapshot has no balance: ask a window")
}

/// Frees a table; null does nothing.
///
/// # Safety
/// `table` must come from this library and must not be used again.
#[no_mangle]
pub unsafe extern "C" fn exactop_table_free(table: *mut exactop_table) {
    if !table.is_null() {
        // SAFETY: this library made the table.
        drop(unsafe { Box::from_raw(table) });
    }
}

fn past_the_end(table: &exactop_table, index: usize) -> exactop_status {
    fail(EXACTOP_ARGUMENT, format!("no row {index}: there are {}", table.rows.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::SourceKind;

    #[test]
    fn exited_groups_have_their_user_or_uint32_max() {
        for uid in [None, Some(0), Some(33)] {
            let (mut window, book) = exactop_testkit::window(SourceKind::Ledger, 1, None);
            window.exited.iter_mut().for_each(|group| group.sample.uid = uid);
            let frame = Frame::new(&window, &book, &FrameOptions::default());
            let told: Vec<u32> = frame.exited.iter().map(|row| of_row(row).uid).collect();
            assert!(!told.is_empty() && told.iter().all(|&told| told == uid.unwrap_or(u32::MAX)));
        }
    }
}
