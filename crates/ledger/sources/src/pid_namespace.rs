//! PID namespaces: translates task numbers between namespaces.
//!
//! The kernel answers requests on a namespace's file (ioctl_nsfs(2), since Linux 6.11) without
//! ptrace rights. A link in `/proc/PID/ns` would need those rights, which a process sandboxed by
//! landlock never has.

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

/// A PID namespace, by its open file.
#[derive(Debug)]
pub struct PidNamespace {
    file: OwnedFd,
    id: (u64, u64),
}

/// Opens the file of the caller's own namespace, to give it to a daemon that translates numbers.
///
/// # Errors
/// /proc is not mounted or belongs to another PID namespace; in that case the caller has more than
/// one number there.
pub fn own() -> io::Result<OwnedFd> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    if numbers.is_none_or(|numbers| numbers.split_whitespace().count() != 1) {
        return Err(io::Error::other(
            "/proc belongs to another PID namespace: mount the /proc of this one",
        ));
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(CWD, "/proc/self/ns/pid", flags, Mode::empty())?)
}

impl PidNamespace {
    /// The namespace of a received file; `None` if the file is no PID namespace.
    pub fn from_file(file: OwnedFd) -> Option<PidNamespace> {
        if !looks_like_one(&file) {
            return None;
        }
        // The request below has another meaning on other file systems.
        let is_namespace = fstatfs(&file).is_ok_and(|of| of.f_type as u64 == FILES);
        let kind = is_namespace.then(|| ask(&file, GET_TYPE, 0).ok()).flatten()?;
        let status = fstat(&file).ok()?;
        let id = (status.st_dev, status.st_ino);
        (kind == libc::CLONE_NEWPID).then_some(PidNamespace { file, id })
    }

    /// Id of the namespace; the same for all its files while one of them is open.
    pub fn id(&self) -> (u64, u64) {
        self.id
    }

    /// Number of levels below the caller's own namespace.
    ///
    /// # Errors
    /// It is neither the caller's namespace nor below it.
    pub fn depth(&self) -> io::Result<usize> {
        let (mut above, mut depth) = (None::<OwnedFd>, 0);
        loop {
            match ask(above.as_ref().unwrap_or(&self.file), GET_PARENT, 0) {
                // SAFETY: the kernel made it for this call, so it has no other owner.
                Ok(file) => above = Some(unsafe { OwnedFd::from_raw_fd(file) }),
                // The kernel does not show what is above the caller's own namespace.
                Err(Errno::PERM) => return Ok(depth),
                Err(errno) => return Err(errno.into()),
            }
            depth += 1;
        }
    }

    /// The number in this namespace of a task with the caller's number `tid`. `None`: the task is
    /// not in it, or does not exist.
    ///
    /// # Errors
    /// The kernel does not support the request (before Linux 6.11).
    pub fn number(&self, tid: u32) -> io::Result<Option<u32>> {
        self.numbered(PID_IN, tid)
    }

    /// The number in this namespace of the task's process.
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

/// True if a received file may be a PID namespace, by its name. Reading the name sends no request
/// to the file's file system. Any other request, and closing the file, may block forever if a
/// process serves that file system (fuse(4)).
pub fn looks_like_one(file: &OwnedFd) -> bool {
    let name = rustix::fs::readlink(format!("/proc/self/fd/{}", file.as_raw_fd()), Vec::new());
    // The path of a regular file begins with a slash.
    name.is_ok_and(|name| name.as_bytes().starts_with(b"pid:["))
}

/// The process that connected at the other end of a socket, as a file that later processes with its
/// number do not match. `None`: not supported before Linux 6.5.
///
/// # Errors
/// The kernel's error, such as that the process has exited.
pub fn peer(socket: BorrowedFd) -> io::Result<Option<OwnedFd>> {
    /// SO_PEERPIDFD of asm-generic/socket.h.
    const PEER_PIDFD: i32 = 77;
    let mut file: i32 = -1;
    let mut length = size_of::<i32>() as libc::socklen_t;
    let (number, place) = (socket.as_raw_fd(), std::ptr::from_mut(&mut file).cast());
    // SAFETY: the kernel writes at most `length` bytes to `file`, which has that size.
    let told =
        unsafe { libc::getsockopt(number, libc::SOL_SOCKET, PEER_PIDFD, place, &mut length) };
    match (told, io::Error::last_os_error()) {
        // SAFETY: the kernel made it for this call, so it has no other owner.
        (0, _) if file >= 0 => Ok(Some(unsafe { OwnedFd::from_raw_fd(file) })),
        (0, _) => Ok(None),
        (_, error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => Ok(None),
        (_, error) => Err(error),
    }
}

fn ask(file: impl AsFd, request: u64, argument: u32) -> Result<i32, Errno> {
    let file = file.as_fd().as_raw_fd();
    // SAFETY: the file is open and a namespace's; its requests take and return a number and touch
    // no memory of ours.
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
    fn in_the_own_namespace_numbers_stay_the_same() {
        let namespace = PidNamespace::from_file(own().unwrap()).unwrap();
        let again = PidNamespace::from_file(own().unwrap()).unwrap();
        assert_eq!(namespace.id(), again.id());
        assert_eq!(namespace.depth().unwrap(), 0);
        let me = std::process::id();
        match namespace.number(me) {
            Ok(number) => assert_eq!(number, Some(me)),
            Err(error) => return eprintln!("left out: not supported before Linux 6.11: {error}"),
        }
        assert_eq!(namespace.process_number(me).unwrap(), Some(me));
        assert_eq!(namespace.number(i32::MAX as u32).unwrap(), None);
    }

    #[test]
    fn other_files_are_no_pid_namespace() {
        let file = |path: &str| OwnedFd::from(std::fs::File::open(path).unwrap());
        for path in ["/dev/null", "/proc/self/ns/mnt", "/proc/self/stat"] {
            assert!(PidNamespace::from_file(file(path)).is_none(), "{path}");
        }
    }
}
