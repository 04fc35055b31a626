//! Every documented key, and the pages behind the keys.

use crate::helpers::processes::Load;
use crate::helpers::run::{program, without_ledger};
use crate::helpers::terminal::Terminal;
use crate::screen::{books, harmless, table};
use exactop_tui::keys::{HelpSection, KeyCommand, BINDINGS};
use std::process::Command;

const OPTIONS: &str = "-d 0.3 --source procfs";

/// tmux's name for a key of the key list.
fn tmux_name(name: &str) -> String {
    let named = [
        ("↑", "Up"),
        ("↓", "Down"),
        ("←", "Left"),
        ("→", "Right"),
        ("PgUp", "PPage"),
        ("PgDn", "NPage"),
        ("Esc", "Escape"),
    ];
    if let Some((_, tmux)) = named.iter().find(|(key, _)| *key == name) {
        return tmux.to_string();
    }
    match name.strip_prefix('^') {
        Some(letter) => format!("C-{}", letter.to_lowercase()),
        None => name.to_string(),
    }
}

#[test]
fn every_documented_key_leaves_a_screen_that_adds_up() {
    let terminal = Terminal::live(120, 30, OPTIONS);
    // Keys of the time line are pressed in a recording.
    for binding in BINDINGS.iter().filter(|b| b.group != HelpSection::Time) {
        if matches!(binding.command, KeyCommand::Quit | KeyCommand::Suspend) {
            continue;
        }
        for key in binding.keys {
            let name = key.name();
            match &*tmux_name(&name) {
                "Escape" => terminal.escape(),
                other => terminal.keys(&[other]),
            }
            terminal.passes(|screen| {
                harmless(&terminal, screen).map_err(|why| format!("after {name}: {why}"))
            });
            // Leaves a question, then a page.
            terminal.escape();
            terminal.escape();
            terminal.passes(|screen| {
                table(&terminal, screen).map_err(|why| format!("after {name}: {why}"))
            });
        }
    }
    terminal.escape();
    terminal.keys(&["q"]);
    terminal.wait("an end", |t| (!t.alternate()).then_some(()));
}

#[test]
fn the_key_list_has_every_key_and_ends() {
    let terminal = Terminal::live(100, 24, OPTIONS);
    terminal.keys(&["h"]);
    let mut all = terminal.shows("lines 1-");
    while !all.contains(&foot_of_the_end(&terminal)) {
        let before = foot(&terminal.screen());
        terminal.keys(&["NPage"]);
        terminal.wait("the next page", |t| (foot(&t.screen()) != before).then_some(()));
        all.push_str(&terminal.settled());
    }
    for binding in BINDINGS {
        let words: Vec<&str> = binding.help.split_whitespace().take(3).collect();
        assert!(all.contains(&words.join(" ")), "{} is not on the key list", binding.help);
    }
    assert!(all.contains("%CPU") && all.contains("balance"), "{all}");
    terminal.escape();
    terminal.passes(|screen| table(&terminal, screen));
}

#[test]
fn help_explains_the_open_page_and_returns_to_it() {
    let load = Load::shell("while :; do :; done");
    let terminal = Terminal::live(100, 30, &format!("{OPTIONS} -p {}", load.pid()));
    terminal.shows(" sh");
    terminal.keys(&["?"]);
    terminal.shows("The table: the processes of this window");
    terminal.escape();
    terminal.keys(&["Enter"]);
    terminal.shows("while :; do :; done");
    terminal.keys(&["?"]);
    terminal.shows("One process: where its time went in this window");
    terminal.keys(&["?"]);
    terminal.shows("Windows and books");
    terminal.escape();
    terminal.shows("while :; do :; done");
    terminal.escape();
    terminal.keys(&["/", "F1"]);
    terminal.shows("Search: select the next row with a text");
    terminal.escape();
    terminal.shows("search:");
}

fn foot(screen: &str) -> String {
    screen.lines().last().unwrap_or_default().into()
}

/// The last line of the key list at its end: `lines 90-112 of 112`.
fn foot_of_the_end(terminal: &Terminal) -> String {
    let foot = foot(&terminal.shows(" of "));
    let total = foot.split(" of ").nth(1).and_then(|rest| rest.split_whitespace().next());
    format!("-{0} of {0} ", total.unwrap_or("?"))
}

#[test]
fn a_process_has_a_page() {
    let load = Load::shell("while :; do :; done");
    let terminal = Terminal::live(100, 30, &format!("{OPTIONS} -p {}", load.pid()));
    terminal.shows(" sh");
    terminal.keys(&["Down", "Enter"]);
    let page = terminal.shows("while :; do :; done");
    let names = format!("sh ({})", load.pid());
    assert!(page.contains(&names), "{page}");
    terminal.passes(|screen| {
        harmless(&terminal, screen)?;
        books(screen)?;
        for words in ["command ", "time ", "CPU ", "switches", "Esc back", " PID "] {
            if !screen.contains(words) {
                return Err(format!("no {words:?}"));
            }
        }
        Ok(())
    });
    drop(load);
    terminal.shows("has exited");
    terminal.escape();
    terminal.shows("no row passes the filters");
}

#[test]
fn a_process_has_its_system_calls_and_why_it_moved() {
    if without_ledger() {
        return;
    }
    let script = "while :; do { read line < /nowhere; } 2>/dev/null; sleep 0.02; done";
    let load = Load::shell(script);
    let options = format!("-d 0.5 --source ledger -p {}", load.pid());
    let terminal = Terminal::live(120, 30, &options);
    terminal.shows("/bin/sh -c while");
    terminal.keys(&["y"]);
    terminal.shows("FAILED WITH");
    terminal.passes(|screen| {
        harmless(&terminal, screen)?;
        books(screen)?;
        let opened = screen.lines().find(|line| line.contains("ENOENT "));
        let words: Vec<&str> = opened.ok_or("no open failed")?.split_whitespace().collect();
        // CALLS, CALLS/s, ERRORS, ...; the last column counts each error.
        match words.last() == words.get(2) && words.contains(&"openat") {
            true => Ok(()),
            false => Err(format!("{words:?}")),
        }
    });
    terminal.escape();
    terminal.shows("waits in SLP");
    let mut times = 0;
    terminal.wait("why it moved", |t| {
        times += 1;
        let (cpu, pid) = ((times % 2).to_string(), load.pid().to_string());
        Command::new("taskset").args(["-cp", &cpu, &pid]).output().expect("taskset(1)");
        t.screen().contains("moved by ").then_some(())
    });
}

/// The first window of a new page is short, however long windows are.
#[test]
fn an_opened_page_has_its_figures_soon() {
    if without_ledger() {
        return;
    }
    let load = Load::sleep();
    let options = format!("-d 600 --source ledger -p {}", load.pid());
    let terminal = Terminal::live(120, 30, &options);
    terminal.shows(" sleep");
    terminal.keys(&["y"]);
    terminal.shows("clock_nanosleep");
    terminal.escape();
    terminal.shows("waits in SLP");
    terminal.escape();
    terminal.shows(" COMMAND");
    terminal.keys(&["Down", "Enter"]);
    terminal.shows("waits in SLP");
    terminal.escape();
    terminal.shows(" COMMAND");
    terminal.keys(&["g"]);
    terminal.shows("LEDGER%");
}

/// The view itself is restricted, and asks another process to read.
#[test]
fn a_process_has_its_environment_and_its_open_files() {
    let script = "exec 7</etc/hostname; while :; do sleep 0.02; done";
    let mut command = Command::new("/bin/sh");
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.args(["-c", script]).env_clear().env("PATH", path);
    command.env("MARK", "here\x1b[2Jand there");
    let load = Load::start(&mut command);
    let terminal = Terminal::live(100, 40, &format!("{OPTIONS} -p {}", load.pid()));
    terminal.shows(" sh");
    terminal.keys(&["e"]);
    terminal.shows("MARK=here\\x1b[2Jand there");
    terminal.passes(|screen| harmless(&terminal, screen).and_then(|()| books(screen).map(drop)));
    terminal.keys(&["l"]);
    terminal.passes(|screen| {
        harmless(&terminal, screen)?;
        let file = screen.lines().find(|line| line.ends_with("/etc/hostname"));
        let words: Vec<&str> = file.ok_or("no such file")?.split_whitespace().collect();
        match words.first() == Some(&"7") && words[1] == "file" && words[2] == "r" {
            true => Ok(()),
            false => Err(format!("{words:?}")),
        }
    });
    drop(load);
    terminal.shows("has exited");
}

/// A row of the table has its disk I/O, although the view itself may not read processes.
#[test]
fn the_disk_io_of_each_row_stands_beside_the_machines() {
    let load = Load::shell("while :; do sleep 0.02; done");
    let terminal = Terminal::live(100, 24, &format!("{OPTIONS} -p {}", load.pid()));
    terminal.shows(" sh");
    terminal.keys(&["b"]);
    terminal.passes(|screen| {
        table(&terminal, screen)?;
        let heading = screen.lines().find(|line| line.contains("RD/s")).ok_or("no columns")?;
        let at = heading.find("RD/s").ok_or("no column")?;
        let of_load = load.pid().to_string();
        let row = screen.lines().find(|l| l.split_whitespace().next() == Some(&of_load));
        let row = row.ok_or("it has no row")?;
        let rate: String = row.chars().skip(at).take("RD/s".len()).collect();
        match rate.trim_end().ends_with(|c: char| c.is_ascii_digit()) {
            true => Ok(()),
            false => Err(format!("{rate:?} in {row}")),
        }
    });
}

#[test]
fn a_plain_user_cannot_read_another_users_process_and_sees_why() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("left out: another user takes root");
    }
    let load = Load::shell("while :; do sleep 0.02; done");
    let terminal = Terminal::new(100, 30, &[]);
    let user = "env HOME=/ XDG_CONFIG_HOME=/nowhere setpriv --reuid 65534 --clear-groups";
    terminal.line(&format!("clear; {user} {} {OPTIONS} -p {}", program(), load.pid()));
    terminal.shows(" sh");
    terminal.keys(&["e"]);
    terminal.shows("cannot list the environment: the kernel does not let this user look");
    terminal.keys(&["l"]);
    terminal.shows("cannot list the open files: the kernel does not let this user look");
}

#[test]
fn columns_are_chosen_and_ordered() {
    let terminal = Terminal::live(100, 24, OPTIONS);
    terminal.keys(&["f"]);
    terminal.shows("Columns  17 of");
    // USER is removed; PID moves behind it and becomes the sort column.
    terminal.keys(&["Down", "Space", "Up", "Right", "Down", "Left", "s", "f"]);
    terminal.passes(|screen| {
        table(&terminal, screen)?;
        let heading = screen.lines().find(|l| l.contains("COMMAND")).unwrap_or_default();
        match heading.contains("PID") && !heading.contains("USER") {
            true => Ok(()),
            false => Err(format!("another heading: {heading}")),
        }
    });
}

#[test]
fn bars_tree_threads_and_shares_of_the_machine() {
    let load = Load::shell("while :; do :; done");
    let terminal = Terminal::live(120, 30, OPTIONS);
    terminal.shows("cpu0");
    terminal.keys(&["C"]);
    terminal.wait("no CPUs", |t| (!t.screen().contains("cpu0")).then_some(()));
    terminal.keys(&["C"]);
    terminal.shows("cpu0");
    terminal.keys(&["H"]);
    terminal.shows("Threads ");
    terminal.keys(&["H"]);
    terminal.shows("Tasks ");
    let branches = |t: &Terminal| t.screen().matches("├ ").count();
    terminal.keys(&["V"]);
    terminal.wait("a tree", |t| (branches(t) > 1).then_some(()));
    terminal.keys(&["V"]);
    terminal.wait("a list", |t| (branches(t) == 0).then_some(()));
    terminal.keys(&["I"]);
    terminal.shows("per cent of the machine");
    terminal.passes(|screen| match books(screen)? {
        10_000 => Ok(()),
        other => Err(format!("the machine is {other} hundredths")),
    });
    terminal.keys(&["I", "i"]);
    terminal.shows("idle hidden");
    terminal.shows("while :; do :; done");
    terminal.keys(&["c"]);
    terminal.wait("names", |t| (!t.screen().contains("do :;")).then_some(()));
    terminal.keys(&["p"]);
    terminal.shows("PAUSED");
    let paused = terminal.settled();
    // More than two windows' time.
    std::thread::sleep(std::time::Duration::from_millis(700));
    assert_eq!(terminal.screen(), paused, "a paused screen stands still");
    terminal.keys(&["p"]);
    terminal.wait("another window", |t| (t.screen() != paused).then_some(()));
    terminal.passes(|screen| table(&terminal, screen));
    drop(load);
}
