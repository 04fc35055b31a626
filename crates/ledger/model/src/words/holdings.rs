//! A process's environment and open files as text.

use crate::frame::holdings::{Environment, Files, OpenFileKind, Part, Refusal};
use crate::words::plural::counted;
use crate::words::units::thousands;

/// Name of the part.
pub fn name(part: Part) -> &'static str {
    match part {
        Part::Environment => "environment",
        Part::Files => "open files",
    }
}

/// `23 variables`, and whether some are missing.
pub fn sum_of_environment(environment: &Environment) -> String {
    let n = environment.variables.len() as u64;
    match (n, environment.is_cut) {
        (0, _) => "none: a kernel thread, a zombie, or a process started without one".into(),
        (_, false) => counted(n, "variable"),
        (_, true) => format!("the first {}: the rest is not read", counted(n, "variable")),
    }
}

/// `12 open files`, and the number of missing ones.
pub fn sum_of_files(files: &Files) -> String {
    let n = files.files.len() as u64;
    match (n, files.left_out) {
        (0, 0) => "none".into(),
        (_, 0) => counted(n, "open file"),
        (_, more) => format!("{}, and {} more", counted(n, "open file"), thousands(more)),
    }
}

/// Says why a part is missing.
pub fn refused(part: Part, refusal: &Refusal) -> String {
    let name = name(part);
    match refusal {
        Refusal::Exited => format!("no {name}: the process has exited"),
        Refusal::NotPermitted => format!(
            "cannot list the {name}: the kernel does not let this user look into the process: run as \
             root, or as the user of the process"
        ),
        Refusal::Because(why) => format!("no {name}: {why}"),
    }
}

/// Says why a recording has no such part.
pub fn not_recorded(part: Part) -> String {
    let name = name(part);
    format!("no {name}: it is read from a living process on request and never recorded")
}

/// Type of a file.
pub fn kind(kind: OpenFileKind) -> &'static str {
    match kind {
        OpenFileKind::Regular => "file",
        OpenFileKind::Directory => "dir",
        OpenFileKind::CharacterDevice => "char",
        OpenFileKind::BlockDevice => "block",
        OpenFileKind::Pipe => "pipe",
        OpenFileKind::Socket => "socket",
        OpenFileKind::Link => "link",
        OpenFileKind::Anonymous => "kernel",
        OpenFileKind::Unknown => "-",
    }
}

/// Open mode from the flags of open(2): `r`, `w`, `rw`, then `a` for append and `n` for
/// non-blocking. `path` for a file that is open for neither.
pub fn mode(flags: u32) -> String {
    const ACCESS: u32 = 0o3;
    const APPEND: u32 = 0o2_000;
    const NONBLOCK: u32 = 0o4_000;
    const PATH: u32 = 0o10_000_000;
    if flags & PATH != 0 {
        return "path".into();
    }
    let access = match flags & ACCESS {
        0 => "r",
        1 => "w",
        2 => "rw",
        _ => "-",
    };
    let with = |flag, letter| if flags & flag != 0 { letter } else { "" };
    format!("{access}{}{}", with(APPEND, "a"), with(NONBLOCK, "n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_letters() {
        let modes = [0, 1, 2, 0o2_001, 0o104_002, 0o2_006_000, 0o10_000_000].map(mode);
        assert_eq!(modes, ["r", "w", "rw", "wa", "rwn", "ran", "path"]);
    }

    #[test]
    fn missing_parts_are_named() {
        let some = |is_cut| Environment { variables: vec![b"A=1".to_vec()], is_cut };
        assert_eq!(sum_of_environment(&some(false)), "1 variable");
        assert!(sum_of_environment(&some(true)).contains("the rest is not read"));
        assert!(sum_of_environment(&Environment::default()).starts_with("none"));
        let files = Files { files: Vec::new(), left_out: 1_234 };
        assert_eq!(sum_of_files(&files), "0 open files, and 1,234 more");
    }
}
