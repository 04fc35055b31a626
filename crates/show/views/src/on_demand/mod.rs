//! Figures that are counted only on demand, as text, JSON and CSV: one file per subject.

mod losses;
pub mod moves;
pub mod owed;
pub mod switches;
pub mod syscalls;
pub mod waits;
pub mod wakeups;

use crate::Sheet;
use exactop_model::on_demand::{Subject, SubjectWindow};
use exactop_model::subjects;

macro_rules! list {
    ($($file:ident $Name:ident $Window:ident;)+) => {
        /// Text for people; `threads`: one row per thread, if the subject has the choice.
        pub fn text(window: &SubjectWindow, threads: bool, sheet: Sheet) -> String {
            match window {
                $(SubjectWindow::$Name(window) => $file::text(window, threads, sheet)),+
            }
        }

        /// One JSON object on one line.
        pub fn json(window: &SubjectWindow, threads: bool) -> String {
            match window {
                $(SubjectWindow::$Name(window) => $file::json(window, threads)),+
            }
        }

        /// The CSV header.
        pub fn csv_header(subject: Subject) -> Vec<u8> {
            match subject {
                $(Subject::$Name => $file::csv_header()),+
            }
        }

        /// CSV, one line per row.
        pub fn csv(window: &SubjectWindow, threads: bool) -> Vec<u8> {
            match window {
                $(SubjectWindow::$Name(window) => $file::csv(window, threads)),+
            }
        }
    };
}

subjects!(list);
