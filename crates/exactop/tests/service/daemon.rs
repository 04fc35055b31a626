//! A daemon in a directory of its own.

use crate::helpers::processes::{send, Load, INT};
use crate::helpers::run::{command, run, Done};
use exactop_testkit::wait;
use serde_json::Value;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The daemon, with its socket, recording and error output.
pub struct Daemon {
    pub load: Load,
    dir: tempfile::TempDir,
    /// Options of its start.
    options: Vec<String>,
    notify: Option<PathBuf>,
}

impl Daemon {
    /// Starts it with these further options; returns when it serves.
    pub fn start(options: &[&str]) -> Daemon {
        Daemon::start_in(tempfile::tempdir().expect("a directory"), options, None)
    }

    /// For this group, with a copy of the program that other users can start.
    pub fn of_group(group: &str) -> Daemon {
        let dir = tempfile::tempdir().expect("a directory");
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("rights");
        let config = dir.path().join("config.toml");
        fs::write(&config, format!("group = \"{group}\"\n")).expect("settings");
        let config = config.to_str().expect("UTF-8").to_string();
        let daemon = Daemon::start_in(dir, &["--config", &config], None);
        crate::helpers::run::copied(&daemon.path().join("exactop"));
        daemon
    }

    /// Same in an existing directory, with a socket for systemd's notifications.
    pub fn start_in(dir: tempfile::TempDir, options: &[&str], notify: Option<PathBuf>) -> Daemon {
        let options: Vec<String> = options.iter().map(|option| option.to_string()).collect();
        let load = serve(dir.path(), &options, notify.as_deref());
        let daemon = Daemon { load, dir, options, notify };
        daemon.await_service();
        daemon
    }

    /// Same with a modified command.
    pub fn start_by(options: &[&str], change: impl FnOnce(Command) -> Command) -> Daemon {
        let dir = tempfile::tempdir().expect("a directory");
        let options: Vec<String> = options.iter().map(|option| option.to_string()).collect();
        let mut daemon = change(words(dir.path(), &options, None));
        let load = Load(daemon.spawn().expect("a daemon"));
        let daemon = Daemon { load, dir, options, notify: None };
        daemon.await_service();
        daemon
    }

    /// Starts another daemon in its place.
    pub fn start_again(&mut self) {
        self.load = serve(self.dir.path(), &self.options, self.notify.as_deref());
        self.await_service();
    }

    fn await_service(&self) {
        let complaints = self.dir.path().join("complaints");
        wait::until("the daemon's socket", || {
            let pid = self.load.pid();
            let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let ended = state.contains(") Z ") || state.is_empty();
            assert!(!ended, "{}", fs::read_to_string(&complaints).expect("what it said"));
            UnixStream::connect(self.socket()).is_ok() && self.fenced()
        });
    }

    /// True once it has given up its rights, its last step.
    fn fenced(&self) -> bool {
        let status = fs::read_to_string(format!("/proc/{}/status", self.load.pid()));
        status.is_ok_and(|status| status.contains("Seccomp:\t2"))
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("socket")
    }

    pub fn log(&self) -> PathBuf {
        self.dir.path().join("log")
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Its output so far.
    pub fn said(&self) -> String {
        fs::read_to_string(self.dir.path().join("complaints")).expect("what it said")
    }

    /// A command that reads its socket.
    pub fn reader(&self, words: &[&str]) -> Command {
        let mut reader = command(words);
        reader.arg("--source").arg("daemon").arg("--socket").arg(self.socket());
        reader
    }

    /// Same as the user nobody, whose group is `nogroup`.
    pub fn plain_reader(&self, words: &[&str]) -> Command {
        let mut reader = Command::new("setpriv");
        reader.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]);
        reader.arg(self.path().join("exactop")).args(words);
        reader.args(["--source", "daemon", "--socket"]).arg(self.socket());
        reader
    }

    /// Windows that a reader printed.
    pub fn windows(&self, words: &[&str]) -> Vec<Value> {
        let socket = self.socket();
        let socket = socket.to_str().expect("UTF-8");
        let out = run(&[words, &["--json", "--source", "daemon", "--socket", socket]].concat());
        parsed(&out.fine())
    }

    /// Ends it, and returns its exit code.
    pub fn end(&mut self, signal: i32) -> Option<i32> {
        send(self.load.pid(), signal);
        self.load.0.wait().expect("an end").code()
    }

    /// Result of `exactop record verify` on its recording.
    pub fn verified(&self) -> Done {
        run(&["record", "verify", self.log().to_str().expect("UTF-8")])
    }
}

/// A reader that prints windows into a file until it is stopped.
pub struct Looking {
    child: Load,
    out: PathBuf,
    complaints: PathBuf,
}

impl Looking {
    /// Starts a reader with these options and a name that is unique within this daemon.
    pub fn start(daemon: &Daemon, name: &str, words: &[&str]) -> Looking {
        let out = daemon.path().join(format!("windows-{name}"));
        let complaints = daemon.path().join(format!("said-{name}"));
        let file = |path| File::create(path).expect("a file");
        let mut reader = daemon.reader(&[words, &["--json"]].concat());
        let child = reader.stdout(file(&out)).stderr(file(&complaints)).spawn();
        Looking { child: Load(child.expect("a reader")), out, complaints }
    }

    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Number of windows so far.
    pub fn count(&self) -> usize {
        let written = fs::read(&self.out).expect("a file");
        written.iter().filter(|&&byte| byte == b'\n').count()
    }

    /// The complete windows so far.
    pub fn windows(&self) -> Vec<Value> {
        whole(&self.out)
    }

    pub fn stop(mut self) -> Vec<Value> {
        send(self.child.pid(), INT);
        let ended = self.child.0.wait().expect("an end");
        let said = fs::read_to_string(&self.complaints).expect("UTF-8");
        assert_eq!((ended.code(), said.as_str()), (Some(130), ""));
        parsed(&fs::read_to_string(&self.out).expect("UTF-8"))
    }
}

/// The time range of a window, and whether it has interrupts as an account of their own. A reader
/// that connects before these are measured has them within tasks for one window longer.
pub fn span(window: &Value) -> (u64, u64, bool) {
    let ns = |name: &str| window["window"][name].as_u64().expect("a time");
    (ns("t0_ns"), ns("t1_ns"), window["books"]["irq_ns"].is_null())
}

/// Windows in a file that is being written: the last line may be incomplete.
pub fn whole(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    parsed(text.rsplit_once('\n').map_or("", |(whole, _)| whole))
}

/// Number of open BPF programs of a process; maps and iterators come and go with each window.
pub fn bpf_files(pid: u32) -> usize {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).expect("descriptors").flatten();
    let links = files.filter_map(|file| fs::read_link(file.path()).ok());
    links.filter(|link| link.to_string_lossy().contains("bpf-prog")).count()
}

/// Parses lines of JSON.
pub fn parsed(lines: &str) -> Vec<Value> {
    lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn serve(dir: &Path, options: &[String], notify: Option<&Path>) -> Load {
    Load(words(dir, options, notify).spawn().expect("a daemon"))
}

/// The command that starts it.
fn words(dir: &Path, options: &[String], notify: Option<&Path>) -> Command {
    let complaints = File::options().create(true).append(true).open(dir.join("complaints"));
    let mut daemon = command(&["daemon"]);
    daemon.arg("--socket").arg(dir.join("socket")).arg("--dir").arg(dir.join("log")).args(options);
    if let Some(notify) = notify {
        daemon.env("NOTIFY_SOCKET", notify).env("WATCHDOG_USEC", "2000000");
    }
    daemon.stderr(complaints.expect("a file"));
    daemon
}
