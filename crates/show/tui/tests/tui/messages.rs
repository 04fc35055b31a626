//! Messages on the status line: each key answers, a message fits 80 columns beside what hides rows,
//! and a note goes by itself.

use crate::view::{app, key_of, keys, picture, press, press_all, show};
use crossterm::event::{Event, KeyCode, KeyEvent};
use exactop_model::{Comm, Frame, SourceKind};
use exactop_testkit::{arranged, details};
use exactop_tui::canvas::Canvas;
use exactop_tui::draw::{draw, theme::Theme};
use exactop_tui::keys::{KeyCommand, BINDINGS};
use exactop_tui::{Action, App, Settings};

/// The last line with text.
fn last_line(app: &App) -> String {
    let page = picture(app);
    page.lines().rfind(|line| !line.is_empty()).unwrap_or_default().to_string()
}

fn message(app: &App) -> Option<&str> {
    app.message().map(|message| message.text.as_str())
}

/// Everything that a key may change.
fn state(app: &App) -> String {
    let open = (app.settings(), app.prompt(), app.page(), app.selected());
    format!("{}{open:?}", picture(app))
}

/// At the end of a page these have nothing left to move, and nothing to say.
fn moves(command: KeyCommand) -> bool {
    use KeyCommand as K;
    matches!(
        command,
        K::Up
            | K::Down
            | K::PageUp
            | K::PageDown
            | K::Home
            | K::End
            | K::ScrollLeft
            | K::ScrollRight
    )
}

#[test]
fn every_key_does_something_or_says_why_not_on_every_page() {
    use KeyCode::{Down, Enter};
    let pages: [&[KeyCode]; 9] = [
        &[],
        &[KeyCode::Char('H')],
        &[Down, Enter],
        &[Down, KeyCode::Char('y')],
        &[Down, KeyCode::Char('l')],
        &[KeyCode::Char('g')],
        &[KeyCode::Char('K')],
        &[KeyCode::Char('!')],
        &[Down, KeyCode::Char('G')],
    ];
    for way in pages {
        for binding in BINDINGS.iter().filter(|b| !b.is_of_time() && !moves(b.command)) {
            let mut app = app(80, 24, Settings::default());
            press_all(&mut app, way);
            // A key without words takes the message of the way away.
            press(&mut app, KeyCode::Up);
            let before = state(&app);
            let action = app.on_event(&Event::Key(binding.keys[0].event()));
            if matches!(action, Action::Rearrange | Action::Refresh) {
                app.accept(arranged(&app.ask(), 0), &mut details);
            }
            app.look(&mut details);
            let told = message(&app);
            let answers = action != Action::Draw || told.is_some() || state(&app) != before;
            assert!(answers, "{} after {way:?}: {told:?}\n{}", binding.name(), picture(&app));
            let width = told.map_or(0, |text| text.chars().count());
            assert!(width <= 80, "{} after {way:?}: {told:?}", binding.name());
        }
    }
}

#[test]
fn before_the_first_figures_a_sort_key_waits_and_esc_says_nothing() {
    for page in ['g', 'K'] {
        let mut app = app(80, 24, Settings::default());
        let key = |app: &mut App, code| app.on_event(&Event::Key(KeyEvent::from(code)));
        key(&mut app, KeyCode::Char(page));
        for sort in ['P', 'R', '>'] {
            key(&mut app, KeyCode::Char(sort));
            assert_eq!(message(&app), Some("no figures yet: wait for the next window"), "{page}");
        }
        key(&mut app, KeyCode::Esc);
        assert_eq!(message(&app), None, "{page}");
    }
}

#[test]
fn a_key_of_earlier_windows_says_how_to_get_there() {
    let mut app = app(80, 24, Settings::default());
    keys(&mut app, "]");
    assert_eq!(message(&app), Some("this key works in earlier windows: [ shows them"));
    keys(&mut app, "§");
    assert!(message(&app).is_some_and(|text| text.starts_with("no such key here")));
}

#[test]
fn what_hides_rows_stays_beside_a_message() {
    let mut app = app(80, 24, Settings { footer: false, ..Settings::default() });
    keys(&mut app, "\\%CPU>5\np");
    assert!(last_line_of_status(&app).contains("%CPU>5"), "{}", picture(&app));
    keys(&mut app, "P");
    let line = last_line_of_status(&app);
    assert!(line.starts_with("sorted by %CPU ") && line.ends_with("PAUSED · %CPU>5"), "{line}");
    keys(&mut app, "=i");
    let line = last_line_of_status(&app);
    keys(&mut app, "P");
    let with_message = last_line_of_status(&app);
    assert!(
        line.contains("idle hidden") && with_message.ends_with("PAUSED · idle hidden"),
        "{line}"
    );
    // A long message has the line.
    app.say("x".repeat(78));
    assert!(!last_line_of_status(&app).contains("PAUSED"), "{}", picture(&app));
}

#[test]
fn what_hides_rows_of_the_table_is_not_named_on_pages_with_all_their_rows() {
    for page in ["g", "K", "!", "\n"] {
        let mut app = app(80, 24, Settings { footer: false, ..Settings::default() });
        keys(&mut app, "\\%CPU>5\n");
        press(&mut app, KeyCode::Down);
        keys(&mut app, "i");
        let both = |app: &App| ["%CPU>5", "idle hidden"].map(|text| picture(app).contains(text));
        assert_eq!(both(&app), [true; 2], "{}", picture(&app));
        keys(&mut app, page);
        assert_eq!(both(&app), [false; 2], "{page}: {}", picture(&app));
        press(&mut app, KeyCode::Esc);
        assert_eq!(both(&app), [true; 2], "{page}: {}", picture(&app));
    }
}

/// The line of the cursor: that of the question.
fn asked(app: &App) -> String {
    let (width, height) = app.size();
    let mut canvas = Canvas::new(width, height);
    let (_, y) = draw(app, Theme::FULL, &mut canvas).expect("a question");
    let cells = canvas.cells();
    (0..width).map(|x| cells[(x, y)].symbol()).collect()
}

#[test]
fn a_question_names_the_pid_at_every_width() {
    for width in 40..=90 {
        for way in ["k", "k\n", "r", "r-9\n", "A", "A0\n", "J", "J/a\n"] {
            let mut app = app(width, 10, Settings::default());
            show(&mut app, |frame| {
                let rows = frame.rows.iter_mut().filter(|row| row.key.tgid == 22_417);
                rows.for_each(|row| {
                    (row.key.tgid, row.key.tid) = (4_194_303, 4_194_303);
                    row.ident.comm = Comm::new(b"a-name-as-long-");
                });
            });
            for code in [KeyCode::Down].into_iter().chain(way.chars().map(key_of)) {
                app.on_event(&Event::Key(KeyEvent::from(code)));
                app.look(&mut details);
            }
            let line = asked(&app);
            assert!(line.contains("4194303"), "{width}: {way:?}: {line}");
            let value = if way == "r-9\n" { " to -9" } else { "" };
            assert!(line.contains(value), "{width}: {way:?}: {line}");
        }
    }
}

/// The status line: that of a message, or of the help key.
fn last_line_of_status(app: &App) -> String {
    let page = picture(app);
    let mut lines = page.lines();
    let is_it = |line: &&str| {
        line.contains("? help") || app.message().is_some_and(|m| line.starts_with(&m.text))
    };
    lines.find(is_it).unwrap_or_default().trim_end().to_string()
}

/// A later window of this length, s.
fn later(app: &mut App, seconds: u64, nth: u64) {
    let mut frame: Frame = arranged(&app.ask(), nth);
    frame.t0_ns = frame.t1_ns - seconds * 1_000_000_000;
    app.accept(frame, &mut details);
    app.look(&mut details);
}

#[test]
fn a_note_goes_after_ten_seconds_and_an_error_stays() {
    let mut app = app(80, 24, Settings::default());
    keys(&mut app, "P");
    for nth in 1..=5 {
        later(&mut app, 2, nth);
        assert_eq!(message(&app), Some("sorted by %CPU"), "after {nth} windows of 2 s");
    }
    later(&mut app, 2, 6);
    assert_eq!(message(&app), None);
    // The window in which it was said began before, and may end at once.
    keys(&mut app, "P");
    later(&mut app, 60, 7);
    assert_eq!(message(&app), Some("sorted by %CPU"));
    later(&mut app, 60, 8);
    assert_eq!(message(&app), None);
    // A note gives way to a failing source.
    keys(&mut app, "P");
    app.set_failure("it is gone".into());
    assert_eq!(message(&app), None);
    app.complain("it failed");
    for nth in 9..=12 {
        later(&mut app, 60, nth);
    }
    assert_eq!(message(&app), Some("it failed"));
    // The same window arranged again is no new one.
    keys(&mut app, "P");
    for _ in 0..9 {
        later(&mut app, 60, 12);
    }
    assert_eq!(message(&app), Some("sorted by %CPU"));
}

#[test]
fn a_narrow_screen_says_where_the_reason_for_sampling_is() {
    let why = "cannot load the ledger: the kernel refuses it";
    let mut app = app(60, 24, Settings::default());
    show(&mut app, |frame| {
        *frame = exactop_testkit::frame(SourceKind::Procfs, false);
        frame.provenance.reason = Some(why.into());
    });
    assert!(picture(&app).contains("?: why"), "{}", picture(&app));
    app.on_event(&Event::Key(KeyEvent::from(KeyCode::Char('?'))));
    let help = picture(&app).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains(&format!("source Source: procfs ({why}).")), "{help}");
    assert!(last_line(&app).contains("Esc back"));
}
