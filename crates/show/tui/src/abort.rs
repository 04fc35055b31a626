//! Restores the terminal when the program aborts. A failed allocation, a stack overflow and a panic
//! while panicking end in SIGABRT, without destructors and hooks.

use rustix::stdio::{stdin, stdout};
use rustix::termios::{tcgetattr, tcsetattr, OptionalActions, Termios};
use signal_hook::consts::SIGABRT;
use signal_hook::low_level::{emulate_default_handler, register};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Turns off clicks and bracketed paste, returns to the ordinary screen and shows the cursor: the
/// same bytes as `crate::terminal::restore`, ready made.
const GIVE_BACK: &[u8] =
    b"\x1b[?1006l\x1b[?1015l\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?2004l\x1b[?1049l\x1b[?25h";

/// True while this program has taken the terminal.
pub(crate) static TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal's settings when the program began.
static BEFORE: OnceLock<Termios> = OnceLock::new();

/// Saves the terminal's settings, and restores them on abort. Call this before the terminal is
/// taken.
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
    // SAFETY: the handler only makes system calls on values that exist before.
    unsafe {
        register(SIGABRT, on_abort)?;
    }
    *registered = true;
    Ok(())
}

fn on_abort() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        // A write error is ignored: there is no reader left.
        let _ = rustix::io::write(stdout(), GIVE_BACK);
        if let Some(settings) = BEFORE.get() {
            let _ = tcsetattr(stdout(), OptionalActions::Now, settings);
        }
    }
    // abort(3) would raise it once more, kill(2) would not.
    let _ = emulate_default_handler(SIGABRT);
}
