//! The files that the checks read, below two roots.

use crate::btf::{Members, Names};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A machine at two roots.
pub(super) struct Machine {
    proc: PathBuf,
    sys: PathBuf,
    /// Names in its BTF, or the reason why it cannot be read.
    pub types: Result<Names, String>,
    /// The requested fields that it has, or the reason why they are unknown.
    pub members: Result<Members<'static>, String>,
}

impl Machine {
    /// Reads the type information below these roots, and looks for `fields` as (structure, field).
    pub fn at(proc: &Path, sys: &Path, fields: &[(&'static str, &'static str)]) -> Machine {
        let path = sys.join("kernel/btf/vmlinux");
        let btf = fs::read(&path).map_err(|error| cannot_read(&path, &error));
        let foreign = || format!("{} is no BTF of this machine", path.display());
        let names: Vec<&str> = fields.iter().map(|(_, name)| *name).collect();
        let parsed = |btf: &Vec<u8>| Names::parse(btf, &names).ok_or_else(foreign);
        let types = btf.as_ref().map_err(String::clone).and_then(parsed);
        let newer = || format!("{} holds types of an unknown kind", path.display());
        let members = btf.and_then(|btf| Members::parse(&btf, fields).ok_or_else(newer));
        Machine { proc: proc.into(), sys: sys.into(), types, members }
    }

    /// The content of a file below /proc, or the reason why it cannot be read.
    pub fn proc(&self, path: &str) -> Result<String, String> {
        read(&self.proc.join(path))
    }

    /// The content of a file below /sys, or the reason why it cannot be read.
    pub fn sys(&self, path: &str) -> Result<String, String> {
        read(&self.sys.join(path))
    }

    /// True if the directory below /sys exists and is empty.
    pub fn sys_is_empty(&self, path: &str) -> bool {
        fs::read_dir(self.sys.join(path)).is_ok_and(|mut entries| entries.next().is_none())
    }

    /// Number of one of this process's namespaces: `ns/KIND` links to `KIND:[number]`
    /// (namespaces(7)).
    pub fn namespace(&self, kind: &str) -> Result<u64, String> {
        let path = self.proc.join("self/ns").join(kind);
        let link = fs::read_link(&path).map_err(|error| cannot_read(&path, &error))?;
        let text = link.to_string_lossy();
        let number = text.split_once(":[").and_then(|(_, n)| n.strip_suffix(']'));
        number
            .and_then(|n| n.parse().ok())
            .ok_or_else(|| format!("cannot read a number in {}: {text}", path.display()))
    }

    /// Effective capabilities as a bit mask (`CapEff` of /proc/self/status; capabilities(7)).
    pub fn effective_capabilities(&self) -> Result<u64, String> {
        let status = self.proc("self/status")?;
        let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.ok_or_else(|| "cannot find CapEff in /proc/self/status".into())
    }

    /// Kernel version: major and minor.
    pub fn version(&self) -> Result<((u32, u32), String), String> {
        let release = self.proc("sys/kernel/osrelease")?.trim().to_string();
        let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse().ok());
        match (numbers.next().flatten(), numbers.next().flatten()) {
            (Some(major), Some(minor)) => Ok(((major, minor), release)),
            _ => Err(format!("cannot find a version in kernel release '{release}'")),
        }
    }

    /// The content of /proc/self/mountinfo.
    pub fn mountinfo(&self) -> Result<String, String> {
        self.proc("self/mountinfo")
    }
}

fn read(path: &Path) -> Result<String, String> {
    match fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => Err(cannot_read(path, &error)),
    }
}

fn cannot_read(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("no {}", path.display()),
        _ => format!("cannot read {}: {error}", path.display()),
    }
}
