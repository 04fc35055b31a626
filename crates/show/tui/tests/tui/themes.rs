//! Colours, ASCII and the line of keys for different people and terminals.

use crate::view::{app, press, text};
use crossterm::event::KeyCode;
use exactop_tui::canvas::Canvas;
use exactop_tui::draw::{draw, theme::Theme};
use exactop_tui::{App, AutoSwitch, ColorMode, Settings, ThemeName};
use ratatui_core::buffer::Buffer;
use ratatui_core::style::Color;
use std::fmt::Write;

fn cells(app: &App, theme: Theme, canvas: &mut Canvas) -> Buffer {
    draw(app, theme.with(app.settings().theme), canvas);
    canvas.cells().clone()
}

fn drawn(app: &App, theme: Theme) -> Buffer {
    let (width, height) = app.size();
    cells(app, theme, &mut Canvas::new(width, height))
}

/// The text with its colours and modifiers, one line per run.
fn styled(buffer: &Buffer) -> String {
    let (width, mut out) = (usize::from(buffer.area.width), String::new());
    for (y, line) in buffer.content.chunks(width).enumerate() {
        for run in line.chunk_by(|a, b| (a.fg, a.modifier) == (b.fg, b.modifier)) {
            let text: String = run.iter().map(|cell| cell.symbol()).collect();
            let is_plain = run[0].fg == Color::Reset && run[0].modifier.is_empty();
            if !is_plain && !text.trim().is_empty() {
                let (fg, modifier) = (run[0].fg, run[0].modifier);
                writeln!(out, "{y:>2} {fg:?} {modifier:?}: {}", text.trim()).unwrap();
            }
        }
    }
    out
}

fn terminal(vars: &[(&str, &str)]) -> Theme {
    let of = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string());
    Theme::choose(ColorMode::Auto, of)
}

const TRUE: [(&str, &str); 3] =
    [("TERM", "xterm-256color"), ("COLORTERM", "truecolor"), ("LANG", "C.UTF-8")];

#[test]
fn each_theme_as_it_looks() {
    for name in ThemeName::ALL {
        let settings = Settings { theme: name, ..Settings::default() };
        let mut app = app(100, 24, settings);
        press(&mut app, KeyCode::Down);
        insta::assert_snapshot!(
            format!("theme_{}", name.name()),
            styled(&drawn(&app, terminal(&TRUE)))
        );
    }
}

#[test]
fn colours_never_change_the_text() {
    let of = |name, theme| {
        let settings = Settings { theme: name, per_cpu: AutoSwitch::Always, ..Settings::default() };
        text(&drawn(&app(100, 30, settings), theme))
    };
    let plain = of(ThemeName::Default, Theme::MONO);
    for name in ThemeName::ALL {
        assert_eq!(of(name, Theme::FULL), plain, "{name:?}");
        assert_eq!(of(name, terminal(&TRUE)), plain, "{name:?}");
    }
    let settings = Settings { theme: ThemeName::Mono, ..Settings::default() };
    let mono = drawn(&app(100, 30, settings), terminal(&TRUE));
    assert!(mono.content.iter().all(|cell| cell.fg == Color::Reset));
}

#[test]
fn a_key_goes_through_the_themes_and_nothing_of_the_old_one_stays() {
    let mut app = app(100, 24, Settings::default());
    let mut canvas = Canvas::new(100, 24);
    let first = cells(&app, terminal(&TRUE), &mut canvas);
    for name in [ThemeName::Light, ThemeName::Mono, ThemeName::HighContrast, ThemeName::Default] {
        press(&mut app, KeyCode::Char('Z'));
        assert_eq!(app.settings().theme, name);
        assert!(app.message().unwrap().text.contains(name.name()));
        press(&mut app, KeyCode::Esc);
        let now = cells(&app, terminal(&TRUE), &mut canvas);
        assert_eq!(now, drawn(&app, terminal(&TRUE)), "lines kept their old colours");
        assert_eq!(now == first, name == ThemeName::Default);
    }
}

#[test]
fn without_utf8_everything_is_ascii() {
    let ascii = terminal(&[("LC_ALL", "C"), ("TERM", "xterm-256color")]);
    let settings = Settings { per_cpu: AutoSwitch::Always, tree: true, ..Settings::default() };
    let mut app = app(80, 24, settings);
    for page in [None, Some('S'), Some('g'), Some('K'), Some('!'), Some('h')] {
        page.into_iter().for_each(|key| drop(press(&mut app, KeyCode::Char(key))));
        let page_text = text(&drawn(&app, ascii));
        assert!(page_text.is_ascii(), "{page:?}: {page_text}");
        if page == Some('S') {
            insta::assert_snapshot!(page_text);
        }
        if page.is_some_and(|key| key != 'm') {
            press(&mut app, KeyCode::Esc);
        }
    }
}

#[test]
fn the_live_view_with_its_keys_at_every_size() {
    for (width, height) in [(80, 24), (100, 30), (200, 50), (40, 10)] {
        let app =
            app(width, height, Settings { per_cpu: AutoSwitch::Always, ..Settings::default() });
        let shown = text(&drawn(&app, Theme::FULL));
        let last = shown.lines().last().unwrap();
        assert_eq!(last.contains("? help") && last.contains("q quit"), height >= 20, "{shown}");
        insta::assert_snapshot!(format!("live_{width}x{height}"), shown);
    }
    let without = app(80, 24, Settings { footer: false, ..Settings::default() });
    assert!(!text(&drawn(&without, Theme::FULL)).contains("q quit"));
}
