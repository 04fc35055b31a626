//! The programs we are measured beside, and where Debian has them.

use super::running::first_line;
use std::path::PathBuf;

/// A program of someone else.
struct Peer {
    program: &'static str,
    package: &'static str,
    version: &'static [&'static str],
}

const PEERS: [Peer; 7] = [
    Peer { program: "top", package: "procps", version: &["-V"] },
    Peer { program: "htop", package: "htop", version: &["--version"] },
    Peer { program: "atop", package: "atop", version: &["-V"] },
    Peer { program: "pidstat", package: "sysstat", version: &["-V"] },
    Peer { program: "perf", package: "linux-perf", version: &["--version"] },
    Peer { program: "strace", package: "strace", version: &["--version"] },
    Peer { program: "tmux", package: "tmux", version: &["-V"] },
];

/// Where a program is; `None` if it is not installed.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let fallback = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let mut files = std::env::split_paths(&path).chain(fallback).map(|dir| dir.join(program));
    files.find(|file| file.is_file())
}

/// Says what is missing and how to get it.
pub fn report_missing() {
    let missing: Vec<&str> =
        PEERS.iter().filter(|p| find(p.program).is_none()).map(|p| p.package).collect();
    if !missing.is_empty() {
        eprintln!(
            "bench: left out, because not installed: {0}; as root: apt-get install \
             --no-install-recommends -y {0}",
            missing.join(" ")
        );
    }
}

/// What each says it is.
pub fn versions() -> impl Iterator<Item = (&'static str, String)> {
    PEERS.iter().map(|peer| {
        let version = match find(peer.program) {
            Some(program) => first_line(&program.to_string_lossy(), peer.version),
            None => "missing".into(),
        };
        (peer.program, version)
    })
}
