//! Random keys, clicks and pastes on a machine that changes meanwhile: no panic, and every action
//! hits the row that was marked on the screen when the user asked for it; and without a key the mark
//! never goes to another row.
//!
//! `EXACTOP_FUZZ_SECONDS=N` and `EXACTOP_FUZZ_KEYS=N` set the length; `EXACTOP_FUZZ_SEED=N` begins
//! with the seed of a failure.

mod oracle;
mod steps;
mod world;

use exactop_fuzzing::{corpus, Choices, Target};
use exactop_model::ColumnId;
use exactop_tui::canvas::Canvas;
use exactop_tui::desk::Desk;
use exactop_tui::draw::{draw, theme::Theme};
use exactop_tui::{App, Settings};
use oracle::{Oracle, Tally};
use rand::rngs::SmallRng;
use rand::{Rng, RngExt, SeedableRng};
use std::cell::RefCell;
use std::rc::Rc;
use steps::Step;
use world::{Acts, Machine, Shows};

/// Runs the steps that the bytes encode.
fn live(bytes: &[u8]) -> Tally {
    let machine = Rc::new(RefCell::new(Machine::new()));
    let (mut feed, mut host) = (Shows(machine.clone()), Acts(machine.clone()));
    let settings = Settings {
        columns: vec![ColumnId::Pid, ColumnId::CpuPct, ColumnId::Command],
        ..Settings::default()
    };
    let app = App::new(settings).expect("settings");
    let mut desk = Desk::new(app, &mut feed, &mut host);
    let mut oracle = Oracle::new(machine.clone());
    let mut canvas = Canvas::default();
    let mut choices = Choices::new(bytes);
    desk.resize(80, 24);
    desk.next_frame().expect("the first window");
    paint(&mut desk, &mut oracle, &mut canvas);
    while !choices.is_empty() {
        let step = steps::next(&mut choices, &mut machine.borrow_mut());
        match step {
            Step::Events(events) => events.iter().for_each(|event| oracle.take(&mut desk, event)),
            Step::Frame => end_window(&mut desk, &mut oracle),
            Step::Draw(timer) => {
                if desk.wants_frame() || timer && !desk.app().is_paused() {
                    end_window(&mut desk, &mut oracle);
                }
                paint(&mut desk, &mut oracle, &mut canvas);
            }
            Step::Nothing => {}
        }
    }
    oracle.tally
}

fn end_window(desk: &mut Desk, oracle: &mut Oracle) {
    let before = desk.app().selected();
    desk.next_frame().expect("there was a frame before");
    oracle.passed(before, desk.app().selected());
    oracle.frame_came();
}

fn paint(desk: &mut Desk, oracle: &mut Oracle, canvas: &mut Canvas) {
    let (width, height) = desk.app().size();
    if canvas.size() != (width, height) {
        *canvas = Canvas::new(width, height);
    }
    let before = desk.app().selected();
    desk.look();
    oracle.passed(before, desk.app().selected());
    draw(desk.app(), Theme::MONO, canvas);
    oracle.drawn(desk.app(), canvas);
}

#[test]
fn fuzz_hands() {
    Target::new(corpus!("hands")).examples([[0u8; 64], [200; 64]]).cases(150).run(|bytes| {
        live(bytes);
    });
}

/// Default number of keys.
const KEYS: u64 = 10_000;

#[test]
fn every_action_hits_the_marked_row() {
    let number = |name| std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    let keys: Option<u64> = number("EXACTOP_FUZZ_KEYS");
    let new_seed = || keys.map_or(0, |_| rand::rng().random::<u32>().into());
    let first_seed = number("EXACTOP_FUZZ_SEED").unwrap_or_else(new_seed);
    let wanted = keys.unwrap_or(KEYS);
    let mut all = Tally::default();
    for seed in first_seed.. {
        let mut bytes = vec![0; 2000];
        SmallRng::seed_from_u64(seed).fill_bytes(&mut bytes);
        let lived = std::panic::catch_unwind(|| live(&bytes));
        let tally = lived.unwrap_or_else(|_| panic!("with seed {seed}"));
        all.add(&tally);
        if all.keys >= wanted {
            break;
        }
    }
    eprintln!("from seed {first_seed}: {all:?}");
    assert!(all.offered * 12 > all.asked, "hardly anyone was offered: {all:?}");
    assert!(all.read_off * 4 > all.offered, "hardly any offer was compared: {all:?}");
    assert!(all.followed * 50 > all.keys, "hardly any selection lived: {all:?}");
    assert!(all.done * 300 > all.asked && all.frames * 100 > all.keys, "{all:?}");
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        for (sum, n) in [
            (&mut self.keys, other.keys),
            (&mut self.asked, other.asked),
            (&mut self.offered, other.offered),
            (&mut self.read_off, other.read_off),
            (&mut self.clicked, other.clicked),
            (&mut self.done, other.done),
            (&mut self.gone, other.gone),
            (&mut self.frames, other.frames),
            (&mut self.followed, other.followed),
        ] {
            *sum += n;
        }
    }
}
