//! A copy that runs with its owner's rights (setuid, setgid) would hand them to everybody: it writes
//! files, signals processes and starts commands for whoever called it.

use crate::failure::Failure;
use rustix::process::{getegid, geteuid, getgid, getuid};

/// Refuses to be such a copy.
///
/// # Errors
/// Whose rights these would be.
pub fn check() -> Result<(), Failure> {
    let (user, group) = ((getuid(), geteuid()), (getgid(), getegid()));
    if user.0 == user.1 && group.0 == group.1 {
        return Ok(());
    }
    Err(Failure::failed(format!(
        "this copy is setuid or setgid and would lend user {}'s rights (group {}'s) to user {}: take \
         the bit away (chmod ug-s) and use sudo, or give the file capabilities (docs/explanation/security.md)",
        user.1, group.1, user.0
    )))
}
