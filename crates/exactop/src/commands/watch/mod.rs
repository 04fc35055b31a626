//! Watching, which runs if no subcommand is given: live, or as printed windows.

mod actions;
pub mod batch;
pub mod check;
mod held_process;
pub mod live;
mod reader;

use crate::failure::Failure;
use crate::options::resolved::Wanted;
use crate::output;
use exactop_model::columns::COLUMNS;

/// Runs the live view or prints windows.
///
/// # Errors
/// The failure, or the signal that ended the command.
pub fn run(wanted: Wanted) -> Result<(), Failure> {
    match wanted {
        Wanted::Fields => {
            let lines = COLUMNS.iter().map(|c| format!("{:<14} {}\n", c.name, c.title));
            output::print(lines.collect::<String>())
        }
        Wanted::Live(wanted) => live::run(wanted),
        Wanted::Windows(wanted) => batch::run(&wanted),
    }
}
