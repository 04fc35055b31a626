//! Signal names and numbers, for the kill prompt (signal(7), x86 and ARM numbering).

const NAMES: &[(&str, i32)] = &[
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ILL", 4),
    ("TRAP", 5),
    ("ABRT", 6),
    ("BUS", 7),
    ("FPE", 8),
    ("KILL", 9),
    ("USR1", 10),
    ("SEGV", 11),
    ("USR2", 12),
    ("PIPE", 13),
    ("ALRM", 14),
    ("TERM", 15),
    ("STKFLT", 16),
    ("CHLD", 17),
    ("CONT", 18),
    ("STOP", 19),
    ("TSTP", 20),
    ("TTIN", 21),
    ("TTOU", 22),
    ("URG", 23),
    ("XCPU", 24),
    ("XFSZ", 25),
    ("VTALRM", 26),
    ("PROF", 27),
    ("WINCH", 28),
    ("IO", 29),
    ("PWR", 30),
    ("SYS", 31),
];

/// The largest real-time signal (SIGRTMAX).
const MAX: i32 = 64;

/// Parses `15`, `TERM`, `SIGTERM` or `sigterm`.
///
/// # Errors
/// The text names no signal; the error says what is allowed.
pub fn parse(text: &str) -> Result<i32, String> {
    let text = text.trim();
    if let Ok(number) = text.parse::<i32>() {
        return match number {
            1..=MAX => Ok(number),
            _ => Err(format!("{number} is not a signal: write 1 to {MAX}")),
        };
    }
    let upper = text.to_ascii_uppercase();
    let bare = upper.strip_prefix("SIG").unwrap_or(&upper);
    let found = NAMES.iter().find(|(name, _)| *name == bare);
    found.map(|&(_, n)| n).ok_or_else(|| format!("no signal '{text}': try TERM, KILL, 15"))
}

/// The signal's name, such as `SIGTERM` for 15; its number if it has no name.
pub fn name(signal: i32) -> String {
    match NAMES.iter().find(|(_, n)| *n == signal) {
        Some((name, _)) => format!("SIG{name}"),
        None => format!("signal {signal}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_read() {
        for text in ["15", "TERM", "SIGTERM", " sigterm "] {
            assert_eq!(parse(text), Ok(15), "{text}");
        }
        assert_eq!(name(9), "SIGKILL");
        for bad in ["0", "-1", "65", "FOO", ""] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
