//! Pressure and disk I/O in the header, and the page of a process with a sampling source.

use crate::view::picture;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use exactop_model::columns::ColumnId;
use exactop_model::ledger::system::{DiskRate, Pressure};
use exactop_model::{Counters, Needs, RowKind, SourceKind};
use exactop_testkit::{arranged, details, frame};
use exactop_tui::{Action, App, Settings};

fn app(width: u16, height: u16) -> App {
    let mut app = App::new(Settings::default()).unwrap();
    app.resize(width, height);
    accept(&mut app);
    app
}

fn accept(app: &mut App) {
    let mut frame = arranged(&app.ask(), 0);
    if app.ask().needs.has(Needs::PRESSURE) {
        let pressure = Pressure { cpu: Some(18.64), io: Some(0.0), memory: None };
        frame.system.pressure = Some(pressure);
        frame.system.disk = Some(DiskRate { read: 12.0e6, written: 0.0 });
    }
    app.accept(frame, &mut details);
    app.look(&mut details);
}

fn press(app: &mut App, code: KeyCode) -> Action {
    let action = app.on_event(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    app.look(&mut details);
    action
}

#[test]
fn pressure_stands_beside_the_memory_where_there_is_room() {
    let wide = picture(&app(140, 30));
    assert!(wide.contains("Mem 3.9G") && wide.contains("PSI cpu 18.6 io 0.0 mem -"), "{wide}");
    assert!(!wide.contains("Disk"), "{wide}");
    let narrow = app(80, 24);
    assert!(!narrow.ask().needs.has(Needs::PRESSURE), "nothing is read that has no room");
    assert!(!picture(&narrow).contains("PSI"), "{}", picture(&narrow));
}

#[test]
fn a_key_puts_pressure_and_disks_in_the_memorys_place() {
    let mut app = app(80, 24);
    assert_eq!(press(&mut app, KeyCode::Char('b')), Action::Refresh, "from now on");
    assert!(picture(&app).contains("Disk - (shown from the next window on)"), "{}", picture(&app));
    accept(&mut app);
    let text = picture(&app);
    assert!(text.contains("PSI cpu 18.6 io 0.0 mem - · Disk 11M/s read 0/s written"), "{text}");
    assert!(!text.contains("Mem 3.9G"), "{text}");
    press(&mut app, KeyCode::Char('b'));
    assert!(picture(&app).contains("Mem 3.9G") && !app.ask().needs.has(Needs::PRESSURE));
}

/// A paused view keeps its window, also after a key that would need a new one.
#[test]
fn a_paused_window_stays_and_says_when_disks_are_known() {
    let mut app = app(80, 24);
    press(&mut app, KeyCode::Char('p'));
    assert_eq!(press(&mut app, KeyCode::Char('b')), Action::Draw);
    assert!(picture(&app).contains("Disk - (paused: shown "), "{}", picture(&app));
}

#[test]
fn a_sampling_source_says_which_figures_are_missing_and_why() {
    let mut app = App::new(Settings::default()).unwrap();
    app.resize(120, 30);
    let show = |app: &mut App, first: bool| {
        let mut frame = frame(SourceKind::Procfs, false);
        for row in frame.rows.iter_mut().filter(|row| first && row.kind == RowKind::Process) {
            row.delta = Counters::default();
        }
        app.accept(frame, &mut details);
        app.look(&mut details);
    };
    show(&mut app, false);
    press(&mut app, KeyCode::Down);
    press(&mut app, KeyCode::Enter);
    show(&mut app, true);
    let text = picture(&app);
    assert!(text.contains("figures of the threads:"), "{text}");
    assert!(text.contains("only the ledger records"), "{text}");
    show(&mut app, false);
    let text = picture(&app);
    assert!(
        !text.contains("figures of the threads") && text.contains("only the ledger records"),
        "{text}"
    );
}

#[test]
fn the_key_shows_and_hides_the_disk_io_of_rows() {
    let mut app = app(80, 24);
    assert!(!picture(&app).contains("RD/s"));
    press(&mut app, KeyCode::Char('b'));
    accept(&mut app);
    let text = picture(&app);
    assert!(text.contains("  RD/s  WR/s COMMAND"), "{text}");
    let busiest = text.lines().find(|line| line.contains(" 22417 ")).expect("its row");
    assert!(busiest.contains("  307K     0 "), "{busiest}");
    // Columns that the user chose stay where the user put them.
    let columns = [ColumnId::Pid, ColumnId::WriteRate, ColumnId::ReadRate, ColumnId::Command];
    let settings = Settings { columns: columns.to_vec(), ..Settings::default() };
    let mut chosen = App::new(settings).unwrap();
    chosen.resize(80, 24);
    accept(&mut chosen);
    press(&mut chosen, KeyCode::Char('b'));
    accept(&mut chosen);
    let text = picture(&chosen);
    assert!(text.contains("WR/s  RD/s COMMAND"), "{text}");
    assert_eq!(text.matches("RD/s").count(), 1, "{text}");
    press(&mut app, KeyCode::Char('b'));
    accept(&mut app);
    assert!(!picture(&app).contains("RD/s"));
}
