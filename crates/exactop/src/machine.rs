//! The machine that the figures describe, and its host name.

use crate::failure::Failure;
use exactop_recording::Machine;

/// Environment variable with the host name. It overrides an option and a setting.
const VARIABLE: &str = "EXACTOP_HOST";
/// Most bytes of a host name (DNS, RFC 1035).
const LONGEST: usize = 253;

/// This machine. Its host name is EXACTOP_HOST, else `given`, else the kernel's (uname(2)).
///
/// # Errors
/// EXACTOP_HOST is not a valid host name.
pub fn this(given: Option<&str>) -> Result<Machine, Failure> {
    let machine = Machine::this(env!("CARGO_PKG_VERSION"));
    Ok(match host(given)? {
        Some(host) => Machine { host, ..machine },
        None => machine,
    })
}

/// The host name: EXACTOP_HOST, else `given`; `None`: the kernel's.
///
/// # Errors
/// EXACTOP_HOST is not a valid host name.
pub fn host(given: Option<&str>) -> Result<Option<String>, Failure> {
    match std::env::var_os(VARIABLE).filter(|name| !name.is_empty()) {
        Some(name) => parse(&name.to_string_lossy())
            .map(Some)
            .map_err(|why| Failure::usage(format!("{VARIABLE}: {why}"))),
        None => Ok(given.map(String::from)),
    }
}

/// Parses a host name of an option, a setting or the variable.
///
/// # Errors
/// The name is empty, too long, or does not fit one table cell and one label.
pub fn parse(text: &str) -> Result<String, String> {
    let is_odd = |c: char| c.is_control() || c.is_whitespace() || c == '/' || c == '\u{fffd}';
    match text {
        "" => Err("the name of the host is empty: write one, such as node-7".into()),
        _ if text.len() > LONGEST => {
            Err(format!("the name of the host has {} bytes: write {LONGEST} at most", text.len()))
        }
        _ if text.contains(is_odd) => Err(format!(
            "{text:?} is not a host name: write it without blanks, slashes and control characters"
        )),
        _ => Ok(text.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_a_name_of_one_word() {
        for fine in ["node-7", "ip-10-0-0-1.eu.internal", "knoten-\u{e4}", &"n".repeat(LONGEST)] {
            assert_eq!(parse(fine).as_deref(), Ok(fine));
        }
        for wrong in ["", "a b", "a\n", "\u{1b}[2J", "a/b", "\u{fffd}", &"n".repeat(LONGEST + 1)] {
            let why = parse(wrong).expect_err(wrong);
            assert!(!why.contains(char::is_control), "{why}");
        }
    }
}
