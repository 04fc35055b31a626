//! While the source is opened nobody takes keys, and that may take seconds on a busy machine. What
//! ends the program from the keyboard is a signal for that time, and a thread of its own ends the
//! program at once for any signal that does.

use crate::terminal::{restore, Signals};
use rustix::stdio::stdin;
use rustix::termios::{tcgetattr, tcsetattr, LocalModes, OptionalActions, Termios};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long a signal may go unnoticed.
const LOOK: Duration = Duration::from_millis(20);

/// As long as it lives, Ctrl-C and whatever else ends the program does so at once.
pub(crate) struct Opening {
    /// How the terminal was set before, if it could be set.
    before: Option<Termios>,
    opened: Arc<AtomicBool>,
    watch: Option<JoinHandle<()>>,
}

impl Opening {
    /// The source begins to be opened. Without a thread or a terminal's settings keys and signals
    /// wait until it is.
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

/// Ctrl-C and Ctrl-\ are signals now (ISIG, termios(3)); how it was before.
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
            // It cannot panic.
            let _ = watch.join();
        }
        if let Some(before) = &self.before {
            let _ = tcsetattr(stdin(), OptionalActions::Now, before);
        }
    }
}
