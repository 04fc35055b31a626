//! Errors of loading and attaching programs: the kernel's reason in one line, and what to do.

use crate::bpf::spare;
use crate::error::SourceError;
use libbpf_rs::{ErrorKind, PrintLevel};
use std::cell::RefCell;
use std::os::unix::fs::MetadataExt;
use std::{fmt, fs, io};

/// Inode of /proc/self/ns/pid in the initial PID namespace (PROC_PID_INIT_INO in
/// include/linux/proc_ns.h).
const INITIAL_PID_NAMESPACE: u64 = 0xEFFF_FFFC;

thread_local! {
    /// Messages of libbpf on this thread since the attempt began.
    static SAID: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Bytes kept of a message. A verifier's log may have megabytes; its error is at the end.
const KEPT_OF_A_MESSAGE: usize = 4096;

/// Lines at the end of a verifier's log that are no error.
const NO_ERRORS: [&str; 4] = ["processed ", "verification time", "stack depth", "-- END"];

/// The line before a verifier's log.
const LOG: &str = "-- BEGIN PROG LOAD LOG --";

/// libbpf's message for a field that is missing or of another type.
const MISFIT: &str = "failed to resolve CO-RE relocation";

/// ENOMEM, ENFILE and EMFILE of errno(3). They depend on the moment, not on the kernel.
const NO_ROOM: [&str; 3] = ["(os error 12)", "(os error 23)", "(os error 24)"];

const NO_ROOM_ADVICE: &str = "try again when the machine has memory and descriptors to spare";

/// True if memory or descriptors were short. libbpf-rs has no error kind for descriptors.
fn is_for_want_of_room(error: &libbpf_rs::Error) -> bool {
    let whole = format!("{error:#}");
    NO_ROOM.iter().any(|number| whole.contains(number))
}

/// Error of an attempt to load programs.
#[derive(Debug)]
pub struct Refusal {
    error: libbpf_rs::Error,
    /// The kernel's reason, with the name of the program.
    words: Option<String>,
    /// True if the verifier looked at a program and refused it.
    verified: bool,
}

impl Refusal {
    /// True if the user lacked the rights to load programs. The verifier's refusal has the same
    /// error number.
    pub fn is_for_want_of_rights(&self) -> bool {
        self.error.kind() == ErrorKind::PermissionDenied && !self.verified
    }

    /// True if memory or descriptors were short, so that any other program would fail too.
    pub fn is_for_want_of_room(&self) -> bool {
        is_for_want_of_room(&self.error)
    }
}

/// The thread for loading could not be started.
impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Refusal {
        Refusal { error: error.into(), words: None, verified: false }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.words {
            Some(words) => write!(f, "{words}; {}", self.error),
            None => self.error.fmt(f),
        }
    }
}

/// Runs an attempt to load programs. Keeps libbpf's warnings instead of printing them.
///
/// # Errors
/// The error with the message that explains most.
pub fn attempt<S>(load: impl FnOnce() -> libbpf_rs::Result<S>) -> Result<S, Refusal> {
    libbpf_rs::set_print(Some((PrintLevel::Warn, remember)));
    SAID.take();
    let loaded = load();
    let said = SAID.take();
    let verified = said.iter().any(|message| message.contains(LOG));
    loaded.map_err(|error| Refusal { error, words: telling(&said), verified })
}

fn remember(level: PrintLevel, message: String) {
    if level == PrintLevel::Warn {
        let message = message.trim().trim_start_matches("libbpf: ");
        let head: String = message.lines().next().unwrap_or_default().into();
        let from = message.len().saturating_sub(KEPT_OF_A_MESSAGE);
        let tail = message.char_indices().find(|&(at, _)| at >= from).map_or(0, |(at, _)| at);
        let kept = match tail {
            0 => message.into(),
            _ => format!("{head}\n{}", &message[tail..]),
        };
        SAID.with_borrow_mut(|said| said.push(kept));
    }
}

/// The message that names the cause: the end of the verifier's log, or else the first message.
/// Later messages are consequences.
fn telling(said: &[String]) -> Option<String> {
    let log = said.iter().find_map(|message| {
        let (head, log) = message.split_once(LOG)?;
        let lines = || log.lines().map(str::trim).filter(|line| !line.is_empty());
        let relocation = lines().find(|line| line.contains(MISFIT));
        let last = lines().rfind(|line| !NO_ERRORS.iter().any(|other| line.starts_with(other)));
        Some((program(head), relocation.or(last)?))
    });
    // A message that libbpf retries in another way is not the cause.
    let said: Vec<&String> = said.iter().filter(|said| !said.contains("Retrying")).collect();
    let first = || said.first().map(|first| (program(first), without_program(first)));
    let (program, words) = log.or_else(first)?;
    Some(match program {
        Some(program) => format!("program {program}: {words}"),
        None => words.into(),
    })
}

/// The program's name in `prog 'NAME': ...`.
fn program(message: &str) -> Option<&str> {
    message.strip_prefix("prog '")?.split('\'').next()
}

fn without_program(message: &str) -> &str {
    let line = message.lines().next().unwrap_or_default();
    let after = line.strip_prefix("prog '").and_then(|rest| rest.split_once("': "));
    after.map_or(line, |(_, words)| words)
}

/// Checks for BPF before the kernel is asked.
///
/// # Errors
/// The kernel has no type information, or this process is in a PID namespace of its own.
pub fn check_before() -> Result<(), SourceError> {
    if fs::metadata("/sys/kernel/btf/vmlinux").is_err() {
        return Err(SourceError::Unavailable {
            what: "the kernel has no type information at /sys/kernel/btf/vmlinux".into(),
            advice: "use a kernel built with CONFIG_DEBUG_INFO_BTF, and mount /sys".into(),
        });
    }
    match fs::metadata("/proc/self/ns/pid").map(|m| m.ino()) {
        Ok(INITIAL_PID_NAMESPACE) => Ok(()),
        _ => Err(SourceError::Unavailable {
            what: "this is not the initial PID namespace".into(),
            advice: "run exactop on the host or with --pid=host, as BPF programs see the global \
                     PIDs of all tasks"
                .into(),
        }),
    }
}

/// The error of a user without the right to load programs.
pub fn not_permitted(error: &Refusal) -> SourceError {
    SourceError::Unavailable {
        what: format!("not permitted to load BPF programs ({})", error.error),
        advice: "run as root, or with CAP_BPF and CAP_PERFMON".into(),
    }
}

/// The error of a kernel that refuses the programs; `whose` names them, such as "the ledger's".
pub fn refused(whose: &str, error: &Refusal) -> SourceError {
    if error.is_for_want_of_rights() {
        return not_permitted(error);
    }
    if format!("{:#}", error.error).contains(NO_ROOM[2]) {
        return spare::too_few();
    }
    let advice = match error.words.as_deref() {
        _ if error.is_for_want_of_room() => NO_ROOM_ADVICE,
        Some(words) if words.contains(MISFIT) => {
            "this kernel lacks the field or has another type for it: try a newer exactop; \
             'exactop doctor' lists what works without it"
        }
        _ => {
            "use Linux 5.15 or newer with BTF and task storage; 'exactop doctor' lists what is \
             missing"
        }
    };
    SourceError::Unavailable {
        what: format!("the kernel refused {whose} programs ({error})"),
        advice: advice.into(),
    }
}

/// An error of attaching a program.
#[derive(Debug)]
pub struct NotAttached {
    /// Name of the program.
    pub name: &'static str,
    /// The kernel's error.
    pub error: libbpf_rs::Error,
}

impl NotAttached {
    /// True if memory or descriptors were short, so that any other program would fail too. A
    /// missing right would stop other programs too: if those are attached, the kernel refuses this
    /// one.
    pub fn is_for_want_of_room(&self) -> bool {
        is_for_want_of_room(&self.error)
    }
}

impl fmt::Display for NotAttached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot attach {}: {:#}", self.name, self.error)
    }
}

impl From<NotAttached> for SourceError {
    fn from(refused: NotAttached) -> SourceError {
        let what = refused.to_string();
        if what.contains(NO_ROOM[2]) {
            return spare::too_few();
        }
        let advice = match refused.is_for_want_of_room() {
            true => NO_ROOM_ADVICE,
            false => "run 'exactop doctor' to see what this kernel offers",
        };
        SourceError::Unavailable { what, advice: advice.into() }
    }
}

/// Turns an error of libbpf into a [`SourceError`]; `what` says what failed.
pub fn failed(what: &'static str) -> impl Fn(libbpf_rs::Error) -> SourceError {
    move |error| SourceError::Kernel { what, error: io::Error::other(error.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::test_object::built;
    use libbpf_rs::{ErrorExt, ObjectBuilder};

    /// A program that reads a 64-bit time as a signed 32-bit integer, which fits no kernel's BTF.
    const PROGRAM: &str = r#"
        struct task_struct { int utime; } __attribute__((preserve_access_index));
        int seen;
        __attribute__((section("tp_btf/task_newtask"), used))
        int misfit(unsigned long long *ctx)
        {
            seen = ((struct task_struct *)ctx[0])->utime;
            return 0;
        }
        char LICENSE[] __attribute__((section("license"), used)) = "GPL";
    "#;

    #[test]
    fn a_field_that_does_not_fit_is_named_with_its_program() {
        let (_dir, object) = built(PROGRAM);
        let load = || ObjectBuilder::default().open_file(&object)?.load().map(drop);
        let told = refused("the tests'", &attempt(load).expect_err("refused")).to_string();
        assert!(told.contains("program misfit: "), "{told}");
        assert!(told.contains(MISFIT), "{told}");
        assert!(told.contains("struct task_struct.utime"), "{told}");
    }

    #[test]
    fn want_of_room_says_nothing_of_the_program() {
        let refused = |number: i32| {
            let error = libbpf_rs::Error::from_raw_os_error(number);
            NotAttached { name: "on_unthrottle", error: error.context("failed to attach") }
        };
        let [nomem, nfile, mfile] = [12, 23, 24];
        for number in [nomem, nfile, mfile] {
            assert!(refused(number).is_for_want_of_room(), "{number}");
        }
        let [perm, busy, notsupp] = [1, 16, 524];
        for number in [perm, busy, notsupp] {
            assert!(!refused(number).is_for_want_of_room(), "{number}");
        }
        let told = refused(busy).to_string();
        assert!(told.contains("on_unthrottle") && told.contains("(os error 16)"), "{told}");
        let told = SourceError::from(refused(mfile)).to_string();
        assert!(told.contains("ulimit -Hn"), "{told}");
    }

    #[test]
    fn what_was_said_first_tells_more_than_what_follows() {
        let said = |messages: &[&str]| {
            telling(&messages.iter().map(|m| m.to_string()).collect::<Vec<_>>())
        };
        assert_eq!(said(&[]), None);
        assert_eq!(
            said(&[
                "Error in bpf_create_map_xattr(tasks): -EINVAL. Retrying without BTF.",
                "map 'tasks': failed to create: -EINVAL",
                "failed to load object",
            ])
            .as_deref(),
            Some("map 'tasks': failed to create: -EINVAL")
        );
        assert_eq!(
            said(&["prog 'seed': failed to find kernel BTF type ID of 'x': -3", "failed"])
                .as_deref(),
            Some("program seed: failed to find kernel BTF type ID of 'x': -3")
        );
        assert_eq!(
            said(&[
                "prog 'seed': BPF program load failed: Permission denied",
                "prog 'seed': -- BEGIN PROG LOAD LOG --\n0: (85) call x#7\nR1 type=scalar\n\
                 processed 1 insns (limit 1000000)\n-- END PROG LOAD LOG --",
                "failed to load object 'ledger_bpf'",
            ])
            .as_deref(),
            Some("program seed: R1 type=scalar")
        );
    }
}
