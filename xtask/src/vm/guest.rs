//! The command of the guest, and the files of this machine that it needs.

use anyhow::{ensure, Context, Result};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Directory of files without a place of their own.
const HOME: &str = "/test";

pub struct Guest {
    /// Files and directories: path here, path in the guest.
    pub files: Vec<(PathBuf, String)>,
    /// The program and its arguments, as the guest sees them.
    pub command: Vec<String>,
    /// `NAME=VALUE` pairs for the program.
    pub env: Vec<String>,
    /// True: systemd is the first program, instead of a script.
    pub systemd: bool,
    /// A random text that no program prints by accident: it marks the init's own lines.
    pub token: String,
}

impl Guest {
    /// Determines the files and the command line in the guest.
    pub fn new(command: &[String], files: &[String], env: &[String]) -> Result<Self> {
        let mut command = command.to_vec();
        let mut placed = files.iter().map(|file| place(file)).collect::<Result<Vec<_>>>()?;
        if command[0].contains('/') && !placed.iter().any(|(_, guest)| *guest == command[0]) {
            let (host, guest) = place(&command[0])?;
            command[0].clone_from(&guest);
            placed.push((host, guest));
        }
        for pair in env {
            ensure!(pair.contains('='), "--env {pair}: expected NAME=VALUE");
        }
        Ok(Self { files: placed, command, env: env.to_vec(), systemd: false, token: token() })
    }

    /// The command as a line for the guest's shell.
    pub fn shell_line(&self) -> String {
        let words = self.env.iter().chain(&self.command);
        let quoted: Vec<String> = words.map(|word| quote(word)).collect();
        format!("env {}", quoted.join(" "))
    }
}

/// Splits `HOST[:GUEST]`, and chooses the place of a file that names none.
fn place(file: &str) -> Result<(PathBuf, String)> {
    let (host, guest) = match file.rsplit_once(':') {
        Some((host, guest)) => (Path::new(host), Some(guest)),
        None => (Path::new(file), None),
    };
    ensure!(host.exists(), "{}: no such file on this machine", host.display());
    let guest = match guest {
        Some(guest) => {
            ensure!(guest.starts_with('/'), "{file}: the place in the guest must be absolute");
            guest.to_owned()
        }
        None => {
            let name = host.file_name().and_then(|name| name.to_str());
            let name = name.with_context(|| format!("{}: has no name", host.display()))?;
            format!("{HOME}/{name}")
        }
    };
    Ok((host.to_owned(), guest))
}

fn token() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("exactop-vm-{:x}-{:x}", since.as_nanos(), std::process::id())
}

fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_the_shell() {
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("it's"), r"'it'\''s'");
    }

    #[test]
    fn a_bare_name_is_the_guests_own() {
        let command = ["sh", "-c", "x"].map(String::from);
        let guest = Guest::new(&command, &[], &["A=1".into()]).unwrap();
        assert!(guest.files.is_empty());
        assert_eq!(guest.shell_line(), "env 'A=1' 'sh' '-c' 'x'");
    }

    #[test]
    fn a_file_goes_to_the_home_or_to_its_given_place() {
        assert_eq!(place("/proc/version").unwrap().1, "/test/version");
        assert_eq!(place("/proc/version:/etc/v").unwrap().1, "/etc/v");
        assert!(place("/proc/version:v").is_err());
        assert!(place("/no/such/file").is_err());
    }
}
