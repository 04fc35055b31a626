//! Finds programs of the system that exactop starts, perhaps as root, without using PATH.

use std::path::{Path, PathBuf};

/// Directories of system programs; the last one is that of NixOS.
const DIRECTORIES: [&str; 5] =
    ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/run/current-system/sw/bin"];

/// The program does not exist.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("cannot find the program {name} in {}: install it", DIRECTORIES.join(", "))]
pub struct NoProgram {
    name: &'static str,
}

/// The absolute path of a system program.
pub fn system(name: &'static str) -> Result<PathBuf, NoProgram> {
    let paths = DIRECTORIES.iter().map(|directory| Path::new(directory).join(name));
    paths.into_iter().find(|path| path.is_file()).ok_or(NoProgram { name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_an_absolute_path_or_does_not_exist() {
        assert!(system("cat").unwrap().is_absolute());
        let error = system("no-such-program").unwrap_err().to_string();
        assert!(
            error.starts_with("cannot find the program no-such-program in /usr/bin, /bin"),
            "{error}"
        );
    }
}
