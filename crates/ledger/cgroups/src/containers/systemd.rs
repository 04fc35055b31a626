//! Names that systemd gives to groups (systemd.unit(5), systemd-escape(1)).

/// What units may be that have processes, beside slices.
const KINDS: [&str; 5] = [".service", ".scope", ".socket", ".mount", ".swap"];

/// The unit of a group's component, as systemctl has it: a name that could be one of the kernel's
/// files has a `_` in front on disk (cg_escape() of systemd).
pub fn unit(part: &str) -> Option<&str> {
    let name = part.strip_prefix('_').unwrap_or(part);
    KINDS.iter().any(|kind| name.len() > kind.len() && name.ends_with(kind)).then_some(name)
}

/// Whether it is the systemd of a user, who makes groups below it as they like (user@.service(5)).
pub fn is_of_user(unit: &str) -> bool {
    unit.starts_with("user@") && unit.ends_with(".service") && !unit.contains('/')
}

/// The slice of a component.
pub fn slice(part: &str) -> Option<&str> {
    let name = part.strip_prefix('_').unwrap_or(part);
    (name.len() > ".slice".len() && name.ends_with(".slice")).then_some(name)
}

/// What `systemd-escape --unescape` makes of it: `-` is `/`, `\xNN` a byte. What is not escaped so is
/// left as it is.
pub fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut left = text.as_bytes();
    while let Some((&first, rest)) = left.split_first() {
        left = rest;
        let code = (first == b'\\').then(|| hex(rest)).flatten();
        match (first, code) {
            (_, Some(byte)) => {
                out.push(byte);
                left = &rest[3..];
            }
            (b'-', None) => out.push(b'/'),
            (other, None) => out.push(other),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// `xNN`; not a zero, which no name can have.
fn hex(text: &[u8]) -> Option<u8> {
    let digit = |b: u8| char::from(b).to_digit(16);
    let [b'x', high, low, ..] = text else { return None };
    let byte = digit(*high)? * 16 + digit(*low)?;
    u8::try_from(byte).ok().filter(|&byte| byte != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instances_are_unescaped_as_systemd_does() {
        for (escaped, plain) in [
            ("web", "web"),
            ("my\\x2dmachine", "my-machine"),
            ("srv-www", "srv/www"),
            ("a\\x5cb", "a\\b"),
            ("caf\\xc3\\xa9", "café"),
            ("odd\\x2", "odd\\x2"),
            ("odd\\y2d", "odd\\y2d"),
            ("nul\\x00", "nul\\x00"),
            ("\\", "\\"),
            ("", ""),
        ] {
            assert_eq!(unescape(escaped), plain, "{escaped}");
        }
    }

    #[test]
    fn units_lose_what_the_disk_needs() {
        assert_eq!(unit("_cpu.service"), Some("cpu.service"));
        assert_eq!(unit("cron.service"), Some("cron.service"));
        assert_eq!((unit(".service"), unit("cron"), unit("a.slice")), (None, None, None));
        assert_eq!(slice("user-1000.slice"), Some("user-1000.slice"));
    }
}
