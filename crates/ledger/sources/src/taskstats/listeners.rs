//! Listens to records of exiting tasks: one listener for each CPU. A thread of its own empties them
//! all the time, and the reader empties them at the end of a window.
//!
//! A listener with a full buffer loses records. The kernel numbers records on each CPU, so lost
//! ones are known when the next one arrives.

use super::messages::{answer, Answer, Ask, Records};
use super::socket::Kernel;
use crate::error::SourceError;
use crate::own_rights::give_up_all_but;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::thread::CapabilitySet;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Size of each buffer, bytes: some 5,000 exits, one second of the fastest fork storm.
const ROOM: usize = 16 << 20;
/// Sleep of the thread when the buffers are empty.
const NAP: Duration = Duration::from_millis(200);

/// Records since the last call.
#[derive(Default)]
pub struct TakenRecords {
    /// Records, in the order of each CPU.
    pub records: Vec<Records>,
    /// Number of lost records, by gaps in their numbers.
    pub lost: u64,
    /// Number of times the kernel reported a full buffer.
    pub overflows: u64,
    /// Number of invalid messages.
    pub damaged: u64,
}

struct Listener {
    kernel: Kernel,
    next: Option<u32>,
}

#[derive(Default)]
struct State {
    listeners: Vec<Listener>,
    taken: TakenRecords,
}

/// All listeners; dropping this ends them.
pub struct Listeners {
    state: Arc<Mutex<State>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    fn on(cpu: u32, family: u16) -> Result<Listener, SourceError> {
        let mut kernel = Kernel::connect()?;
        kernel.make_room(ROOM);
        kernel.never_wait().map_err(|error| SourceError::Kernel {
            what: "cannot set up a netlink socket",
            error,
        })?;
        kernel.ask(Ask::ExitsOn(cpu), family)?;
        // The kernel answers only a refusal, and does so before the send returns.
        match kernel.receive().map(answer) {
            Ok(Answer::Refused(errno)) if errno != 0 => Err(refused(errno)),
            _ => Ok(Listener { kernel, next: None }),
        }
    }

    /// Takes all messages from the socket.
    fn empty(&mut self, taken: &mut TakenRecords) {
        loop {
            match self.kernel.receive().map(answer) {
                Ok(Answer::Records(records)) => {
                    if let Some(next) = self.next {
                        taken.lost += u64::from(records.sequence.wrapping_sub(next));
                    }
                    self.next = Some(records.sequence.wrapping_add(1));
                    taken.records.push(*records);
                }
                Ok(Answer::Refused(_) | Answer::Damaged) => taken.damaged += 1,
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => taken.overflows += 1,
                Err(_) => return,
            }
        }
    }
}

impl State {
    fn empty(&mut self) {
        for listener in &mut self.listeners {
            listener.empty(&mut self.taken);
        }
    }
}

impl Listeners {
    /// Listens on these CPUs, with a thread that empties the buffers.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`]: not permitted, or not in the initial namespaces.
    pub fn open(cpus: &[u32], family: u16) -> Result<Listeners, SourceError> {
        let mut listeners = Listeners::unattended(cpus, family)?;
        let fds = {
            let state = listeners.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.listeners.iter().map(|l| l.kernel.as_raw_fd()).collect::<Vec<i32>>()
        };
        let (state, stop) = (&listeners.state, &listeners.stop);
        let ready = Arc::new(Barrier::new(2));
        let thread = {
            let (state, stop, ready) = (Arc::clone(state), Arc::clone(stop), Arc::clone(&ready));
            let spawned = std::thread::Builder::new().name("exits".into());
            spawned.spawn(move || {
                give_up_all_but(CapabilitySet::empty());
                ready.wait();
                keep_empty(&fds, &state, &stop);
            })
        };
        let thread = thread.map_err(|error| SourceError::Kernel {
            what: "cannot start the listening thread",
            error,
        })?;
        // From here on the caller may rely on the thread.
        ready.wait();
        listeners.thread = Some(thread);
        Ok(listeners)
    }

    /// Listens without a thread, for a caller that calls [`Listeners::take`] often enough.
    pub fn unattended(cpus: &[u32], family: u16) -> Result<Listeners, SourceError> {
        let listeners = cpus.iter().map(|&cpu| Listener::on(cpu, family));
        let listeners = listeners.collect::<Result<Vec<_>, _>>()?;
        let state = Arc::new(Mutex::new(State { listeners, taken: TakenRecords::default() }));
        Ok(Listeners { state, stop: Arc::new(AtomicBool::new(false)), thread: None })
    }

    /// Takes all records up to now.
    pub fn take(&self) -> TakenRecords {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.empty();
        std::mem::take(&mut state.taken)
    }
}

/// Empties the buffers whenever messages arrive.
fn keep_empty(fds: &[i32], state: &Mutex<State>, stop: &AtomicBool) {
    let nap = Timespec { tv_sec: 0, tv_nsec: NAP.as_nanos() as i64 };
    while !stop.load(Ordering::Relaxed) {
        // SAFETY: the sockets are closed after this thread has ended.
        let fds = fds.iter().map(|&fd| unsafe { BorrowedFd::borrow_raw(fd) });
        let mut fds: Vec<PollFd> =
            fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        match poll(&mut fds, Some(&nap)) {
            Ok(0) | Err(_) => {}
            Ok(_) => {
                state.lock().unwrap_or_else(PoisonError::into_inner).empty();
                // Waits a moment, so that one wake-up serves many exits of a storm.
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

impl Drop for Listeners {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Error for a refused request.
pub fn refused(errno: i32) -> SourceError {
    let error = io::Error::from_raw_os_error(errno);
    match errno {
        libc::EPERM => SourceError::Unavailable {
            what: format!("taskstats is not permitted ({error})"),
            advice: "run as root, or with CAP_NET_ADMIN".into(),
        },
        libc::EINVAL => SourceError::Unavailable {
            what: format!("taskstats reports no exits here ({error})"),
            advice: "run it outside of containers, in the initial PID and user namespace".into(),
        },
        _ => SourceError::Kernel { what: "cannot listen to taskstats", error },
    }
}
