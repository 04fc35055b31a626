//! The socket's file and its permissions.

use crate::error::ServiceError;
use exactop_files::Directory;
use rustix::fs::{chmod, chown, Gid, Mode};
use rustix::net::sockopt::socket_peercred;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Most connections accepted at once.
const AT_ONCE: usize = 64;

/// A listening socket; removes its file on drop.
#[derive(Debug)]
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Creates the socket; replaces one that no daemon serves any more.
    pub fn listen(path: &Path, group: Option<u32>) -> Result<Socket, ServiceError> {
        let failed = |what| move |error| ServiceError::Socket { what, path: path.into(), error };
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            let is_new = !parent.exists();
            let made = Directory::open_or_make(parent);
            made.map_err(|error| failed("make the directory of")(io::Error::other(error)))?;
            if let (true, Some(group)) = (is_new, group) {
                let shared = chown(parent, None, Some(Gid::from_raw(group)))
                    .and_then(|()| chmod(parent, Mode::from_raw_mode(0o750)));
                shared
                    .map_err(|errno| failed("open to its group the directory of")(errno.into()))?;
            }
        }
        match UnixStream::connect(path) {
            Ok(_) => return Err(ServiceError::InUse(path.into())),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                remove_stale(path).map_err(failed("listen on"))?;
            }
            Err(_) => {}
        }
        let listener = UnixListener::bind(path).map_err(failed("listen on"))?;
        let socket = Socket { listener, path: path.into() };
        if let Some(group) = group {
            let owned = chown(path, None, Some(Gid::from_raw(group)));
            owned.map_err(|errno| failed("give to its group")(errno.into()))?;
        }
        let mode = if group.is_some() { 0o660 } else { 0o600 };
        let kept = chmod(path, Mode::from_raw_mode(mode));
        kept.map_err(|errno| failed("set the rights of")(errno.into()))?;
        socket.listener.set_nonblocking(true).map_err(failed("listen on"))?;
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
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Removes a socket that no daemon serves. Other files stay: connecting to them fails with the same
/// error.
fn remove_stale(path: &Path) -> io::Result<()> {
    let there = std::fs::symlink_metadata(path)?;
    if !there.file_type().is_socket() {
        return Err(io::Error::other("the file there is not a socket: give another path"));
    }
    std::fs::remove_file(path)
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

    #[test]
    fn only_a_socket_without_a_daemon_is_removed() {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("socket");
        drop(UnixListener::bind(&path).expect("a socket that is left"));
        drop(Socket::listen(&path, None).expect("its place is taken"));
        assert!(!path.exists(), "and left in the end");

        std::fs::write(&path, "somebody's").expect("a file");
        let link = home.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("a link");
        for refused in [&path, &link] {
            let error = Socket::listen(refused, None).expect_err("no socket").to_string();
            assert!(error.contains("is not a socket: give another path"), "{error}");
        }
        assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "somebody's");
    }
}
