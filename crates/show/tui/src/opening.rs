//! Handles keys while the source opens, which may take seconds on a busy machine. During that time
//! the keys that end the program are signals, and a separate thread ends the program at once when
//! such a signal comes.

use crate::terminal::{restore, Signals};
use rustix::stdio::stdin;
use rustix::termios::{tcgetattr, tcsetattr, LocalModes, OptionalActions, Termios};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Longest time until a signal is noticed.
const LOOK: Duration = Duration::from_millis(20);

/// While this value lives, Ctrl-C and every other ending signal end the program at once.
pub(crate) struct Opening {
    /// The terminal's earlier settings, if they could be changed.
    before: Option<Termios>,
    opened: Arc<AtomicBool>,
    watch: Option<JoinHandle<()>>,
}

impl Opening {
    /// Begins before the source opens. Without a thread or terminal settings, keys and signals wait
    /// until it is open.
    pub(crate) fn begin(signals: &Signals) -> Opening {
        let opened = Arc::new(AtomicBool::new(false));
        let (done, ending) = (opened.clone(), signals.ending_flags());
        let watch = move || {
            while !done.load(Ordering::SeqCst) {
                if let Some(signal) = ending.caught() {
                    restore();
                    std::process::exit(128 + signal);
                }
                thread::park_timeout(LOOK);
            }
        };
        let watch = thread::Builder::new().name("opening".into()).spawn(watch).ok();
        let before = watch.as_ref().and_then(|_| keys_are_signals());
        Opening { before, opened, watch }
    }
}

/// Turns Ctrl-C and Ctrl-\ into signals (ISIG, termios(3)). Returns the earlier settings.
fn keys_are_signals() -> Option<Termios> {
    let before = tcgetattr(stdin()).ok()?;
    let mut settings = before.clone();
    settings.local_modes |= LocalModes::ISIG;
    tcsetattr(stdin(), OptionalActions::Now, &settings).ok()?;
    Some(before)
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.opened.store(true, Ordering::SeqCst);
        if let Some(watch) = self.watch.take() {
            watch.thread().unpark();
            // The thread cannot panic.
            let _ = watch.join();
        }
        if let Some(before) = &self.before {
            let _ = tcsetattr(stdin(), OptionalActions::Now, before);
        }
    }
}
