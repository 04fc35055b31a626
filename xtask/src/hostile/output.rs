//! Checks of exactop's output.

use serde_json::Value;
use std::process::Output;

/// Checks that the output is text without cursor movement or changes of direction.
pub fn is_harmless(bytes: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("not UTF-8: {error}"))?;
    let hidden = |c: char| matches!(c as u32, 0x202a..=0x202e | 0x2066..=0x2069 | 0x200b..=0x200f);
    match text.chars().find(|&c| (c.is_control() && c != '\n') || hidden(c)) {
        Some(c) => Err(format!("{c:?} in its output")),
        None => Ok(()),
    }
}

/// Checks that it succeeded, or failed with a reason in one line.
pub fn is_an_answer(output: &Output) -> Result<(), String> {
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => Ok(()),
        Some(1 | 2) if said.starts_with("exactop: ") && said.lines().count() == 1 => Ok(()),
        _ => Err(format!("{}: {:?}", output.status, said.chars().take(200).collect::<String>())),
    }
}

/// Checks windows of `--json`: the accounts of each must add up to the CPUs' time, with residual 0.
/// Returns the number of windows that say that they are exact.
pub fn exact_windows(output: &[u8], windows: usize) -> Result<usize, String> {
    let lines = output.split(|&b| b == b'\n').filter(|line| !line.is_empty());
    let frames: Vec<Value> = lines
        .map(|line| serde_json::from_slice(line).map_err(|error| error.to_string()))
        .collect::<Result<_, _>>()?;
    if frames.len() != windows {
        return Err(format!("{} windows instead of {windows}", frames.len()));
    }
    frames.iter().try_for_each(closes)?;
    Ok(frames.iter().filter(|frame| frame["window"]["exact"] == true).count())
}

fn closes(frame: &Value) -> Result<(), String> {
    let residual = frame["window"]["residual_ns"].as_i64();
    if residual != Some(0) {
        return Err(format!("residual {residual:?}"));
    }
    let books = frame["books"].as_object().ok_or("no books")?;
    let figure =
        |name: &str| books.get(name).and_then(Value::as_u64).ok_or("an account is missing");
    let mut sum = 0;
    for account in books.keys().filter(|name| *name != "total_ns") {
        sum += figure(account)?;
    }
    let total = figure("total_ns")?;
    (sum == total).then_some(()).ok_or(format!("accounts are {sum} ns of {total}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_found() {
        assert!(is_harmless(b"a \\x1b[2J\n").is_ok());
        for bytes in [&b"\x1b[2J"[..], b"\r", b"\xff", "\u{202e}".as_bytes()] {
            assert!(is_harmless(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn windows_that_do_not_close_are_found() {
        let window = |residual: i64, idle: u64| {
            format!(
                "{{\"window\":{{\"residual_ns\":{residual},\"exact\":true}},\
                 \"books\":{{\"idle_ns\":{idle},\"tasks_ns\":3,\"total_ns\":10}}}}\n"
            )
        };
        assert_eq!(exact_windows(window(0, 7).as_bytes(), 1), Ok(1));
        for wrong in [window(0, 6), window(1, 7)] {
            assert!(exact_windows(wrong.as_bytes(), 1).is_err());
        }
        assert!(exact_windows(window(0, 7).as_bytes(), 2).is_err());
    }
}
