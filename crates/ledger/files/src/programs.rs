//! Programs of the system that are started by us, perhaps as root: never what PATH happens to name.

use std::path::{Path, PathBuf};

/// Where systems keep them; the last is NixOS's.
const DIRECTORIES: [&str; 5] =
    ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/run/current-system/sw/bin"];

/// There is no such program.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("no {name} in {}", DIRECTORIES.join(", "))]
pub struct NoProgram {
    name: &'static str,
}

/// The absolute path of a program of the system.
///
/// # Errors
/// [`NoProgram`].
pub fn system(name: &'static str) -> Result<PathBuf, NoProgram> {
    let paths = DIRECTORIES.iter().map(|directory| Path::new(directory).join(name));
    paths.into_iter().find(|path| path.is_file()).ok_or(NoProgram { name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_have_absolute_paths_or_none() {
        assert!(system("cat").unwrap().is_absolute());
        let error = system("no-such-program").unwrap_err().to_string();
        assert!(error.starts_with("no no-such-program in /usr/bin, /bin"), "{error}");
    }
}
