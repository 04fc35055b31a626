//! The view of a made-up machine: it gets the frames that it asks for, and is read as text.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use exactop_model::Frame;
use exactop_testkit::{arranged, details};
use exactop_tui::canvas::Canvas;
use exactop_tui::draw::{draw, theme::Theme};
use exactop_tui::{Action, App, Settings};
use ratatui_core::buffer::Buffer;

/// A view of this size that shows its first frame.
pub fn app(width: u16, height: u16, settings: Settings) -> App {
    let mut app = App::new(settings).expect("settings");
    app.resize(width, height);
    show(&mut app, |_| {});
    app
}

/// Gives the view the frame that it asks for, changed by `change`.
pub fn show(app: &mut App, change: impl FnOnce(&mut Frame)) {
    let mut frame = arranged(&app.ask(), 0);
    change(&mut frame);
    app.accept(frame, &mut details);
    app.look(&mut details);
}

/// Presses a key, and gives the frame that the key asks for.
pub fn press(app: &mut App, code: KeyCode) -> Action {
    let action = app.on_event(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    if matches!(action, Action::Rearrange | Action::Refresh) {
        app.accept(arranged(&app.ask(), 0), &mut details);
    }
    app.look(&mut details);
    action
}

/// Presses keys one after the other.
pub fn press_all(app: &mut App, codes: &[KeyCode]) {
    for &code in codes {
        press(app, code);
    }
}

/// Types a text, a key for each character; returns the last action.
pub fn keys(app: &mut App, text: &str) -> Action {
    text.chars().fold(Action::Draw, |_, c| press(app, key_of(c)))
}

/// The key of a character.
pub fn key_of(c: char) -> KeyCode {
    if c == '\n' {
        KeyCode::Enter
    } else {
        KeyCode::Char(c)
    }
}

/// The cells of the screen.
pub fn cells(app: &App, theme: Theme) -> Buffer {
    let (width, height) = app.size();
    let mut canvas = Canvas::new(width, height);
    draw(app, theme, &mut canvas);
    canvas.cells().clone()
}

/// The text of cells, without blanks at the ends of lines.
pub fn text(cells: &Buffer) -> String {
    let line = |y| (0..cells.area.width).map(|x| cells[(x, y)].symbol()).collect::<String>();
    (0..cells.area.height).map(|y| line(y).trim_end().to_string() + "\n").collect()
}

/// The text of the screen.
pub fn picture(app: &App) -> String {
    text(&cells(app, Theme::FULL))
}
