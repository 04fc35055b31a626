//! Readiness of readers, by epoll: poll(2) over all readers would cost each of them at every wait.

use super::readers::Reader;
use rustix::event::{epoll, Timespec};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Most events per call.
const AT_ONCE: usize = 64;

/// The epoll instance; a reader's entry goes with its socket.
#[derive(Debug)]
pub struct Ready {
    epoll: OwnedFd,
}

/// A ready reader.
#[derive(Clone, Copy, Debug)]
pub struct Readiness {
    /// Number of the reader.
    pub number: u64,
    /// Readable, or closed.
    pub read: bool,
    pub written: bool,
}

impl Ready {
    pub fn new() -> io::Result<Ready> {
        Ok(Ready { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)? })
    }

    /// Readable when any reader is ready.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    pub fn add(&self, reader: &Reader) -> io::Result<()> {
        let data = epoll::EventData::new_u64(reader.number);
        Ok(epoll::add(&self.epoll, reader.stream(), data, epoll::EventFlags::IN)?)
    }

    /// Also waits for room in the sockets of full readers.
    pub fn update(&self, readers: &mut [Reader]) {
        for reader in readers {
            let Some(is_full) = reader.fullness() else { continue };
            let flags = match is_full {
                true => epoll::EventFlags::IN | epoll::EventFlags::OUT,
                false => epoll::EventFlags::IN,
            };
            let data = epoll::EventData::new_u64(reader.number);
            // Cannot fail: the entry exists.
            let _ = epoll::modify(&self.epoll, reader.stream(), data, flags);
        }
    }

    /// The readers that are ready now.
    pub fn all(&self) -> Vec<Readiness> {
        let mut events = [MaybeUninit::uninit(); AT_ONCE];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let Ok((events, _)) = epoll::wait(&self.epoll, &mut events, Some(&at_once)) else {
            return Vec::new();
        };
        let over = epoll::EventFlags::IN | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
        let ready = events.iter().map(|event| {
            let (flags, data) = (event.flags, event.data);
            Readiness {
                number: data.u64(),
                read: flags.intersects(over),
                written: flags.contains(epoll::EventFlags::OUT),
            }
        });
        ready.collect()
    }
}
