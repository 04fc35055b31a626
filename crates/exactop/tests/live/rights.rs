//! What the live view has, at rest and while someone asks for something.

use crate::helpers::processes::Load;
use crate::helpers::rights::{documented, field, of};
use crate::helpers::terminal::Terminal;

#[test]
fn the_live_view_keeps_what_the_document_says() {
    let terminal = Terminal::live(100, 30, "--source procfs -d 0.2");
    let pid = terminal.child().to_string();
    terminal.wait("a fence", |_| (field(&pid, "Seccomp:") == "2").then_some(()));
    assert_eq!(of(&pid), documented("live view", "procfs"));
    assert_eq!(field(&pid, "NoNewPrivs:"), "1");
}

#[test]
fn fenced_in_it_still_signals_and_keeps_its_settings() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("left out: another user's process takes root");
    }
    // Somebody else's: without CAP_KILL not even root may.
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
    terminal.wait("what it has at rest", |t| {
        (of(&t.child().to_string()).effective & !at_rest.effective == 0).then_some(())
    });
    terminal.keys(&["W"]);
    terminal.wait("the settings", |t| t.config().exists().then_some(()));
}
