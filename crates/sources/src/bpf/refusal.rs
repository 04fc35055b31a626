//! Why the kernel would not load or attach a program, in one line with what would help.

use crate::bpf::spare;
use crate::error::SourceError;
use libbpf_rs::{ErrorKind, PrintLevel};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::Mutex;

/// Inode of /proc/self/ns/pid in the initial PID namespace (PROC_PID_INIT_INO in
/// include/linux/proc_ns.h).
const INITIAL_PID_NAMESPACE: u64 = 0xEFFF_FFFC;

/// What libbpf said last: the kernel's own words for a refusal.
static LAST_WORDS: Mutex<String> = Mutex::new(String::new());

/// From now on libbpf's warnings are kept instead of printed.
pub fn listen() {
    libbpf_rs::set_print(Some((PrintLevel::Warn, remember)));
}

fn remember(level: PrintLevel, message: String) {
    if level == PrintLevel::Warn {
        if let Ok(mut last) = LAST_WORDS.lock() {
            *last = message.trim().trim_start_matches("libbpf: ").to_string();
        }
    }
}

/// What libbpf said last.
pub fn last_words() -> String {
    LAST_WORDS.lock().map(|words| words.clone()).unwrap_or_default()
}

/// What can be known before the kernel is asked.
///
/// # Errors
/// No type information, or a PID namespace of our own.
pub fn check_before() -> Result<(), SourceError> {
    if fs::metadata("/sys/kernel/btf/vmlinux").is_err() {
        return Err(SourceError::Unavailable {
            what: "the kernel has no type information at /sys/kernel/btf/vmlinux".into(),
            advice: "a kernel built with CONFIG_DEBUG_INFO_BTF is needed (and /sys mounted)".into(),
        });
    }
    match fs::metadata("/proc/self/ns/pid").map(|m| m.ino()) {
        Ok(INITIAL_PID_NAMESPACE) => Ok(()),
        _ => Err(SourceError::Unavailable {
            what: "this is not the initial PID namespace".into(),
            advice: "run exactop on the host (or with --pid=host): BPF programs see all tasks by \
                     their global PIDs"
                .into(),
        }),
    }
}

/// The error of someone without the right to load programs.
pub fn not_permitted(error: &libbpf_rs::Error) -> SourceError {
    SourceError::Unavailable {
        what: format!("not permitted to load BPF programs ({error})"),
        advice: "run as root, or with CAP_BPF and CAP_PERFMON".into(),
    }
}

/// The error of a kernel that does not take the programs; `whose`: such as "the ledger's".
pub fn refused(whose: &str, error: &libbpf_rs::Error) -> SourceError {
    if error.kind() == ErrorKind::PermissionDenied {
        return not_permitted(error);
    }
    // libbpf-rs has no kind for it.
    if error.to_string().contains("(os error 24)") {
        return spare::too_few();
    }
    SourceError::Unavailable {
        what: format!("the kernel refused {whose} programs ({error}; {})", last_words()),
        advice: "Linux 5.15 or newer with BTF and task storage is needed; 'exactop doctor' says \
                 what is missing"
            .into(),
    }
}

/// The error of a program that could not be attached.
pub fn not_attached(name: &str, error: &libbpf_rs::Error) -> SourceError {
    SourceError::Unavailable {
        what: format!("cannot attach {name}: {error}"),
        advice: "'exactop doctor' says what this kernel offers".into(),
    }
}

/// Any other failed request to the kernel.
pub fn failed(what: &'static str) -> impl Fn(libbpf_rs::Error) -> SourceError {
    move |error| SourceError::Kernel { what, error: io::Error::other(error.to_string()) }
}
