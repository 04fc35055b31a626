//! Another user to run a command as: who that is, and what programs expect to find of them.

use exactop_sources::passwd;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;

/// Whom to run as.
pub struct User {
    uid: u32,
    gid: u32,
    groups: Vec<libc::gid_t>,
    /// What login(1) and su(1) set of the environment.
    pub environment: [(&'static str, OsString); 4],
}

impl User {
    /// By name or number.
    ///
    /// # Errors
    /// Why there is no such user.
    pub fn named(name: &str) -> Result<User, String> {
        let unknown = || format!("--user {name}: no such user in /etc/passwd");
        let entry = passwd::id(name).and_then(passwd::entry).ok_or_else(unknown)?;
        let login = std::ffi::CString::new(entry.name.clone()).map_err(|_| unknown())?;
        let mut groups = vec![0; 256];
        let mut count = groups.len() as libc::c_int;
        // SAFETY: room for `count` groups.
        let found = unsafe {
            libc::getgrouplist(login.as_ptr(), entry.gid, groups.as_mut_ptr(), &mut count)
        };
        // Fewer groups than the user has would be another user.
        match usize::try_from(count) {
            Ok(count) if found >= 0 => groups.truncate(count),
            _ => return Err(format!("--user: in more groups than {}", groups.len())),
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
    /// What the kernel refuses.
    pub fn become_them(&self) -> io::Result<()> {
        // SAFETY: the list lives until the call returns; the others take numbers.
        unsafe {
            answer(libc::setgroups(self.groups.len(), self.groups.as_ptr()))?;
            answer(libc::setgid(self.gid))?;
            answer(libc::setuid(self.uid))
        }
    }
}

/// What an empty field of passwd(5) stands for.
fn or(field: Vec<u8>, default: &str) -> OsString {
    match field.is_empty() {
        true => OsStr::new(default).into(),
        false => OsString::from_vec(field),
    }
}

/// What a call says of itself.
///
/// # Errors
/// What went wrong.
pub fn answer(code: libc::c_int) -> io::Result<()> {
    match code {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
