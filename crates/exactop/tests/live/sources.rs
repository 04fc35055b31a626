//! Work that comes and goes between two looks, in the ledger and in procfs.

use crate::helpers::processes::Load;
use crate::helpers::run::without_ledger;
use crate::helpers::terminal::Terminal;
use crate::screen::{books, table};

const STORM: &str = "while :; do /bin/true; done";

/// The figure after a word in the line of the books, in per cent.
fn account(screen: &str, name: &str) -> Option<f64> {
    let line = screen.lines().find(|l| l.starts_with("CPU "))?;
    let rest = line.split(&format!("{name} ")).nth(1)?;
    rest.split(|c: char| !c.is_ascii_digit() && c != '.').next()?.parse().ok()
}

#[test]
fn the_ledger_names_exited_processes() {
    if without_ledger() {
        return;
    }
    let load = Load::shell(STORM);
    let terminal = Terminal::live(120, 30, "-d 0.5 --source ledger");
    terminal.passes(|screen| {
        table(&terminal, screen)?;
        let lines: Vec<&str> = screen.lines().collect();
        let shell = format!("{} ", load.pid());
        let at = lines.iter().position(|l| l.trim_start().starts_with(&shell));
        let below = at.and_then(|at| lines.get(at + 1)).ok_or("no row below the shell's")?;
        if !below.contains("exited × ") || !below.trim_end().ends_with("true") {
            return Err(format!("what exited is not below its shell: {below}"));
        }
        if !screen.contains("ledger · window") {
            return Err("it does not say that figures are the ledger's".into());
        }
        // A kernel that hides a task's switches leaves some unnamed time.
        let unnamed = account(screen, "unnamed");
        match (account(screen, "exited"), unnamed.is_none_or(|unnamed| unnamed < 1.0)) {
            (Some(exited), true) if exited > 1.0 => Ok(()),
            (other, _) => Err(format!("exited {other:?}, unnamed {unnamed:?}")),
        }
    });
    // The page of the shell also names its children.
    terminal.keys(&["O"]);
    terminal.shows("add filter");
    terminal.line(&format!("pid={}", load.pid()));
    terminal.keys(&["Down", "Enter"]);
    terminal.shows("exited   true × ");
    terminal.shows("ran on   cpu");
    terminal.escape();
    for (width, height) in [(200, 50), (80, 24), (40, 10)] {
        let terminal = Terminal::live(width, height, "-d 0.3 --source ledger");
        terminal.passes(|screen| table(&terminal, screen));
        terminal.passes(|screen| match books(screen)? % 10_000 {
            0 => Ok(()),
            _ => Err("not the time of whole CPUs".into()),
        });
    }
}

#[test]
fn procfs_says_that_it_samples_and_shows_unnamed_time() {
    let load = Load::shell(STORM);
    for width in [80, 140] {
        let terminal = Terminal::live(width, 24, "-d 0.5 --source procfs");
        terminal.passes(|screen| {
            table(&terminal, screen)?;
            if !screen.contains("procfs ~ samples") || !screen.contains("inexact") {
                return Err("it does not say that it samples".into());
            }
            match account(screen, "unnamed") {
                Some(unnamed) if unnamed > 1.0 => Ok(()),
                other => Err(format!("unnamed {other:?} under a fork storm")),
            }
        });
        assert!(!terminal.screen().contains("exited ×"));
    }
    drop(load);
}

/// Loading programs takes a while on a busy machine. Until the first window, the screen shows
/// totals since boot.
#[test]
fn something_is_on_the_screen_before_the_source_is_open() {
    if without_ledger() {
        return;
    }
    // Narrow enough for no command lines, which may have the words.
    let terminal = Terminal::new(110, 50, &[]);
    let file = terminal.record();
    terminal.start("-d 0.5 --source ledger");
    terminal.shows("ledger · window");
    // The screen has already changed, and the canvas skips blanks, so the test reads the bytes that
    // another process saved.
    let first = terminal.wait("what it showed at first", |_| {
        let bytes = std::fs::read(&file).ok()?;
        let bytes = String::from_utf8_lossy(&bytes);
        let (_, of_view) = bytes.split_once("\x1b[?1049h")?;
        let (first, _) = of_view.split_once("ledger")?;
        first.contains("boot").then(|| first.to_string())
    });
    // Ticks of a whole life differ from the clock, which is no residual.
    for word in ["resid", "exact "] {
        assert!(!first.contains(word), "{word:?} before there was a window: {first:?}");
    }
    // The window that follows is not the machine's whole life.
    terminal.passes(|screen| {
        let length = screen.split("ledger · window ").nth(1).and_then(|s| s.split(' ').next());
        let length: f64 = length.and_then(|s| s.parse().ok()).ok_or("no window's length")?;
        match length < 60.0 && !screen.contains("since boot") {
            true => Ok(()),
            false => Err(format!("a window of {length} s")),
        }
    });
}
