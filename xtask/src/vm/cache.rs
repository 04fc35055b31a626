//! The cache of kernels and of Debian's package lists, outside the clone, so that another clone
//! downloads nothing again. `scripts/cache.sh` knows the directory, and checks that no other user
//! can write to it.

use anyhow::{ensure, Context, Result};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The directory; it exists.
pub fn dir() -> Result<PathBuf> {
    said(&mut script())
}

fn script() -> Command {
    let mut script = Command::new(crate::workspace().join("scripts/cache.sh"));
    script.arg("vm").stderr(Stdio::inherit());
    script
}

fn said(script: &mut Command) -> Result<PathBuf> {
    let done = script.output().context("running scripts/cache.sh")?;
    ensure!(done.status.success(), "scripts/cache.sh failed ({})", done.status);
    Ok(PathBuf::from(OsStr::from_bytes(done.stdout.trim_ascii_end())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{symlink, PermissionsExt};
    use std::path::Path;

    /// The script's directory for this request.
    fn chosen(wanted: &Path, target: &Path) -> PathBuf {
        said(script().env("EXACTOP_CACHE", wanted).env("CARGO_TARGET_DIR", target)).unwrap()
    }

    #[test]
    fn the_cache_is_made_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let wanted = dir.join("new/cache");
        let both = std::thread::scope(|scope| {
            [0, 1].map(|_| scope.spawn(|| chosen(&wanted, &dir))).map(|one| one.join().unwrap())
        });
        assert_eq!(both, [wanted.join("vm"), wanted.join("vm")]);
        let mode = fs::metadata(&wanted).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o700);
    }

    #[test]
    fn a_cache_that_others_could_write_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let instead = dir.join("cache/vm");
        let [real, link, open, shared] =
            ["real", "link", "open", "shared"].map(|name| dir.join(name));
        for made in [&real, &open, &shared] {
            fs::create_dir(made).unwrap();
        }
        let set =
            |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        set(&real, 0o700);
        assert_eq!(chosen(&real, &dir), real.join("vm"));
        symlink(&real, &link).unwrap();
        assert_eq!(chosen(&link, &dir), instead);
        set(&open, 0o770);
        assert_eq!(chosen(&open, &dir), instead);
        // A user who may rename files in a directory can replace the cache.
        set(&shared, 0o777);
        assert_eq!(chosen(&shared.join("cache"), &dir), instead);
        set(&shared, 0o1777);
        assert_eq!(chosen(&shared.join("cache"), &dir), shared.join("cache/vm"));
        assert_eq!(chosen(Path::new("not/absolute"), &dir), instead);
    }
}
