//! The terminal is given back when the program aborts, too: memory that cannot be had, a stack that
//! overflows and a panic while panicking end in SIGABRT, past every destructor and hook.

use rustix::stdio::{stdin, stdout};
use rustix::termios::{tcgetattr, tcsetattr, OptionalActions, Termios};
use signal_hook::consts::SIGABRT;
use signal_hook::low_level::{emulate_default_handler, register};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Clicks off, bracketed paste off, the ordinary screen, the cursor shown: what
/// `crate::terminal::restore` writes, ready made.
const GIVE_BACK: &[u8] =
    b"\x1b[?1006l\x1b[?1015l\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?2004l\x1b[?1049l\x1b[?25h";

/// Whether the terminal is ours now.
pub(crate) static TAKEN: AtomicBool = AtomicBool::new(false);

/// How the terminal was set when the program began.
static BEFORE: OnceLock<Termios> = OnceLock::new();

/// Keeps how the terminal is set, and sees to it that an abort sets it so again. To be called
/// before the terminal is taken.
pub(crate) fn restore_on_abort() -> io::Result<()> {
    static REGISTERED: Mutex<bool> = Mutex::new(false);
    let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    if *registered {
        return Ok(());
    }
    if let Ok(settings) = tcgetattr(stdin()).or_else(|_| tcgetattr(stdout())) {
        let _ = BEFORE.set(settings);
    }
    #[allow(unsafe_code)]
    // SAFETY: the handler makes system calls on values that were ready before, and nothing else.
    unsafe {
        register(SIGABRT, on_abort)?;
    }
    *registered = true;
    Ok(())
}

fn on_abort() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // Nobody is left to tell when this fails.
        let _ = rustix::io::write(stdout(), GIVE_BACK);
        if let Some(settings) = BEFORE.get() {
            let _ = tcsetattr(stdout(), OptionalActions::Now, settings);
        }
    }
    // abort(3) would raise it once more, kill(2) would not.
    let _ = emulate_default_handler(SIGABRT);
}
