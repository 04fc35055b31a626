//! The graph of the marked row.

use crate::view::{cells, text};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use exactop_model::Frame;
use exactop_testkit::{arranged, details};
use exactop_tui::app::Page;
use exactop_tui::draw::theme::Theme;
use exactop_tui::explanations::Topic;
use exactop_tui::{Action, App, Settings};

fn app(width: u16, height: u16) -> App {
    let mut app = App::new(Settings::default()).expect("settings");
    app.resize(width, height);
    window(&mut app, 0, |_| {});
    app
}

/// The n-th window, changed.
fn window(app: &mut App, n: u64, change: impl FnOnce(&mut Frame)) {
    let mut frame = arranged(&app.ask(), n);
    let shift = n * 10_000_000_000;
    (frame.t0_ns, frame.t1_ns) = (frame.t0_ns + shift, frame.t1_ns + shift);
    change(&mut frame);
    app.accept(frame, &mut details);
    app.look(&mut details);
}

fn press(app: &mut App, code: KeyCode) {
    let action = app.on_event(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    if action == Action::Rearrange {
        app.settle(&mut details);
    }
    app.look(&mut details);
}

#[test]
fn the_graph_at_80x24_and_200x50() {
    for (width, height) in [(80, 24), (200, 50)] {
        let mut app = app(width, height);
        press(&mut app, KeyCode::Down);
        for n in 1..6 {
            window(&mut app, n, |_| {});
        }
        press(&mut app, KeyCode::Char('G'));
        assert_eq!(app.topic(), Topic::Graph);
        insta::assert_snapshot!(
            format!("graph_at_{width}x{height}"),
            text(&cells(&app, Theme::FULL))
        );
        let plain = text(&cells(&app, Theme::FULL.in_ascii()));
        assert!(plain.is_ascii(), "{plain}");
    }
}

/// A window counts once, however often it is arranged; the graph follows the task, not its line.
#[test]
fn the_graph_follows_the_task() {
    let mut app = app(80, 24);
    press(&mut app, KeyCode::Down);
    let key = app.entries().next().expect("a row").row.key;
    press(&mut app, KeyCode::Char('G'));
    assert_eq!(app.page(), &Page::Graph(key));
    assert!(text(&cells(&app, Theme::MONO)).contains("the last 1 window"));
    for n in 1..4 {
        window(&mut app, n, |_| {});
        window(&mut app, n, |_| {});
    }
    let shown = text(&cells(&app, Theme::MONO));
    assert!(shown.contains("the last 4 windows"));
    let newest = |shown: &str| shown.lines().skip(9).filter(|l| l.chars().count() == 80).count();
    assert_eq!(newest(&shown), 12, "its states fill the height: {shown}");
    // A window without the task leaves its column empty.
    window(&mut app, 4, |frame| frame.rows.retain(|row| row.key != key));
    let shown = text(&cells(&app, Theme::MONO));
    assert!(shown.contains("the last 5 windows"), "{shown}");
    assert_eq!(newest(&shown), 0, "the newest column is empty: {shown}");
    press(&mut app, KeyCode::Esc);
    assert_eq!(app.page(), &Page::Table);
    // Another task begins its own graph.
    press(&mut app, KeyCode::Home);
    press(&mut app, KeyCode::Down);
    press(&mut app, KeyCode::Down);
    press(&mut app, KeyCode::Down);
    press(&mut app, KeyCode::Char('G'));
    assert!(text(&cells(&app, Theme::MONO)).contains("the last 1 window"));
}
