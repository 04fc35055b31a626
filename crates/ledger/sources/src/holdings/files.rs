//! Open files of a process: /proc/PID/fd (paths) and fdinfo (positions and flags).

use super::why;
use crate::procfs::files::{open_at, read_record};
use crate::procfs::ticks::number;
use exactop_model::frame::holdings::{File, Files, OpenFileKind, Refusal};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{readlinkat, statx, AtFlags, Dir, FileType, StatxFlags};
use rustix::io::Errno;

/// Most files to read; each takes a few system calls.
const MOST_FILES: usize = 4096;
/// Most bytes of paths.
const MOST_BYTES: usize = 512 * 1024;

pub(super) fn read(dir: &OwnedFd) -> Result<Files, Refusal> {
    let numbers = numbers(open_at(dir.as_fd(), "fd").map_err(why)?)?;
    let mut found = Files::default();
    let mut bytes = 0;
    for (at, &number) in numbers.iter().enumerate() {
        if at == MOST_FILES || bytes >= MOST_BYTES {
            found.left_out = (numbers.len() - at) as u64;
            break;
        }
        // The process may have closed it meanwhile.
        if let Some(file) = file(dir.as_fd(), number)? {
            bytes += file.name.len();
            found.files.push(file);
        }
    }
    Ok(found)
}

fn numbers(listing: OwnedFd) -> Result<Vec<u32>, Refusal> {
    let entries = Dir::new(listing).map_err(why)?;
    let mut numbers = Vec::new();
    for entry in entries {
        let entry = entry.map_err(why)?;
        numbers.extend(number::<u32>(entry.file_name().to_bytes()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// One open file; `None` if it is no longer open.
fn file(dir: BorrowedFd<'_>, number: u32) -> Result<Option<File>, Refusal> {
    let link = format!("fd/{number}");
    let name = match readlinkat(dir, &*link, Vec::new()) {
        Ok(name) => name.into_bytes(),
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(why(errno)),
    };
    let (kind, size) = match called(&name) {
        Some(kind) => (kind, None),
        None => looked_at(dir, &link),
    };
    let (position, flags) = info(dir, number).unwrap_or_default();
    Ok(Some(File { number, kind, name, size, position, flags }))
}

/// Type of a file by the kernel's name; `None` if the name is a path.
pub(super) fn called(name: &[u8]) -> Option<OpenFileKind> {
    match name {
        [b'/', ..] => None,
        _ if name.starts_with(b"socket:[") => Some(OpenFileKind::Socket),
        _ if name.starts_with(b"pipe:[") => Some(OpenFileKind::Pipe),
        _ => Some(OpenFileKind::Anonymous),
    }
}

/// Type and size of the file, without a request to a network file system.
fn looked_at(dir: BorrowedFd<'_>, link: &str) -> (OpenFileKind, Option<u64>) {
    let wanted = StatxFlags::TYPE | StatxFlags::SIZE;
    let Ok(status) = statx(dir, link, AtFlags::STATX_DONT_SYNC, wanted) else {
        return (OpenFileKind::Unknown, None);
    };
    let kind = match FileType::from_raw_mode(status.stx_mode.into()) {
        FileType::RegularFile => OpenFileKind::Regular,
        FileType::Directory => OpenFileKind::Directory,
        FileType::CharacterDevice => OpenFileKind::CharacterDevice,
        FileType::BlockDevice => OpenFileKind::BlockDevice,
        FileType::Fifo => OpenFileKind::Pipe,
        FileType::Socket => OpenFileKind::Socket,
        FileType::Symlink => OpenFileKind::Link,
        FileType::Unknown => OpenFileKind::Unknown,
    };
    (kind, (kind == OpenFileKind::Regular).then_some(status.stx_size))
}

/// Position and flags.
fn info(dir: BorrowedFd<'_>, number: u32) -> Option<(Option<u64>, Option<u32>)> {
    let fd = open_at(dir, format!("fdinfo/{number}")).ok()?;
    let mut text = Vec::new();
    let n = read_record(fd.as_fd(), &mut text).ok()?;
    Some(parsed(&text[..n]))
}

/// `pos:` is decimal, `flags:` octal (proc_pid_fdinfo(5)).
pub(super) fn parsed(text: &[u8]) -> (Option<u64>, Option<u32>) {
    let field = |name: &[u8]| {
        let line = text.split(|&b| b == b'\n').find_map(|line| line.strip_prefix(name))?;
        std::str::from_utf8(line).ok().map(str::trim)
    };
    let position = field(b"pos:").and_then(|text| text.parse().ok());
    let flags = field(b"flags:").and_then(|text| u32::from_str_radix(text, 8).ok());
    (position, flags)
}
