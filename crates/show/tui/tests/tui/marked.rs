//! A marked window: rows show their change since.

use crate::view::{app, key_of, picture};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use exactop_model::{ColumnId, Counter, Frame, IdleRows, RowKind};
use exactop_testkit::{arranged, details};
use exactop_tui::app::action::WindowAction;
use exactop_tui::app::arrange::{Entry, PastRow};
use exactop_tui::{Action, App, Settings};

/// Presses a key and does what the loop would do; windows come `beat` later.
fn press(app: &mut App, code: KeyCode, beat: u64) {
    match app.on_event(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE))) {
        Action::Window(WindowAction::Mark) => {
            app.mark(Some(arranged(&app.ask_for_mark(), beat)), &mut details);
            app.accept(arranged(&app.ask(), beat), &mut details);
        }
        Action::Rearrange => app.accept(arranged(&app.ask(), beat), &mut details),
        _ => {}
    }
    app.look(&mut details);
}

fn keys(app: &mut App, text: &str, beat: u64) {
    for c in text.chars() {
        press(app, key_of(c), beat);
    }
}

/// A later window, in which some rows are changed.
fn later(app: &mut App, change: impl FnOnce(&mut Frame)) {
    let mut frame = arranged(&app.ask(), 7);
    change(&mut frame);
    app.accept(frame, &mut details);
    app.look(&mut details);
}

/// The marked window, changed by a row that came, one that went, and one that used more.
fn changed(frame: &mut Frame) {
    let came = frame.rows.iter().position(|row| row.key.tgid == 22_418).expect("a row");
    let mut row = frame.rows[came].clone();
    (row.key.tgid, row.key.tid, row.key.start_ns) = (30_000, 30_000, row.key.start_ns + 1);
    frame.rows[came] = row;
    let more = frame.rows.iter_mut().find(|row| row.key.tgid == 813).expect("a row");
    more.delta.set(Counter::RunNs, more.delta.get(Counter::RunNs).expect("known") + 600_000_000);
}

/// The shown change of a row's %CPU in tenths of a per cent.
fn change(entry: &Entry) -> Option<i64> {
    entry.versus.expect("a marked window").tenths(entry.line.cpu_tenths, |_, line| line.cpu_tenths)
}

/// CPU time that all rows used.
fn used_tenths(frame: &Frame) -> i64 {
    let rows = frame.rows.iter().chain(&frame.exited);
    let used: u64 = rows.filter_map(|row| row.delta.get(Counter::RunNs)).sum();
    (used as f64 * 1000.0 / frame.length_ns() as f64).round() as i64
}

#[test]
fn changes_since_a_marked_window_at_80x24() {
    let mut app = app(80, 24, Settings::default());
    keys(&mut app, "D", 0);
    later(&mut app, changed);
    insta::assert_snapshot!(picture(&app));
}

#[test]
fn changes_in_the_tree_at_160x24() {
    let mut app = app(160, 24, Settings { tree: true, ..Settings::default() });
    keys(&mut app, "D", 0);
    later(&mut app, changed);
    insta::assert_snapshot!(picture(&app));
}

#[test]
fn changes_of_microstates_at_120x24() {
    let mut app = app(120, 24, Settings { microstates: true, ..Settings::default() });
    keys(&mut app, "D", 0);
    later(&mut app, changed);
    insta::assert_snapshot!(picture(&app));
}

#[test]
fn against_itself_nothing_changed() {
    for settings in [Settings::default(), Settings { threads: true, ..Settings::default() }] {
        let mut app = app(200, 24, settings);
        keys(&mut app, "D", 0);
        let column = |id: ColumnId| id.column();
        let context = exactop_model::columns::Context {
            window_ns: app.frame().expect("a frame").length_ns(),
            cpus: 2,
            of_machine: false,
            command_line: false,
            memory_total: None,
            boottime_ns: None,
        };
        for entry in app.entries() {
            assert!(matches!(entry.versus.expect("marked").was, PastRow::There(..)));
            assert_eq!(change(&entry), Some(0));
            let events = entry.value(column(ColumnId::Vcx), &context).number();
            assert!(events.is_none_or(|n| n == 0.0), "{:?}", entry.row);
        }
    }
}

#[test]
fn the_changes_of_all_rows_are_the_change_of_all() {
    for settings in [Settings::default(), Settings { tree: true, ..Settings::default() }] {
        let mut app = app(80, 24, settings);
        keys(&mut app, "D", 3);
        // The frame on the screen is the marked one.
        let then = used_tenths(app.frame().expect("a frame"));
        later(&mut app, changed);
        let now = used_tenths(app.frame().expect("a frame"));
        assert!(now - then > 250, "somebody uses more: {then}, {now}");
        let changes: i64 = app.entries().filter_map(|entry| change(&entry)).sum();
        assert_eq!(changes, now - then, "who went and who came are among them");
        let of = |tgid: u32| {
            let entry = app.entries().find(|entry| entry.row.key.tgid == tgid);
            entry.and_then(|entry| change(&entry)).expect("a row with a change")
        };
        assert!(of(22_418) < 0 && of(30_000) > 0 && of(813) > 250);
    }
}

#[test]
fn rows_are_ordered_and_chosen_by_their_change() {
    let mut app = app(80, 24, Settings::default());
    keys(&mut app, "D", 0);
    later(&mut app, changed);
    let is_task = |entry: &Entry| entry.row.kind != RowKind::Exited;
    let gone = app.entries().position(|e| matches!(e.versus.expect("marked").was, PastRow::Only));
    let came = app.entries().position(|e| matches!(e.versus.expect("marked").was, PastRow::Absent));
    assert!(came < gone, "{came:?} {gone:?}");
    assert!(app.entries().filter(is_task).count() > 10, "everyone has a row");
    keys(&mut app, "\\%CPU>1\n", 7);
    later(&mut app, changed);
    assert!(app.line_count() > 0);
    assert!(app.entries().all(|entry| change(&entry) >= Some(10)), "{}", picture(&app));
    keys(&mut app, "=\\%CPU<-1\n", 7);
    later(&mut app, changed);
    assert!(app.line_count() > 0);
    assert!(app.entries().all(|entry| change(&entry) <= Some(-10)), "{}", picture(&app));
}

#[test]
fn the_mark_is_dropped_by_its_key_by_esc_and_by_the_other_kind_of_rows() {
    let marked = |app: &App| app.entries().all(|entry| entry.versus.is_some());
    for ends in [KeyCode::Char('D'), KeyCode::Esc, KeyCode::Char('H')] {
        let mut app = app(120, 24, Settings::default());
        let plain = picture(&app);
        assert!(!plain.contains("change since"));
        assert_ne!(app.ask().options.still, IdleRows::All);
        keys(&mut app, "D", 0);
        assert!(marked(&app) && picture(&app).contains("change since"), "{}", picture(&app));
        assert_eq!(app.ask().options.still, IdleRows::All, "who sleeps has a change, too");
        press(&mut app, ends, 0);
        assert!(!marked(&app), "{ends:?}");
        assert!(!picture(&app).contains("change since"));
        if ends != KeyCode::Char('H') {
            press(&mut app, KeyCode::Up, 0);
            press(&mut app, KeyCode::Esc, 0);
            assert_eq!(picture(&app), plain);
        }
    }
}

#[test]
fn the_page_of_a_process_shows_it_as_it_is() {
    let mut app = app(120, 24, Settings::default());
    keys(&mut app, "D", 0);
    keys(&mut app, "/postgres\n\n", 7);
    assert!(matches!(app.page(), exactop_tui::app::Page::Process(_)));
    assert!(!picture(&app).contains("change since"));
    press(&mut app, KeyCode::Esc, 7);
    assert!(picture(&app).contains("change since"), "the mark is there still");
}

#[test]
fn a_row_of_only_the_marked_window_is_not_offered() {
    let mut app = app(80, 24, Settings::default());
    keys(&mut app, "D", 0);
    later(&mut app, changed);
    let gone = app.entries().position(|e| matches!(e.versus.expect("marked").was, PastRow::Only));
    let line = gone.expect("one who went");
    for _ in 0..=line {
        let at = app.selected_line();
        app.on_event(&Event::Key(KeyEvent::new(KeyCode::Down, KeyModifiers::NONE)));
        assert_ne!(app.selected_line(), at);
    }
    let gone = app.entries().nth(line).expect("a row").row.key;
    assert_eq!(gone.tgid, 22_418);
    app.on_event(&Event::Key(KeyEvent::new(KeyCode::Char('k'), KeyModifiers::NONE)));
    let asked = format!("{:?}", app.prompt().expect("a question").question);
    assert!(asked.contains("None"), "{asked}");
}

#[test]
fn without_a_window_there_is_nothing_to_mark() {
    let mut app = app(80, 24, Settings::default());
    app.mark(None, &mut details);
    assert!(app.message().is_some_and(|m| m.is_error));
    assert!(app.entries().all(|entry| entry.versus.is_none()));
}

#[test]
fn a_new_row_has_no_share_of_earlier_time() {
    let settings =
        Settings { columns: vec![ColumnId::Pid, ColumnId::LatPct], ..Settings::default() };
    let mut app = app(80, 24, settings);
    keys(&mut app, "D", 0);
    later(&mut app, changed);
    let shown = picture(&app);
    let line = shown.lines().find(|line| line.trim_start().starts_with("30000"));
    assert!(line.is_some_and(|line| line.trim_end().ends_with('-')), "{shown}");
    let counted = app.entries().find(|e| e.row.key.tgid == 30_000).expect("a row");
    assert!(counted.row.delta.get(Counter::LatNs).is_some());
}
