//! A terminal for tests: a private tmux(1) server with a shell in it.

use super::processes::children;
use super::run::program;
use exactop_testkit::wait;
use rustix::fs::OFlags;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

/// The shell's prompt.
pub const PROMPT: &str = "ready$";

/// Several terminals may be open at once, each with a server of its own.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A terminal with an interactive shell; the server ends with it.
pub struct Terminal {
    server: String,
    home: TempDir,
    pub width: usize,
    pub height: usize,
}

impl Terminal {
    /// A terminal of this size. Variables come only from `env`.
    pub fn new(width: usize, height: usize, env: &[&str]) -> Terminal {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let server = format!("exactop-test-{}-{number}", std::process::id());
        let home = tempfile::tempdir().expect("a temporary directory");
        let terminal = Terminal { server, home, width, height };
        let place = terminal.home.path().display().to_string();
        let path = std::env::var("PATH").unwrap_or_default();
        let shell = format!(
            "exec env -i PATH='{path}' HOME='{place}' XDG_CONFIG_HOME='{place}' TZ=UTC \
             LC_ALL=C.UTF-8 TERM=screen-256color PS1='{PROMPT} ' {} sh -i",
            env.join(" ")
        );
        let (x, y) = (width.to_string(), height.to_string());
        let session = ["new-session", "-d", "-x", &x, "-y", &y, &shell];
        let begun = terminal.tmux(&[&["-u", "-f", "/dev/null"], &session[..]].concat());
        assert!(begun.status.success(), "tmux: {}", String::from_utf8_lossy(&begun.stderr));
        terminal.tmux(&["set-option", "-g", "status", "off"]);
        terminal.tmux(&["resize-window", "-x", &x, "-y", &y]);
        terminal.wait("a shell", |t| t.screen().contains(PROMPT).then_some(()));
        terminal
    }

    /// A terminal with the live view and these options, once it shows rows.
    pub fn live(width: usize, height: usize, options: &str) -> Terminal {
        let terminal = Terminal::new(width, height, &[]);
        terminal.start(options);
        terminal
    }

    /// Types the command and waits for the table.
    pub fn start(&self, options: &str) {
        self.line(&format!("clear; {} {options}", program()));
        self.wait("the table", |t| t.alternate().then_some(()));
        self.shows("PID");
        // The screen before the source is open belongs to no window.
        self.wait("a window", |t| (!t.screen().contains("since boot")).then_some(()));
    }

    fn tmux(&self, args: &[&str]) -> Output {
        let output = Command::new("tmux").arg("-L").arg(&self.server).args(args).output();
        output.unwrap_or_else(|error| panic!("these tests need tmux(1) (make deps): {error}"))
    }

    /// A value of tmux: `alternate_on`, `pane_pid` and other formats of its manual.
    pub fn knows(&self, format: &str) -> String {
        let answer = self.tmux(&["display-message", "-p", &format!("#{{{format}}}")]);
        String::from_utf8_lossy(&answer.stdout).trim().to_string()
    }

    /// True if a program uses the alternate screen.
    pub fn alternate(&self) -> bool {
        self.knows("alternate_on") == "1"
    }

    /// The text on the screen.
    pub fn screen(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p"]).stdout).into_owned()
    }

    /// Presses keys by their names in tmux.
    pub fn keys(&self, keys: &[&str]) {
        self.send(keys);
    }

    /// Types text literally.
    pub fn text(&self, text: &str) {
        self.send(&["-l", "--", text]);
    }

    fn send(&self, keys: &[&str]) {
        let sent = self.tmux(&[&["send-keys"], keys].concat());
        assert!(sent.status.success(), "{keys:?}: {}", String::from_utf8_lossy(&sent.stderr));
    }

    /// Types a line.
    pub fn line(&self, text: &str) {
        self.text(text);
        self.keys(&["Enter"]);
    }

    /// Changes the size.
    pub fn resize(&mut self, width: usize, height: usize) {
        self.tmux(&["resize-window", "-x", &width.to_string(), "-y", &height.to_string()]);
        (self.width, self.height) = (width, height);
    }

    /// Saves every byte that programs write from now on.
    pub fn record(&self) -> PathBuf {
        let file = self.home.path().join("bytes");
        self.tmux(&["pipe-pane", &format!("cat > '{}'", file.display())]);
        file
    }

    /// Path of the configuration.
    pub fn config(&self) -> PathBuf {
        self.home.path().join("exactop/config.toml")
    }

    /// Waits until `look` finds something.
    #[track_caller]
    pub fn wait<T>(&self, what: &str, mut look: impl FnMut(&Terminal) -> Option<T>) -> T {
        wait::find_or_say(what, || look(self), || format!("the screen:\n{}", self.screen()))
    }

    /// Waits until two consecutive looks see the same screen.
    #[track_caller]
    pub fn settled(&self) -> String {
        let mut before = self.screen();
        self.wait("a screen that stays", |t| {
            let now = t.screen();
            (std::mem::replace(&mut before, now) == before).then(|| before.clone())
        })
    }

    /// Presses Esc, and waits until the program has read it. Otherwise the next key could join it:
    /// Esc and a letter are Alt and that letter, and two Esc are one.
    #[track_caller]
    pub fn escape(&self) {
        self.keys(&["Escape"]);
        let tty = File::options()
            .read(true)
            .custom_flags(OFlags::NOCTTY.bits() as i32)
            .open(self.knows("pane_tty"))
            .expect("its terminal");
        // The server queues a key for the pane, and may answer before it has written it. With this
        // second answer it has.
        self.knows("pane_tty");
        self.wait("a reader of Esc", |_| {
            (rustix::io::ioctl_fionread(&tty).expect("a count") == 0).then_some(())
        });
    }

    /// Waits for words on the screen.
    #[track_caller]
    pub fn shows(&self, words: &str) -> String {
        self.wait(&format!("{words:?}"), |t| Some(t.screen()).filter(|s| s.contains(words)))
    }

    /// Waits until the screen passes a check. At a single look the screen may be half drawn.
    #[track_caller]
    pub fn passes(&self, check: impl Fn(&str) -> Result<(), String>) {
        let why = |screen: &str| check(screen).err().unwrap_or_default();
        let look = || check(&self.screen()).ok();
        wait::find_or_say("a screen as it should be", look, || {
            let screen = self.screen();
            format!("{}; the screen:\n{screen}", why(&screen))
        });
    }

    /// The process that the shell runs in the foreground or has stopped.
    pub fn child(&self) -> u32 {
        let shell = self.knows("pane_pid").parse().expect("a PID");
        self.wait("a program", |_| children(shell).first().copied())
    }

    /// The shell's answer to a command.
    pub fn answer(&self, command: &str) -> String {
        let file = self.home.path().join("answer");
        let _ = std::fs::remove_file(&file);
        let name = file.display();
        self.line(&format!("{command} > '{name}.new' 2>&1; mv '{name}.new' '{name}'"));
        self.wait(command, |_| std::fs::read_to_string(&file).ok())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // After a failed test the directory may lack tmux; the server needs no clean-up then.
        let _ = Command::new("tmux").arg("-L").arg(&self.server).arg("kill-server").output();
    }
}
