//! Time to draw and write a whole screen of 200x50 without colours and graphs, and with them, ns:
//! `cargo run --release -p exactop-tui --example drawing`.

use exactop_model::Frame;
use exactop_testkit::{arranged, details};
use exactop_tui::canvas::Canvas;
use exactop_tui::draw::{draw, theme::Theme};
use exactop_tui::{App, Settings};
use ratatui_crossterm::CrosstermBackend;
use std::time::Instant;

const SIZE: (u16, u16) = (200, 50);
/// Windows that fill the graphs of the header and of the marked row.
const WINDOWS: u64 = 240;
/// Windows without a graph: a row has one from its second window on.
const FEWEST: u64 = 1;
/// Copies of the made-up machine that fill the table.
const COPIES: u32 = 6;
const ROUNDS: usize = 501;

fn main() {
    let (plain, coloured) = (app(FEWEST), app(WINDOWS));
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        without.push(drawn_ns(&plain, Theme::MONO));
        with.push(drawn_ns(&coloured, Theme::FULL));
    }
    println!("{{\"without_ns\":{},\"with_ns\":{}}}", median(without), median(with));
}

/// The live view after a number of windows. All end with the same one.
fn app(windows: u64) -> App {
    let mut app = App::new(Settings::default()).expect("the default settings");
    app.resize(SIZE.0, SIZE.1);
    for beat in WINDOWS - windows..WINDOWS {
        let frame = crowded(arranged(&app.ask(), beat));
        app.accept(frame, &mut details);
        app.look(&mut details);
    }
    app
}

/// The frame with copies of its rows.
fn crowded(mut frame: Frame) -> Frame {
    let rows = frame.rows.clone();
    for copy in 1..COPIES {
        frame.rows.extend(rows.iter().cloned().map(|mut row| {
            row.key.tgid += copy * 100_000;
            row.key.tid += copy * 100_000;
            row
        }));
    }
    frame
}

fn drawn_ns(app: &App, theme: Theme) -> u128 {
    let mut terminal = CrosstermBackend::new(Vec::new());
    let begin = Instant::now();
    let mut canvas = Canvas::new(SIZE.0, SIZE.1);
    draw(app, theme, &mut canvas);
    canvas.write(&mut terminal).expect("memory");
    begin.elapsed().as_nanos()
}

fn median(mut of: Vec<u128>) -> u128 {
    of.sort_unstable();
    of[of.len() / 2]
}
