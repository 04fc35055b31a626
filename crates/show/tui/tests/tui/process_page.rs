//! The page of an idle process, or of one whose leader the source never saw: it lives until a check
//! finds that it has exited.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use exactop_model::frame::holdings::{Holdings, HoldingsRequest};
use exactop_model::{Ask, Feed, Frame, Needs, Row, RowKind, TaskKey};
use exactop_testkit::{arranged, details};
use exactop_tui::app::placement::Placement;
use exactop_tui::app::target::Limit;
use exactop_tui::canvas::Canvas;
use exactop_tui::desk::Desk;
use exactop_tui::draw::{draw, theme::Theme};
use exactop_tui::{App, Host, ProcessAction, Settings, Target};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The busiest process of the made-up machine.
const PID: u32 = 22_417;

type Change = Rc<RefCell<fn(&mut Frame)>>;

/// A feed of the made-up machine with changes.
struct Changed(Change);

impl Changed {
    fn frame(&self, ask: &Ask) -> Frame {
        let mut frame = arranged(ask, 0);
        (self.0.borrow())(&mut frame);
        frame
    }
}

impl Feed for Changed {
    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
        Ok(Some(self.frame(ask)))
    }

    fn same_frame(&mut self, ask: &Ask) -> Option<Frame> {
        Some(self.frame(ask))
    }

    fn details(&mut self, rows: &mut [&mut Row], needs: Needs) {
        details(rows, needs);
    }
}

/// A host that knows whether the process lives.
struct Knows(Rc<Cell<bool>>);

impl Host for Knows {
    fn identify(&mut self, pid: u32, _: ProcessAction) -> Result<Target, String> {
        Err(format!("no process {pid}"))
    }

    fn has_exited(&mut self, task: TaskKey) -> bool {
        assert_eq!(task.tgid, PID);
        !self.0.get()
    }

    fn look_into(&mut self, wanted: HoldingsRequest) -> Result<Holdings, String> {
        Err(format!("{} holds nothing", wanted.key.tgid))
    }

    fn signal(&mut self, target: &Target, _: i32) -> Result<(), String> {
        Err(target.gone())
    }

    fn renice(&mut self, target: &Target, _: i32) -> Result<(), String> {
        Err(target.gone())
    }

    fn place(&mut self, target: &Target, _: &Placement) -> Result<(), String> {
        Err(target.gone())
    }

    fn limit(&mut self, limit: &Limit) -> Result<String, String> {
        Err(limit.in_words())
    }

    fn save(&mut self, _: &Settings) -> Result<String, String> {
        Err("nowhere to keep them".into())
    }

    fn user_id(&mut self, _: &str) -> Option<u32> {
        None
    }

    fn point_in_time(&mut self, text: &str, _end_wall_ns: i128) -> Result<i128, String> {
        Err(format!("'{text}': nothing is recorded here"))
    }

    fn local_time(&mut self, wall_ns: i128) -> String {
        wall_ns.to_string()
    }
}

fn screen(desk: &mut Desk) -> String {
    let (width, height) = desk.app().size();
    let mut canvas = Canvas::new(width, height);
    desk.look();
    draw(desk.app(), Theme::MONO, &mut canvas);
    canvas.cells().content.iter().map(|cell| cell.symbol()).collect()
}

/// The page in the window after it was opened, with the machine changed.
fn page(before: fn(&mut Frame), after: fn(&mut Frame), lives: bool) -> String {
    let change: Change = Rc::new(RefCell::new(before));
    let lives = Rc::new(Cell::new(lives));
    let (mut feed, mut host) = (Changed(change.clone()), Knows(lives));
    let app = App::new(Settings::default()).expect("settings");
    let mut desk = Desk::new(app, &mut feed, &mut host);
    desk.resize(100, 30);
    desk.next_frame().expect("a frame");
    screen(&mut desk);
    desk.take(&Event::Key(KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE)));
    *change.borrow_mut() = after;
    desk.next_frame().expect("a frame");
    screen(&mut desk)
}

fn nothing(_: &mut Frame) {}

fn no_row(frame: &mut Frame) {
    frame.rows.retain(|row| row.key.tgid != PID);
}

#[test]
fn a_process_without_a_row_has_not_necessarily_exited() {
    let (still, gone) = (page(nothing, no_row, true), page(nothing, no_row, false));
    assert!(!still.contains("has exited") && still.contains("has no figures in this window"));
    assert!(gone.contains("process 22417 has exited"));
}

#[test]
fn cpus_are_shown_only_for_the_pages_process() {
    let others = |frame: &mut Frame| frame.watch = Some(PID + 1);
    let trees = |frame: &mut Frame| frame.watch = Some(0);
    assert!(page(nothing, nothing, true).contains("ran on   cpu"));
    for of in [others, trees] {
        assert!(!page(nothing, of, true).contains("ran on"));
    }
}

/// A source that never saw the leader names the process by another thread, a different one each
/// time.
fn named_by(frame: &mut Frame, thread: u32) {
    for row in frame.rows.iter_mut().filter(|row| row.key.tgid == PID) {
        (row.key.tid, row.key.start_ns) = (PID + thread, row.key.start_ns + u64::from(thread));
    }
}

#[test]
fn a_process_without_a_leader_keeps_its_page() {
    let screen = page(|frame| named_by(frame, 3), |frame| named_by(frame, 5), true);
    assert!(screen.contains("sh (22417)") && screen.contains("% own"), "{screen}");
    let only_threads = |frame: &mut Frame| {
        named_by(frame, 5);
        frame.rows.retain(|row| row.key.tgid != PID || row.kind == RowKind::Task);
    };
    let screen = page(|frame| named_by(frame, 3), only_threads, true);
    assert!(screen.contains("sh (22417)") && screen.contains("% own"), "{screen}");
}

#[test]
fn a_later_process_with_the_same_pid_has_another_page() {
    let reused = |frame: &mut Frame| {
        let rows = frame.rows.iter_mut().filter(|row| row.key.tgid == PID);
        rows.for_each(|row| row.key.start_ns += 1);
    };
    assert!(page(nothing, reused, false).contains("process 22417 has exited"));
}
