//! Refuses to run setuid or setgid. exactop writes files, signals processes and starts commands for
//! its caller: such a copy would give its owner's rights to every user.

use crate::failure::Failure;
use rustix::process::{getegid, geteuid, getgid, getuid};

/// Checks that this copy is neither setuid nor setgid.
///
/// # Errors
/// It is; the text names the user and group whose rights it would lend.
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
