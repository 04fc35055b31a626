//! The terminal is restored however the view ends or stops.

use crate::helpers::processes::{is_over, send, state, ABRT, HUP, INT, QUIT, STOP, TERM, TSTP};
use crate::helpers::run::program;
use crate::helpers::terminal::{Terminal, PROMPT};
use crate::screen::table;
use exactop_testkit::wait;

const OPTIONS: &str = "-d 0.3 --source procfs";

/// Settings of a terminal that a program can change.
fn settings(terminal: &Terminal) -> String {
    let stty = terminal.answer("stty -a");
    assert!(stty.contains("icanon"), "{stty}");
    let formats =
        ["alternate_on", "cursor_flag", "mouse_any_flag", "mouse_sgr_flag", "keypad_flag"];
    formats.iter().map(|f| format!("{f} {}\n", terminal.knows(f))).collect::<String>() + &stty
}

/// Runs the view, ends it with `end`, and compares.
fn given_back(end: impl FnOnce(&Terminal), code: &str) {
    let terminal = Terminal::new(100, 24, &[]);
    let before = settings(&terminal);
    terminal.start(OPTIONS);
    assert_eq!(terminal.knows("mouse_any_flag"), "1");
    end(&terminal);
    terminal.wait("the screen from before", |t| (!t.alternate()).then_some(()));
    let ended = terminal.answer("echo $?");
    assert_eq!(ended.trim(), code);
    assert_eq!(settings(&terminal), before);
    let screen = terminal.screen();
    assert!(!screen.contains("%CPU") && screen.contains(PROMPT), "{screen}");
}

#[test]
fn q_gives_the_terminal_back() {
    given_back(|t| t.keys(&["q"]), "0");
}

#[test]
fn control_c_gives_the_terminal_back() {
    given_back(|t| t.keys(&["C-c"]), "0");
}

#[test]
fn signals_give_the_terminal_back() {
    for (signal, code) in [(TERM, "143"), (INT, "130"), (HUP, "129"), (QUIT, "131")] {
        given_back(|t| send(t.child(), signal), code);
    }
}

/// strace(1) holds the process for a second after the terminal is restored. What is typed then is
/// the shell's.
#[test]
fn what_is_typed_after_the_last_window_goes_to_the_shell() {
    let terminal = Terminal::new(100, 24, &[]);
    let written = terminal.record();
    let slow = "strace -f -qq -o /dev/null -e trace=exit_group -e inject=exit_group:delay_enter=1s";
    terminal.line(&format!("{slow} {} {OPTIONS} -n 2", program()));
    // The view may come and go between two looks at the screen.
    let back = b"\x1b[?1049l";
    terminal.wait("the screen from before", |_| {
        let bytes = std::fs::read(&written).ok()?;
        bytes.windows(back.len()).any(|some| some == back).then_some(())
    });
    assert_eq!(terminal.answer("echo $?").trim(), "0");
}

/// A failed allocation or a stack overflow: no destructor runs.
#[test]
fn an_abort_gives_the_terminal_back() {
    given_back(|t| send(t.child(), ABRT), "134");
}

/// A terminal may claim any size; there is no memory for that many cells.
#[test]
fn a_terminal_without_end_is_survived() {
    let terminal = Terminal::new(100, 24, &[]);
    terminal.line("stty cols 65535 rows 65535");
    terminal.line(&format!("clear; {} {OPTIONS}", program()));
    terminal.wait("the view", |t| t.alternate().then_some(()));
    // The terminal knows its real size, so the drawing is not placed as in a real one.
    terminal.wait("a drawing", |t| (t.screen().trim().len() > 200).then_some(()));
    let pid = terminal.child();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("its status");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(kilobytes < 300_000, "{kilobytes} kB for a screen");
    terminal.keys(&["q"]);
    terminal.wait("the screen from before", |t| (!t.alternate()).then_some(()));
    assert_eq!(terminal.answer("echo $?").trim(), "0");
    assert!(terminal.answer("stty -a").contains(" icanon"));
}

#[test]
fn the_view_stops_and_continues() {
    let terminal = Terminal::new(100, 24, &[]);
    let before = settings(&terminal);
    terminal.start(OPTIONS);
    let pid = terminal.child();
    for by_key in [true, false] {
        match by_key {
            true => terminal.keys(&["C-z"]),
            false => send(pid, TSTP),
        }
        terminal.wait("a stop", |_| (state(pid) == Some('T')).then_some(()));
        assert_eq!(settings(&terminal), before);
        terminal.line("fg");
        terminal.wait("the view", |t| t.alternate().then_some(()));
        terminal.passes(|screen| table(&terminal, screen));
    }
    // Stopped from outside and continued: the view draws everything again.
    send(pid, STOP);
    terminal.wait("a stop", |_| (state(pid) == Some('T')).then_some(()));
    // The terminal is still raw: for the shell, Enter would not end a line.
    terminal.text("fg");
    terminal.keys(&["C-j"]);
    // The table of before still stands there; the shell would get the next key.
    terminal.wait("the view to go on", |_| (state(pid) != Some('T')).then_some(()));
    terminal.passes(|screen| table(&terminal, screen));
    terminal.keys(&["q"]);
    terminal.wait("an end", |t| (!t.alternate()).then_some(()));
    assert_eq!(settings(&terminal), before);
}

/// The terminal closes: its shell gets SIGHUP, and reads and writes fail.
#[test]
fn the_view_ends_with_its_terminal() {
    let terminal = Terminal::live(80, 24, OPTIONS);
    let pid = terminal.child();
    drop(terminal);
    wait::until("an end without a terminal", || is_over(pid));
}
