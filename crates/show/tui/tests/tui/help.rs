//! The help: `?` explains every screen and its keys do something there, `h` lists every key, and
//! the glossary is that of the reference.

use crate::view::{app, picture};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use exactop_model::columns::COLUMNS;
use exactop_model::ErrorKind;
use exactop_testkit::{arranged, details};
use exactop_tui::app::help::HelpText;
use exactop_tui::explanations::Topic;
use exactop_tui::keys::BINDINGS;
use exactop_tui::{Action, App, Settings};

const GLOSSARY: &str = include_str!("../../../../../docs/reference/glossary.md");

fn press(app: &mut App, key: &str) -> Action {
    let (code, modifiers) = match key {
        "Enter" => (KeyCode::Enter, KeyModifiers::NONE),
        "Esc" => (KeyCode::Esc, KeyModifiers::NONE),
        "Space" => (KeyCode::Char(' '), KeyModifiers::NONE),
        "↓" => (KeyCode::Down, KeyModifiers::NONE),
        "→" => (KeyCode::Right, KeyModifiers::NONE),
        "F1" => (KeyCode::F(1), KeyModifiers::NONE),
        "^U" => (KeyCode::Char('u'), KeyModifiers::CONTROL),
        key => (KeyCode::Char(key.chars().next().expect("a key")), KeyModifiers::NONE),
    };
    let action = app.on_event(&Event::Key(KeyEvent::new(code, modifiers)));
    if matches!(action, Action::Rearrange | Action::Refresh) {
        app.accept(arranged(&app.ask(), 0), &mut details);
    }
    app.look(&mut details);
    action
}

/// The view after some keys, separated by blanks.
fn after(width: u16, height: u16, keys: &str) -> App {
    let mut app = app(width, height, Settings::default());
    for key in keys.split_whitespace() {
        press(&mut app, key);
    }
    app
}

/// Keys that lead to the screen; `None`: it needs a recording or earlier windows.
fn way_to(topic: Topic) -> Option<&'static str> {
    Some(match topic {
        Topic::Table => "",
        Topic::Threads => "H",
        Topic::Tree => "V",
        Topic::Microstates => "S",
        Topic::Incident => "1",
        Topic::Members => "g Enter",
        Topic::Process => "↓ Enter",
        Topic::Calls => "↓ y",
        Topic::Environment => "↓ e",
        Topic::Files => "↓ l",
        Topic::Columns => "o",
        Topic::Groups => "g",
        Topic::Totals => "K",
        Topic::Findings => "!",
        Topic::Graph => "↓ G",
        Topic::Interval => "d",
        Topic::User => "u",
        Topic::Filter => "O",
        Topic::Search => "/",
        Topic::Palette => ":",
        Topic::Pid => "k",
        Topic::Signal => "↓ k",
        Topic::Nice => "↓ r",
        Topic::Cpus => "↓ A",
        Topic::Move => "↓ J",
        Topic::Weight => "g ↓ w",
        Topic::Quota => "g ↓ x",
        Topic::Confirmation => "↓ k Enter",
        Topic::Changes | Topic::History | Topic::Recording | Topic::Time => return None,
    })
}

/// All screens at one size, each below the keys that lead to it.
fn explanations(width: u16, height: u16) -> String {
    let ways = Topic::ALL.iter().filter_map(|&topic| Some((topic, way_to(topic)?)));
    ways.map(|(topic, way)| {
        let mut app = after(width, height, way);
        assert_eq!(app.topic(), topic, "after {way:?}");
        press(&mut app, "F1");
        let page = picture(&app);
        let all = format!("lines 1-{0} of {0} ", page.lines().count().min(page_lines(&page)));
        assert!(page.contains(&all), "{topic:?} does not fit:\n{page}");
        let shown = page.lines().filter(|line| !line.is_empty());
        format!("== {way} F1\n{}\n", shown.collect::<Vec<_>>().join("\n"))
    })
    .collect()
}

/// The number of lines of the text, by its foot.
fn page_lines(page: &str) -> usize {
    let count = page.rsplit_once(" of ").expect("a foot").1;
    count.split(' ').next().expect("a count").parse().expect("a number")
}

#[test]
fn every_screen_is_explained_at_80x24() {
    insta::assert_snapshot!(explanations(80, 24));
}

#[test]
fn every_screen_is_explained_at_200x50() {
    insta::assert_snapshot!(explanations(200, 50));
}

#[test]
fn every_named_key_does_something_on_its_screen() {
    for &topic in &Topic::ALL {
        let Some(way) = way_to(topic) else { continue };
        for (key, result) in topic.explanation().keys {
            // A question has a text to delete.
            let way = if key == "^U" { format!("{way} 7") } else { way.to_string() };
            let mut app = after(80, 24, &way);
            let before = (picture(&app), app.page().clone());
            let action = press(&mut app, key);
            // A page scrolls by lines that this machine may not have.
            let changed = (picture(&app), app.page().clone()) != before;
            let changed = changed || !matches!(action, Action::Draw);
            assert!(changed, "{topic:?}: {key} ({result})");
            let message = app.message().filter(|message| message.is_error);
            assert_eq!(message, None, "{topic:?}: {key} ({result})");
        }
    }
}

#[test]
fn help_leads_to_the_glossary_and_back_to_the_same_page() {
    for way in ["", "↓ Enter", "g", "K", "!", "f", "/", "↓ k"] {
        let mut app = after(80, 24, way);
        let (page, prompt) = (app.page().clone(), app.prompt().cloned());
        let before = picture(&app);
        let text = |app: &App| app.help().map(|help| help.text);
        press(&mut app, "F1");
        assert_eq!(text(&app), Some(HelpText::Screen), "after {way:?}");
        press(&mut app, "?");
        assert_eq!(text(&app), Some(HelpText::Glossary), "after {way:?}");
        press(&mut app, "h");
        assert_eq!(text(&app), Some(HelpText::Keys), "after {way:?}");
        press(&mut app, "k");
        assert!(picture(&app).contains("no such key in the help"), "{}", picture(&app));
        press(&mut app, "Esc");
        assert_eq!((text(&app), app.page(), app.prompt()), (None, &page, prompt.as_ref()));
        assert_eq!(picture(&app), before, "after {way:?}");
    }
}

#[test]
fn the_end_of_a_text_is_one_key_away_and_so_is_the_way_back() {
    for way in ["h", "? ?", "↓ y"] {
        let mut app = after(80, 12, way);
        let first = picture(&app);
        let go = |app: &mut App, code| {
            app.on_event(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
            app.look(&mut details);
            picture(app)
        };
        let end = go(&mut app, KeyCode::End);
        assert_ne!(end, first, "{way}");
        // Keys beyond the end are not counted.
        let last = [KeyCode::Down, KeyCode::PageDown, KeyCode::Down].map(|code| go(&mut app, code));
        assert!(last.iter().all(|page| *page == end), "{way}");
        assert_ne!(go(&mut app, KeyCode::Up), end, "{way}");
        assert_eq!(go(&mut app, KeyCode::Home), first, "{way}");
    }
}

#[test]
fn the_key_list_names_every_key_column_and_event() {
    let list = picture(&after(200, 400, "h"));
    let keys = BINDINGS.iter().map(|b| b.help);
    let columns = COLUMNS.iter().map(|c| c.title);
    let list = list.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in keys.chain(columns).chain(ErrorKind::ALL.iter().map(|k| k.id())) {
        assert!(list.contains(text), "{text:?} is not in {list}");
    }
}

#[test]
fn the_glossary_is_that_of_the_reference() {
    let shown = picture(&after(100, 400, "? ?"));
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut from = 0;
    for line in GLOSSARY.split("\n## ").skip(1).flat_map(|section| section.split("\n- ")) {
        let entry = line.split("\n\n").next().expect("an entry").replace("**: ", " ");
        let entry = entry.replace(['*', '`'], "").split_whitespace().collect::<Vec<_>>().join(" ");
        let at = shown[from..].find(&entry);
        from += at.unwrap_or_else(|| panic!("{entry:?} is not in order in {shown}"));
    }
    assert!(from > 3000, "the glossary is longer");
}
