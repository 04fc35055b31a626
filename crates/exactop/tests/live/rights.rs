//! Rights of the live view, at rest and during an action.

use crate::helpers::processes::{children, is_over, send, Load, KILL};
use crate::helpers::rights::{await_threads, documented, each_thread_has, field, of, Capabilities};
use crate::helpers::run::run;
use crate::helpers::terminal::Terminal;
use exactop_testkit::wait;
use std::path::Path;

#[test]
fn the_live_view_keeps_the_documented_rights() {
    let terminal = Terminal::live(100, 30, "--source procfs -d 0.2");
    let pid = terminal.child().to_string();
    terminal.wait("a fence", |_| (field(&pid, "Seccomp:") == "2").then_some(()));
    assert_eq!(of(&pid), documented("live view", "procfs"));
    assert!(!each_thread_has(&pid, documented("live view", "procfs")).is_empty());
}

#[test]
fn the_live_view_of_a_recording_keeps_the_documented_rights() {
    let dir = tempfile::tempdir().expect("a directory");
    let log = dir.path().join("log");
    let log = log.to_str().expect("UTF-8");
    run(&["--json", "-n", "3", "-d", "0.1", "--source", "procfs", "--record", log]).fine();
    let terminal = Terminal::new(100, 30, &[]);
    terminal.start(&format!("replay {log}"));
    let pid = terminal.child().to_string();
    terminal.wait("a fence", |_| (field(&pid, "Seccomp:") == "2").then_some(()));
    let expected = documented("live view of a recording", "");
    assert_eq!(of(&pid), expected);
    // It reads keys once it has given up its rights.
    await_threads(&pid, &["keyboard"]);
    let threads = each_thread_has(&pid, expected);
    assert!(threads.iter().any(|name| name == "keyboard"), "{threads:?}");
}

/// With an ordinary user it keeps none.
#[test]
fn the_reader_process_keeps_its_rights_and_ends_with_the_view() {
    const READER: u64 = 1 << 2 | 1 << 19;
    let terminal = Terminal::live(100, 30, "--source procfs -d 0.2");
    let view = terminal.child();
    let reader = terminal.wait("a reader", |_| children(view).first().copied());
    let pid = reader.to_string();
    terminal.wait("a fence", |_| (field(&pid, "Seccomp:") == "2").then_some(()));
    assert_eq!(field(&pid, "Name:"), "exactop-reader");
    let kept = if rustix::process::geteuid().is_root() { READER } else { 0 };
    let kept = kept & of("self").permitted;
    assert_eq!(of(&pid), Capabilities { effective: kept, permitted: kept });
    assert_eq!(field(&pid, "NoNewPrivs:"), "1");
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("its descriptors");
    let open =
        open.map(|entry| std::fs::read_link(entry.expect("an entry").path()).expect("a link"));
    let (sockets, others): (Vec<_>, Vec<_>) =
        open.partition(|path| path.to_string_lossy().starts_with("socket:"));
    assert!(others.iter().all(|path| path == Path::new("/dev/null")), "{others:?}");
    assert!(!sockets.is_empty() && sockets.iter().all(|socket| *socket == sockets[0]));
    send(view, KILL);
    wait::until("its end", || is_over(reader));
}

#[test]
fn the_restricted_view_still_signals_and_saves_settings() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("left out: another user's process takes root");
    }
    // Another user's process: without CAP_KILL not even root may signal it.
    let other = Load::shell("exec setpriv --reuid 65534 --clear-groups sleep 1000");
    let terminal = Terminal::live(100, 30, &format!("-d 0.2 -p {}", other.pid()));
    terminal.keys(&["k"]);
    terminal.keys(&["Enter"]);
    terminal.shows("PID");
    terminal.keys(&["Enter", "y"]);
    terminal.wait("its end", |_| {
        (field(&other.pid().to_string(), "State:").starts_with('Z')).then_some(())
    });
    let at_rest = documented("live view", "ledger");
    let pid = terminal.child().to_string();
    terminal.wait("what it has at rest", |t| {
        (of(&t.child().to_string()).effective & !at_rest.effective == 0).then_some(())
    });
    assert!(!each_thread_has(&pid, at_rest).is_empty());
    terminal.keys(&["W"]);
    terminal.wait("the settings", |t| t.config().exists().then_some(()));
}
