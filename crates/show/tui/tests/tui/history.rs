//! The last windows in the header: all CPUs, each CPU, and the states of the selected row.

use crate::view::{cells, text};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use exactop_model::{Counter, Frame};
use exactop_testkit::{arranged, details};
use exactop_tui::draw::theme::Theme;
use exactop_tui::{App, Settings};

/// A view of `windows` windows, of which the first row is selected in the first.
fn app(width: u16, height: u16, windows: u64) -> App {
    let mut app = App::new(Settings::default()).expect("settings");
    app.resize(width, height);
    for n in 1..=windows {
        let mut frame = arranged(&app.ask(), n);
        change(&mut frame, n);
        app.accept(frame, &mut details);
        app.look(&mut details);
        if n == 1 {
            app.on_event(&Event::Key(KeyEvent::new(KeyCode::Down, KeyModifiers::NONE)));
        }
    }
    app
}

/// One CPU gets busier from window to window and the other idler, and so do the rows' waits.
fn change(frame: &mut Frame, n: u64) {
    let part = |whole: u64, of_12: u64| whole * of_12.min(12) / 12;
    for (cpu, busy) in frame.cpus.iter_mut().zip([n, 12 - n.min(12)]) {
        let time = &mut cpu.account.time;
        let all = time.task_ns + time.idle_ns;
        (time.task_ns, time.idle_ns) = (part(all, busy), all - part(all, busy));
    }
    for row in &mut frame.rows {
        let all = row.life_ns;
        row.delta.set(Counter::RunNs, part(all, n));
        row.delta.set(Counter::LatNs, all - part(all, n));
        if n.is_multiple_of(4) {
            row.delta.forget(Counter::BlockNs);
        }
    }
}

#[test]
fn histories_at_80x24_120x40_and_200x50() {
    for (width, height) in [(80, 24), (120, 40), (200, 50)] {
        let app = app(width, height, 11);
        insta::assert_snapshot!(
            format!("history_at_{width}x{height}"),
            text(&cells(&app, Theme::FULL))
        );
        let plain = text(&cells(&app, Theme::FULL.in_ascii()));
        assert!(plain.is_ascii(), "{plain}");
    }
}

/// The graphs stand on lines that are there without them.
#[test]
fn histories_take_no_row_of_the_table() {
    let rows = |app: &App| {
        let screen = text(&cells(app, Theme::FULL));
        screen.lines().skip_while(|line| !line.contains("COMMAND")).count()
    };
    for (width, height) in [(80, 24), (120, 40), (200, 50)] {
        assert_eq!(rows(&app(width, height, 1)), rows(&app(width, height, 11)), "{width}");
    }
}

/// A window without a figure ends the graph of that figure, and the newest one leaves a `-`.
#[test]
fn an_unknown_state_is_no_part_of_a_graph() {
    let status = |windows| {
        let screen = text(&cells(&app(120, 40, windows), Theme::FULL));
        let line = screen.lines().find(|line| line.contains(" blocked "));
        line.unwrap_or_else(|| panic!("no states: {screen}")).to_string()
    };
    let blocked = |line: &str| {
        let drawn = line.split(" blocked ").nth(1).expect("a graph").trim_start().to_string();
        drawn.chars().take_while(|c| !c.is_whitespace()).collect::<String>()
    };
    assert_eq!(blocked(&status(8)), "-");
    assert_eq!(blocked(&status(11)).chars().count(), 2, "three windows, two to a character");
}
