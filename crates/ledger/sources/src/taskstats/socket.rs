//! A netlink socket to the kernel.

use super::messages::{family_in, family_request, Answer, Ask};
use crate::error::SourceError;
use netlink_sys::{protocols::NETLINK_GENERIC, Socket, SocketAddr};
use std::io;
use std::os::fd::AsRawFd;

/// Longest message, bytes: two records with their framing are below 2 KiB.
const MESSAGE: usize = 8192;
/// SO_RCVBUFFORCE of asm-generic/socket.h: exceeds net.core.rmem_max, for CAP_NET_ADMIN.
const RECEIVE_BUFFER_FORCE: libc::c_int = libc::SO_RCVBUFFORCE;

/// A connected socket.
pub struct Kernel {
    socket: Socket,
    buffer: Vec<u8>,
}

impl Kernel {
    /// Opens a socket.
    ///
    /// # Errors
    /// No file descriptors are left, or the kernel has no netlink.
    pub fn connect() -> Result<Kernel, SourceError> {
        let connect = || -> io::Result<Socket> {
            let mut socket = Socket::new(NETLINK_GENERIC)?;
            socket.bind_auto()?;
            socket.connect(&SocketAddr::new(0, 0))?;
            Ok(socket)
        };
        let refused = |error| SourceError::Kernel { what: "cannot open a netlink socket", error };
        Ok(Kernel { socket: connect().map_err(refused)?, buffer: Vec::with_capacity(MESSAGE) })
    }

    /// Number of the family TASKSTATS.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`] if the kernel does not have it.
    pub fn family(&mut self) -> Result<u16, SourceError> {
        let refused = |what: String| SourceError::Unavailable {
            what,
            advice: "use a kernel built with CONFIG_TASKSTATS".into(),
        };
        self.send(&family_request())?;
        let bytes = self.receive().map_err(|error| refused(error.to_string()))?;
        family_in(bytes).map_err(|answer| match answer {
            Answer::Refused(errno) => refused(format!(
                "cannot find the netlink family TASKSTATS ({})",
                io::Error::from_raw_os_error(errno)
            )),
            _ => refused("cannot parse the kernel's answer about TASKSTATS".into()),
        })
    }

    /// Sends a request.
    ///
    /// # Errors
    /// The kernel's error for sending, not for the request.
    pub fn ask(&mut self, ask: Ask, family: u16) -> Result<(), SourceError> {
        self.send(&ask.bytes(family))
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), SourceError> {
        let sent = self.socket.send(bytes, 0);
        sent.map_err(|error| SourceError::Kernel { what: "cannot ask taskstats", error })?;
        Ok(())
    }

    /// Receives one message; waits for it unless [`Kernel::never_wait`] was called.
    ///
    /// # Errors
    /// ENOBUFS: messages were lost. EAGAIN: no message is available.
    pub fn receive(&mut self) -> io::Result<&[u8]> {
        loop {
            self.buffer.clear();
            match self.socket.recv(&mut self.buffer, 0) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(_) => return Ok(&self.buffer),
            }
        }
    }

    /// Makes [`Kernel::receive`] return EAGAIN instead of waiting.
    pub fn never_wait(&self) -> io::Result<()> {
        self.socket.set_non_blocking(true)
    }

    /// Sets the size of the receive buffer, as near to `bytes` as permitted.
    pub fn make_room(&self, bytes: usize) {
        let size = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
        // SAFETY: the value lives until the call returns.
        let forced = unsafe {
            libc::setsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_SOCKET,
                RECEIVE_BUFFER_FORCE,
                (&raw const size).cast(),
                size_of_val(&size) as libc::socklen_t,
            )
        };
        if forced != 0 {
            // This sets at most net.core.rmem_max; lost messages are counted.
            let _ = self.socket.set_rx_buf_sz(size);
        }
    }
}

impl AsRawFd for Kernel {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.socket.as_raw_fd()
    }
}
