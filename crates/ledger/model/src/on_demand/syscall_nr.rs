//! System calls by number and by name.

use serde::{Deserialize, Serialize};
use std::fmt;
use syscalls::{x86, Sysno};

/// Flag in the number of a 32-bit call on a 64-bit kernel (`EX_NR_COMPAT` in
/// bpf/on_demand/syscalls.h).
const COMPAT: i32 = 0x2000_0000;

/// A system call by its number on this machine. It is shown as its name, or as `#number` if the
/// call is newer than the built-in table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SyscallNr(pub i32);

impl SyscallNr {
    /// No system call: a page fault, or a kernel thread.
    pub const NONE: SyscallNr = SyscallNr(-1);

    /// True if the call waits for or wakes a futex.
    pub fn is_futex(self) -> bool {
        self.name().is_some_and(|name| name.starts_with("futex"))
    }

    /// Name, if the built-in table has it.
    pub fn name(self) -> Option<&'static str> {
        let number = usize::try_from(self.0 & !COMPAT).ok()?;
        if self.is_compat() {
            return x86::Sysno::new(number).map(|call| call.name());
        }
        Sysno::new(number).map(|call| call.name())
    }

    /// True for a call of a 32-bit program, which has numbers of its own.
    pub fn is_compat(self) -> bool {
        self.0 >= 0 && self.0 & COMPAT != 0
    }

    /// Number of the native call with this name.
    pub fn named(name: &str) -> Option<SyscallNr> {
        Sysno::iter().find(|call| call.name() == name).map(|call| SyscallNr(call.id()))
    }

    /// All names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Sysno::iter().map(|call| call.name())
    }
}

impl fmt::Display for SyscallNr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = match self.name() {
            _ if *self == SyscallNr::NONE => "-".into(),
            Some(name) => name.to_string(),
            None => format!("#{}", self.0 & !COMPAT),
        };
        f.pad(&if self.is_compat() { format!("{plain}(32-bit)") } else { plain })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways_and_unknown_numbers_are_shown() {
        let getppid = SyscallNr::named("getppid").unwrap();
        assert_eq!(getppid.to_string(), "getppid");
        assert_eq!(SyscallNr(99_999).to_string(), "#99999");
        assert_eq!(SyscallNr(COMPAT | 4).to_string(), "write(32-bit)");
        assert_eq!(SyscallNr::NONE.to_string(), "-");
        assert_eq!(SyscallNr::named("no_such_call"), None);
        assert!(SyscallNr::named("futex").unwrap().is_futex() && !getppid.is_futex());
    }
}
