//! A second SIGINT or SIGTERM ends the program at once, in the signal handler, which also restores
//! a terminal that the program had taken.

use signal_hook::consts::SIGTTOU;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// A signal this soon after the first is the same request: timeout(1) signals its child and then
/// the child's group.
const SAME_WISH_MS: u64 = 100;

/// Time of the first signal, ms; 0: none yet.
static FIRST_MS: AtomicU64 = AtomicU64::new(0);

/// How to restore the terminal.
static TAKEN: AtomicPtr<SavedTerminal> = AtomicPtr::new(ptr::null_mut());

struct SavedTerminal {
    settings: libc::termios,
    bytes: &'static [u8],
}

/// In a handler: notes a signal. An `urgent` one that is not the first ends the program.
pub fn note_signal(signal: i32, urgent: bool) {
    let now_ms = now_ms().max(1);
    match FIRST_MS.compare_exchange(0, now_ms, Ordering::SeqCst, Ordering::SeqCst) {
        Err(first_ms) if urgent && now_ms.saturating_sub(first_ms) > SAME_WISH_MS => {
            give_back();
            signal_hook::low_level::exit(128 + signal);
        }
        _ => {}
    }
}

fn now_ms() -> u64 {
    // A system call without a lock (signal-safety(7)).
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

/// Registers the terminal: at such an end, the settings of standard input's terminal are restored,
/// and `bytes` are written to standard output's.
///
/// # Errors
/// There is no terminal.
pub fn terminal_is_taken(bytes: &'static [u8]) -> io::Result<()> {
    let mut settings = MaybeUninit::<libc::termios>::uninit();
    // SAFETY: room for the answer, which is read only if the call succeeded.
    let settings = match unsafe { libc::tcgetattr(0, settings.as_mut_ptr()) } {
        0 => unsafe { settings.assume_init() },
        _ => return Err(io::Error::last_os_error()),
    };
    // Never freed: a handler may be reading it.
    TAKEN.store(Box::into_raw(Box::new(SavedTerminal { settings, bytes })), Ordering::SeqCst);
    Ok(())
}

/// Unregisters the terminal.
pub fn terminal_is_given_back() {
    TAKEN.store(ptr::null_mut(), Ordering::SeqCst);
}

/// Restores the terminal; makes only system calls.
fn give_back() {
    // SAFETY: a stored value lives for ever.
    let Some(taken) = (unsafe { TAKEN.load(Ordering::SeqCst).as_ref() }) else { return };
    // SAFETY: ignoring a signal runs no code of ours; without it we would be stopped in the
    // background. The others get pointers that are valid until they return.
    unsafe {
        libc::signal(SIGTTOU, libc::SIG_IGN);
        libc::tcsetattr(0, libc::TCSANOW, &taken.settings);
        let mut out = libc::pollfd { fd: 1, events: libc::POLLOUT, revents: 0 };
        // Not while the terminal is stopped: the write would block.
        if libc::poll(&mut out, 1, 0) == 1 {
            libc::write(1, taken.bytes.as_ptr().cast(), taken.bytes.len());
        }
    }
}
