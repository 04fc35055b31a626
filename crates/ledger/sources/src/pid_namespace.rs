//! PID namespaces: by which numbers those in one call their tasks.
//!
//! The kernel answers that of a namespace's file (ioctl_nsfs(2), since Linux 6.11), without any right to
//! trace whoever is asked about. A link in `/proc/PID/ns` would take one, which whoever is fenced in by
//! landlock has of nobody.

use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::fs::{fstat, fstatfs, Mode, OFlags, CWD};
use rustix::io::Errno;
use std::io;

/// NS_GET_PARENT, NS_GET_NSTYPE, NS_GET_PID_IN_PIDNS, NS_GET_TGID_IN_PIDNS of linux/nsfs.h.
const GET_PARENT: u64 = 0xb702;
const GET_TYPE: u64 = 0xb703;
const PID_IN: u64 = 0x8004_b708;
const TGID_IN: u64 = 0x8004_b709;

/// NSFS_MAGIC of linux/magic.h.
const FILES: u64 = 0x6e73_6673;

/// A PID namespace, by its file.
#[derive(Debug)]
pub struct PidNamespace {
    file: OwnedFd,
    id: (u64, u64),
}

/// The file of the caller's own one, to be given to somebody who asks for numbers in it.
///
/// # Errors
/// There is no /proc, or not of this namespace: then the caller has more than one number there.
pub fn own() -> io::Result<OwnedFd> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    if numbers.is_none_or(|numbers| numbers.split_whitespace().count() != 1) {
        return Err(io::Error::other("/proc is of another PID namespace"));
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(CWD, "/proc/self/ns/pid", flags, Mode::empty())?)
}

impl PidNamespace {
    /// The one that somebody's file is of; `None`: it is something else.
    pub fn of(file: OwnedFd) -> Option<PidNamespace> {
        if !looks_like_one(&file) {
            return None;
        }
        // Of another kind of file the same request may mean anything.
        let is_namespace = fstatfs(&file).is_ok_and(|of| of.f_type as u64 == FILES);
        let kind = is_namespace.then(|| ask(&file, GET_TYPE, 0).ok()).flatten()?;
        let status = fstat(&file).ok()?;
        let id = (status.st_dev, status.st_ino);
        (kind == libc::CLONE_NEWPID).then_some(PidNamespace { file, id })
    }

    /// Which one it is: the same for all files of it, as long as one of them is open.
    pub fn id(&self) -> (u64, u64) {
        self.id
    }

    /// How many levels it is below the caller's own.
    ///
    /// # Errors
    /// It is neither that nor below it.
    pub fn depth(&self) -> io::Result<usize> {
        let (mut above, mut depth) = (None::<OwnedFd>, 0);
        loop {
            match ask(above.as_ref().unwrap_or(&self.file), GET_PARENT, 0) {
                // SAFETY: it was made for this call, and nobody else has it.
                Ok(file) => above = Some(unsafe { OwnedFd::from_raw_fd(file) }),
                // What is above the caller's own is not shown.
                Err(Errno::PERM) => return Ok(depth),
                Err(errno) => return Err(errno.into()),
            }
            depth += 1;
        }
    }

    /// The number in it of a task that the caller calls `tid`; `None`: it is not in it, or nowhere.
    ///
    /// # Errors
    /// The kernel does not tell (before Linux 6.11).
    pub fn number(&self, tid: u32) -> io::Result<Option<u32>> {
        self.numbered(PID_IN, tid)
    }

    /// That of its process.
    ///
    /// # Errors
    /// As [`number`](Self::number).
    pub fn process_number(&self, tid: u32) -> io::Result<Option<u32>> {
        self.numbered(TGID_IN, tid)
    }

    fn numbered(&self, request: u64, tid: u32) -> io::Result<Option<u32>> {
        match ask(&self.file, request, tid) {
            Ok(number) => Ok(u32::try_from(number).ok()),
            Err(Errno::SRCH) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// Whether somebody's file may be a PID namespace's, by its name, for which nobody is asked: any other request,
/// and closing it, may wait for whoever serves that file (fuse(4)), for ever.
pub fn looks_like_one(file: &OwnedFd) -> bool {
    let name = rustix::fs::readlink(format!("/proc/self/fd/{}", file.as_raw_fd()), Vec::new());
    // The path of a file that has one begins with a slash.
    name.is_ok_and(|name| name.as_bytes().starts_with(b"pid:["))
}

/// The process that connected at the other end of a socket, told from those who may have its number
/// later; `None`: before Linux 6.5 the kernel does not give it.
///
/// # Errors
/// What the kernel says, for example that it has ended.
pub fn peer(socket: BorrowedFd) -> io::Result<Option<OwnedFd>> {
    /// SO_PEERPIDFD of asm-generic/socket.h.
    const PEER_PIDFD: i32 = 77;
    let mut file: i32 = -1;
    let mut length = size_of::<i32>() as libc::socklen_t;
    let (number, place) = (socket.as_raw_fd(), std::ptr::from_mut(&mut file).cast());
    // SAFETY: the kernel writes at most `length` bytes to `file`, which is as long.
    let told =
        unsafe { libc::getsockopt(number, libc::SOL_SOCKET, PEER_PIDFD, place, &mut length) };
    match (told, io::Error::last_os_error()) {
        // SAFETY: it was made for this call, and nobody else has it.
        (0, _) if file >= 0 => Ok(Some(unsafe { OwnedFd::from_raw_fd(file) })),
        (0, _) => Ok(None),
        (_, error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => Ok(None),
        (_, error) => Err(error),
    }
}

fn ask(file: impl AsFd, request: u64, argument: u32) -> Result<i32, Errno> {
    let file = file.as_fd().as_raw_fd();
    // SAFETY: the file is open and a namespace's, whose requests take and give a number: no memory of ours
    // is touched.
    let answer = unsafe { libc::ioctl(file, request, libc::c_ulong::from(argument)) };
    match answer {
        -1 => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)),
        number => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_ones_own_everyone_has_the_number_that_they_have() {
        let namespace = PidNamespace::of(own().unwrap()).unwrap();
        let again = PidNamespace::of(own().unwrap()).unwrap();
        assert_eq!(namespace.id(), again.id());
        assert_eq!(namespace.depth().unwrap(), 0);
        let me = std::process::id();
        match namespace.number(me) {
            Ok(number) => assert_eq!(number, Some(me)),
            Err(error) => return eprintln!("left out: before Linux 6.11 none is told: {error}"),
        }
        assert_eq!(namespace.process_number(me).unwrap(), Some(me));
        assert_eq!(namespace.number(i32::MAX as u32).unwrap(), None);
    }

    #[test]
    fn what_is_no_pid_namespace_is_none() {
        let file = |path: &str| OwnedFd::from(std::fs::File::open(path).unwrap());
        for path in ["/dev/null", "/proc/self/ns/mnt", "/proc/self/stat"] {
            assert!(PidNamespace::of(file(path)).is_none(), "{path}");
        }
    }
}
