//! The terminal: taken at the start, and restored however the program ends.

use crate::abort::{restore_on_abort, TAKEN};
use crate::canvas::Canvas;
use crate::host::TuiError;
use crate::keyboard::Keyboard;
use crate::layout::canvas_size;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use crossterm::terminal::{
    disable_raw_mode, enable_raw_mode, EnterAlternateScreen, LeaveAlternateScreen,
};
use crossterm::{cursor, execute};
use ratatui_core::backend::Backend;
use ratatui_crossterm::CrosstermBackend;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::low_level::{emulate_default_handler, pipe, unregister};
use signal_hook::{flag, SigId};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read, Stdout};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

/// Signals that end the program.
const ENDING: [i32; 4] = [SIGTERM, SIGHUP, SIGINT, SIGQUIT];

/// Larger than a screen. Standard output's own buffer is written at every kilobyte.
const SCREEN_BYTES: usize = 64 * 1024;

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// Keys or clicks are waiting.
    Input,
    /// The timeout passed.
    Timeout,
    /// A signal came in; see [`Signals`].
    Signal,
    /// The terminal hung up.
    Gone,
}

/// The terminal while the program holds it. Dropping it restores the terminal.
pub(crate) struct Guard {
    backend: CrosstermBackend<BufWriter<Stdout>>,
    canvas: Canvas,
    cursor: Option<(u16, u16)>,
    mouse: bool,
    /// The terminal, if standard input is another file.
    tty: Option<File>,
}

impl Guard {
    /// Takes the terminal.
    pub(crate) fn new(mouse: bool) -> Result<Guard, TuiError> {
        if !io::stdout().is_terminal() {
            return Err(TuiError::NotATerminal("standard output"));
        }
        let term = std::env::var("TERM").unwrap_or_default();
        if term.is_empty() || term == "dumb" {
            return Err(TuiError::DumbTerminal(term));
        }
        let tty = match io::stdin().is_terminal() {
            true => None,
            false => {
                Some(File::open("/dev/tty").map_err(|_| TuiError::NotATerminal("standard input"))?)
            }
        };
        restore_on_panic();
        restore_on_abort()?;
        take(mouse)?;
        let out = BufWriter::with_capacity(SCREEN_BYTES, io::stdout());
        let backend = CrosstermBackend::new(out);
        Ok(Guard { backend, canvas: Canvas::default(), cursor: None, mouse, tty })
    }

    /// The terminal's input.
    pub(crate) fn input(&self) -> BorrowedFd<'_> {
        match &self.tty {
            Some(tty) => tty.as_fd(),
            None => rustix::stdio::stdin(),
        }
    }

    /// Waits for input, a signal or the end of `timeout`. It also checks that the terminal still
    /// exists, because a read from one that hung up does not always fail.
    pub(crate) fn wait(
        &self,
        signals: &Signals,
        keyboard: &Keyboard,
        timeout: Duration,
    ) -> io::Result<Wake> {
        let (input, keys) = (self.input(), keyboard.wake());
        let mut fds = [
            // For its errors only.
            PollFd::new(&input, PollFlags::empty()),
            PollFd::new(&signals.wake, PollFlags::IN),
            PollFd::new(&keys, PollFlags::IN),
        ];
        let timeout = Timespec::try_from(timeout).unwrap_or(Timespec { tv_sec: 3600, tv_nsec: 0 });
        match poll(&mut fds, Some(&timeout)) {
            Ok(0) => return Ok(Wake::Timeout),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Wake::Signal),
            Err(e) => return Err(e.into()),
        }
        let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        if fds[0].revents().intersects(gone) {
            return Ok(Wake::Gone);
        }
        if fds[1].revents().contains(PollFlags::IN) {
            signals.drain();
            return Ok(Wake::Signal);
        }
        Ok(Wake::Input)
    }

    /// Restores the terminal, stops until a shell continues the program, then takes the terminal
    /// again.
    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        restore();
        emulate_default_handler(SIGTSTP)?;
        self.retake()
    }

    /// Takes the terminal again after another program had it. If this program was continued in the
    /// background, setting the terminal stops it until it is in the foreground.
    pub(crate) fn retake(&mut self) -> io::Result<()> {
        // Raw mode is set only if the library believes that it is not set.
        disable_raw_mode()?;
        take(self.mouse)?;
        self.clear()
    }

    /// Width and height of the drawing area. The backend's own function opens /dev/tty each time.
    pub(crate) fn size(&self) -> io::Result<(u16, u16)> {
        let (width, height) = match rustix::termios::tcgetwinsize(rustix::stdio::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
            _ => self.backend.size().map(|size| (size.width, size.height))?,
        };
        Ok(canvas_size(width, height))
    }

    /// Clears the terminal and the cached screen, so that everything is drawn again.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        let (width, height) = self.size()?;
        self.clear_to(width, height)
    }

    fn clear_to(&mut self, width: u16, height: u16) -> io::Result<()> {
        self.backend.clear()?;
        self.canvas.resize(width, height);
        Ok(())
    }

    /// Draws with `draw`, and puts the cursor where it says.
    pub(crate) fn draw(
        &mut self,
        (width, height): (u16, u16),
        draw: impl FnOnce(&mut Canvas) -> Option<(u16, u16)>,
    ) -> io::Result<()> {
        if self.canvas.size() != (width, height) {
            self.clear_to(width, height)?;
        }
        let cursor = draw(&mut self.canvas);
        if self.cursor.is_some() {
            self.backend.hide_cursor()?;
        }
        self.canvas.write(&mut self.backend)?;
        if let Some(at) = cursor {
            self.backend.set_cursor_position(at)?;
            self.backend.show_cursor()?;
        }
        self.cursor = cursor;
        Backend::flush(&mut self.backend)
    }

    /// The screen as lines of text.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        self.canvas.lines()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        restore();
    }
}

fn take(mouse: bool) -> io::Result<()> {
    TAKEN.store(true, Ordering::SeqCst);
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, cursor::Hide)?;
    if mouse {
        execute!(io::stdout(), EnableMouseCapture)?;
    }
    Ok(())
}

/// Errors are ignored: the terminal may be gone.
pub(crate) fn restore() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let _ = execute!(
        io::stdout(),
        DisableMouseCapture,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        cursor::Show
    );
    let _ = disable_raw_mode();
}

/// Restores the terminal on panic, so that the message appears on the ordinary screen.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            restore();
            before(info);
        }));
    });
}

/// Signals that end the program, and whether each came.
#[derive(Clone)]
pub(crate) struct Ending(Vec<(i32, Arc<AtomicBool>)>);

impl Ending {
    /// The signal that came.
    pub(crate) fn caught(&self) -> Option<i32> {
        self.0.iter().find(|(_, caught)| caught.load(Ordering::SeqCst)).map(|(s, _)| *s)
    }
}

/// Signals as flags, and a pipe that wakes the loop.
pub(crate) struct Signals {
    wake: UnixStream,
    ending: Ending,
    stop: Arc<AtomicBool>,
    resumed: Arc<AtomicBool>,
    ids: Vec<SigId>,
}

impl Signals {
    /// Starts catching signals.
    pub(crate) fn new() -> io::Result<Signals> {
        let (wake, sender) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let mut signals = Signals {
            wake,
            ending: Ending(ENDING.map(|s| (s, Arc::default())).into()),
            stop: Arc::default(),
            resumed: Arc::default(),
            ids: Vec::new(),
        };
        // Flags first: when the pipe wakes the loop, they must be set.
        for (signal, caught) in &signals.ending.0 {
            signals.ids.push(flag::register(*signal, caught.clone())?);
        }
        signals.ids.push(flag::register(SIGTSTP, signals.stop.clone())?);
        signals.ids.push(flag::register(SIGCONT, signals.resumed.clone())?);
        for signal in ENDING.into_iter().chain([SIGTSTP, SIGCONT, SIGWINCH]) {
            signals.ids.push(pipe::register(signal, sender.try_clone()?)?);
        }
        Ok(signals)
    }

    fn drain(&self) {
        let mut bytes = [0; 64];
        while matches!((&self.wake).read(&mut bytes), Ok(n) if n > 0) {}
    }

    /// The signal that asks the program to end.
    pub(crate) fn ending(&self) -> Option<i32> {
        self.ending.caught()
    }

    /// The same flags for another thread.
    pub(crate) fn ending_flags(&self) -> Ending {
        self.ending.clone()
    }

    /// True if a stop (SIGTSTP) was requested.
    pub(crate) fn take_stop(&self) -> bool {
        self.stop.swap(false, Ordering::SeqCst)
    }

    /// True if the program was continued after a stop.
    pub(crate) fn take_resumed(&self) -> bool {
        self.resumed.swap(false, Ordering::SeqCst)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for id in self.ids.drain(..) {
            unregister(id);
        }
    }
}
