//! What this machine can give.

use crate::failure::Failure;

/// Prints it.
///
/// # Errors
/// When the ledger cannot be opened.
pub fn run(_json: bool) -> Result<(), Failure> {
    Err(Failure::Told)
}
