//! The live view in a real terminal: tmux(1) is the terminal.

use crate::tree::tree;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// A tmux server of its own, so that nobody's sessions are touched.
pub struct Terminal {
    name: String,
}

impl Terminal {
    /// Runs a line of shell in a window of 100 x 30.
    fn new(name: &str, line: &str) -> Terminal {
        let name = format!("exactop-{name}-{}", std::process::id());
        let terminal = Terminal { name };
        terminal.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", line]);
        terminal
    }

    fn tmux(&self, args: &[&str]) -> Output {
        let mut command = Command::new("tmux");
        let output = command.arg("-L").arg(&self.name).args(args).output();
        output.expect("tmux(1) is needed: make deps")
    }

    fn screen(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p"]).stdout).into_owned()
    }

    pub fn keys(&self, keys: &str) {
        self.tmux(&["send-keys", keys]);
    }

    /// Waits until the screen holds these words; a machine under load gets its time.
    pub fn await_words(&self, words: &str) -> String {
        let begin = Instant::now();
        loop {
            let screen = self.screen();
            if screen.contains(words) {
                return screen;
            }
            let waited = begin.elapsed();
            assert!(waited < Duration::from_secs(60), "no {words:?} on the screen:\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// The live view on a made-up /proc; how it ended stays on the screen.
pub fn live(name: &str, root: &Path, config: &Path, options: &str) -> Terminal {
    let (binary, root, config) = (env!("CARGO_BIN_EXE_exactop"), root.display(), config.display());
    let line = format!(
        "XDG_CONFIG_HOME={config} {binary} --proc-root {root} {options}; echo ended: $?; sleep 600"
    );
    Terminal::new(name, &line)
}

#[test]
fn it_shows_rows_keeps_settings_and_quits() {
    let (tree, config) = (tree(), tempfile::tempdir().expect("a directory"));
    let terminal = live("quits", tree.path(), config.path(), "-p 1,812 --columns pid,%CPU,comm");
    let screen = terminal.await_words("init");
    assert!(screen.contains("procfs"), "{screen}");
    assert!(screen.contains("evil\\x1b[2J") && !screen.contains("(b"), "{screen}");
    terminal.keys("W");
    terminal.await_words("config.toml");
    let kept = std::fs::read_to_string(config.path().join("exactop/config.toml")).expect("a file");
    assert!(kept.contains("columns = [\"pid\", \"cpu_pct\", \"comm\"]"), "{kept}");
    terminal.keys("q");
    terminal.await_words("ended: 0");
}

#[test]
fn what_was_kept_is_there_again() {
    let (tree, config) = (tree(), tempfile::tempdir().expect("a directory"));
    std::fs::create_dir(config.path().join("exactop")).expect("a directory");
    let file = config.path().join("exactop/config.toml");
    std::fs::write(file, "columns = [\"pid\", \"start_ns\"]\n").expect("a file");
    let terminal = live("again", tree.path(), config.path(), "-d 60");
    terminal.await_words("START");
    terminal.keys("q");
    terminal.await_words("ended: 0");
}

#[test]
fn settings_that_cannot_be_kept_are_no_reason_to_end() {
    let tree = tree();
    let terminal = live("unwritable", tree.path(), Path::new("/proc/nowhere"), "");
    terminal.await_words("init");
    terminal.keys("W");
    terminal.await_words("cannot write");
    terminal.keys("q");
    terminal.await_words("ended: 0");
}

#[test]
fn a_signal_ends_it_and_gives_the_terminal_back() {
    let (tree, config) = (tree(), tempfile::tempdir().expect("a directory"));
    let terminal = live("signal", tree.path(), config.path(), "-d 60");
    terminal.await_words("init");
    let pane = terminal.tmux(&["display-message", "-p", "#{pane_pid}"]).stdout;
    let shell = String::from_utf8_lossy(&pane).trim().to_string();
    let children = Command::new("pgrep").args(["-P", &shell]).output().expect("pgrep(1)").stdout;
    let child = String::from_utf8_lossy(&children).trim().to_string();
    let killed = Command::new("kill").args(["-s", "TERM", &child]).status();
    assert!(killed.expect("kill(1)").success());
    let screen = terminal.await_words("ended: 143");
    assert!(!screen.contains("init"), "the screen from before is back:\n{screen}");
}
