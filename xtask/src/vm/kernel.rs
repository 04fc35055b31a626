//! Debian's kernels: resolves a name, and downloads the image.
//!
//! A cached image is in a directory named by its package and by the first half of that package's
//! SHA-256 from Debian's signed lists: other content has another directory.

use super::apt::{self, Archive, Client, ARCHIVES};
use anyhow::{bail, ensure, Context, Result};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Both flavours have everything that the guest needs built in; no module is ever loaded.
const CLOUD: &str = "-cloud-amd64";
const REALTIME: &str = "-rt-amd64";

/// Names for `--kernel`, for errors.
const NAMES: &str =
    "a series such as 6.1, 6.12 or 5.10, a suite (bookworm, trixie-backports, sid, \
                     bullseye), or newest; each with -rt for the real-time flavour";

pub struct Kernel {
    /// Name of its Debian package.
    pub name: String,
    /// The image, ready for qemu.
    pub image: PathBuf,
}

#[derive(Debug, PartialEq, Eq)]
struct KernelSpec<'a> {
    which: KernelRelease<'a>,
    flavour: &'static str,
}

#[derive(Debug, PartialEq, Eq)]
enum KernelRelease<'a> {
    /// The newest of all suites.
    Newest,
    /// The newest of this suite.
    Suite(&'a str),
    /// The newest version with this prefix.
    Series(&'a str),
}

impl<'a> KernelSpec<'a> {
    fn parse(name: &'a str) -> Result<Self> {
        let (which, flavour) = match name.strip_suffix("-rt") {
            Some(which) => (which, REALTIME),
            None => (name, CLOUD),
        };
        let is_series = |c: char| c.is_ascii_digit() || c == '.';
        let which = match which {
            "newest" => KernelRelease::Newest,
            suite if ARCHIVES.iter().any(|archive| archive.name == suite) => {
                KernelRelease::Suite(suite)
            }
            series if series.starts_with(|c: char| c.is_ascii_digit()) => {
                ensure!(
                    series.chars().all(is_series),
                    "no kernel is called `{name}`: give {NAMES}"
                );
                KernelRelease::Series(series)
            }
            _ => bail!("no kernel is called `{name}`: give {NAMES}"),
        };
        Ok(KernelSpec { which, flavour })
    }

    /// The known prefix of the kernel's version.
    fn series(&self) -> &'a str {
        match self.which {
            KernelRelease::Series(series) => series,
            KernelRelease::Newest | KernelRelease::Suite(_) => "",
        }
    }

    fn may_be_in(&self, archive: &Archive) -> bool {
        match self.which {
            KernelRelease::Suite(suite) => suite == archive.name,
            KernelRelease::Newest => archive.has_newest,
            KernelRelease::Series(_) => true,
        }
    }

    /// The requested one among these packages.
    fn newest_of(&self, names: &[String]) -> Option<String> {
        newest(self.series(), self.flavour, names)
    }
}

/// Finds a kernel by its name. One of a series may be in `cache` already; for the newest kernel of
/// a suite, the suite is always queried.
pub fn find(name: &str, cache: &Path, refresh: bool) -> Result<Kernel> {
    let wanted = KernelSpec::parse(name)?;
    let kernels = cache.join("kernels");
    fs::create_dir_all(&kernels)?;
    // Two processes would download the same kernel. The lock ends with its owner, however that
    // ends.
    let lock = File::create(cache.join("kernels.lock"))?;
    lock.lock().context("waiting for another download")?;
    if !refresh && matches!(wanted.which, KernelRelease::Series(_)) {
        let here = here(&kernels)?;
        let names: Vec<String> = here.iter().map(|kernel| kernel.name.clone()).collect();
        if let Some(name) = wanted.newest_of(&names) {
            // The last one of a name is the youngest.
            if let Some(kernel) = here.into_iter().rev().find(|kernel| kernel.name == name) {
                return Ok(kernel);
            }
        }
    }
    let (name, client, names) = ask(&wanted, &cache.join("apt"), refresh)?;
    let package = with_image(&name, &names);
    let dir = kernels.join(format!("{name}_{}", &client.sha256(&package)?[..32]));
    let image = dir.join("vmlinuz");
    if !image.exists() {
        download(&package, &name, &client, &dir)?;
    }
    Ok(Kernel { name, image })
}

/// Kernels in the cache, the youngest last.
fn here(kernels: &Path) -> Result<Vec<Kernel>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(kernels)? {
        let entry = entry?;
        let image = entry.path().join("vmlinuz");
        let Ok(made) = fs::metadata(&image).and_then(|image| image.modified()) else { continue };
        let named = entry.file_name().into_string().unwrap_or_default();
        if let Some((name, _)) = named.rsplit_once('_') {
            found.push((made, Kernel { name: name.to_owned(), image }));
        }
    }
    found.sort_by_key(|(made, _)| *made);
    Ok(found.into_iter().map(|(_, kernel)| kernel).collect())
}

/// The package with the image: since 6.19 it is separate.
fn with_image(name: &str, names: &[String]) -> String {
    let own = name.replacen("linux-image-", "linux-binary-", 1);
    if names.contains(&own) {
        own
    } else {
        name.to_owned()
    }
}

/// Queries the suites. Returns the package, the client that has it, and all packages that the
/// client knows.
fn ask(
    wanted: &KernelSpec<'_>,
    apt: &Path,
    refresh: bool,
) -> Result<(String, Client, Vec<String>)> {
    let mut best: Option<(String, Client, Vec<String>)> = None;
    let mut asked = Vec::new();
    for archive in ARCHIVES.iter().filter(|archive| wanted.may_be_in(archive)) {
        let client = Client::open(archive, &apt.join(archive.name), refresh)?;
        let names = client.names(&format!("^linux-(image|binary)-[0-9].*{}$", wanted.flavour))?;
        asked.push(format!("{} ({} kernel packages)", archive.name, names.len()));
        let Some(name) = wanted.newest_of(&names) else { continue };
        let better = |(old, ..): &(String, Client, Vec<String>)| version(&name) > version(old);
        if best.as_ref().is_none_or(better) {
            best = Some((name, client, names));
        }
        if matches!(wanted.which, KernelRelease::Series(_)) {
            break;
        }
    }
    best.with_context(|| {
        format!(
            "no linux-image-{}*{} in Debian's {}: give {NAMES}",
            wanted.series(),
            wanted.flavour,
            asked.join(", ")
        )
    })
}

/// The package of `series` with the highest version; numbers are compared as numbers.
fn newest(series: &str, flavour: &str, names: &[String]) -> Option<String> {
    let of_series = |name: &&String| {
        name.strip_prefix("linux-image-")
            .and_then(|rest| rest.strip_suffix(flavour))
            .and_then(|rest| rest.strip_prefix(series))
            .is_some_and(|rest| {
                series.is_empty() || rest.is_empty() || rest.starts_with(['.', '-'])
            })
    };
    names.iter().filter(of_series).max_by_key(|name| version(name)).cloned()
}

/// The version's numbers. The package that only depends on the newest of a series has fewer.
fn version(name: &str) -> Vec<u64> {
    let name = name.strip_suffix(CLOUD).or(name.strip_suffix(REALTIME)).unwrap_or(name);
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

/// Extracts the image of the kernel `name` from a package into `done`.
fn download(package: &str, name: &str, client: &Client, done: &Path) -> Result<()> {
    let release = name.strip_prefix("linux-image-").unwrap_or(name);
    // An interrupted download starts again; the lock excludes others.
    let dir = done.with_file_name("part");
    if dir.exists() {
        fs::remove_dir_all(&dir)?;
    }
    fs::create_dir_all(dir.join("package"))?;
    eprintln!("xtask: downloading {package}");
    client.download(package, &dir.join("package"))?;
    let root = dir.join("root");
    for entry in fs::read_dir(dir.join("package"))? {
        apt::run(Command::new("dpkg").arg("-x").arg(entry?.path()).arg(&root))?;
    }
    let places = [format!("boot/vmlinuz-{release}"), format!("usr/lib/modules/{release}/vmlinuz")];
    let image = places.iter().map(|place| root.join(place)).find(|path| path.exists());
    let image = image.with_context(|| {
        format!(
            "no image in {package}: looked for {} (Debian may have moved it again)",
            places.join(" and ")
        )
    })?;
    // Moved last, so that an interrupted download never counts as a kernel.
    fs::create_dir_all(done)?;
    fs::rename(image, done.join("vmlinuz"))?;
    fs::remove_dir_all(dir)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        ["6.1.0-9", "6.1.0-10", "6.12", "6.12.9+deb12", "6.12.107+deb12"]
            .iter()
            .flat_map(|version| {
                [CLOUD, REALTIME].map(|flavour| format!("linux-image-{version}{flavour}"))
            })
            .collect()
    }

    #[test]
    fn newest_compares_numbers_as_numbers() {
        let newest = |name| KernelSpec::parse(name).unwrap().newest_of(&names());
        assert_eq!(newest("6.1").as_deref(), Some("linux-image-6.1.0-10-cloud-amd64"));
        assert_eq!(newest("6.12").as_deref(), Some("linux-image-6.12.107+deb12-cloud-amd64"));
        assert_eq!(newest("6.12-rt").as_deref(), Some("linux-image-6.12.107+deb12-rt-amd64"));
        assert_eq!(newest("newest").as_deref(), Some("linux-image-6.12.107+deb12-cloud-amd64"));
    }

    #[test]
    fn the_image_may_be_in_a_package_of_its_own() {
        let names = ["linux-image-7.3.4-cloud-amd64", "linux-binary-7.3.4-cloud-amd64"];
        let [name, own] = names;
        assert_eq!(with_image(name, &names.map(String::from)), own);
        assert_eq!(with_image(name, &[name.to_owned()]), name);
    }

    #[test]
    fn a_cached_kernel_has_the_name_of_its_directory() {
        let dir = tempfile::tempdir().unwrap();
        for kept in
            ["linux-image-6.1.0-9-cloud-amd64_ab", "part", "linux-image-6.1.0-8-cloud-amd64"]
        {
            fs::create_dir(dir.path().join(kept)).unwrap();
            fs::write(dir.path().join(kept).join("vmlinuz"), "").unwrap();
        }
        fs::create_dir(dir.path().join("linux-image-6.1.0-7-cloud-amd64_cd")).unwrap();
        let found = here(dir.path()).unwrap();
        let found: Vec<&str> = found.iter().map(|kernel| kernel.name.as_str()).collect();
        assert_eq!(found, ["linux-image-6.1.0-9-cloud-amd64"]);
    }

    #[test]
    fn a_series_is_not_a_prefix_of_another() {
        let newest = |name| KernelSpec::parse(name).unwrap().newest_of(&names());
        assert_eq!(newest("6.2"), None);
        assert_eq!(newest("6.12.1"), None);
    }

    #[test]
    fn a_kernel_is_asked_for_by_series_suite_or_age() {
        let wanted =
            |name| KernelSpec::parse(name).ok().map(|wanted| (wanted.which, wanted.flavour));
        assert_eq!(wanted("6.1-rt"), Some((KernelRelease::Series("6.1"), REALTIME)));
        assert_eq!(
            wanted("trixie-backports"),
            Some((KernelRelease::Suite("trixie-backports"), CLOUD))
        );
        assert_eq!(wanted("sid-rt"), Some((KernelRelease::Suite("sid"), REALTIME)));
        assert_eq!(wanted("newest"), Some((KernelRelease::Newest, CLOUD)));
        for nothing in ["", "-rt", "6.x", ".", "oldest", "../6.1", "Newest"] {
            assert_eq!(wanted(nothing), None, "{nothing}");
        }
    }
}
