//! A page that another thread has to provide: userfaultfd(2). A thread that touches it sleeps in a
//! page fault until then, interruptible and without a system call.

use crate::books::Books;
use crate::microstates::{exact, ns, row_of};
use exactop_model::Counter;
use rustix::fd::{AsFd, OwnedFd};
use rustix::ioctl::{ioctl, opcode, Updater};
use rustix::mm::{mmap_anonymous, munmap, userfaultfd, MapFlags, ProtFlags, UserfaultfdFlags};
use std::time::Duration;

/// `struct uffdio_api`, `uffdio_register` and `uffdio_zeropage` of include/uapi/linux/userfaultfd.h.
#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct Register {
    start: u64,
    len: u64,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct ZeroPage {
    start: u64,
    len: u64,
    mode: u64,
    filled: i64,
}

const UFFD: u8 = 0xaa;
const MISSING: u64 = 1;
const DO_API: rustix::ioctl::Opcode = opcode::read_write::<Api>(UFFD, 0x3f);
const DO_REGISTER: rustix::ioctl::Opcode = opcode::read_write::<Register>(UFFD, 0x00);
const DO_ZERO_PAGE: rustix::ioctl::Opcode = opcode::read_write::<ZeroPage>(UFFD, 0x04);

/// A page that is missing until a thread provides it.
struct Missing {
    events: OwnedFd,
    start: u64,
    len: usize,
}

impl Missing {
    /// Registers the page; `None` if the kernel has no userfaultfd.
    fn new() -> Option<Missing> {
        // SAFETY: no page is registered yet.
        let events = match unsafe { userfaultfd(UserfaultfdFlags::CLOEXEC) } {
            Ok(events) => events,
            Err(error) => {
                eprintln!("left out: no userfaultfd here ({error})");
                return None;
            }
        };
        let len = rustix::param::page_size();
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let at = unsafe { mmap_anonymous(std::ptr::null_mut(), len, access, MapFlags::PRIVATE) };
        let missing = Missing { events, start: at.expect("a page") as u64, len };
        let mut api = Api { api: 0xaa, features: 0, ioctls: 0 };
        let (start, len) = (missing.start, len as u64);
        let mut register = Register { start, len, mode: MISSING, ioctls: 0 };
        // SAFETY: the structures are the kernel's, and the page belongs to this test.
        unsafe {
            ioctl(&missing.events, Updater::<DO_API, _>::new(&mut api)).expect("UFFDIO_API");
            ioctl(&missing.events, Updater::<DO_REGISTER, _>::new(&mut register))
                .expect("registered");
        }
        Some(missing)
    }

    /// Waits until a thread touches the page, and provides it after this delay.
    fn bring(&self, after: Duration) {
        let mut event = [0; 32];
        let read = rustix::io::read(self.events.as_fd(), &mut event).expect("an event");
        assert_eq!((read, event[0]), (32, 0x12), "a page fault");
        std::thread::sleep(after);
        let (start, len) = (self.start, self.len as u64);
        let mut page = ZeroPage { start, len, mode: 0, filled: 0 };
        // SAFETY: the page belongs to this test, and nothing is on it.
        unsafe { ioctl(&self.events, Updater::<DO_ZERO_PAGE, _>::new(&mut page)).expect("a page") };
    }
}

impl Drop for Missing {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`; the thread that touched it has ended or has read it.
        let _ = unsafe { munmap(self.start as *mut _, self.len) };
    }
}

#[test]
fn waiting_for_a_page_from_another_thread_counts_as_a_page_fault() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&exact());
    let Some(missing) = Missing::new() else { return };
    let asked = Duration::from_millis(300);
    let start = missing.start;
    let (row, _) = std::thread::scope(|scope| {
        scope.spawn(|| missing.bring(asked));
        row_of(&mut books, move || {
            // SAFETY: the page stays mapped until after this thread has continued.
            assert_eq!(unsafe { std::ptr::read_volatile(start as *const u8) }, 0);
        })
    });
    let [fault, wait] = [Counter::DataFaultNs, Counter::LatNs].map(|counter| ns(&row, counter));
    // The thread's wait for the window's end counts as a lock.
    let others = [Counter::TextFaultNs, Counter::SleepNs, Counter::BlockNs];
    let others: u64 = others.map(|counter| ns(&row, counter)).iter().sum();
    println!("in the fault {fault} ns of {asked:?}, asleep elsewhere {others} ns");
    let asked = asked.as_nanos() as u64;
    assert!(fault + wait + asked / 100 >= asked, "{fault} and {wait}");
    assert!(others < fault / 10, "{others} of {fault}");
}
