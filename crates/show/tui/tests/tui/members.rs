//! From a group or a total to its processes and back, and the order of these pages.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use exactop_model::owner::Grouping;
use exactop_model::{Counter, Needs, Row};
use exactop_testkit::{arranged, details};
use exactop_tui::app::groups::GroupsPage;
use exactop_tui::app::Page;
use exactop_tui::canvas::Canvas;
use exactop_tui::draw::{draw, theme::Theme};
use exactop_tui::{Action, App, Settings};

const BATCH: &str = "/system.slice/batch.service";

/// Every other process is in the batch, the others belong to a user.
fn of_group(row: &Row) -> bool {
    row.key.tgid % 2 == 1
}

fn read(rows: &mut [&mut Row], needs: Needs) {
    details(rows, needs);
    for row in rows.iter_mut() {
        // As in totals of users whose ids have no names.
        row.detail.user = Ok(row.ident.uid.to_string());
    }
    for row in rows.iter_mut().filter(|_| needs.has(Needs::NAMES)) {
        let path = if of_group(row) { BATCH } else { "/system.slice/batch.service.of.another" };
        row.detail.cgroup = Ok(path.into());
    }
}

fn app(width: u16) -> App {
    let mut app = App::new(Settings::default()).unwrap();
    app.resize(width, 30);
    app.accept(arranged(&app.ask(), 0), &mut read);
    app.look(&mut read);
    app
}

fn press(app: &mut App, keys: &[KeyCode]) {
    for &code in keys {
        let event = Event::Key(KeyEvent::new(code, KeyModifiers::NONE));
        if matches!(app.on_event(&event), Action::Rearrange | Action::Refresh) {
            app.accept(arranged(&app.ask(), 0), &mut read);
        }
        app.look(&mut read);
    }
}

fn lines(app: &App) -> Vec<String> {
    let (width, height) = app.size();
    let mut canvas = Canvas::new(width, height);
    draw(app, Theme::MONO, &mut canvas);
    let cells = canvas.cells();
    (0..height).map(|y| (0..width).map(|x| cells[(x, y)].symbol()).collect()).collect()
}

fn has(app: &App, text: &str) -> bool {
    lines(app).iter().any(|line| line.contains(text))
}

fn run_ns(app: &App) -> u64 {
    app.entries().filter_map(|entry| entry.row.delta.get(Counter::RunNs)).sum()
}

#[test]
fn enter_on_a_group_lists_its_processes_and_esc_goes_back_to_it() {
    let mut app = app(120);
    let all = app.line_count();
    press(&mut app, &[KeyCode::Char('g'), KeyCode::End, KeyCode::Enter]);
    assert_eq!(*app.page(), Page::Table);
    assert!((1..all).contains(&app.line_count()), "{} of {all}", app.line_count());
    assert!(app.entries().all(|entry| of_group(entry.row)));
    press(&mut app, &[KeyCode::Down]);
    assert!(has(&app, &format!("group {BATCH} (Esc back)")), "{:#?}", lines(&app));
    press(&mut app, &[KeyCode::Enter, KeyCode::Esc]);
    assert!(
        app.entries().all(|entry| of_group(entry.row)),
        "back from a process, still its group's"
    );
    press(&mut app, &[KeyCode::Esc]);
    let Page::Groups(GroupsPage { selected: Some(group), .. }) = app.page() else {
        panic!("not on the page of groups")
    };
    assert_eq!(group.name, BATCH);
    press(&mut app, &[KeyCode::Esc]);
    assert_eq!((app.page(), app.line_count()), (&Page::Table, all));
}

#[test]
fn the_root_has_all_processes_and_dropping_filters_leaves_a_group() {
    let mut app = app(120);
    let all = app.line_count();
    press(&mut app, &[KeyCode::Char('g'), KeyCode::Home, KeyCode::Enter]);
    assert!(app.line_count() >= all);
    press(&mut app, &[KeyCode::Char('g'), KeyCode::End, KeyCode::Enter, KeyCode::Char('=')]);
    assert!(app.line_count() >= all && app.entries().any(|entry| !of_group(entry.row)));
}

/// A row of totals sums the rows of its table, to the nanosecond.
#[test]
fn a_total_leads_to_its_processes() {
    let mut app = app(120);
    let mut seen = 0;
    press(&mut app, &[KeyCode::Char('K'), KeyCode::Home]);
    for by in [Grouping::Command, Grouping::User] {
        let sums = app.frame().unwrap().sums.clone().unwrap();
        assert_eq!(sums.by, by);
        for row in &sums.rows {
            press(&mut app, &[KeyCode::Enter]);
            assert_eq!(*app.page(), Page::Table);
            assert_eq!(run_ns(&app), row.run_ns, "{by} {}", row.name);
            press(&mut app, &[KeyCode::Esc, KeyCode::Down]);
            seen += 1;
        }
        press(&mut app, &[KeyCode::Char('K'), KeyCode::Home]);
    }
    assert!(seen > 4, "{seen} rows");
}

#[test]
fn groups_and_totals_lead_to_each_other() {
    let mut app = app(120);
    press(&mut app, &[KeyCode::Char('g'), KeyCode::Char('K')]);
    assert!(matches!(app.page(), Page::Sums(_)));
    press(&mut app, &[KeyCode::Char('g')]);
    assert!(matches!(app.page(), Page::Groups(_)));
    press(&mut app, &[KeyCode::Char('g')]);
    assert_eq!(*app.page(), Page::Table);
}

#[test]
fn groups_sort_by_any_column_and_an_arrow_marks_it() {
    let mut app = app(160);
    press(&mut app, &[KeyCode::Char('g')]);
    let names = |app: &App| -> Vec<String> {
        let of = |line: &String| ["user.slice", "system.slice"].iter().any(|n| line.contains(n));
        lines(app).into_iter().filter(of).map(|line| line[90..].trim().to_string()).collect()
    };
    let by_cpu = names(&app);
    assert!(by_cpu[0].contains("user.slice") && has(&app, "▾LEDGER%"), "{:#?}", lines(&app));
    press(&mut app, &[KeyCode::Char('N')]);
    assert!(names(&app)[0].contains("system.slice") && has(&app, "GROUP▴"), "{:#?}", lines(&app));
    press(&mut app, &[KeyCode::Char('R')]);
    assert_eq!((names(&app), has(&app, "GROUP▾")), (by_cpu, true));
    press(&mut app, &[KeyCode::Char('<')]);
    assert!(has(&app, "▾EXITED") && has(&app, "sorted by EXITED"), "{:#?}", lines(&app));
    press(&mut app, &[KeyCode::Char('M')]);
    assert!(matches!(app.page(), Page::Groups(_)) && has(&app, "no memory column here"));
}

#[test]
fn totals_are_ordered_and_columns_without_a_figure_go_before_names_are_cut() {
    let mut app = app(80);
    press(&mut app, &[KeyCode::Char('K')]);
    press(&mut app, &[KeyCode::Char('N')]);
    assert!(has(&app, "COMMAND▴") && has(&app, "sorted by COMMAND"), "{:#?}", lines(&app));
    press(&mut app, &[KeyCode::Char('P')]);
    assert!(has(&app, "▾%CPU") && has(&app, "COMMAND"), "{:#?}", lines(&app));
    let mut frame = arranged(&app.ask(), 0);
    for row in &mut frame.sums.as_mut().unwrap().rows {
        row.name = format!("{:-<32}|", row.name);
    }
    app.accept(frame, &mut read);
    app.look(&mut read);
    assert!(!has(&app, "PERIODS") && !has(&app, "WEIGHT") && has(&app, "-|"), "{:#?}", lines(&app));
}

#[test]
fn help_explains_the_columns_of_these_pages() {
    let mut app = app(100);
    app.resize(100, 400);
    press(&mut app, &[KeyCode::Char('h')]);
    for word in ["LEDGER%", "SHARE", "PERIODS", "PSI%", "THROTTLED"] {
        assert!(has(&app, &format!("  {word} ")), "{word}");
    }
}
