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
pub fn run(mode: OutputMode) -> Result<(), Failure> {
    match mode {
        OutputMode::Fields => {
            let lines = COLUMNS.iter().map(|c| format!("{:<14} {}\n", c.name, c.title));
            output::print(lines.collect::<String>())
        }
        OutputMode::Live(mode) => live::run(mode),
        OutputMode::Windows(mode) => batch::run(&mode),
    }
}
