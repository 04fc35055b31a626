//! Drawing over an existing screen gives the same result as drawing it from scratch, after any steps.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use exactop_testkit::{arranged, details};
use exactop_tui::canvas::Canvas;
use exactop_tui::draw::{draw, theme::Theme};
use exactop_tui::{App, Settings};
use proptest::prelude::*;

/// A step between two looks.
#[derive(Clone, Debug)]
enum Step {
    Key(KeyCode),
    /// A frame with the figures of this beat; the same figures for the same beat.
    Frame(u64),
    Size(u16, u16),
}

fn step() -> impl Strategy<Value = Step> {
    let keys = "HIicVRmSC123456o:<>hfMPTNqxyz /s0";
    let chars: Vec<KeyCode> = keys.chars().filter(|&c| c != 'q').map(KeyCode::Char).collect();
    let moves = [
        KeyCode::Down,
        KeyCode::Up,
        KeyCode::Right,
        KeyCode::Left,
        KeyCode::PageDown,
        KeyCode::End,
        KeyCode::Home,
        KeyCode::Enter,
        KeyCode::Esc,
    ];
    prop_oneof![
        3 => prop::sample::select(chars).prop_map(Step::Key),
        3 => prop::sample::select(moves.to_vec()).prop_map(Step::Key),
        4 => (0u64..3).prop_map(Step::Frame),
        1 => (30u16..220, 8u16..60).prop_map(|(w, h)| Step::Size(w, h)),
    ]
}

fn take(app: &mut App, step: &Step, beat: &mut u64) {
    match step {
        Step::Key(code) => {
            app.on_event(&Event::Key(KeyEvent::new(*code, KeyModifiers::NONE)));
        }
        Step::Frame(next) => *beat = *next,
        Step::Size(width, height) => app.resize(*width, *height),
    }
    // The feed is asked after every step, which is more often than in the loop.
    app.accept(arranged(&app.ask(), *beat), &mut details);
    app.look(&mut details);
}

proptest! {
    // Drawing whole screens is slow in a debug build.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn rows_left_alone_equal_rows_drawn_anew(
        steps in prop::collection::vec(step(), 1..24),
        theme in prop::sample::select(vec![Theme::FULL, Theme::MONO]),
    ) {
        let mut app = App::new(Settings::default()).unwrap();
        app.resize(100, 24);
        let mut beat = 0;
        let mut kept = Canvas::new(100, 24);
        for step in [Step::Frame(0)].iter().chain(&steps) {
            take(&mut app, step, &mut beat);
            let (width, height) = app.size();
            if kept.size() != (width, height) {
                kept = Canvas::new(width, height);
            }
            let mut anew = Canvas::new(width, height);
            let cursors = (draw(&app, theme, &mut kept), draw(&app, theme, &mut anew));
            prop_assert_eq!(cursors.0, cursors.1);
            prop_assert_eq!(&*kept.cells(), &*anew.cells(), "after {:?}", step);
        }
    }
}
