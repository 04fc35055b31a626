//! Limits: descriptors, memory, stacks, and control groups that kill.

use super::output::is_an_answer;
use super::{command, Line};
use anyhow::Result;
use rustix::process::{setrlimit, Resource, Rlimit};
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const WINDOWS: &[&str] = &["--json", "-n", "2", "-d", "0.3"];

/// Each limit, with the sources that fall back.
pub fn all(exactop: &Path) -> Result<Vec<Line>> {
    Ok(vec![descriptors(exactop)?, memory(exactop)?, group(exactop)?])
}

fn descriptors(exactop: &Path) -> Result<Line> {
    let mut line = Line::new("RLIMIT_NOFILE of 0 to 256: windows, or one line that says why");
    for limit in [0, 1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 128, 256]
    {
        line.count(limited(exactop, Resource::Nofile, limit)?);
    }
    Ok(line)
}

fn memory(exactop: &Path) -> Result<Line> {
    let mut line = Line::new("RLIMIT_AS of 64 MiB to 1 GiB, RLIMIT_STACK of 128 KiB to 1 MiB");
    for mib in [64, 96, 128, 192, 256, 384, 512, 1024] {
        line.count(limited(exactop, Resource::As, mib << 20)?);
    }
    for kib in [128, 192, 256, 512, 1024] {
        line.count(limited(exactop, Resource::Stack, kib << 10)?);
    }
    Ok(line)
}

fn limited(exactop: &Path, resource: Resource, limit: u64) -> Result<Result<(), String>> {
    let mut command = command(exactop, WINDOWS);
    let set = move || -> io::Result<()> {
        let limit = Rlimit { current: Some(limit), maximum: Some(limit) };
        Ok(setrlimit(resource, limit)?)
    };
    // SAFETY: one system call between fork and exec.
    unsafe { command.pre_exec(set) };
    Ok(outcome(&mut command).map_err(|why| format!("{resource:?} {limit}: {why}")))
}

/// A limit that prevents even the start of the program is not exactop's failure.
fn outcome(command: &mut Command) -> Result<(), String> {
    match command.output() {
        // The loader failed: a static program has none.
        Ok(output) if output.status.code() == Some(127) => Ok(()),
        Ok(output) => is_an_answer(&output),
        Err(_) => Ok(()),
    }
}

/// A group with the memory controller, removed at the end.
struct Group {
    directory: PathBuf,
    limit: &'static str,
}

impl Group {
    fn new() -> Option<Group> {
        let name = format!("exactop-hostile-{}", std::process::id());
        let v1 = Path::new("/sys/fs/cgroup/memory");
        let (above, limit) = match v1.is_dir() {
            true => (v1, "memory.limit_in_bytes"),
            false => (Path::new("/sys/fs/cgroup"), "memory.max"),
        };
        let directory = above.join(name);
        fs::create_dir(&directory).ok()?;
        let group = Group { directory, limit };
        group.directory.join(limit).exists().then_some(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.directory);
    }
}

fn group(exactop: &Path) -> Result<Line> {
    let mut line = Line::new("a memory control group of 12 to 96 MiB");
    let Some(group) = Group::new() else {
        line.notes.push("left out: there is no memory controller here".into());
        return Ok(line);
    };
    for mib in [12, 16, 20, 24, 28, 32, 36, 40, 48, 64, 96] {
        fs::write(group.directory.join(group.limit), (mib << 20).to_string())?;
        let mut command = command(exactop, WINDOWS);
        let door = group.directory.join("cgroup.procs");
        // SAFETY: opens, writes and closes between fork and exec; this program has one thread.
        unsafe { command.pre_exec(move || fs::write(&door, "0")) };
        line.count(outcome(&mut command).map_err(|why| format!("{mib} MiB: {why}")));
    }
    Ok(line)
}
