//! The live view on a recording: its keys, and its place on the time line.

use crate::host::Nobody;
use crate::view::{key_of, picture};
use crossterm::event::{
    Event, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use exactop_fuzzing::Choices;
use exactop_model::feed::timeline::{Direction, Timeline, TimelineNote, TimelinePosition, Travel};
use exactop_model::{Ask, Feed, Frame, Needs, Row, TaskKey};
use exactop_testkit::{arranged, details};
use exactop_tui::desk::Desk;
use exactop_tui::explanations::Topic;
use exactop_tui::{App, Settings};
use std::cell::Cell;
use std::rc::Rc;

const SECOND: i128 = 1_000_000_000;
const WINDOWS: usize = 100;
/// First window and number of windows that are not recorded.
const GAP: (usize, usize) = (40, 20);
/// The windows before which the use of CPUs changes.
const SPIKES: [usize; 2] = [10, 70];

/// Place of the feed for the test: the first window that is shown, and the number of windows.
type Shared = Rc<Cell<(usize, usize)>>;

/// Windows of 2 s of the made-up machine, some of them missing.
struct Recorded {
    at: Shared,
    joined: usize,
    /// The wall clock was set by this many ns in the window.
    set_ns: i128,
}

fn is_there(n: usize) -> bool {
    n < WINDOWS && !(GAP.0..GAP.0 + GAP.1).contains(&n)
}

fn wall_ns(n: usize) -> i128 {
    2 * SECOND * n as i128
}

fn is_change(n: usize) -> bool {
    n == GAP.0 + GAP.1 || SPIKES.contains(&n)
}

impl Recorded {
    fn show(&mut self, n: usize) {
        let first = n / self.joined * self.joined;
        let there = (first..first + self.joined).filter(|&n| is_there(n));
        self.at.set((there.clone().min().expect("a window"), there.count()));
    }

    fn next(&self, to: Direction) -> Option<usize> {
        let (first, count) = self.at.get();
        match to {
            Direction::On => (first + count..WINDOWS).find(|&n| is_there(n)),
            Direction::Back => (0..first).rev().find(|&n| is_there(n)),
        }
    }

    fn noted(&self) -> Option<TimelineNote> {
        let (first, _) = self.at.get();
        (first == GAP.0 + GAP.1).then(|| TimelineNote::Gap {
            why: "no recorder ran",
            from_wall_ns: wall_ns(GAP.0),
            to_wall_ns: wall_ns(first),
        })
    }
}

fn end(to: Direction) -> Option<TimelineNote> {
    Some(if to == Direction::On { TimelineNote::End } else { TimelineNote::Begin })
}

impl Timeline for Recorded {
    fn travel(&mut self, to: Travel) -> Result<Option<TimelineNote>, String> {
        match to {
            Travel::By(direction, windows) => {
                for _ in 0..windows {
                    let Some(next) = self.next(direction) else { return Ok(end(direction)) };
                    self.show(next);
                }
            }
            Travel::Change(direction) => {
                let (first, count) = self.at.get();
                let found = match direction {
                    Direction::On => (first + count..WINDOWS).find(|&n| is_change(n)),
                    Direction::Back => (0..first).rev().find(|&n| is_change(n)),
                };
                let Some(found) = found else { return Ok(end(direction)) };
                self.show(found);
                if SPIKES.contains(&found) {
                    return Ok(Some(TimelineNote::Spike { before: 0.25, now: 1.5 }));
                }
            }
            Travel::To(ns) => {
                let Some(found) = (0..WINDOWS).find(|&n| is_there(n) && wall_ns(n + 1) > ns) else {
                    self.show(WINDOWS - 1);
                    return Ok(Some(TimelineNote::End));
                };
                self.show(found);
            }
        }
        Ok(self.noted())
    }

    fn join(&mut self, length_ns: Option<u64>) -> Result<(), String> {
        self.joined = length_ns.map_or(1, |ns| (ns / 2_000_000_000) as usize);
        self.show(self.at.get().0);
        Ok(())
    }

    fn arrived(&self) -> Option<TimelineNote> {
        self.noted()
    }

    fn place(&self) -> TimelinePosition {
        let (first, windows) = self.at.get();
        TimelinePosition {
            from_wall_ns: wall_ns(first),
            to_wall_ns: wall_ns(first + windows) + self.set_ns,
            length_ns: 2_000_000_000 * windows as u64,
            recorded: vec![(0, wall_ns(GAP.0)), (wall_ns(GAP.0 + GAP.1), wall_ns(WINDOWS))],
            windows,
        }
    }

    fn has_exited(&self, _: TaskKey) -> bool {
        true
    }
}

impl Feed for Recorded {
    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
        Ok(self.same_frame(ask))
    }

    fn same_frame(&mut self, ask: &Ask) -> Option<Frame> {
        Some(arranged(&Ask { groups: false, ..ask.clone() }, self.at.get().0 as u64))
    }

    fn details(&mut self, rows: &mut [&mut Row], needs: Needs) {
        details(rows, needs);
    }

    fn timeline(&mut self) -> Option<&mut dyn Timeline> {
        Some(self)
    }
}

fn point_in_time(text: &str, end_wall_ns: i128) -> Result<i128, String> {
    assert_eq!(end_wall_ns, wall_ns(WINDOWS));
    let seconds: i128 = text.parse().map_err(|_| format!("'{text}' is not a time"))?;
    Ok(seconds * SECOND)
}

/// Runs a test with a desk at the beginning of the recording.
fn with_desk(width: u16, height: u16, test: impl FnOnce(&mut Desk, &Shared)) {
    with_feed(width, height, 0, 0, test);
}

/// Same, at a window in which the wall clock was set by `set_ns`.
fn with_feed(
    width: u16,
    height: u16,
    first: usize,
    set_ns: i128,
    test: impl FnOnce(&mut Desk, &Shared),
) {
    let at: Shared = Rc::default();
    at.set((first, 1));
    let mut feed = Recorded { at: at.clone(), joined: 1, set_ns };
    let mut host = Nobody { is_live: false, point_in_time };
    let app = App::new(Settings::default()).expect("settings");
    let mut desk = Desk::new(app, &mut feed, &mut host);
    desk.resize(width, height);
    desk.next_frame().expect("a frame");
    desk.look();
    test(&mut desk, &at);
}

fn press(desk: &mut Desk, code: KeyCode, modifiers: KeyModifiers) {
    desk.take(&Event::Key(KeyEvent::new(code, modifiers)));
    if desk.wants_frame() {
        desk.next_frame().expect("a frame");
    }
    desk.look();
}

fn typed(desk: &mut Desk, text: &str) {
    for c in text.chars() {
        let code = key_of(c);
        press(desk, code, KeyModifiers::NONE);
    }
}

#[test]
fn a_recording_at_80x24() {
    with_desk(80, 24, |desk, _| insta::assert_snapshot!(picture(desk.app())));
}

#[test]
fn a_recording_is_explained_at_80x24() {
    with_desk(80, 24, |desk, _| {
        typed(desk, "?");
        insta::assert_snapshot!(picture(desk.app()));
        press(desk, KeyCode::Esc, KeyModifiers::NONE);
        typed(desk, "t");
        assert_eq!(desk.app().topic(), Topic::Time);
    });
}

#[test]
fn a_recording_after_its_gap_at_160x30() {
    with_desk(160, 30, |desk, _| {
        typed(desk, "t100\n");
        insta::assert_snapshot!(picture(desk.app()));
    });
}

/// A click on the time line, or a drag along it, shows the window of that time.
#[test]
fn the_mouse_chooses_a_window_on_the_time_line() {
    with_desk(160, 30, |desk, _| {
        let screen = picture(desk.app());
        let (y, line) = screen.lines().enumerate().find(|(_, l)| l.contains('◆')).expect("it");
        let cells: Vec<char> = line.chars().collect();
        let is_bar = |c: &char| matches!(c, '━' | '◆' | '·');
        let first = cells.iter().position(is_bar).expect("a bar");
        let last = cells.iter().rposition(is_bar).expect("a bar");
        let at = |desk: &Desk| {
            let line = picture(desk.app()).lines().nth(y).expect("it").to_string();
            line.chars().position(|c| c == '◆').expect("the window's mark")
        };
        let mut mouse = |kind, x: usize| {
            let (column, row) = (x as u16, y as u16);
            let event = MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
            desk.take(&Event::Mouse(event));
            desk.look();
            at(desk)
        };
        let left = MouseButton::Left;
        assert_eq!(mouse(MouseEventKind::Down(left), last), last);
        let mut before = last;
        for x in (first..=last).rev() {
            let now = mouse(MouseEventKind::Drag(left), x);
            // Time that is not recorded leads to the first window after it.
            assert!(now <= before && now >= x, "{x}: {before} to {now}");
            before = now;
        }
        assert_eq!(before, first);
        // Beside the bar, and with another button, nothing happens.
        assert_eq!(mouse(MouseEventKind::Down(left), 0), first);
        assert_eq!(mouse(MouseEventKind::Down(MouseButton::Right), last), first);
    });
}

#[test]
fn a_marked_window_of_a_recording_says_when_it_was() {
    with_desk(120, 24, |desk, _| {
        typed(desk, "D");
        assert_eq!(desk.app().topic(), Topic::Changes);
        press(desk, KeyCode::Right, KeyModifiers::NONE);
        let screen = picture(desk.app());
        assert!(screen.contains("change since 2026-11-22 14:00:00 · window 2.000 s"), "{screen}");
        assert!(desk.app().entries().all(|entry| entry.versus.is_some()));
        press(desk, KeyCode::Esc, KeyModifiers::NONE);
        assert!(!picture(desk.app()).contains("change since"));
    });
}

#[test]
fn a_time_that_is_not_recorded_is_refused_at_once() {
    with_feed(120, 24, GAP.0 + GAP.1, 0, |desk, _| {
        let screen = picture(desk.app());
        assert!(screen.contains("not recorded from 2026-11-22 14:01:20"), "{screen}");
        typed(desk, "H");
        assert!(!picture(desk.app()).contains("not recorded"), "once");
    });
    with_desk(120, 24, |desk, _| assert!(!picture(desk.app()).contains("not recorded")));
}

#[test]
fn a_clock_that_was_set_makes_no_window_longer() {
    with_feed(120, 24, 7, 3600 * SECOND, |desk, _| {
        assert!(picture(desk.app()).contains("14:00:14 + 2"), "{}", picture(desk.app()));
    });
}

#[test]
fn joined_windows_at_120x20() {
    with_desk(120, 20, |desk, at| {
        typed(desk, "t30\nz");
        assert_eq!(at.get(), (15, 5), "1 s is shorter than a window: 10 s come first");
        insta::assert_snapshot!(picture(desk.app()));
    });
}

#[test]
fn actions_on_a_recording_are_refused_with_the_reason() {
    with_desk(100, 24, |desk, _| {
        for key in ["k", "r", "A", "J", "gw", "x"] {
            typed(desk, key);
            assert!(
                picture(desk.app()).contains("this is a recording"),
                "{key}: {}",
                picture(desk.app())
            );
        }
    });
}

#[test]
fn a_recording_has_no_graph_and_says_so() {
    with_desk(100, 24, |desk, _| {
        typed(desk, "G");
        let screen = picture(desk.app());
        assert!(screen.contains("no graph: a recording shows one window at a time"), "{screen}");
    });
}

#[test]
fn a_recording_has_no_holdings_and_says_so() {
    for (key, part) in [("e", "no environment: "), ("l", "no open files: ")] {
        with_desk(100, 24, |desk, _| {
            typed(desk, key);
            let screen = picture(desk.app());
            assert!(screen.contains(part) && screen.contains("never recorded"), "{screen}");
        });
    }
}

#[test]
fn actions_and_disk_io_are_not_offered_in_a_recording() {
    with_desk(100, 24, |desk, _| {
        typed(desk, "b");
        assert!(picture(desk.app()).contains("Disk - (not recorded)"), "{}", picture(desk.app()));
        press(desk, KeyCode::Down, KeyModifiers::NONE);
        for (key, there, gone) in [
            (KeyCode::Enter, "y calls", "k kill"),
            (KeyCode::Esc, "", ""),
            (KeyCode::Char('g'), "Enter its processes", "x quota"),
        ] {
            press(desk, key, KeyModifiers::NONE);
            let screen = picture(desk.app());
            let keys = screen.lines().last().unwrap_or_default();
            assert!(keys.contains(there) && (gone.is_empty() || !keys.contains(gone)), "{keys}");
        }
    });
}

#[test]
fn playing_stops_at_the_end() {
    with_desk(100, 24, |desk, at| {
        typed(desk, "t190\n");
        assert!(picture(desk.app()).contains("stopped") && desk.app().is_paused());
        typed(desk, " ");
        assert!(
            picture(desk.app()).contains("PLAYING") && at.get().0 == 96,
            "the next one at once"
        );
        for _ in 0..6 {
            desk.next_frame().expect("a frame");
            desk.look();
        }
        assert_eq!(at.get().0, WINDOWS - 1);
        let end = picture(desk.app());
        assert!(end.contains("stopped") && end.contains("the recording ends here"), "{end}");
        assert!(desk.app().is_paused());
    });
}

/// The expected result of a key, computed independently.
fn oracle(at: usize, key: (KeyCode, KeyModifiers)) -> usize {
    let there: Vec<usize> = (0..WINDOWS).filter(|&n| is_there(n)).collect();
    let place = there.iter().position(|&n| n == at).expect("a window");
    let by = |steps: isize| {
        let last = there.len() as isize - 1;
        there[(place as isize + steps).clamp(0, last) as usize]
    };
    match key {
        (KeyCode::Left, KeyModifiers::SHIFT) | (KeyCode::Char('{'), _) => by(-10),
        (KeyCode::Right, KeyModifiers::SHIFT) | (KeyCode::Char('}'), _) => by(10),
        (KeyCode::Left, _) => by(-1),
        (KeyCode::Right, _) => by(1),
        (KeyCode::Char(']'), _) => {
            there.iter().copied().find(|&n| n > at && is_change(n)).unwrap_or(at)
        }
        (KeyCode::Char('['), _) => {
            there.iter().rev().copied().find(|&n| n < at && is_change(n)).unwrap_or(at)
        }
        _ => at,
    }
}

#[test]
fn any_keys_lead_where_they_say() {
    let keys = [
        (KeyCode::Left, KeyModifiers::NONE),
        (KeyCode::Right, KeyModifiers::NONE),
        (KeyCode::Right, KeyModifiers::NONE),
        (KeyCode::Left, KeyModifiers::SHIFT),
        (KeyCode::Right, KeyModifiers::SHIFT),
        (KeyCode::Char('}'), KeyModifiers::NONE),
        (KeyCode::Char('{'), KeyModifiers::NONE),
        (KeyCode::Char(']'), KeyModifiers::NONE),
        (KeyCode::Char('['), KeyModifiers::NONE),
        (KeyCode::Char('H'), KeyModifiers::SHIFT),
        (KeyCode::Char('V'), KeyModifiers::SHIFT),
        (KeyCode::Char('g'), KeyModifiers::NONE),
        (KeyCode::Char('i'), KeyModifiers::NONE),
        (KeyCode::Char(','), KeyModifiers::NONE),
        (KeyCode::Char('.'), KeyModifiers::NONE),
        (KeyCode::Enter, KeyModifiers::NONE),
        (KeyCode::Down, KeyModifiers::NONE),
        (KeyCode::Esc, KeyModifiers::NONE),
    ];
    for seed in 0..10u32 {
        let bytes: Vec<u8> = (0..300u32).map(|n| (n * n / 3 + n * seed) as u8).collect();
        let mut choices = Choices::new(&bytes);
        with_desk(100, 24, |desk, at| {
            for _ in 0..120 {
                let key = *choices.pick(&keys);
                let wanted = oracle(at.get().0, key);
                press(desk, key.0, key.1);
                assert_eq!(at.get(), (wanted, 1), "{key:?}");
                let seconds = 2 * wanted;
                let time = format!("2026-11-22 14:{:02}:{:02} + 2", seconds / 60, seconds % 60);
                let screen = picture(desk.app());
                assert!(screen.contains(&time), "{key:?}: {time} is not on\n{screen}");
            }
        });
    }
}
