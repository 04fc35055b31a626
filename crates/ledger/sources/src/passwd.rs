//! Users by name and number from /etc/passwd (passwd(5)). It lacks users that only a directory
//! service knows.

use crate::procfs::ticks::number;
use std::fs;

/// A user's entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// User name.
    pub name: Vec<u8>,
    /// User id.
    pub uid: u32,
    /// Id of the primary group.
    pub gid: u32,
    /// Home directory.
    pub home: Vec<u8>,
    /// Login shell.
    pub shell: Vec<u8>,
}

/// The users of such a file, in its order. A short line has empty fields at its end; an invalid
/// line is skipped.
pub(crate) fn entries(passwd: &[u8]) -> impl Iterator<Item = Entry> + '_ {
    passwd.split(|&b| b == b'\n').filter_map(|line| {
        let mut fields = line.split(|&b| b == b':');
        let (name, _, uid, gid) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let mut text = |skipped| fields.nth(skipped).map_or(Vec::new(), <[u8]>::to_vec);
        let (home, shell) = (text(1), text(0));
        Some(Entry { name: name.to_vec(), uid: number(uid)?, gid: number(gid)?, home, shell })
    })
}

/// Id of a group, by its name in /etc/group (group(5)).
pub fn group_id(group: &str) -> Option<u32> {
    let text = fs::read("/etc/group").ok()?;
    let mut lines = text.split(|&b| b == b'\n').map(|line| line.split(|&b| b == b':'));
    let mut fields = lines.find(|fields| fields.clone().next() == Some(group.as_bytes()))?;
    number(fields.nth(2)?)
}

/// Id of a user, from a number or a name in /etc/passwd.
pub fn id(user: &str) -> Option<u32> {
    let named = || {
        let passwd = fs::read("/etc/passwd").ok()?;
        let found = entries(&passwd).find(|entry| entry.name == user.as_bytes());
        found.map(|entry| entry.uid)
    };
    user.parse().ok().or_else(named)
}

/// The entry of the user with this number.
pub fn entry(uid: u32) -> Option<Entry> {
    let passwd = fs::read("/etc/passwd").ok()?;
    let found = entries(&passwd).find(|entry| entry.uid == uid);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_a_line_with_user_and_group_id() {
        let passwd = b"root:x:0:0::/root:/bin/sh\n\xff:x:7:7::/:\npg:x:26:27\n# c\n+\nbad:x:y:1\n";
        let users: Vec<Entry> = entries(passwd).collect();
        assert_eq!(users.iter().map(|u| u.uid).collect::<Vec<_>>(), [0, 7, 26]);
        let root = &users[0];
        assert_eq!((root.home.as_slice(), root.shell.as_slice()), (&b"/root"[..], &b"/bin/sh"[..]));
        let early = &users[2];
        assert_eq!((early.gid, early.name.as_slice()), (27, &b"pg"[..]));
        assert!(early.home.is_empty() && early.shell.is_empty());
        assert_eq!((id("1234"), id("root")), (Some(1234), Some(0)));
    }
}
