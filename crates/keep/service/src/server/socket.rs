//! The socket's file, and who may use it.

use crate::error::ServiceError;
use exactop_files::Directory;
use rustix::fs::{chmod, chown, Gid, Mode};
use rustix::net::sockopt::socket_peercred;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// So many are let in at once.
const AT_ONCE: usize = 64;

/// Listens, and takes its file away at the end.
#[derive(Debug)]
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Makes it anew; one that nobody serves any more is in nobody's way.
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
            Ok(_) => return Err(ServiceError::Held(path.into())),
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

    /// Whoever came.
    pub fn accept(&self) -> Vec<UnixStream> {
        let accepted = std::iter::from_fn(|| self.listener.accept().ok());
        // However many come, the others are attended to.
        let came = accepted.map(|(stream, _)| stream).take(AT_ONCE);
        // One that would block would hold everyone.
        came.filter(|stream| stream.set_nonblocking(true).is_ok()).collect()
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Takes away a socket that nobody serves; every other file is somebody's, and a connection to it is refused in
/// the same words.
fn remove_stale(path: &Path) -> io::Result<()> {
    let there = std::fs::symlink_metadata(path)?;
    if !there.file_type().is_socket() {
        return Err(io::Error::other("something that is no socket is there: give another path"));
    }
    std::fs::remove_file(path)
}

/// Whether somebody may see everyone: what /proc hides from them (proc(5), `hidepid`), the socket
/// does not tell.
pub fn may_read(stream: &UnixStream) -> Result<(), String> {
    let uid = user(stream)?;
    if uid == 0 || uid == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    match exactop_sources::probe::hides_processes() {
        Ok(false) => Ok(()),
        Ok(true) => Err("/proc hides others' processes here (hidepid): only root may ask".into()),
        Err(error) => Err(format!("nobody knows whether /proc hides processes: {error}")),
    }
}

/// Who is at the other end, as the kernel saw them connect.
pub fn user(stream: &UnixStream) -> Result<u32, String> {
    let peer = socket_peercred(stream);
    let peer = peer.map_err(|errno| format!("nobody knows who asks: {errno}"))?;
    Ok(peer.uid.as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_socket_that_nobody_serves_is_taken_away() {
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
            assert!(error.contains("no socket is there: give another path"), "{error}");
        }
        assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "somebody's");
    }
}
