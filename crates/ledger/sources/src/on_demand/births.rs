//! Reports new control groups (bpf/on_demand/births.bpf.c). A thread reads each group's name at
//! once, because the files that name its container may vanish with the group.

use crate::bpf::plain::{from_bytes, plain};
use crate::bpf::refusal::failed;
use crate::bpf::skeleton::Open;
use crate::error::SourceError;
use crate::on_demand::attached::{load, object, Attached, Room};
use crate::own_rights::give_up_all_but_reading;
use libbpf_rs::{MapHandle, RingBufferBuilder};
use rustix::event::{eventfd, poll, EventfdFlags, PollFd, PollFlags};
use rustix::fd::{BorrowedFd, OwnedFd};
use skel::types::ex_birth;
use skel::BirthsSkelBuilder;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;

object!("births", "the names of containers'", BirthsSkelBuilder);
plain! { ex_birth }

/// Most groups kept until a reader takes them; with more, no reader has asked for a long time.
const MOST: usize = 65_536;

/// New groups as `look` describes them: id, path and name.
pub struct Births<T> {
    asked: Arc<OwnedFd>,
    ends: Arc<AtomicBool>,
    dropped: Arc<AtomicU64>,
    answers: Receiver<Vec<T>>,
    thread: Option<JoinHandle<()>>,
    programs: Attached<BirthsSkelBuilder>,
}

impl<T: Send + 'static> Births<T> {
    /// Runs `look` on every new group of this hierarchy, in a thread with high priority.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`] with the reason and what to do.
    pub fn open(
        hierarchy: u32,
        look: impl Fn(u64, &[u8]) -> T + Send + 'static,
    ) -> Result<Births<T>, SourceError> {
        let set_up = |open: &mut Open<BirthsSkelBuilder>| set_up(open, hierarchy);
        let programs = Attached::<BirthsSkelBuilder>::open(&[], Room::default(), set_up)?;
        let ring = MapHandle::try_from(&programs.skel.maps.made);
        let ring = ring.map_err(failed("cannot read the new control groups"))?;
        let io = |error| SourceError::Kernel {
            what: "cannot start the thread that names groups",
            error,
        };
        let asked = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).map_err(|e| io(e.into()))?);
        let (ends, dropped) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (answer, answers) = channel();
        let looking = ProbeThread {
            asked: Arc::clone(&asked),
            ends: Arc::clone(&ends),
            dropped: Arc::clone(&dropped),
            answer,
        };
        let thread = std::thread::Builder::new().name("exactop-names".into());
        let ready = Arc::new(Barrier::new(2));
        let set_up = Arc::clone(&ready);
        let work = move || {
            set_up_thread();
            set_up.wait();
            looking.run(&ring, look);
        };
        let thread = thread.spawn(work).map_err(io)?;
        // From here on the caller may rely on the thread having no rights.
        ready.wait();
        Ok(Births { asked, ends, dropped, answers, thread: Some(thread), programs })
    }

    /// Takes all groups made since the last call.
    pub fn take(&mut self) -> Vec<T> {
        self.ask();
        // The thread ends only if it cannot wait for the kernel; then there are no groups.
        self.answers.recv().map_or(Vec::new(), |born| born)
    }

    /// Number of lost groups so far.
    pub fn lost(&self) -> u64 {
        self.programs.lost_so_far() + self.dropped.load(Ordering::Relaxed)
    }
}

impl<T> Births<T> {
    fn ask(&self) {
        let _ = rustix::io::write(&*self.asked, &1u64.to_ne_bytes());
    }
}

impl<T> Drop for Births<T> {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
        self.ask();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The thread's data.
struct ProbeThread<T> {
    asked: Arc<OwnedFd>,
    ends: Arc<AtomicBool>,
    dropped: Arc<AtomicU64>,
    answer: Sender<Vec<T>>,
}

impl<T: 'static> ProbeThread<T> {
    fn run(&self, ring: &MapHandle, look: impl Fn(u64, &[u8]) -> T + 'static) {
        let born = Rc::new(RefCell::new(Vec::new()));
        let (into, dropped) = (Rc::clone(&born), Arc::clone(&self.dropped));
        let mut builder = RingBufferBuilder::new();
        let added = builder.add(ring, move |bytes| {
            let birth: ex_birth = from_bytes(bytes);
            if into.borrow().len() >= MOST {
                dropped.fetch_add(1, Ordering::Relaxed);
                return 0;
            }
            let path = birth.path.map(|c| c as u8);
            let length = path.iter().position(|&b| b == 0).map_or(path.len(), |at| at);
            into.borrow_mut().push(look(birth.id, &path[..length]));
            0
        });
        if added.is_err() {
            return;
        }
        let Ok(ring) = builder.build() else { return };
        // SAFETY: the ring buffer keeps its epoll descriptor open for as long as it lives.
        let readable = unsafe { BorrowedFd::borrow_raw(ring.epoll_fd()) };
        while let Some(asked) = self.wait(readable) {
            let _ = ring.consume();
            if asked && self.answer.send(born.take()).is_err() {
                return;
            }
        }
    }

    /// Waits for new groups or for a request. Returns true for a request, `None` when the thread
    /// ends.
    fn wait(&self, readable: BorrowedFd<'_>) -> Option<bool> {
        let mut fds = [
            PollFd::new(&self.asked, PollFlags::IN),
            PollFd::from_borrowed_fd(readable, PollFlags::IN),
        ];
        loop {
            match poll(&mut fds, None) {
                Ok(_) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return None,
            }
        }
        let asked = !fds[0].revents().is_empty();
        if asked {
            let _ = rustix::io::read(&*self.asked, &mut [0; 8]);
        }
        (!self.ends.load(Ordering::Acquire)).then_some(asked)
    }
}

/// Gives the thread high priority, because a container may live for milliseconds. The thread
/// keeps no right but to read, because other users wrote what it reads.
fn set_up_thread() {
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), -20);
    give_up_all_but_reading();
}

/// Checks if the kernel accepts the program; attaches nothing.
pub(crate) fn try_to_load() -> Result<(), SourceError> {
    load::<BirthsSkelBuilder>(&[], Room::default(), |open| set_up(open, 0)).map(drop)
}

fn set_up(open: &mut Open<BirthsSkelBuilder>, hierarchy: u32) -> libbpf_rs::Result<()> {
    let Some(rodata) = open.maps.rodata_data.as_mut() else {
        return Err(std::io::Error::other("cannot find .rodata in the BPF object").into());
    };
    rodata.hierarchy = hierarchy;
    Ok(())
}
