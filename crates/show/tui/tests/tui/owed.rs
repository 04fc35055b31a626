//! Idle time owed in the balance, while the user asks for it.

use crate::view::picture;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use exactop_model::on_demand::losses::Losses;
use exactop_model::on_demand::owed::OwedWindow;
use exactop_model::on_demand::{Subject, SubjectWindow};
use exactop_model::Needs;
use exactop_testkit::{arranged, details};
use exactop_tui::{Action, App, Settings};

const OWED: Needs = Needs::subject(Subject::Owed);

/// Takes a frame, with a window of the programs if there is one.
fn accept(app: &mut App, counted: Option<Result<SubjectWindow, String>>) {
    let mut frame = arranged(&app.ask(), 0);
    frame.subjects.tell(Subject::Owed, counted);
    app.accept(frame, &mut details);
    app.look(&mut details);
}

/// A window in which 3.1 % of a CPU were owed.
fn window() -> SubjectWindow {
    let (t0_ns, t1_ns, idle_ns, owed_ns) = (0, 2_000_000_000, 1_900_000_000, 62_000_000);
    let losses = Losses::default();
    OwedWindow { t0_ns, t1_ns, idle_ns, owed_ns, rows: Vec::new(), losses }.into()
}

fn press(app: &mut App, key: char) -> Action {
    let key = KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE);
    let action = app.on_event(&Event::Key(key));
    app.look(&mut details);
    action
}

/// The balance on the screen.
fn balance(app: &App) -> String {
    let picture = picture(app);
    let line = picture.lines().find(|line| line.contains("idle ")).expect("a balance");
    line.trim_end().to_string()
}

#[test]
fn a_key_shows_the_idle_time_owed_from_the_next_window_on() {
    for (width, height) in [(80, 24), (120, 40), (200, 50)] {
        let mut app = App::new(Settings::default()).unwrap();
        app.resize(width, height);
        accept(&mut app, None);
        let before = balance(&app);
        assert!(!before.contains("owed") && !app.ask().needs.has(OWED), "nothing counts it");
        assert_eq!(press(&mut app, 'a'), Action::Refresh);
        assert!(app.ask().needs.has(OWED));
        assert!(balance(&app).contains(" (owed -)"), "{}", balance(&app));
        accept(&mut app, Some(Ok(window())));
        let line = balance(&app);
        let (idle, _) = line.split_once(" (owed 3.10)").unwrap_or_else(|| panic!("{line}"));
        let figure = idle.rsplit(' ').next().and_then(|idle| idle.parse::<f64>().ok());
        assert!(figure.is_some(), "it stands behind the idle time: {line}");
        press(&mut app, 'I');
        assert!(balance(&app).contains(" (owed 1.55)"), "of two CPUs: {}", balance(&app));
        press(&mut app, 'I');
        assert_eq!(press(&mut app, 'a'), Action::Draw);
        assert_eq!((balance(&app), app.ask().needs.has(OWED)), (before, false));
    }
}

#[test]
fn programs_that_cannot_count_it_end_it_with_the_reason() {
    let mut app = App::new(Settings::default()).unwrap();
    accept(&mut app, None);
    press(&mut app, 'a');
    accept(&mut app, Some(Err("no ledger\u{1b}[2J".into())));
    assert!(!balance(&app).contains("owed") && !app.ask().needs.has(OWED));
    let text = picture(&app);
    assert!(text.contains("no idle time owed: no ledger\\x1b"), "{text}");
}

#[test]
fn a_small_screen_keeps_its_balance() {
    let mut app = App::new(Settings::default()).unwrap();
    app.resize(40, 10);
    accept(&mut app, None);
    let before = balance(&app);
    press(&mut app, 'a');
    accept(&mut app, Some(Ok(window())));
    let line = balance(&app);
    assert!(line == before || line.contains("(owed 3.10)"), "{line}");
}
