//! Debian's package client with sources and a state of its own. It can query any suite for kernels,
//! and does not touch this machine's configuration.

use anyhow::{bail, ensure, Context, Result};
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

/// Keys of all of Debian's suites; the package `debian-archive-keyring` installs them.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Lists younger than this are not downloaded again: a run of the tests queries many times, and a
/// new clone must reuse the lists. `--refresh` always downloads.
const FRESH: Duration = Duration::from_secs(7 * 24 * 3600);

/// Suites that are queried together.
pub struct Archive {
    /// The name for `--kernel`.
    pub name: &'static str,
    suites: &'static [&'static str],
    /// Suites on the mirror of security updates.
    security: &'static [&'static str],
    /// True if the newest kernel of all can be there.
    pub has_newest: bool,
}

/// Debian's archives with kernels, in the order in which a series is looked up.
pub const ARCHIVES: [Archive; 4] = [
    Archive {
        name: "bookworm",
        suites: &["bookworm", "bookworm-backports"],
        security: &["bookworm-security"],
        has_newest: false,
    },
    Archive {
        name: "trixie-backports",
        suites: &["trixie-backports"],
        security: &[],
        has_newest: true,
    },
    Archive { name: "sid", suites: &["sid"], security: &[], has_newest: true },
    Archive { name: "bullseye", suites: &["bullseye"], security: &[], has_newest: false },
];

/// The mirrors that this machine uses.
#[derive(Debug, PartialEq, Eq)]
struct Mirrors {
    main: String,
    security: Option<String>,
}

/// The package client for one archive.
pub struct Client {
    config: PathBuf,
}

impl Client {
    /// A client with fresh lists; `refresh`: downloads them in any case. All its files are in
    /// `dir`.
    pub fn open(archive: &Archive, dir: &Path, refresh: bool) -> Result<Client> {
        let client = Client { config: dir.join("apt.conf") };
        let dir = dir.to_str().context("the cache's path is not UTF-8")?;
        ensure!(
            Path::new(KEYRING).exists(),
            "no {KEYRING}, by which Debian's suites are checked: apt-get install \
             debian-archive-keyring"
        );
        for part in ["state/lists/partial", "cache/archives/partial", "sources"] {
            fs::create_dir_all(format!("{dir}/{part}"))?;
        }
        fs::write(format!("{dir}/status"), "")?;
        fs::write(&client.config, configuration(dir))?;
        let sources = sources(archive, &mirrors()?);
        let (path, stamp) = (format!("{dir}/sources/debian.sources"), format!("{dir}/asked"));
        let same = fs::read_to_string(&path).is_ok_and(|old| old == sources);
        let age = age_of(Path::new(&stamp)).filter(|_| same);
        if !refresh && age.is_some_and(|age| age < FRESH) {
            return Ok(client);
        }
        fs::write(path, sources)?;
        let updated = client.run("apt-get", ["-q", "update", "--error-on=any"], Path::new(dir));
        match (updated, age) {
            (Ok(_), _) => fs::write(stamp, "")?,
            // Without a network, the older lists are used.
            (Err(_), Some(age)) if !refresh => eprintln!(
                "xtask: Debian's {} cannot be asked: its packages as of {} days ago",
                archive.name,
                age.as_secs() / (24 * 3600)
            ),
            (Err(error), _) => {
                return Err(error.context(format!(
                    "cannot ask Debian's {} for its packages (a kernel that is here already needs \
                     no asking if its series is given, such as --kernel 6.1)",
                    archive.name
                )))
            }
        }
        Ok(client)
    }

    /// Names of all packages that match.
    pub fn names(&self, pattern: &str) -> Result<Vec<String>> {
        let found = self.run("apt-cache", ["search", "--names-only", pattern], Path::new("/"))?;
        let text = String::from_utf8_lossy(&found.stdout).into_owned();
        Ok(text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect())
    }

    /// SHA-256 of a package's file, in hexadecimal.
    pub fn sha256(&self, name: &str) -> Result<String> {
        let shown = self.run("apt-cache", ["show", "--no-all-versions", name], Path::new("/"))?;
        let text = String::from_utf8_lossy(&shown.stdout).into_owned();
        let sum = text.lines().find_map(|line| line.strip_prefix("SHA256: "));
        let sum = sum.filter(|sum| sum.len() == 64 && sum.bytes().all(|c| c.is_ascii_hexdigit()));
        Ok(sum.with_context(|| format!("Debian's lists have no SHA256 of {name}"))?.to_owned())
    }

    /// Downloads a package's file into a directory.
    pub fn download(&self, name: &str, dir: &Path) -> Result<()> {
        self.run("apt-get", ["-q", "download", name], dir).map(|_| ())
    }

    fn run<const N: usize>(&self, program: &str, args: [&str; N], dir: &Path) -> Result<Output> {
        let config = [OsStr::new("-c"), self.config.as_os_str()];
        run(Command::new(program).args(config).args(args).current_dir(dir))
    }
}

/// Runs a program to its end; its error output is the error.
pub fn run(command: &mut Command) -> Result<Output> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.env("LC_ALL", "C").output();
    let done = done.with_context(|| format!("running {name} (kernels are Debian's packages)"))?;
    if !done.status.success() {
        bail!("{name} failed ({}): {}", done.status, String::from_utf8_lossy(&done.stderr).trim());
    }
    Ok(done)
}

/// Read after the machine's own configuration: it keeps the proxies, but not the sources, nor the
/// actions after an update. The sandbox's user could not write into another user's cache.
fn configuration(dir: &str) -> String {
    format!(
        "#clear APT::Update::Post-Invoke;\n\
         #clear APT::Update::Post-Invoke-Success;\n\
         #clear Acquire::IndexTargets::deb::DEP-11;\n\
         APT::Sandbox::User \"root\";\n\
         Acquire::Languages \"none\";\n\
         Acquire::Retries \"3\";\n\
         Dir::State \"{dir}/state\";\n\
         Dir::State::status \"{dir}/status\";\n\
         Dir::Cache \"{dir}/cache\";\n\
         Dir::Cache::pkgcache \"pkgcache.bin\";\n\
         Dir::Cache::srcpkgcache \"\";\n\
         Dir::Etc::sourcelist \"/dev/null\";\n\
         Dir::Etc::sourceparts \"{dir}/sources\";\n"
    )
}

fn sources(archive: &Archive, mirrors: &Mirrors) -> String {
    let mut text = String::new();
    let mut add = |uri: &str, suites: &[&str]| {
        let suites = suites.join(" ");
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "Types: deb\nURIs: {uri}\nSuites: {suites}\nComponents: main\n\
             Architectures: amd64\nSigned-By: {KEYRING}\n"
        );
    };
    add(&mirrors.main, archive.suites);
    if let (Some(uri), false) = (&mirrors.security, archive.security.is_empty()) {
        add(uri, archive.security);
    }
    text
}

/// Debian's mirrors among this machine's sources.
fn mirrors() -> Result<Mirrors> {
    let format = ["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"];
    let told = run(Command::new("apt-get").args(format))?;
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    mirrors_among(&told).with_context(|| {
        format!(
            "no mirror of Debian among the sources of this machine's apt ({}): kernels come from \
             Debian's suites; add a source whose URI ends in /debian",
            told.split_whitespace().collect::<Vec<_>>().join(", ")
        )
    })
}

/// A mirror is recognized by its directory; a list of mirrors by its name.
fn mirrors_among(uris: &str) -> Option<Mirrors> {
    let named = |name: &str| {
        let is = |part: &str| part.strip_suffix(".list").unwrap_or(part) == name;
        uris.lines().find(|uri| uri.split('/').any(is)).map(str::to_owned)
    };
    Some(Mirrors { main: named("debian")?, security: named("debian-security") })
}

/// Age of the lists; `None`: never downloaded. A clock that was set back makes a list old.
fn age_of(stamp: &Path) -> Option<Duration> {
    let asked = fs::metadata(stamp).and_then(|stamp| stamp.modified()).ok()?;
    Some(asked.elapsed().unwrap_or(FRESH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirrors_are_this_machines_own() {
        let found = mirrors_among(
            "https://packages.example/apt/\nfile:/srv/debian/\nfile:/srv/debian-security/\n",
        );
        let expected = Mirrors {
            main: "file:/srv/debian/".into(),
            security: Some("file:/srv/debian-security/".into()),
        };
        assert_eq!(found, Some(expected));
        let listed = mirrors_among("mirror+file:/etc/apt/mirrors/debian.list/\n").unwrap();
        assert_eq!(listed.security, None);
        assert_eq!(mirrors_among("https://packages.example/ubuntu/\n"), None);
    }

    #[test]
    fn suites_of_security_updates_are_asked_where_they_are() {
        let mirrors = Mirrors { main: "file:/a".into(), security: Some("file:/b".into()) };
        let text = sources(&ARCHIVES[0], &mirrors);
        assert!(text.contains("URIs: file:/a\nSuites: bookworm bookworm-backports\n"), "{text}");
        assert!(text.contains("URIs: file:/b\nSuites: bookworm-security\n"), "{text}");
        assert!(!sources(&ARCHIVES[2], &mirrors).contains("file:/b"));
    }
}
