//! The process that reads for the live view: the page while it does not answer, and after its end.

use crate::helpers::processes::{children, send, state, Load, CONT, KILL, STOP};
use crate::helpers::terminal::Terminal;
use exactop_testkit::wait;
use std::process::Command;

/// A process with one variable, a live view of it alone, and the view's reader process.
fn view() -> (Load, Terminal, u32) {
    let load = Load::start(Command::new("sleep").arg("1000").env_clear().env("MARK", "is here"));
    let options = format!("-d 0.3 --source procfs -p {}", load.pid());
    let terminal = Terminal::live(100, 30, &options);
    terminal.shows(" sleep");
    let view = terminal.child();
    let reader = terminal.wait("a reader", |_| children(view).first().copied());
    (load, terminal, reader)
}

#[test]
fn a_killed_reader_leaves_no_process_and_the_page_says_so() {
    let (_load, terminal, reader) = view();
    let view = terminal.child();
    send(reader, KILL);
    wait::until("it is waited for", || children(view).is_empty());
    terminal.keys(&["e"]);
    terminal.shows("no environment: the process that reads it has ended");
}

#[test]
fn a_page_reports_a_slow_reader_and_then_shows_its_answer() {
    let (_load, terminal, reader) = view();
    send(reader, STOP);
    wait::until("a stop", || state(reader) == Some('T'));
    terminal.keys(&["e"]);
    terminal.shows("no environment: no answer yet");
    send(reader, CONT);
    terminal.shows("MARK=is here");
}
