//! Names of systemd's groups (systemd.unit(5), systemd-escape(1)).

/// Unit types with processes, besides slices.
const KINDS: [&str; 5] = [".service", ".scope", ".socket", ".mount", ".swap"];

/// The unit of a path component, as systemctl names it. On disk, a name that could be one of the
/// kernel's files has a `_` in front (cg_escape() of systemd).
pub fn unit(part: &str) -> Option<&str> {
    let name = part.strip_prefix('_').unwrap_or(part);
    KINDS.iter().any(|kind| name.len() > kind.len() && name.ends_with(kind)).then_some(name)
}

/// True for the systemd of a user, below which the user makes groups of any name
/// (user@.service(5)).
pub fn is_of_user(unit: &str) -> bool {
    unit.starts_with("user@") && unit.ends_with(".service") && !unit.contains('/')
}

/// The slice of a path component.
pub fn slice(part: &str) -> Option<&str> {
    let name = part.strip_prefix('_').unwrap_or(part);
    (name.len() > ".slice".len() && name.ends_with(".slice")).then_some(name)
}

/// Unescapes like `systemd-escape --unescape`: `-` is `/`, `\xNN` a byte. An invalid escape stays
/// as it is.
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

/// Parses `xNN`, except 00, which no name can contain.
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
    fn instances_unescape_as_in_systemd() {
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
    fn a_unit_loses_its_prefix_on_disk() {
        assert_eq!(unit("_cpu.service"), Some("cpu.service"));
        assert_eq!(unit("cron.service"), Some("cron.service"));
        assert_eq!((unit(".service"), unit("cron"), unit("a.slice")), (None, None, None));
        assert_eq!(slice("user-1000.slice"), Some("user-1000.slice"));
    }
}
