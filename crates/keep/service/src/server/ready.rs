//! Which readers have said something, or can take more. The kernel is told of each of them once: asked
//! about all of them at each wait, it would look at all of them each time.

use super::readers::Reader;
use rustix::event::{epoll, Timespec};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// So many are told of at once.
const AT_ONCE: usize = 64;

/// All readers that the kernel was told of; who is gone is forgotten with their socket.
#[derive(Debug)]
pub struct Ready {
    epoll: OwnedFd,
}

/// What a reader is ready for.
#[derive(Clone, Copy, Debug)]
pub struct For {
    /// Which reader.
    pub number: u64,
    /// Something can be read, or it is over.
    pub read: bool,
    pub written: bool,
}

impl Ready {
    pub fn new() -> io::Result<Ready> {
        Ok(Ready { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)? })
    }

    /// Has something to be read when somebody is ready.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }

    /// Somebody came.
    pub fn add(&self, reader: &Reader) -> io::Result<()> {
        let data = epoll::EventData::new_u64(reader.number);
        Ok(epoll::add(&self.epoll, reader.stream(), data, epoll::EventFlags::IN)?)
    }

    /// Who is full waits for room, too.
    pub fn update(&self, readers: &mut [Reader]) {
        for reader in readers {
            let Some(is_full) = reader.fullness() else { continue };
            let flags = match is_full {
                true => epoll::EventFlags::IN | epoll::EventFlags::OUT,
                false => epoll::EventFlags::IN,
            };
            let data = epoll::EventData::new_u64(reader.number);
            // What was added is there.
            let _ = epoll::modify(&self.epoll, reader.stream(), data, flags);
        }
    }

    /// Who is ready now.
    pub fn all(&self) -> Vec<For> {
        let mut events = [MaybeUninit::uninit(); AT_ONCE];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let Ok((events, _)) = epoll::wait(&self.epoll, &mut events, Some(&at_once)) else {
            return Vec::new();
        };
        let over = epoll::EventFlags::IN | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
        let ready = events.iter().map(|event| {
            let (flags, data) = (event.flags, event.data);
            For {
                number: data.u64(),
                read: flags.intersects(over),
                written: flags.contains(epoll::EventFlags::OUT),
            }
        });
        ready.collect()
    }
}
