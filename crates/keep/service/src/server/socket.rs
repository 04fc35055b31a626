//! The socket's file and its permissions.
//!
//! The daemon is often root, and another user may be able to swap a directory above the socket at
//! any time. So it opens the socket's directory once, and sets owner and mode only through
//! descriptors.

use crate::error::ServiceError;
use exactop_files::{Directory, FileError};
use rustix::fs::{
    chmod, chownat, fstat, openat, statat, unlinkat, AtFlags, FileType, Gid, Mode, OFlags, Stat,
};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    bind, listen, socket_with, AddressFamily, SocketAddrUnix, SocketFlags, SocketType,
};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Most connections accepted at once.
const AT_ONCE: usize = 64;
/// Most connections that wait to be accepted; the kernel takes its own limit instead.
const BACKLOG: i32 = i32::MAX;

/// A listening socket; removes its file on drop.
#[derive(Debug)]
pub struct Socket {
    listener: UnixListener,
    place: Place,
}

/// The socket's directory and its name there.
#[derive(Debug)]
struct Place {
    directory: Directory,
    name: OsString,
}

impl Place {
    /// Opens the directory, or makes it for its owner and the members of this group.
    fn open(path: &Path, group: Option<u32>) -> io::Result<Place> {
        let name = path.file_name().ok_or(Errno::ISDIR)?.into();
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        let above = above.unwrap_or(Path::new("."));
        let directory = match Directory::make(above) {
            Ok(new) => {
                if group.is_some() {
                    share(new.as_fd(), group, 0o750)?;
                }
                new
            }
            Err(FileError::Exists { .. }) => Directory::open(above).map_err(io::Error::other)?,
            Err(error) => return Err(io::Error::other(error)),
        };
        Ok(Place { directory, name })
    }

    /// A path to the entry that leads through the open directory.
    fn path(&self) -> PathBuf {
        path_of(self.directory.as_fd()).join(&self.name)
    }

    fn look(&self) -> Result<Stat, Errno> {
        statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Removes a socket that no daemon serves. Other files stay: connecting to them fails with the
    /// same error.
    fn remove_stale(&self) -> io::Result<()> {
        if FileType::from_raw_mode(self.look()?.st_mode) != FileType::Socket {
            return Err(io::Error::other("the file there is not a socket: give another path"));
        }
        Ok(self.remove()?)
    }

    fn remove(&self) -> Result<(), Errno> {
        unlinkat(&self.directory, &self.name, AtFlags::empty())
    }

    /// Binds a socket to its path, the name under which the kernel lists it. Returns it, and its
    /// entry in the directory. bind(2) follows no link at the path's end and replaces no file.
    fn bind(&self, path: &Path) -> io::Result<(OwnedFd, OwnedFd)> {
        if self.look().is_ok() {
            return Err(Errno::ADDRINUSE.into());
        }
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        bind(&socket, &SocketAddrUnix::new(path)?)?;
        Ok((socket, self.own_socket()?))
    }

    /// Opens the entry, if it is a socket of this user without another name.
    fn own_socket(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let entry = openat(&self.directory, &self.name, flags, Mode::empty());
        let own = rustix::process::geteuid().as_raw();
        let is_own = |stat: Stat| {
            let is_socket = FileType::from_raw_mode(stat.st_mode) == FileType::Socket;
            is_socket && stat.st_uid == own && stat.st_nlink == 1
        };
        match entry {
            Ok(entry) if is_own(fstat(&entry)?) => Ok(entry),
            Ok(_) | Err(Errno::NOENT) => Err(io::Error::other(
                "another user changed its path: give one that only you can change",
            )),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// The path of an open file.
fn path_of(file: BorrowedFd) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// Gives an open file to a group, and sets its mode.
fn share(file: BorrowedFd, group: Option<u32>, mode: u32) -> io::Result<()> {
    if let Some(group) = group {
        chownat(file, "", None, Some(Gid::from_raw(group)), AtFlags::EMPTY_PATH)?;
    }
    // fchmod(2) refuses a file that was opened only as a place.
    Ok(chmod(path_of(file), Mode::from_raw_mode(mode))?)
}

impl Socket {
    /// Creates the socket; replaces one that no daemon serves any more. Accepts connections only
    /// once its rights are set.
    pub fn listen(path: &Path, group: Option<u32>) -> Result<Socket, ServiceError> {
        let failed = |what| move |error| ServiceError::Socket { what, path: path.into(), error };
        let place = Place::open(path, group).map_err(failed("make the directory of"))?;
        match UnixStream::connect(place.path()) {
            Ok(_) => return Err(ServiceError::InUse(path.into())),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                place.remove_stale().map_err(failed("listen on"))?;
            }
            Err(_) => {}
        }
        let (socket, entry) = place.bind(path).map_err(failed("listen on"))?;
        let socket = Socket { listener: socket.into(), place };
        let mode = if group.is_some() { 0o660 } else { 0o600 };
        share(entry.as_fd(), group, mode).map_err(failed("set group and rights of"))?;
        listen(&socket.listener, BACKLOG).map_err(|errno| failed("listen on")(errno.into()))?;
        Ok(socket)
    }

    pub fn listener(&self) -> &UnixListener {
        &self.listener
    }

    /// Accepts new connections.
    pub fn accept(&self) -> Vec<UnixStream> {
        let accepted = std::iter::from_fn(|| self.listener.accept().ok());
        // Bounded, so that new connections do not starve the others.
        let came = accepted.map(|(stream, _)| stream).take(AT_ONCE);
        // A blocking connection would hold up all readers.
        came.filter(|stream| stream.set_nonblocking(true).is_ok()).collect()
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = self.place.remove();
    }
}

/// Checks if the reader may see all processes: the socket does not show what /proc hides from it
/// (proc(5), `hidepid`).
pub fn may_read(stream: &UnixStream) -> Result<(), String> {
    let uid = user(stream)?;
    if uid == 0 || uid == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    match exactop_sources::probe::hides_processes() {
        Ok(false) => Ok(()),
        Ok(true) => Err("/proc hides others' processes here (hidepid): run as root".into()),
        Err(error) => Err(format!("cannot determine if /proc hides processes: {error}")),
    }
}

/// User at the other end, as of its connect(2).
pub fn user(stream: &UnixStream) -> Result<u32, String> {
    let peer = socket_peercred(stream);
    let peer = peer.map_err(|errno| format!("cannot determine your user: {errno}"))?;
    Ok(peer.uid.as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{symlink, MetadataExt, PermissionsExt};

    #[test]
    fn only_a_socket_without_a_daemon_is_removed() {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("socket");
        drop(UnixListener::bind(&path).expect("a socket that is left"));
        drop(Socket::listen(&path, None).expect("its place is taken"));
        assert!(!path.exists(), "and left in the end");

        fs::write(&path, "somebody's").expect("a file");
        let link = home.path().join("link");
        symlink(&path, &link).expect("a link");
        for refused in [&path, &link] {
            let error = Socket::listen(refused, None).expect_err("no socket").to_string();
            assert!(error.contains("is not a socket: give another path"), "{error}");
        }
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "somebody's");
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("it is there").mode() & 0o7777
    }

    /// A file that a hostile link points to.
    fn secret(above: &Path) -> PathBuf {
        fs::create_dir(above).expect("a directory");
        let secret = above.join("secret");
        fs::write(&secret, "text").expect("a file");
        fs::set_permissions(&secret, Permissions::from_mode(0o400)).expect("its mode");
        secret
    }

    #[test]
    fn the_socket_and_its_new_directory_have_the_rights_of_their_group() {
        let home = tempfile::tempdir().expect("a directory");
        let group = rustix::process::getegid().as_raw();
        for (group, modes) in [(Some(group), (0o660, 0o750)), (None, (0o600, 0o700))] {
            let above = home.path().join(modes.0.to_string());
            let socket = Socket::listen(&above.join("socket"), group).expect("a socket");
            assert_eq!((mode(&above.join("socket")), mode(&above)), modes);
            UnixStream::connect(above.join("socket")).expect("it listens");
            assert_eq!(socket.accept().len(), 1);
        }
    }

    #[test]
    fn a_socket_is_reached_only_once_its_rights_are_set() {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("socket");
        let place = Place::open(&path, None).expect("a place");
        let _bound = place.bind(&path).expect("it is bound");
        let refused = UnixStream::connect(&path).map_err(|error| error.kind());
        assert_eq!(refused.map(drop), Err(io::ErrorKind::ConnectionRefused));
    }

    #[test]
    fn rights_follow_no_link_that_takes_the_socket_s_place() {
        let home = tempfile::tempdir().expect("a directory");
        let (path, secret) = (home.path().join("socket"), secret(&home.path().join("other")));
        let place = Place::open(&path, None).expect("a place");
        let (_socket, entry) = place.bind(&path).expect("it is bound");
        fs::rename(&path, home.path().join("moved")).expect("moved");
        symlink(&secret, &path).expect("a link");
        share(entry.as_fd(), None, 0o660).expect("rights");
        assert_eq!((mode(&secret), mode(&home.path().join("moved"))), (0o400, 0o660));
        assert!(place.own_socket().is_err(), "a link");
        // Nor does a hard link of another socket.
        fs::remove_file(&path).expect("the link");
        fs::hard_link(home.path().join("moved"), &path).expect("a second name");
        assert!(place.own_socket().is_err(), "it has two names");
    }

    #[test]
    fn nothing_is_touched_through_a_directory_that_was_swapped() {
        let home = tempfile::tempdir().expect("a directory");
        let (above, moved) = (home.path().join("above"), home.path().join("moved"));
        let secret = secret(&home.path().join("other"));
        let path = above.join("secret");
        let place = Place::open(&path, None).expect("a place");
        fs::rename(&above, &moved).expect("moved");
        symlink(home.path().join("other"), &above).expect("a link");
        assert_eq!(
            place.bind(&path).map(drop).map_err(|error| error.kind()),
            Err(io::ErrorKind::AddrInUse)
        );
        // Where no file has the name, the socket is bound elsewhere, and its rights are not set.
        fs::rename(&secret, home.path().join("other/renamed")).expect("renamed");
        let error = place.bind(&path).expect_err("not in its directory").to_string();
        assert!(error.contains("another user changed its path"), "{error}");
        assert_eq!(fs::read_dir(&moved).expect("the directory").count(), 0);
        assert_eq!(mode(&home.path().join("other/renamed")), 0o400);
    }
}
