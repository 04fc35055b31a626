//! Exit codes of every command. `docs/reference/exit-codes.md` lists them.

/// Something failed.
pub const FAILED: u8 = 1;
/// Wrong use: an option, a setting or a terminal that is missing.
pub const USAGE: u8 = 2;
/// A check found what it looks for.
pub const FOUND: u8 = 3;
/// `run`: exactop failed, and the command did not start.
#[cfg_attr(not(feature = "bpf"), allow(dead_code))]
pub const RUN_FAILED: u8 = 125;
/// `run`: the command could not start.
#[cfg_attr(not(feature = "bpf"), allow(dead_code))]
pub const CANNOT_RUN: u8 = 126;
/// `run`: the command was not found.
#[cfg_attr(not(feature = "bpf"), allow(dead_code))]
pub const NOT_FOUND: u8 = 127;

/// Signal `signal` ended exactop or the command that it ran.
pub fn of_signal(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(FAILED)
}

/// The exit status of a command as a shell shows it.
#[cfg_attr(not(feature = "bpf"), allow(dead_code))]
pub fn of_command(status: i32) -> u8 {
    u8::try_from(status & 0xff).unwrap_or(RUN_FAILED)
}
