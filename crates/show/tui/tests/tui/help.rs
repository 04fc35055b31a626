//! The help page lists every key, column, event and word.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use exactop_model::columns::COLUMNS;
use exactop_model::ErrorKind;
use exactop_testkit::{arranged, details};
use exactop_tui::canvas::Canvas;
use exactop_tui::draw::{draw, theme::Theme};
use exactop_tui::keys::BINDINGS;
use exactop_tui::{App, Settings};

/// The whole page, on a screen that has room for it.
fn help(width: u16) -> String {
    let mut app = App::new(Settings::default()).unwrap();
    app.resize(width, 400);
    app.accept(arranged(&app.ask(), 0), &mut details);
    app.on_event(&Event::Key(KeyEvent::new(KeyCode::Char('?'), KeyModifiers::NONE)));
    let mut canvas = Canvas::new(width, 400);
    draw(&app, Theme::FULL, &mut canvas);
    let lines = canvas.cells().content.chunks(width.into());
    lines.map(|line| line.iter().map(|cell| cell.symbol()).collect::<String>() + "\n").collect()
}

#[test]
fn help_names_every_key_column_and_event() {
    let help = help(200);
    let keys = BINDINGS.iter().map(|b| b.help);
    let columns = COLUMNS.iter().map(|c| c.title);
    for text in keys.chain(columns).chain(ErrorKind::ALL.iter().map(|k| k.id())) {
        assert!(help.contains(text), "{text}");
    }
}

#[test]
fn help_ends_with_the_words_of_the_glossary() {
    let help = help(120);
    let words = help.split_once("\nWords ").expect("a section").1;
    let glossary = include_str!("../../../../../docs/reference/glossary.md");
    let explained: Vec<&str> = glossary
        .split("\n- **")
        .skip(1)
        .filter_map(|entry| Some(entry.split_once("**")?.0))
        .collect();
    for word in [
        "account", "audit", "books", "boundary", "epoch", "exact", "missed", "repaired",
        "residual", "slot", "split", "still", "unnamed", "window",
    ] {
        assert!(explained.contains(&word), "{word} is not explained");
    }
    for word in explained {
        assert!(words.contains(&format!("\n  {word} ")), "{word} is not in the help:\n{words}");
    }
    assert!(!words.contains(['*', '`', '[', '#']), "{words}");
}
