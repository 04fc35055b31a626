//! User names on the command line.

use std::fs;

/// The id of a user: a number as it stands, or a name of /etc/passwd.
pub fn id(user: &str) -> Option<u32> {
    user.parse().ok().or_else(|| named(user, &fs::read("/etc/passwd").ok()?))
}

/// The id of a name in a file of passwd(5).
fn named(name: &str, passwd: &[u8]) -> Option<u32> {
    passwd.split(|&b| b == b'\n').find_map(|line| {
        let mut fields = line.split(|&b| b == b':');
        let found = fields.next()? == name.as_bytes();
        let id = fields.nth(1)?;
        found.then(|| std::str::from_utf8(id).ok()?.parse().ok())?
    })
}

/// What passwd(5) says of a user.
#[cfg(feature = "bpf")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name.
    pub name: Vec<u8>,
    /// The user's number.
    pub uid: u32,
    /// That of the first group.
    pub gid: u32,
    /// The home directory.
    pub home: Vec<u8>,
    /// The shell.
    pub shell: Vec<u8>,
}

/// The entry of a user by number.
#[cfg(feature = "bpf")]
pub fn entry(uid: u32) -> Option<Entry> {
    numbered(uid, &fs::read("/etc/passwd").ok()?)
}

#[cfg(feature = "bpf")]
fn numbered(wanted: u32, passwd: &[u8]) -> Option<Entry> {
    let number = |field: &[u8]| std::str::from_utf8(field).ok()?.parse::<u32>().ok();
    let entry = |line: &[u8]| {
        let mut fields = line.split(|&b| b == b':');
        let (name, _, uid, gid) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let (_, home, shell) = (fields.next()?, fields.next()?, fields.next()?);
        Some(Entry {
            name: name.to_vec(),
            uid: number(uid)?,
            gid: number(gid)?,
            home: home.to_vec(),
            shell: shell.to_vec(),
        })
    };
    passwd.split(|&b| b == b'\n').filter_map(entry).find(|entry| entry.uid == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_whole_fields() {
        let passwd = b"root:x:0:0::/root:/bin/sh\n\xff:x:7:7::/:\npg:x:70:70::/:\n";
        assert_eq!(named("root", passwd), Some(0));
        assert_eq!(named("pg", passwd), Some(70));
        assert_eq!(named("p", passwd), None);
        assert_eq!(id("1234"), Some(1234));
        #[cfg(feature = "bpf")]
        {
            let entry = numbered(70, passwd).unwrap();
            assert_eq!((entry.gid, entry.name.as_slice()), (70, &b"pg"[..]));
            assert_eq!((entry.home.as_slice(), entry.shell.as_slice()), (&b"/"[..], &b""[..]));
            assert_eq!(numbered(71, passwd), None);
        }
    }
}
