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

/// The group and the name of a user by number.
#[cfg(feature = "bpf")]
pub fn group_and_name(uid: u32) -> Option<(u32, Vec<u8>)> {
    numbered(uid, &fs::read("/etc/passwd").ok()?)
}

#[cfg(feature = "bpf")]
fn numbered(uid: u32, passwd: &[u8]) -> Option<(u32, Vec<u8>)> {
    let number = |field: &[u8]| std::str::from_utf8(field).ok()?.parse::<u32>().ok();
    passwd.split(|&b| b == b'\n').find_map(|line| {
        let mut fields = line.split(|&b| b == b':');
        let (name, _, id, gid) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        (number(id)? == uid).then(|| Some((number(gid)?, name.to_vec())))?
    })
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
        assert_eq!(numbered(70, passwd), Some((70, b"pg".to_vec())));
    }
}
