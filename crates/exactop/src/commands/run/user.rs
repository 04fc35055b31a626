//! The user to run a command as, and the environment that programs expect.

use exactop_sources::passwd;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;

/// A user.
pub struct User {
    uid: u32,
    gid: u32,
    groups: Vec<libc::gid_t>,
    /// Variables that login(1) and su(1) set.
    pub environment: [(&'static str, OsString); 4],
}

impl User {
    /// A user by name or number.
    ///
    /// # Errors
    /// No such user exists, or the user is in too many groups.
    pub fn named(name: &str) -> Result<User, String> {
        let unknown = || format!("no user '{name}' in /etc/passwd: give another --user");
        let entry = passwd::id(name).and_then(passwd::entry).ok_or_else(unknown)?;
        let login = std::ffi::CString::new(entry.name.clone()).map_err(|_| unknown())?;
        let mut groups = vec![0; 256];
        let mut count = groups.len() as libc::c_int;
        // SAFETY: room for `count` groups.
        let found = unsafe {
            libc::getgrouplist(login.as_ptr(), entry.gid, groups.as_mut_ptr(), &mut count)
        };
        // With fewer groups than the user has, the command would have other rights.
        match usize::try_from(count) {
            Ok(count) if found >= 0 => groups.truncate(count),
            _ => {
                return Err(format!(
                    "the user is in more than {} groups: give another --user",
                    groups.len()
                ))
            }
        }
        let login = OsString::from_vec(entry.name);
        let environment = [
            ("HOME", or(entry.home, "/")),
            ("SHELL", or(entry.shell, "/bin/sh")),
            ("USER", login.clone()),
            ("LOGNAME", login),
        ];
        Ok(User { uid: entry.uid, gid: entry.gid, groups, environment })
    }

    /// Runs between fork and exec, so it makes only system calls.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn become_them(&self) -> io::Result<()> {
        // SAFETY: the list lives until the call returns; the other calls take numbers.
        unsafe {
            answer(libc::setgroups(self.groups.len(), self.groups.as_ptr()))?;
            answer(libc::setgid(self.gid))?;
            answer(libc::setuid(self.uid))
        }
    }
}

/// A field of passwd(5), or the default if it is empty.
fn or(field: Vec<u8>, default: &str) -> OsString {
    match field.is_empty() {
        true => OsStr::new(default).into(),
        false => OsString::from_vec(field),
    }
}

/// The result of a system call.
///
/// # Errors
/// The call's error.
pub fn answer(code: libc::c_int) -> io::Result<()> {
    match code {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
