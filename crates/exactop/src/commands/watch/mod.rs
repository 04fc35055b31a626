//! Watching, which runs if no subcommand is given: live, or as printed windows.

mod actions;
pub mod batch;
pub mod check;
mod held_process;
pub mod live;
mod reader;

use crate::failure::Failure;
use crate::options::resolved::OutputMode;
use crate::output;
use exactop_model::columns::COLUMNS;

/// Runs the live view or prints windows.
///
/// # Errors
/// The failure, or the signal that ended the command.
pub fn run(wanted: OutputMode) -> Result<(), Failure> {
    match wanted {
        OutputMode::Fields => {
            let lines = COLUMNS.iter().map(|c| format!("{:<14} {}\n", c.name, c.title));
            output::print(lines.collect::<String>())
        }
        OutputMode::Live(wanted) => live::run(wanted),
        OutputMode::Windows(wanted) => batch::run(&wanted),
    }
}
