//! Looking back from a live machine to earlier windows: the keys, the windows that end meanwhile, and
//! the way back.

use crate::host::Nobody;
use crate::view::picture;
use crossterm::event::{
    Event, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use exactop_model::feed::timeline::{Direction, Timeline, TimelineNote, TimelinePosition, Travel};
use exactop_model::feed::{KeptAsk, KeptRow};
use exactop_model::{Ask, Feed, Frame, Needs, Row, TaskKey};
use exactop_testkit::{arranged, details};
use exactop_tui::desk::Desk;
use exactop_tui::{App, Settings};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const SECOND: i128 = 1_000_000_000;

/// Number of closed windows, and the shown one if it is not the last.
type Shared = Rc<Cell<(usize, Option<usize>)>>;

/// A live made-up machine that keeps all its windows.
struct Live(Shared);

impl Live {
    fn shown(&self) -> usize {
        let (closed, back) = self.0.get();
        back.map_or(closed.saturating_sub(1), |back| back)
    }
}

impl Feed for Live {
    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
        let (closed, back) = self.0.get();
        let ended = closed.checked_add(1).ok_or("made to fail")?;
        self.0.set((ended, None));
        let frame = self.same_frame(ask);
        self.0.set((ended, back));
        Ok(frame)
    }

    fn same_frame(&mut self, ask: &Ask) -> Option<Frame> {
        // No process was watched in an earlier window.
        let watch = ask.watch.filter(|_| self.0.get().1.is_none());
        Some(arranged(&Ask { groups: false, watch, ..ask.clone() }, self.shown() as u64))
    }

    fn details(&mut self, rows: &mut [&mut Row], needs: Needs) {
        details(rows, needs);
    }

    fn timeline(&mut self) -> Option<&mut dyn Timeline> {
        match self.0.get().1 {
            Some(_) => Some(self),
            None => None,
        }
    }

    fn look_back(&mut self, windows: usize) -> bool {
        let (closed, _) = self.0.get();
        if closed > 1 {
            self.0.set((closed, Some((closed - 1).saturating_sub(windows))));
        }
        closed > 1
    }

    fn look_on(&mut self) {
        self.0.set((self.0.get().0, None));
    }

    /// Four windows at a time.
    fn kept_rows(&mut self, ask: &KeptAsk) -> Vec<KeptRow> {
        let window = |n: usize| {
            let frame = arranged(&Ask::default(), n as u64);
            let row = frame.rows.iter().find(|row| row.key == ask.task).cloned();
            KeptRow { t0_ns: frame.t0_ns, t1_ns: frame.t1_ns, row }
        };
        let kept = (0..self.0.get().0).map(window).filter(|kept| kept.t1_ns <= ask.until_ns);
        let kept: Vec<KeptRow> = kept.collect();
        kept[kept.len().saturating_sub(ask.most.min(4))..].to_vec()
    }
}

impl Timeline for Live {
    fn travel(&mut self, to: Travel) -> Result<Option<TimelineNote>, String> {
        let (closed, _) = self.0.get();
        let at = self.shown();
        let (to, noted) = match to {
            Travel::By(Direction::Back, _) | Travel::Change(Direction::Back) if at == 0 => {
                (0, Some(TimelineNote::Begin))
            }
            Travel::By(Direction::Back, n) => (at.saturating_sub(n), None),
            Travel::Change(Direction::Back) => (at - 1, None),
            Travel::By(Direction::On, _) | Travel::Change(Direction::On) if at + 1 == closed => {
                (at, Some(TimelineNote::End))
            }
            Travel::By(Direction::On, n) => (at.saturating_add(n).min(closed - 1), None),
            _ => (at + 1, None),
        };
        self.0.set((closed, Some(to)));
        Ok(noted)
    }

    fn join(&mut self, _: Option<u64>) -> Result<(), String> {
        Err("not joined".into())
    }

    fn arrived(&self) -> Option<TimelineNote> {
        None
    }

    fn place(&self) -> TimelinePosition {
        let wall_ns = |n: usize| 2 * SECOND * n as i128;
        TimelinePosition {
            from_wall_ns: wall_ns(self.shown()),
            to_wall_ns: wall_ns(self.shown() + 1),
            length_ns: 2_000_000_000,
            recorded: vec![(0, wall_ns(self.0.get().0))],
            windows: 1,
        }
    }

    fn has_exited(&self, _: TaskKey) -> bool {
        true
    }
}

/// A feed that notes the requests for windows.
struct Asked(Live, Rc<RefCell<Vec<Ask>>>);

impl Feed for Asked {
    fn inner(&mut self) -> Option<&mut dyn Feed> {
        Some(&mut self.0)
    }

    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
        self.1.borrow_mut().push(ask.clone());
        self.0.next_frame(ask)
    }
}

fn nobody() -> Nobody {
    Nobody { is_live: true, point_in_time: |_, _| panic!("no time is asked for") }
}

/// A desk after this number of windows.
fn with_desk(windows: usize, test: impl FnOnce(&mut Desk, &Shared)) {
    let shared: Shared = Rc::default();
    let (mut feed, mut host) = (Live(shared.clone()), nobody());
    let app = App::new(Settings::default()).expect("settings");
    let mut desk = Desk::new(app, &mut feed, &mut host);
    desk.resize(100, 24);
    for _ in 0..windows {
        desk.next_frame().expect("a frame");
    }
    desk.look();
    test(&mut desk, &shared);
}

fn press(desk: &mut Desk, code: KeyCode) {
    desk.take(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    if desk.wants_frame() {
        desk.next_frame().expect("a frame");
    }
    desk.look();
}

fn typed(desk: &mut Desk, text: &str) {
    text.chars().for_each(|c| press(desk, KeyCode::Char(c)));
}

#[test]
fn brackets_step_through_earlier_windows_and_esc_returns() {
    with_desk(5, |desk, at| {
        typed(desk, "[");
        assert_eq!(at.get(), (5, Some(3)), "the one before the last");
        let screen = picture(desk.app());
        assert!(screen.contains("2026-11-22 14:00:06 + 2.000 s"), "{screen}");
        assert!(screen.contains("earlier · Esc: present") && desk.app().is_paused(), "{screen}");
        typed(desk, "[[");
        assert_eq!(at.get(), (5, Some(1)));
        typed(desk, "]");
        press(desk, KeyCode::Left);
        assert_eq!(at.get(), (5, Some(1)), "arrows, too");
        typed(desk, "[[");
        assert!(
            picture(desk.app()).contains("the oldest window in memory"),
            "{}",
            picture(desk.app())
        );
        typed(desk, "]]]]]");
        assert!(
            picture(desk.app()).contains("Esc returns to the present"),
            "{}",
            picture(desk.app())
        );
        assert_eq!(at.get(), (5, Some(4)));
        press(desk, KeyCode::Esc);
        assert_eq!(at.get(), (5, None), "the open window ends when it is due");
        let screen = picture(desk.app());
        assert!(!screen.contains("2026-11-22") && !desk.app().is_paused(), "{screen}");
    });
}

/// The lines of the screen that show the window: without the graph of the last windows and the time
/// line.
fn figures(desk: &Desk) -> String {
    picture(desk.app()).lines().skip(2).collect::<Vec<_>>().join("\n")
}

#[test]
fn windows_end_while_an_earlier_one_stays_on_the_screen() {
    with_desk(5, |desk, at| {
        typed(desk, "[");
        assert!(!desk.app().holds_window(), "windows end when they are due");
        let mark = |desk: &Desk| {
            let screen = picture(desk.app());
            let line = screen.lines().nth(1).expect("the time line").chars();
            line.take_while(|&c| c != '◆').count()
        };
        let (shown, before, at_first) = (figures(desk), bars(desk), mark(desk));
        for closed in 6..=9 {
            desk.next_frame().expect("a frame");
            desk.look();
            assert_eq!((at.get(), figures(desk)), ((closed, Some(3)), shown.clone()));
        }
        assert_eq!(bars(desk).2, before.2 + 2, "two windows a character of the graph");
        assert!(mark(desk) < at_first, "the time line ends later: {}", picture(desk.app()));
        typed(desk, "]]]]]");
        assert_eq!(at.get(), (9, Some(8)), "and the keys reach them");
        press(desk, KeyCode::Esc);
        assert_eq!(at.get(), (9, None));
        let live = figures(desk);
        with_desk(9, |desk, _| assert_eq!(figures(desk), live, "the newest is shown at once"));
    });
}

#[test]
fn a_window_that_does_not_end_says_so_over_an_earlier_one() {
    with_desk(5, |desk, at| {
        typed(desk, "[");
        at.set((usize::MAX, Some(3)));
        desk.next_frame().expect("the earlier one stays");
        typed(desk, "R");
        assert!(picture(desk.app()).contains("no new window: "), "{}", picture(desk.app()));
        at.set((5, Some(3)));
        desk.next_frame().expect("a frame");
        assert!(!picture(desk.app()).contains("no new window"), "{}", picture(desk.app()));
    });
}

#[test]
fn a_page_over_an_earlier_window_measures_nothing_now() {
    let asked = Rc::new(RefCell::new(Vec::new()));
    let (mut feed, mut host) = (Asked(Live(Shared::default()), asked.clone()), nobody());
    let app = App::new(Settings::default()).expect("settings");
    let mut desk = Desk::new(app, &mut feed, &mut host);
    (0..3).for_each(|_| assert!(desk.next_frame().expect("a frame")));
    desk.look();
    press(&mut desk, KeyCode::Down);
    press(&mut desk, KeyCode::Enter);
    let last = |asked: &RefCell<Vec<Ask>>| asked.borrow().last().expect("an ask").clone();
    assert!(last(&asked).watch.is_some(), "the page of the present measures");
    typed(&mut desk, "[");
    desk.next_frame().expect("a frame");
    let ask = last(&asked);
    assert!(ask.watch.is_none() && !ask.groups && ask.needs.has(Needs::MACHINE), "{ask:?}");
}

#[test]
fn no_action_hits_an_exited_process() {
    with_desk(3, |desk, _| {
        typed(desk, "[");
        for key in ["k", "r", "A", "J"] {
            typed(desk, key);
            assert!(picture(desk.app()).contains("this window is over"), "{}", picture(desk.app()));
        }
        typed(desk, "z");
        let screen = picture(desk.app());
        assert!(screen.contains("not joined") && !screen.contains("joined to"), "{screen}");
        press(desk, KeyCode::Esc);
        typed(desk, "k");
        assert!(desk.app().prompt().is_some(), "now it asks");
    });
}

#[test]
fn earlier_windows_have_no_environment() {
    with_desk(3, |desk, _| {
        typed(desk, "[?");
        insta::assert_snapshot!("an_earlier_window_is_explained_at_100x24", picture(desk.app()));
        press(desk, KeyCode::Esc);
        typed(desk, "e");
        assert!(picture(desk.app()).contains("no environment: "), "{}", picture(desk.app()));
    });
}

#[test]
fn no_next_window_has_figures_that_an_earlier_one_lacks() {
    with_desk(4, |desk, _| {
        typed(desk, "[");
        press(desk, KeyCode::Down);
        press(desk, KeyCode::Enter);
        let screen = picture(desk.app());
        assert!(screen.contains("ran on   unknown: measured only while displayed"), "{screen}");
        assert!(!screen.contains("next window"), "{screen}");
    });
}

#[test]
fn pages_are_left_before_the_past_is() {
    with_desk(4, |desk, at| {
        typed(desk, "[");
        press(desk, KeyCode::Down);
        press(desk, KeyCode::Enter);
        press(desk, KeyCode::Esc);
        assert_eq!(at.get(), (4, Some(2)), "a page was left");
        press(desk, KeyCode::Esc);
        assert_eq!(at.get(), (4, None));
    });
}

#[test]
fn the_past_is_left_before_a_set_is() {
    with_desk(4, |desk, at| {
        typed(desk, "2[");
        press(desk, KeyCode::Esc);
        assert_eq!(at.get(), (4, None), "the time line says so");
        assert!(picture(desk.app()).contains("who waits"), "{}", picture(desk.app()));
    });
}

#[test]
fn without_earlier_windows_there_is_no_way_back() {
    with_desk(1, |desk, at| {
        typed(desk, "[");
        assert_eq!(at.get(), (1, None));
        assert!(
            picture(desk.app()).contains("no earlier window is in memory"),
            "{}",
            picture(desk.app())
        );
    });
}

#[test]
fn bars_of_the_last_windows_stand_in_the_header() {
    with_desk(1, |desk, _| assert!(!picture(desk.app()).contains("busy ")));
    with_desk(9, |desk, _| {
        // Bars stand beside the time, or in place of the books' state if that moved there.
        for (width, least) in [(100, 5), (140, 5), (220, 5), (80, 0)] {
            desk.resize(width, 24);
            let screen = picture(desk.app());
            let bars = screen.lines().take(8).find_map(|line| Some(line.split_once("busy ")?.1));
            let bars = bars.map_or(0, |bars| {
                bars.chars().take_while(|c| ('\u{2801}'..='\u{28ff}').contains(c)).count()
            });
            assert_eq!(bars, least, "{screen}");
        }
    });
}

/// The cells of the graph of the last windows: line, first column and number.
fn bars(desk: &Desk) -> (u16, u16, u16) {
    let screen = picture(desk.app());
    let found = screen.lines().enumerate().find_map(|(y, line)| {
        let (before, after) = line.split_once("busy ")?;
        let count = after.chars().take_while(|c| ('\u{2800}'..='\u{28ff}').contains(c)).count();
        Some((y as u16, before.chars().count() as u16 + 5, count as u16))
    });
    found.unwrap_or_else(|| panic!("no bars: {screen}"))
}

#[test]
fn the_mouse_chooses_a_window_on_the_graph_of_the_last_windows() {
    for width in [100, 220] {
        with_desk(9, |desk, at| {
            desk.resize(width, 24);
            desk.look();
            let mouse = |desk: &mut Desk, kind, from_right: u16| {
                let (row, first, count) = bars(desk);
                let column = first + count - 1 - from_right;
                let modifiers = KeyModifiers::NONE;
                desk.take(&Event::Mouse(MouseEvent { kind, column, row, modifiers }));
                desk.look();
                at.get()
            };
            let left = MouseButton::Left;
            assert_eq!(mouse(desk, MouseEventKind::Down(MouseButton::Right), 1), (9, None));
            // Each character has two windows, of which it takes the newer one.
            assert_eq!(mouse(desk, MouseEventKind::Down(left), 1), (9, Some(6)));
            assert_eq!(mouse(desk, MouseEventKind::Drag(left), 3), (9, Some(2)));
            assert_eq!(mouse(desk, MouseEventKind::Drag(left), 4), (9, Some(0)));
            assert_eq!(mouse(desk, MouseEventKind::Drag(left), 0), (9, Some(8)));
            let message = desk.app().message();
            assert_eq!(message, None, "no bound of the time line is named");
            press(desk, KeyCode::Esc);
            assert_eq!(at.get(), (9, None));
        });
    }
}

#[test]
fn the_graph_covers_the_kept_windows_and_marks_the_shown_one() {
    with_desk(30, |desk, at| {
        press(desk, KeyCode::Down);
        typed(desk, "G");
        let count = |desk: &Desk| {
            let screen = picture(desk.app());
            let words: Vec<&str> = screen.split_whitespace().collect();
            let last = words.windows(2).find(|two| two[0] == "last").expect("a heading")[1];
            last.parse::<usize>().expect("a number")
        };
        // Each event and each window brings some more.
        let mut before = count(desk);
        assert!((2..=10).contains(&before), "{before}");
        while before < at.get().0 {
            press(desk, KeyCode::Char(' '));
            assert!(count(desk) > before, "{} after {before}", count(desk));
            before = count(desk);
        }
        assert!(!picture(desk.app()).contains('^'));
        let mark = |desk: &Desk| {
            let screen = picture(desk.app());
            let line = screen.lines().find(|line| line.trim() == "^");
            line.unwrap_or_else(|| panic!("no mark: {screen}")).chars().count()
        };
        typed(desk, "[");
        assert!(picture(desk.app()).contains("^ the window on the screen"));
        assert_eq!(mark(desk), 99, "the one before the newest, of 100 columns");
        typed(desk, "[[");
        assert_eq!(mark(desk), 97);
        // Opened while looking back, the graph covers the same windows.
        press(desk, KeyCode::Esc);
        press(desk, KeyCode::Home);
        // The rows between are of exited tasks.
        (0..3).for_each(|_| press(desk, KeyCode::Down));
        typed(desk, "G");
        assert!(count(desk) >= 4 && mark(desk) == 97, "{}", picture(desk.app()));
    });
}

#[test]
fn the_legend_of_the_graph_has_the_figures_of_the_shown_window() {
    with_desk(3, |desk, _| {
        let legend = |desk: &Desk| {
            let screen = picture(desk.app());
            let lines: Vec<&str> =
                screen.lines().skip_while(|line| !line.contains(" USR ")).collect();
            lines[..2].join(" ")
        };
        press(desk, KeyCode::Down);
        typed(desk, "G");
        let older = legend(desk);
        press(desk, KeyCode::Char(' '));
        let newer = legend(desk);
        assert_ne!(older, newer, "the task did something else");
        typed(desk, "[");
        assert_eq!(legend(desk), older);
        typed(desk, "]");
        assert_eq!(legend(desk), newer);
    });
}

/// Earlier windows have no values that are read from living processes, so those columns are left
/// out.
#[test]
fn columns_of_living_processes_are_left_out_while_looking_back() {
    with_desk(5, |desk, _| {
        let has =
            |desk: &Desk| ["RES", "%MEM", "TIME+"].map(|title| picture(desk.app()).contains(title));
        assert_eq!(has(desk), [true; 3], "{}", picture(desk.app()));
        typed(desk, "[");
        assert_eq!(has(desk), [false; 3], "{}", picture(desk.app()));
        assert!(picture(desk.app()).contains("%CPU") && picture(desk.app()).contains("COMMAND"));
        press(desk, KeyCode::Esc);
        assert_eq!(has(desk), [true; 3], "{}", picture(desk.app()));
    });
}
