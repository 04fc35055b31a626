//! What is on the screen, character by character, for a made-up machine.

mod fixture;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use exactop_model::columns::COLUMNS;
use exactop_model::{ErrorKind, Feed, Frame, SourceKind};
use exactop_tui::canvas::Canvas;
use exactop_tui::draw::{draw, theme::Theme};
use exactop_tui::keys::BINDINGS;
use exactop_tui::{Action, App, Settings};
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use ratatui::Terminal;

fn app(width: u16, height: u16, settings: Settings) -> App {
    let mut app = App::new(settings).unwrap();
    app.resize(width, height);
    show(&mut app, |_| {});
    app
}

/// Gives the app the frame it asks for, changed by `change`.
fn show(app: &mut App, change: impl FnOnce(&mut Frame)) {
    let mut frame = fixture::arranged(&app.ask(), 0);
    change(&mut frame);
    app.accept(frame, &mut |rows, needs| fixture::details(rows, needs));
    app.look(&mut |rows, needs| fixture::details(rows, needs));
}

fn press(app: &mut App, keys: &[KeyCode]) {
    let mut feed = fixture::FakeFeed { beat: 2, ..Default::default() };
    for &code in keys {
        let event = Event::Key(KeyEvent::new(code, KeyModifiers::NONE));
        if matches!(app.on_event(&event), Action::Rearrange | Action::Refresh) {
            app.accept(feed.same_frame(&app.ask()).unwrap(), &mut |rows, needs| {
                fixture::details(rows, needs)
            });
        }
        app.look(&mut |rows, needs| fixture::details(rows, needs));
    }
}

fn screen(app: &App, theme: Theme) -> Terminal<TestBackend> {
    let (width, height) = app.size();
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let mut canvas = Canvas::new(width, height);
    let cursor = draw(app, theme, &mut canvas);
    terminal
        .draw(|frame| {
            frame.buffer_mut().clone_from(canvas.cells());
            if let Some(cursor) = cursor {
                frame.set_cursor_position(cursor);
            }
        })
        .unwrap();
    terminal
}

fn picture(app: &App) -> String {
    screen(app, Theme::Full).backend().to_string()
}

#[test]
fn live_view_at_80x24() {
    insta::assert_snapshot!(picture(&app(80, 24, Settings::default())));
}

#[test]
fn live_view_at_200x50_with_cpus_and_command_lines() {
    let settings = Settings { per_cpu: true, command_line: true, ..Settings::default() };
    insta::assert_snapshot!(picture(&app(200, 50, settings)));
}

#[test]
fn live_view_at_40x10() {
    insta::assert_snapshot!(picture(&app(40, 10, Settings::default())));
}

#[test]
fn tree_at_80x24() {
    let settings = Settings { tree: true, command_line: true, ..Settings::default() };
    insta::assert_snapshot!(picture(&app(80, 24, settings)));
}

#[test]
fn threads_of_one_user_at_80x24() {
    let mut app = app(80, 24, Settings { threads: true, ..Settings::default() });
    app.set_user("jo", Some(1000));
    app.look(&mut |rows, needs| fixture::details(rows, needs));
    insta::assert_snapshot!(picture(&app));
}

#[test]
fn process_page_at_80x24() {
    let mut app = app(80, 24, Settings::default());
    press(&mut app, &[KeyCode::Down, KeyCode::Enter]);
    insta::assert_snapshot!(picture(&app));
}

#[test]
fn process_page_of_many_threads_at_120x30() {
    let mut app = app(120, 30, Settings::default());
    press(&mut app, &[KeyCode::Char('L'), KeyCode::Char('日'), KeyCode::Enter, KeyCode::Enter]);
    insta::assert_snapshot!(picture(&app));
}

#[test]
fn microstates_at_80x24() {
    insta::assert_snapshot!(picture(&app(80, 24, microstates())));
}

#[test]
fn microstates_with_bars_at_140x24() {
    insta::assert_snapshot!(picture(&app(140, 24, microstates())));
}

#[test]
fn process_page_in_microstates_at_160x30() {
    let mut app = app(160, 30, microstates());
    press(&mut app, &[KeyCode::Char('L'), KeyCode::Char('日'), KeyCode::Enter, KeyCode::Enter]);
    insta::assert_snapshot!(picture(&app));
}

#[test]
fn groups_at_80x24() {
    let mut app = app(80, 24, Settings::default());
    press(&mut app, &[KeyCode::Char('g')]);
    insta::assert_snapshot!(picture(&app));
}

#[test]
fn groups_at_160x30_with_a_limit_asked_about() {
    let mut app = app(160, 30, Settings::default());
    let keys = [KeyCode::Char('g'), KeyCode::End, KeyCode::Char('x')];
    press(&mut app, &keys);
    insta::assert_snapshot!(picture(&app));
}

fn microstates() -> Settings {
    Settings { microstates: true, ..Settings::default() }
}

/// Read from the screen: what a person adds up.
#[test]
fn microstates_on_the_screen_add_up_to_100() {
    let app = app(140, 40, microstates());
    let text = picture(&app);
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<f64> =
            line.trim_matches('"').split_whitespace().map_while(|c| c.parse().ok()).collect();
        (cells.len() == 16).then(|| cells[1..12].iter().sum::<f64>())
    });
    let sums: Vec<f64> = rows.collect();
    assert!(sums.len() == 13, "{text}");
    assert!(sums.iter().all(|sum| (sum - 100.0).abs() < 0.01), "{sums:?}\n{text}");
}

/// The bars have a mark for each state, so that they read without colours.
#[test]
fn bars_read_without_colours() {
    let app = app(140, 24, microstates());
    let mono = screen(&app, Theme::Mono).backend().to_string();
    assert_eq!(mono, picture(&app));
    let shell = mono.lines().find(|line| line.contains(" 22417 ")).expect("a row");
    for mark in ["█", "▓", "/", "!", "x", "#", "·"] {
        assert!(shell.contains(mark), "{mark} is not in {shell}");
    }
}

#[test]
fn help_at_80x24() {
    let mut app = app(80, 24, Settings::default());
    press(&mut app, &[KeyCode::Char('h')]);
    insta::assert_snapshot!(picture(&app));
}

#[test]
fn help_names_every_key_column_and_event() {
    let mut app = app(200, 400, Settings::default());
    press(&mut app, &[KeyCode::Char('?')]);
    let help = picture(&app);
    let keys = BINDINGS.iter().map(|b| b.help);
    let columns = COLUMNS.iter().map(|c| c.title);
    for text in keys.chain(columns).chain(ErrorKind::ALL.iter().map(|k| k.id())) {
        assert!(help.contains(text), "{text}");
    }
}

#[test]
fn field_chooser_at_80x24() {
    let mut app = app(80, 24, Settings::default());
    let keys = [KeyCode::Char('f'), KeyCode::Down, KeyCode::Right, KeyCode::Down];
    press(&mut app, &keys);
    insta::assert_snapshot!(picture(&app));
}

#[test]
fn a_question_at_80x24() {
    let mut app = app(80, 24, Settings::default());
    press(&mut app, &[KeyCode::Char('k'), KeyCode::Enter, KeyCode::Enter]);
    insta::assert_snapshot!(picture(&app));
}

#[test]
fn a_window_that_does_not_close_says_so() {
    let mut app = app(120, 12, Settings::default());
    show(&mut app, |frame| {
        frame.exact = false;
        frame.errors.add(ErrorKind::Recursion, 3);
        frame.books.residual_ns = 40_000_000;
        frame.books.idle_ns -= 45_000_000;
        frame.books.unnamed_ns = 5_000_000;
        frame.books.irq_ns = None;
        frame.books.residual_ns += 3_000_000;
        frame.cost.bpf_ns = None;
    });
    insta::assert_snapshot!(picture(&app));
}

#[test]
fn a_sampling_source_says_so() {
    let mut app = app(100, 12, Settings::default());
    show(&mut app, |frame| {
        frame.exact = false;
        frame.provenance.source = SourceKind::Procfs;
        frame.provenance.reason = Some("the ledger needs root (CAP_BPF, CAP_PERFMON)".into());
        (frame.died, frame.born) = (None, None);
        (frame.books.irq_ns, frame.books.steal_ns) = (None, None);
        frame.books.unnamed_ns = frame.books.exited_ns + 15_100_000;
        frame.books.exited_ns = 0;
        frame.exited.clear();
        frame.cost.bpf_ns = None;
        for row in &mut frame.rows {
            row.children = None;
        }
    });
    insta::assert_snapshot!(picture(&app));
}

#[test]
fn without_colours_nothing_is_coloured_and_the_text_is_the_same() {
    let mut app = app(80, 24, Settings { per_cpu: true, ..Settings::default() });
    press(&mut app, &[KeyCode::Down]);
    let mono = screen(&app, Theme::Mono);
    let buffer = mono.backend().buffer();
    let plain = |c: Color| c == Color::Reset;
    assert!(buffer.content.iter().all(|cell| plain(cell.fg) && plain(cell.bg)));
    assert_eq!(mono.backend().to_string(), picture(&app));
    insta::assert_snapshot!(mono.backend().to_string());
}

#[test]
fn hostile_names_cannot_reach_the_terminal() {
    let settings = Settings { command_line: true, ..Settings::default() };
    let mut app = app(150, 40, settings);
    for page in [None, Some(KeyCode::Char('V')), Some(KeyCode::Enter)] {
        press(&mut app, page.as_slice());
        let screen = screen(&app, Theme::Full);
        for cell in &screen.backend().buffer().content {
            assert!(!cell.symbol().contains(|c: char| c.is_control() || c == '\u{202e}'));
        }
    }
}
