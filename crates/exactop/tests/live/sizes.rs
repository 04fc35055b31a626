//! Every size from tiny to wide, and changes of the size while the view runs.

use crate::helpers::terminal::Terminal;
use crate::screen::{harmless, table};

const OPTIONS: &str = "-d 0.3 --source procfs";

#[test]
fn a_usual_terminal_is_filled() {
    let terminal = Terminal::live(80, 24, OPTIONS);
    terminal.passes(|screen| {
        table(&terminal, screen)?;
        for words in ["load", "cost", "~us", "Mem ", "%CPU", "COMMAND"] {
            if !screen.contains(words) {
                return Err(format!("no {words:?}"));
            }
        }
        Ok(())
    });
}

#[test]
fn the_view_follows_the_terminals_size() {
    let mut terminal = Terminal::live(80, 24, OPTIONS);
    for (width, height) in [(200, 50), (40, 10), (132, 43), (63, 11), (80, 24)] {
        terminal.resize(width, height);
        terminal.passes(|screen| table(&terminal, screen));
    }
    for (width, height) in [(39, 24), (80, 9), (12, 4), (5, 2), (1, 1)] {
        terminal.resize(width, height);
        terminal.passes(|screen| {
            harmless(&terminal, screen)?;
            let first = screen.lines().next().unwrap_or_default();
            let short = &"too small"[..width.min(9)];
            first.starts_with(short).then_some(()).ok_or(format!("does not say {short:?}"))
        });
    }
    terminal.resize(100, 30);
    terminal.passes(|screen| table(&terminal, screen));
}

#[test]
fn a_wide_terminal_has_every_column() {
    let terminal = Terminal::live(200, 50, OPTIONS);
    terminal.passes(|screen| {
        table(&terminal, screen)?;
        for title in exactop_model::columns::TOP.iter().map(|id| id.column().title) {
            if !screen.contains(title) {
                return Err(format!("no column {title}"));
            }
        }
        Ok(())
    });
}
