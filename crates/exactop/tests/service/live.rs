//! The live view of a user in the group, without root: it shows what /proc shows that user.

use crate::daemon::Daemon;
use crate::helpers::processes::{is_over, Load, KILL};
use crate::helpers::run::without_ledger;
use crate::helpers::terminal::Terminal;
use crate::screen::table;
use exactop_testkit::wait;
use std::fs;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// The user nobody, whose group is `nogroup`.
const PLAIN: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

/// Owner, resident memory and command line of a process as /proc shows them to a plain user.
fn shown(pid: u32) -> [String; 3] {
    let read = |script: &str| {
        let mut plain = Command::new(PLAIN[0]);
        plain.args(&PLAIN[1..]).args(["sh", "-c", script]).arg(format!("/proc/{pid}"));
        let said = plain.output().expect("setpriv(1)");
        String::from_utf8(said.stdout).expect("UTF-8").trim().to_string()
    };
    // In the column's format: with a decimal below ten MiB.
    let resident =
        "read all resident rest <$0/statm; echo $((resident * $(getconf PAGESIZE) / 1024))";
    let resident_kib: f64 = read(resident).parse().expect("a number");
    let line = "tr '\\0' ' ' <$0/cmdline";
    [read("stat --format %U $0"), format!("{:.1}M", resident_kib / 1024.0), read(line)]
}

/// The words of a process's row.
fn row(screen: &str, pid: u32) -> Result<Vec<&str>, String> {
    let rows = screen.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = rows.into_iter().find(|words| words.first() == Some(&pid.to_string().as_str()));
    row.ok_or(format!("no row of {pid}"))
}

#[test]
fn a_group_member_sees_live_what_proc_shows() {
    if without_ledger() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return eprintln!("left out: only root can change its user");
    }
    let daemon = Daemon::of_group("nogroup");
    let _storm = Load::forks();
    let roots = Load::start(Command::new("sleep").arg("4321"));
    let mut theirs = Command::new(PLAIN[0]);
    let theirs = Load::start(theirs.args(&PLAIN[1..]).args(["sleep", "4322"]));
    let processes = [roots.pid(), theirs.pid(), daemon.load.pid()];
    let terminal = Terminal::new(160, 20, &["XDG_CONFIG_HOME=/nonexistent"]);
    let pids = processes.map(|pid| format!("-p {pid}")).join(" ");
    let program = daemon.path().join("exactop");
    terminal.line(&format!(
        "clear; {} {} -d 0.3 --source daemon --socket {} --columns pid,user,res,cpu_pct,command {pids}",
        PLAIN.join(" "),
        program.display(),
        daemon.socket().display(),
    ));
    terminal.wait("the table", |t| t.alternate().then_some(()));
    terminal.shows("COMMAND");
    terminal.passes(|screen| {
        table(&terminal, screen)?;
        match screen.contains("ledger · window") {
            true => Ok(()),
            false => Err("it does not say that figures are the ledger's".into()),
        }
    });
    // It has no rights of its own, neither root's nor BPF programs.
    let view = terminal.child();
    let status = fs::read_to_string(format!("/proc/{view}/status")).expect("it lives");
    assert!(status.contains("Uid:\t65534\t65534\t65534\t65534"), "{status}");
    assert_eq!(crate::daemon::bpf_files(view), 0);
    for pid in processes {
        terminal.passes(|screen| {
            let (row, [user, resident, line]) = (row(screen, pid)?, shown(pid));
            let told = row[1..].join(" ");
            // The screen holds only the beginning of a longer text.
            let begin: String = line.chars().take(60).collect();
            let is = told.starts_with(&user) && told.contains(&begin);
            match is && (pid == daemon.load.pid() || row[2] == resident) {
                true => Ok(()),
                false => Err(format!("{told}: /proc shows {user} {resident} {line}")),
            }
        });
    }
}

/// The daemon attaches the programs that the view may not load itself.
#[test]
fn a_user_without_bpf_gets_a_processs_page_from_the_daemon() {
    if without_ledger() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return eprintln!("left out: only root can change its user");
    }
    let daemon = Daemon::of_group("nogroup");
    let mut theirs = Command::new(PLAIN[0]);
    let script = "while :; do { read line < /nowhere; } 2>/dev/null; sleep 0.05; done";
    let theirs = Load::start(theirs.args(&PLAIN[1..]).args(["sh", "-c", script]));
    let terminal = Terminal::new(120, 30, &["XDG_CONFIG_HOME=/nonexistent"]);
    terminal.line(&format!(
        "clear; {} {} -d 0.5 --source daemon --socket {} -p {}",
        PLAIN.join(" "),
        daemon.path().join("exactop").display(),
        daemon.socket().display(),
        theirs.pid(),
    ));
    terminal.wait("the table", |t| t.alternate().then_some(()));
    terminal.shows(" sh");
    terminal.keys(&["y"]);
    terminal.shows("FAILED WITH");
    terminal.shows("ENOENT ");
    terminal.escape();
    terminal.shows("waits in SLP");
    assert!(!terminal.screen().contains("not known"), "{}", terminal.screen());
    let view = terminal.child();
    assert_eq!(crate::daemon::bpf_files(view), 0, "it loaded programs itself");
}

/// Number of connections that are accepted and closed at once.
fn connections(socket: &std::path::Path) -> Arc<AtomicUsize> {
    let listener = UnixListener::bind(socket).expect("a socket");
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            drop(connection);
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    count
}

#[test]
fn keys_are_answered_while_the_daemon_is_away() {
    if without_ledger() {
        return;
    }
    let mut daemon = Daemon::start(&[]);
    let terminal = Terminal::new(160, 20, &["XDG_CONFIG_HOME=/nonexistent"]);
    let socket = daemon.socket();
    terminal.start(&format!("-d 2 --source daemon --socket {}", socket.display()));
    let view = terminal.child();
    daemon.end(KILL);
    terminal.shows("is not reachable");
    terminal.keys(&["?"]);
    terminal.shows("The most useful keys here");
    terminal.escape();
    daemon.start_again();
    terminal.wait("the next daemon", |t| (!t.screen().contains("is not reachable")).then_some(()));
    terminal.shows("ledger · window");
    daemon.end(KILL);
    fs::remove_file(&socket).expect("the socket that it left");
    let connections = connections(&socket);
    let tries = || connections.load(Ordering::SeqCst);
    wait::until("it tries to connect", || tries() > 0);
    let before = tries();
    terminal.keys(&["q"]);
    wait::until("it ends", || is_over(view));
    // A view that waits for a daemon in the thread of the keys would retry a dozen times before it
    // handles any; this one retries once a second.
    let more = tries() - before;
    assert!(more < 11, "it quits after {more} attempts more");
}
