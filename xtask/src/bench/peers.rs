//! The programs that exactop is compared with, and their Debian packages.

use super::running::first_line;
use std::path::PathBuf;

/// A program of another project.
struct Peer {
    program: &'static str,
    /// Debian's package; `None`: a crate of the same name.
    package: Option<&'static str>,
    version: &'static [&'static str],
}

const PEERS: [Peer; 7] = [
    Peer { program: "top", package: Some("procps"), version: &["-V"] },
    Peer { program: "htop", package: Some("htop"), version: &["--version"] },
    Peer { program: "atop", package: Some("atop"), version: &["-V"] },
    Peer { program: "pidstat", package: Some("sysstat"), version: &["-V"] },
    Peer { program: "perf", package: Some("linux-perf"), version: &["--version"] },
    Peer { program: "tmux", package: Some("tmux"), version: &["-V"] },
    Peer { program: "below", package: None, version: &["help"] },
];

/// Path of a program; `None`: not installed.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let fallback = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let mut files = std::env::split_paths(&path).chain(fallback).map(|dir| dir.join(program));
    files.find(|file| file.is_file())
}

/// Prints the missing programs and how to get them.
pub fn report_missing() {
    let missing = || PEERS.iter().filter(|peer| find(peer.program).is_none());
    for peer in missing().filter(|peer| peer.package.is_none()) {
        eprintln!("bench: left out, because not installed: {0}: cargo install {0}", peer.program);
    }
    let missing: Vec<&str> = missing().filter_map(|peer| peer.package).collect();
    if !missing.is_empty() {
        eprintln!(
            "bench: left out, because not installed: {0}; as root: apt-get install \
             --no-install-recommends -y {0}",
            missing.join(" ")
        );
    }
}

/// The versions that the programs print.
pub fn versions() -> impl Iterator<Item = (&'static str, String)> {
    PEERS.iter().map(|peer| {
        let version = match find(peer.program) {
            Some(program) => first_line(&program.to_string_lossy(), peer.version),
            None => "missing".into(),
        };
        (peer.program, version)
    })
}

/// The names of all, in the order of the page.
pub fn names() -> impl Iterator<Item = &'static str> {
    PEERS.iter().map(|peer| peer.program)
}
