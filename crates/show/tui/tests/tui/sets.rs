//! The keys of an incident: each shows a set of columns with an order and a filter.

use crate::view::{app, key_of, picture};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use exactop_model::owner::Grouping;
use exactop_model::{ColumnId, Frame, SourceKind};
use exactop_testkit::{arranged, details, frame};
use exactop_tui::app::action::WindowAction;
use exactop_tui::app::Page;
use exactop_tui::explanations::Topic;
use exactop_tui::{Action, App, Settings};

fn accept(app: &mut App, frame: Frame) {
    app.accept(frame, &mut details);
    app.look(&mut details);
}

fn press(app: &mut App, code: KeyCode) {
    match app.on_event(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE))) {
        Action::Window(WindowAction::Mark) => {
            app.mark(Some(arranged(&app.ask_for_mark(), 0)), &mut details);
            app.settle(&mut details);
        }
        Action::Rearrange | Action::Refresh => app.accept(arranged(&app.ask(), 0), &mut details),
        _ => {}
    }
    app.look(&mut details);
}

fn keys(app: &mut App, text: &str) {
    for c in text.chars() {
        press(app, key_of(c));
    }
}

fn message(app: &App) -> &str {
    app.message().map_or("", |m| m.text.as_str())
}

#[test]
fn each_digit_answers_a_question_and_leads_back() {
    for (digit, question, heading) in [
        ("1", "who uses the CPU", "▾%CPU"),
        ("2", "who waits", "▾LAT%"),
        ("5", "who moves between CPUs", "▾MIGR"),
    ] {
        for back in [KeyCode::Esc, KeyCode::Char(digit.chars().next().expect("a digit"))] {
            let mut app = app(200, 50, Settings::default());
            // From any page, and over another set.
            keys(&mut app, "g2");
            keys(&mut app, if digit == "2" { "1" } else { "" });
            keys(&mut app, digit);
            assert!(message(&app).starts_with(question), "{}", message(&app));
            assert_eq!((app.page(), app.topic()), (&Page::Table, Topic::Incident));
            press(&mut app, KeyCode::Down);
            let shown = picture(&app);
            assert!(shown.contains(heading) && shown.contains(question), "{shown}");
            press(&mut app, back);
            assert_eq!(app.settings(), &Settings::default());
            let shown = picture(&app);
            assert!(!shown.contains(question) && shown.contains("▾%CPU  CPU+  %USR"), "{shown}");
        }
    }
}

#[test]
fn who_waits_at_80x24_and_200x50() {
    let mut narrow = app(80, 24, Settings::default());
    keys(&mut narrow, "2");
    insta::assert_snapshot!("who_waits_at_80x24", picture(&narrow));
    let mut wide = app(200, 50, Settings::default());
    keys(&mut wide, "3");
    press(&mut wide, KeyCode::Down);
    insta::assert_snapshot!("who_starves_whom_at_200x50", picture(&wide));
}

#[test]
fn three_shows_who_starves_whom_under_every_key() {
    let mut app = app(120, 30, Settings::default());
    keys(&mut app, "3");
    let is_starved = |app: &App, by| matches!(app.page(), Page::Sums(page) if page.starved.is_some() && page.by == by);
    assert!(is_starved(&app, Grouping::Cgroup));
    assert!(message(&app).starts_with("who starves whom"), "{}", message(&app));
    let shown = picture(&app);
    assert!(shown.contains("▾LAT%") && shown.contains("KEPT OFF BY"), "{shown}");
    while !matches!(app.page(), Page::Sums(page) if page.by == Grouping::Command) {
        keys(&mut app, "K");
    }
    let shown = picture(&app);
    assert!(shown.contains("sh 90 %, rcu_preempt 10 %"), "{shown}");
    assert!(shown.contains("itself 98 %, postgres 1 %"), "{shown}");
    assert!(is_starved(&app, Grouping::Command));
    keys(&mut app, "3");
    assert_eq!(app.page(), &Page::Table);
    // Without a book, those who wait are shown.
    let mut without = arranged(&app.ask(), 0);
    without.keeps_blame = false;
    accept(&mut app, without);
    keys(&mut app, "3");
    assert!(message(&app).contains("no blame book"), "{}", message(&app));
    assert!(is_starved(&app, Grouping::Cgroup));
}

#[test]
fn the_pages_of_an_incident_keep_their_order_to_themselves() {
    let mut app = app(200, 50, Settings::default());
    for (page, incident, order) in [("K", "3", "▾LAT%"), ("g", "4", "▾THR%")] {
        keys(&mut app, page);
        let usual = picture(&app);
        assert!(!usual.contains(order), "{usual}");
        press(&mut app, KeyCode::Esc);
        keys(&mut app, incident);
        let shown = picture(&app);
        assert!(shown.contains(order), "{shown}");
        // Sorted by another column, it is still another page than the usual one.
        keys(&mut app, "<");
        let shown = picture(&app);
        assert!(!shown.contains(order) && shown.contains('▾'), "{shown}");
        press(&mut app, KeyCode::Esc);
        keys(&mut app, page);
        assert_eq!(picture(&app), usual);
        press(&mut app, KeyCode::Esc);
    }
}

#[test]
fn a_long_culprit_leaves_room_for_the_name_of_its_victim() {
    let mut app = app(80, 24, Settings::default());
    keys(&mut app, "3");
    let mut long = arranged(&app.ask(), 0);
    let rows = &mut long.sums.as_mut().expect("groups").rows;
    let starved = rows.iter_mut().find(|row| row.kept_off.is_some()).expect("a culprit");
    starved.name = "/its-victim".into();
    for culprit in &mut starved.kept_off.as_mut().expect("a culprit").culprits {
        culprit.culprit = format!("/{}.slice", "very-long-".repeat(9));
    }
    accept(&mut app, long);
    let shown = picture(&app);
    assert!(shown.contains("KEPT OFF BY") && shown.contains("CGROUP"), "{shown}");
    assert!(shown.contains("/its-victim"), "{shown}");
}

#[test]
fn the_column_menu_at_80x24_and_200x50() {
    let mut narrow = app(80, 24, Settings::default());
    keys(&mut narrow, "2o");
    insta::assert_snapshot!("column_menu_at_80x24", picture(&narrow));
    let mut wide = app(200, 50, Settings::default());
    press(&mut wide, KeyCode::F(6));
    insta::assert_snapshot!("column_menu_at_200x50", picture(&wide));
}

#[test]
fn the_column_menu_finds_columns_and_undoes() {
    let mut app = app(80, 24, Settings::default());
    let columns = app.settings().columns.clone();
    let at = |app: &App| match app.page() {
        Page::ColumnChooser(chooser) => chooser.list[chooser.at].0.title,
        page => panic!("{page:?}"),
    };
    keys(&mut app, "o/context switches\n");
    let first = at(&app);
    keys(&mut app, "n");
    let mut both = [first, at(&app)];
    both.sort_unstable();
    assert_eq!(both, ["ICX", "VCX"]);
    keys(&mut app, "/no such column\n");
    let told = app.message().map(|told| told.text.clone());
    assert_eq!(told.as_deref(), Some("no column has 'no such column': search another text"));
    keys(&mut app, "/ppid\n ");
    assert_eq!(at(&app), "PPID");
    assert!(picture(&app).contains("[x] PPID"), "{}", picture(&app));
    keys(&mut app, "u");
    let Page::ColumnChooser(chooser) = app.page() else { panic!("{:?}", app.page()) };
    assert!(!chooser.chosen().iter().any(|column| column.title == "PPID"));
    // A key without effect says why.
    for (key, why) in [("n", "no text to search for"), ("x", "no such key here")] {
        keys(&mut app, key);
        assert!(message(&app).starts_with(why), "{key}: {:?}", app.message());
    }
    press(&mut app, KeyCode::Esc);
    assert_eq!(app.settings().columns, columns);
}

#[test]
fn what_a_set_says_fits_80_columns() {
    let mut app = app(80, 24, Settings::default());
    for key in ["1", "2", "5", "3", "4", "m", "6"] {
        keys(&mut app, key);
        let told = app.message().expect("the question and how to read it");
        assert!(told.text.chars().count() <= 80, "{told:?}");
    }
}

/// Columns and order of a set are saved in that set, the others stay.
#[test]
fn columns_are_chosen_moved_and_saved_by_set() {
    let mut app = app(120, 40, Settings::default());
    keys(&mut app, "2o");
    assert!(picture(&app).contains("Columns of waits"), "{}", picture(&app));
    // USER is removed. CPU% is moved in front of S.
    for code in [KeyCode::Down, KeyCode::Char(' '), KeyCode::Down, KeyCode::Down] {
        press(&mut app, code);
    }
    for code in [KeyCode::Right, KeyCode::Up, KeyCode::Left, KeyCode::Char('s'), KeyCode::Esc] {
        press(&mut app, code);
    }
    let saved = app.settings().presets["waits"].clone();
    use ColumnId::{CpuPct, LatPct, MsThr, Pid, S};
    assert_eq!(saved.columns[..5], [Pid, CpuPct, S, LatPct, MsThr]);
    assert_eq!(saved.sort, Some(CpuPct));
    assert_eq!(app.settings().columns, Settings::default().columns);
    assert_eq!(app.settings().sort, Settings::default().sort);
    // After saving and starting again, the key has the user's columns.
    let mut again = App::new(app.settings().clone()).expect("settings");
    again.resize(120, 40);
    let frame = arranged(&again.ask(), 0);
    accept(&mut again, frame);
    keys(&mut again, "2");
    let shown = picture(&again);
    assert!(shown.contains("   PID ▾%CPU S  LAT%   THR"), "{shown}");
    keys(&mut again, "1");
    assert!(picture(&again).contains("   PID USER     S ▾%CPU  CPU+"), "{}", picture(&again));
}

#[test]
fn six_shows_what_is_new_since_the_mark() {
    let mut app = app(120, 30, Settings::default());
    keys(&mut app, "6");
    assert!(message(&app).contains("no window is marked"), "{}", message(&app));
    keys(&mut app, "m");
    let later = |app: &mut App| {
        let mut frame = arranged(&app.ask(), 7);
        let row = frame.rows.iter_mut().find(|row| row.key.tgid == 22_418).expect("a row");
        (row.key.tgid, row.key.tid, row.key.start_ns) = (30_000, 30_000, row.key.start_ns + 1);
        let leaks = frame.rows.iter_mut().find(|row| row.key.tgid == 813).expect("a row");
        leaks.threads = leaks.threads.map(|threads| threads + 100);
        // A process that lost a thread is not new.
        let fewer = frame.rows.iter_mut().find(|row| row.key.tgid == 22_600).expect("a row");
        fewer.threads = fewer.threads.map(|threads| threads - 1);
        frame.exited.clear();
        accept(app, frame);
    };
    keys(&mut app, "6");
    later(&mut app);
    let shown: Vec<u32> = app.entries().map(|entry| entry.row.key.tgid).collect();
    assert_eq!(
        shown.iter().copied().collect::<std::collections::BTreeSet<_>>(),
        [813, 30_000].into()
    );
    assert!(picture(&app).contains("what is new since the mark"));
    // The mark goes, and with it the set.
    keys(&mut app, "m");
    assert_eq!(app.topic(), Topic::Table);
    assert!(app.entries().count() > 10);
}

#[test]
fn four_shows_the_throttled_groups_only() {
    let mut app = app(120, 30, Settings::default());
    keys(&mut app, "4");
    let Page::Groups(page) = app.page() else { panic!("{:?}", app.page()) };
    assert!(page.throttled.is_some());
    let frame = app.frame().expect("a frame");
    let groups = frame.groups.as_ref().expect("asked for").as_ref().expect("groups");
    let (throttled, others): (Vec<_>, Vec<_>) =
        groups.rows.iter().partition(|row| row.was_throttled());
    assert!(!throttled.is_empty() && !others.is_empty(), "the test sees no difference");
    let shown = picture(&app);
    assert!(shown.contains("▾THR%"), "{shown}");
    let rows = shown.lines().filter(|line| line.contains(".scope") || line.contains(".service"));
    assert!(rows.count() <= throttled.len(), "{shown}");
    keys(&mut app, "4");
    assert_eq!(app.page(), &Page::Table);
    keys(&mut app, "g");
    assert!(matches!(app.page(), Page::Groups(page) if page.throttled.is_none()));
}

/// A source without the figures says which source has them.
#[test]
fn a_set_without_figures_says_what_is_missing() {
    let mut app = app(120, 30, Settings::default());
    accept(&mut app, frame(SourceKind::Procfs, false));
    keys(&mut app, "3");
    assert_eq!(
        message(&app),
        "who starves whom: the source procfs does not measure it: run as root"
    );
    assert_eq!(app.topic(), Topic::Table);
}

#[test]
fn a_set_without_rows_says_what_there_is_none_of() {
    let mut app = app(100, 24, Settings::default());
    keys(&mut app, "m6");
    press(&mut app, KeyCode::Down);
    assert!(picture(&app).contains("nothing is new since the mark"), "{}", picture(&app));
    keys(&mut app, "i");
    assert!(picture(&app).contains("i shows idle rows"), "{}", picture(&app));
    keys(&mut app, "i");
    press(&mut app, KeyCode::Down);
    // The set's name stands on the status line at each width.
    app.resize(80, 24);
    assert!(picture(&app).contains("what is new"), "{}", picture(&app));
}

#[test]
fn dropping_the_filters_keeps_that_of_the_set() {
    let mut app = app(120, 24, Settings::default());
    let pids = |app: &App| -> Vec<String> {
        let screen = picture(app);
        let lines = screen.lines().skip_while(|line| !line.contains("MIGR")).skip(1);
        let words = lines.filter_map(|line| line.split_whitespace().next().map(Into::into));
        words.filter(|word: &String| word.parse::<u32>().is_ok()).collect()
    };
    keys(&mut app, "5");
    let moved = pids(&app);
    keys(&mut app, "=");
    assert_eq!(message(&app), "filters dropped, but that of these columns");
    assert_eq!(pids(&app), moved);
}
