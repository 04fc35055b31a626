//! Bytes that a process read from disks and gave to disks to write (proc_pid_io(5)).

use super::why;
use crate::procfs::files::{open_at, read_record};
use exactop_model::frame::holdings::{DiskBytes, Refusal};
use rustix::fd::{AsFd, OwnedFd};

pub(super) fn read(dir: &OwnedFd, thread: Option<u32>) -> Result<DiskBytes, Refusal> {
    let path = thread.map_or("io".into(), |tid| format!("task/{tid}/io"));
    let fd = open_at(dir.as_fd(), path).map_err(why)?;
    let mut text = Vec::new();
    let n = read_record(fd.as_fd(), &mut text).map_err(why)?;
    parsed(&text[..n]).ok_or_else(|| Refusal::Because("its io file differs from proc(5)".into()))
}

/// The lines for block devices; `rchar` and `wchar` also count pipes and the page cache.
pub(super) fn parsed(text: &[u8]) -> Option<DiskBytes> {
    let field = |name: &[u8]| {
        let line = text.split(|&b| b == b'\n').find_map(|line| line.strip_prefix(name))?;
        std::str::from_utf8(line).ok()?.trim().parse().ok()
    };
    Some(DiskBytes { read: field(b"read_bytes:")?, written: field(b"write_bytes:")? })
}
