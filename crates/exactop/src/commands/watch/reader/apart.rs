//! The separate process that reads: it starts, gives up the rights that it does not need, and
//! answers until the live view ends.

use super::{Answer, Question, ReaderReply, ReaderRequest, MOST};
use crate::commands::watch::held_process;
use crate::rights;
use exactop_model::frame::holdings::{DiskBytes, DiskOf, Holdings, HoldingsRequest, Refusal};
use exactop_sources::holdings::Process;
use rustix::process::Signal;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;

/// Name of the process in `ps`.
const NAME: &std::ffi::CStr = c"exactop-reader";
/// The only descriptor besides standard input, output and error.
const SOCKET: i32 = 3;
/// Most bytes of a question: `MOST` keys with their names, and three numbers each.
const LONGEST_QUESTION: u64 = 128 * (MOST as u64 + 1);

/// Starts the process with this end of a socket.
///
/// # Errors
/// No more processes can be started.
pub(super) fn start(socket: UnixStream, root: &Path) -> io::Result<()> {
    let parent = rustix::process::getpid();
    // Nothing waits for the process: killed, it would stay a zombie as long as the live view runs.
    // Commands that start it have no children of another kind.
    // SAFETY: no handler is set; ignoring a signal runs no code.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    // SAFETY: this process has one thread, so its copy may do what any process may.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // A panic must not unwind into the live view's code.
            let _ = catch_unwind(AssertUnwindSafe(|| live(socket, root, parent)));
            // SAFETY: ends this process without the exit handlers of the live view.
            unsafe { libc::_exit(0) }
        }
        _ => Ok(()),
    }
}

fn live(socket: UnixStream, root: &Path, parent: rustix::process::Pid) {
    // A terminal's signals to its programs must not reach this process.
    let _ = rustix::process::setsid();
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    if rustix::process::getppid() != Some(parent) {
        return;
    }
    let _ = rustix::thread::set_name(NAME);
    let Some(socket) = alone(socket) else { return };
    // These calls cache values that the kernel passed at the start; the process cannot make them
    // after this.
    let _ = rustix::param::clock_ticks_per_second();
    rights::reduce_reader();
    answer(socket, root);
}

/// Closes all other descriptors: an open terminal or pipe would outlive the live view.
fn alone(socket: UnixStream) -> Option<UnixStream> {
    let nothing = File::options().read(true).write(true).open("/dev/null").ok()?;
    // SAFETY: descriptors are numbers here; their owners are forgotten or belong to this call.
    unsafe {
        for number in 0..SOCKET {
            libc::dup2(nothing.as_raw_fd(), number);
        }
        let moved = libc::fcntl(socket.as_raw_fd(), libc::F_DUPFD_CLOEXEC, SOCKET + 1);
        if moved < 0 || libc::dup2(moved, SOCKET) < 0 {
            return None;
        }
        std::mem::forget((nothing, socket));
        // Kernels before 5.9 lack the call; this early only inherited descriptors are open.
        if libc::syscall(libc::SYS_close_range, SOCKET + 1, libc::c_uint::MAX, 0) != 0 {
            (SOCKET + 1..1024).for_each(|number| _ = libc::close(number));
        }
        Some(UnixStream::from_raw_fd(SOCKET))
    }
}

/// Answers until the socket closes.
fn answer(socket: UnixStream, root: &Path) {
    // As a file, because the calls on sockets can also pass descriptors.
    let socket = File::from(OwnedFd::from(socket));
    let mut questions = BufReader::new(&socket);
    loop {
        let mut line = Vec::new();
        match questions.by_ref().take(LONGEST_QUESTION).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let Ok(Question { number, request }) = serde_json::from_slice(&line) else { return };
        let reply = match request {
            ReaderRequest::Holdings(request) => ReaderReply::Holdings(look(root, &request)),
            ReaderRequest::Disk(all) => {
                ReaderReply::Disk(all.iter().map(|of| disk(root, of)).collect())
            }
        };
        let Ok(mut answer) = serde_json::to_vec(&Answer { number, reply }) else { return };
        answer.push(b'\n');
        if (&socket).write_all(&answer).is_err() {
            return;
        }
    }
}

/// Reads one part of the named process; refuses if the number belongs to another process.
fn look(root: &Path, request: &HoldingsRequest) -> Result<Holdings, Refusal> {
    let process = Process::open(root, request.key.tgid)?;
    if !held_process::is_its_start(request.key, process.start_ticks()?) {
        return Err(Refusal::Exited);
    }
    process.read(request.part)
}

/// Reads disk I/O in the same way.
fn disk(root: &Path, of: &DiskOf) -> Result<DiskBytes, Refusal> {
    let process = Process::open(root, of.key.tgid)?;
    let thread = of.is_thread.then_some(of.key.tid);
    let is_it = match thread {
        Some(tid) => held_process::is_its_own_start(of.key, process.thread_start_ticks(tid)?),
        None => held_process::is_its_start(of.key, process.start_ticks()?),
    };
    match is_it {
        true => process.disk(thread),
        false => Err(Refusal::Exited),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::frame::holdings::Part;
    use exactop_model::TaskKey;

    fn own(part: Part, later_ns: u64) -> HoldingsRequest {
        let tgid = std::process::id();
        let root = Path::new("/proc");
        let ticks =
            Process::open(root, tgid).expect("this process").start_ticks().expect("its start");
        let start_ns = ticks * 1_000_000_000 / rustix::param::clock_ticks_per_second() + later_ns;
        HoldingsRequest { key: TaskKey { tgid, tid: tgid, start_ns }, part }
    }

    #[test]
    fn a_later_process_with_the_same_pid_is_not_read() {
        for part in [Part::Environment, Part::Files] {
            let told = look(Path::new("/proc"), &own(part, 0));
            assert!(told.is_ok(), "{part:?} of this process: {told:?}");
            let other = look(Path::new("/proc"), &own(part, 50_000_000));
            assert_eq!(other, Err(Refusal::Exited), "{part:?} of one that had the number");
        }
    }

    #[test]
    fn disk_io_is_that_of_the_process_or_of_its_thread() {
        let root = Path::new("/proc");
        let key = own(Part::Files, 0).key;
        let whole = disk(root, &DiskOf { key, is_thread: false }).expect("of this process");
        let leader = disk(root, &DiskOf { key, is_thread: true }).expect("of its first thread");
        assert!(leader.read <= whole.read && leader.written <= whole.written);
        for is_thread in [false, true] {
            let key = own(Part::Files, 50_000_000).key;
            assert_eq!(disk(root, &DiskOf { key, is_thread }), Err(Refusal::Exited));
        }
        let nobodys = TaskKey { tid: 1, ..key };
        assert_eq!(disk(root, &DiskOf { key: nobodys, is_thread: true }), Err(Refusal::Exited));
    }

    #[test]
    fn questions_are_answered_until_the_socket_closes() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let thread = std::thread::spawn(|| answer(theirs, Path::new("/proc")));
        let patience = super::super::tests::LONG;
        let mut reader =
            super::super::Reader { patience, ..super::super::Reader::from_socket(ours) };
        for part in [Part::Files, Part::Environment] {
            assert!(reader.read(own(part, 0)).is_ok());
        }
        let key = own(Part::Files, 0).key;
        // More than fit into one question.
        let many = vec![DiskOf { key, is_thread: false }; 2 * MOST + 1];
        let told = reader.disk(&many);
        assert!(told.len() == many.len() && told.iter().all(Result::is_ok));
        drop(reader);
        thread.join().expect("an end");
    }

    /// A sender of nonsense is disconnected: only the live view has this socket.
    #[test]
    fn nonsense_ends_it() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let thread = std::thread::spawn(|| answer(theirs, Path::new("/proc")));
        (&ours).write_all(b"{}\n").expect("written");
        thread.join().expect("an end");
    }
}
