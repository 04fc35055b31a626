//! Commands that print windows, on a terminal. They draw each window over the previous one, with as
//! many rows as fit, until `q`. With a number of windows the command ends, and the last window
//! stays readable.

use crate::helpers::run::{program, without_ledger};
use crate::helpers::terminal::{Terminal, PROMPT};
use crate::screen::harmless;

/// Starts a command on the whole screen.
fn drawn(terminal: &Terminal, command: &str) {
    terminal.line(&format!("clear; {} {command}; echo ended $?", program()));
    terminal.wait("a screen of its own", |t| t.alternate().then_some(()));
}

/// Checks that the command succeeded and that the shell has its terminal back; returns the screen.
fn is_given_back(terminal: &Terminal) -> String {
    terminal.wait("the shell", |t| (!t.alternate()).then_some(()));
    terminal.passes(|screen| {
        match screen.contains("ended 0") && screen.trim_end().ends_with(PROMPT) {
            true => Ok(()),
            false => Err("it did not end well".into()),
        }
    });
    let screen = terminal.screen();
    assert!(terminal.answer("stty -a").contains(" icanon "), "keys are lines again");
    screen
}

/// Checks words on the screen, and that everything fits.
fn shows(terminal: &Terminal, words: &str) {
    terminal.passes(|screen| {
        harmless(terminal, screen)?;
        screen.contains(words).then_some(()).ok_or(format!("no {words:?}"))
    });
}

#[test]
fn the_precise_top_fills_a_terminal_until_q() {
    let mut terminal = Terminal::new(100, 24, &[]);
    drawn(&terminal, "ptop --source procfs 0.2");
    shows(&terminal, "V:V:S");
    let lines = |t: &Terminal| t.screen().lines().filter(|l| !l.trim().is_empty()).count();
    let filled = lines(&terminal);
    assert!(filled <= 23, "{}", terminal.screen());
    terminal.resize(60, 12);
    terminal.wait("fewer rows", |t| (lines(t) <= 11).then_some(()));
    shows(&terminal, "V:V:S");
    terminal.keys(&["q"]);
    is_given_back(&terminal);
}

#[test]
fn the_last_of_some_windows_stays() {
    let terminal = Terminal::new(100, 24, &[]);
    // Long enough to be seen between two looks.
    drawn(&terminal, "ptop --source procfs --rows 3 3 2");
    let screen = is_given_back(&terminal);
    assert_eq!(screen.matches("V:V:S").count(), 1, "{screen}");
}

#[test]
fn windows_of_on_demand_programs_are_drawn_too() {
    if without_ledger() {
        return;
    }
    let terminal = Terminal::new(80, 24, &[]);
    for command in ["syscalls --by process 0.3", "waits 0.3", "wakeups 0.3"] {
        drawn(&terminal, command);
        shows(&terminal, "Window ");
        terminal.passes(|screen| match screen.matches("Window ").count() {
            1 => Ok(()),
            n => Err(format!("{n} windows")),
        });
        terminal.keys(&["q"]);
        is_given_back(&terminal);
    }
}

#[test]
fn the_live_view_ends_after_n_windows() {
    let terminal = Terminal::new(80, 24, &[]);
    drawn(&terminal, "-n 2 -d 3 --source procfs");
    let screen = is_given_back(&terminal);
    let is_heading = |line: &str| line.contains("PID") && line.contains("%CPU");
    assert!(screen.lines().any(is_heading), "the last window stays: {screen}");
}

#[test]
fn an_unknown_key_does_not_prevent_the_start() {
    let terminal = Terminal::new(80, 24, &[]);
    let file = terminal.config();
    std::fs::create_dir_all(file.parent().expect("a directory")).expect("made");
    std::fs::write(&file, "threads = true\nmicrostate = true\n").expect("a file");
    drawn(&terminal, "--source procfs");
    terminal.shows("microstate: did you mean 'microstates'? (config.toml:2)");
    terminal.shows("Threads ");
    terminal.keys(&["q"]);
    let screen = is_given_back(&terminal).replace('\n', "");
    let said = "exactop: microstate: did you mean 'microstates'? (";
    assert!(screen.contains(said), "{screen}");
}
