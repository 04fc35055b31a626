//! Debian's kernels: which one is the newest of a series, and how to get its image.

use anyhow::{bail, ensure, Context, Result};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The cloud flavour: everything the guest needs is built in, no module is ever loaded.
const FLAVOUR: &str = "cloud-amd64";

/// A kernel that can be booted.
pub struct Kernel {
    /// The name of its Debian package.
    pub name: String,
    /// The image, ready for qemu.
    pub image: PathBuf,
}

/// Finds a kernel of `series` in `cache`, or downloads the newest that apt knows.
pub fn find(series: &str, cache: &Path, refresh: bool) -> Result<Kernel> {
    ensure!(
        !series.is_empty() && series.chars().all(|c| c.is_ascii_digit() || c == '.'),
        "`{series}` is not a kernel series: give one such as 6.1, or all"
    );
    fs::create_dir_all(cache)?;
    if !refresh {
        if let Some(kernel) = cached(series, cache)? {
            return Ok(kernel);
        }
    }
    let name = newest(series, &available()?).with_context(|| {
        format!(
            "apt knows no linux-image-{series}.*-{FLAVOUR}: run `apt-get update`, or add the \
             Debian release that has it to apt's sources"
        )
    })?;
    download(&name, cache)
}

fn cached(series: &str, cache: &Path) -> Result<Option<Kernel>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(cache)? {
        let entry = entry?;
        if entry.path().join("vmlinuz").exists() {
            names.extend(entry.file_name().into_string());
        }
    }
    Ok(newest(series, &names).map(|name| Kernel { image: image_path(cache, &name), name }))
}

fn image_path(cache: &Path, name: &str) -> PathBuf {
    cache.join(name).join("vmlinuz")
}

fn available() -> Result<Vec<String>> {
    let pattern = format!("^linux-image-[0-9].*-{FLAVOUR}$");
    let found = Command::new("apt-cache")
        .args(["search", "--names-only", &pattern])
        .output()
        .context("running apt-cache (the kernels come from Debian's packages)")?;
    ensure!(found.status.success(), "apt-cache search failed ({})", found.status);
    let text = String::from_utf8_lossy(&found.stdout);
    Ok(text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect())
}

/// The package of `series` with the highest version, numbers compared as numbers.
fn newest(series: &str, names: &[String]) -> Option<String> {
    let of_series = |name: &&String| {
        name.strip_prefix("linux-image-")
            .and_then(|rest| rest.strip_suffix(FLAVOUR))
            .and_then(|rest| rest.strip_prefix(series))
            .is_some_and(|rest| rest.starts_with(['.', '-']))
    };
    names.iter().filter(of_series).max_by_key(|name| numbers(name)).cloned()
}

fn numbers(name: &str) -> Vec<u64> {
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

fn download(name: &str, cache: &Path) -> Result<Kernel> {
    eprintln!("xtask: downloading {name}");
    let dir = cache.join(format!("{name}.part"));
    if dir.exists() {
        fs::remove_dir_all(&dir)?;
    }
    fs::create_dir_all(&dir)?;
    // The sandbox user of apt can't write into a build directory, and need not.
    in_dir(&dir, "apt-get", ["-q", "-o", "APT::Sandbox::User=root", "download", name])?;
    let package = file_in(&dir, |file| file.ends_with(".deb"))?;
    in_dir(&dir, "dpkg", [OsStr::new("-x"), package.as_os_str(), OsStr::new("root")])?;
    let image = file_in(&dir.join("root/boot"), |file| file.starts_with("vmlinuz-"))?;
    fs::rename(image, dir.join("vmlinuz"))?;
    let config = file_in(&dir.join("root/boot"), |file| file.starts_with("config-"))?;
    fs::rename(config, dir.join("config"))?;
    fs::remove_dir_all(dir.join("root"))?;
    fs::remove_file(package)?;
    // Renamed last, so that a download cut short is never taken for a kernel.
    let done = cache.join(name);
    if done.exists() {
        fs::remove_dir_all(&done)?;
    }
    fs::rename(&dir, &done)?;
    Ok(Kernel { name: name.to_owned(), image: image_path(cache, name) })
}

fn in_dir<S: AsRef<OsStr>>(
    dir: &Path,
    program: &str,
    args: impl IntoIterator<Item = S>,
) -> Result<()> {
    let run = Command::new(program).args(args).current_dir(dir).output();
    let run = run.with_context(|| format!("running {program}"))?;
    if !run.status.success() {
        bail!("{program} failed ({}): {}", run.status, String::from_utf8_lossy(&run.stderr).trim());
    }
    Ok(())
}

fn file_in(dir: &Path, wanted: impl Fn(&str) -> bool) -> Result<PathBuf> {
    let entries = fs::read_dir(dir).with_context(|| format!("reading {}", dir.display()))?;
    for entry in entries {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(&wanted) {
            return Ok(fs::canonicalize(entry.path())?);
        }
    }
    bail!("the package has not the expected file in {}", dir.display())
}

#[cfg(test)]
mod tests {
    use super::newest;

    fn names() -> Vec<String> {
        ["6.1.0-9", "6.1.0-10", "6.12.9+deb12", "6.12.107+deb12"]
            .map(|version| format!("linux-image-{version}-cloud-amd64"))
            .to_vec()
    }

    #[test]
    fn newest_compares_numbers_as_numbers() {
        let newest = |series| newest(series, &names());
        assert_eq!(newest("6.1").as_deref(), Some("linux-image-6.1.0-10-cloud-amd64"));
        assert_eq!(newest("6.12").as_deref(), Some("linux-image-6.12.107+deb12-cloud-amd64"));
    }

    #[test]
    fn a_series_is_not_a_prefix_of_another() {
        assert_eq!(newest("6.2", &names()), None);
        assert_eq!(newest("6.12.1", &names()), None);
    }
}
