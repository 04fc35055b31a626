//! The palette of actions, completions and earlier answers, and highlighted matches.

use crate::view::{app, cells, keys, picture, press};
use crossterm::event::KeyCode;
use exactop_model::columns::{Column, Unit, COLUMNS};
use exactop_tui::draw::theme::Theme;
use exactop_tui::explanations::Topic;
use exactop_tui::keys::BINDINGS;
use exactop_tui::{Action, App, Settings};
use ratatui_core::style::Modifier;

/// The cells with the style of a match, joined by row.
fn highlighted(app: &App) -> Vec<String> {
    let cells = cells(app, Theme::FULL);
    let (width, top) = (usize::from(cells.area.width), 9);
    let marks = |row: &[ratatui_core::buffer::Cell]| {
        let marked = row.iter().filter(|cell| cell.modifier.contains(Modifier::REVERSED));
        marked.map(|cell| cell.symbol()).collect::<String>()
    };
    let rows = cells.content.chunks(width).skip(top).map(marks);
    rows.filter(|text| !text.is_empty()).collect()
}

#[test]
fn palette_at_80x24_and_200x50() {
    let mut narrow = app(80, 24, Settings::default());
    keys(&mut narrow, ":sort");
    insta::assert_snapshot!("palette_at_80x24", picture(&narrow));
    let mut wide = app(200, 50, Settings::default());
    keys(&mut wide, "g:");
    insta::assert_snapshot!("palette_over_groups_at_200x50", picture(&wide));
}

/// Every action is found by its name, and Enter does it.
#[test]
fn every_action_is_found_and_done_by_its_name() {
    for binding in BINDINGS {
        let mut app = app(120, 40, Settings::default());
        keys(&mut app, ":");
        assert_eq!(app.topic(), Topic::Palette);
        keys(&mut app, &binding.name());
        let shown = picture(&app);
        let is_offered = shown.contains(&format!("{}  ", binding.name()));
        assert_eq!(is_offered, !binding.is_of_time(), "{}: {shown}", binding.name());
    }
    let mut palette = app(80, 24, Settings::default());
    assert_eq!(keys(&mut palette, ":hk\n"), Action::Rearrange);
    assert!(palette.settings().hide_kernel_threads && palette.prompt().is_none());
    // The second line, and a completed name.
    keys(&mut palette, ":sort");
    press(&mut palette, KeyCode::Down);
    press(&mut palette, KeyCode::Tab);
    let name = palette.prompt().expect("a question").editor.text().to_string();
    assert!(name.starts_with("sort "), "{name}");
    keys(&mut palette, "\n");
    assert_eq!(keys(&mut palette, ":quit\n"), Action::Quit);
    keys(&mut palette, ":");
    press(&mut palette, KeyCode::Esc);
    assert!(palette.prompt().is_none());
    assert!(!picture(&palette).contains("hide kernel"));
}

#[test]
fn a_name_that_no_action_has_stays_to_be_corrected() {
    let mut palette = app(80, 24, Settings::default());
    assert_eq!(keys(&mut palette, ":zzzz\n"), Action::Draw);
    assert!(picture(&palette).contains("no action has this name: zzzz"), "{}", picture(&palette));
    // The next letter is no key of the table.
    keys(&mut palette, "H");
    assert_eq!(palette.prompt().expect("a question").editor.text(), "zzzzH");
    assert!(!palette.settings().threads && palette.message().is_none());
    press(&mut palette, KeyCode::Esc);
    assert!(palette.prompt().is_none());
}

#[test]
fn filters_are_completed_and_recalled() {
    let mut app = app(100, 30, Settings::default());
    keys(&mut app, "\\lat_p");
    assert!(picture(&app).contains("lat_preempt_ns  "), "{}", picture(&app));
    press(&mut app, KeyCode::Tab);
    assert_eq!(app.prompt().expect("a question").editor.text(), "lat_pct");
    keys(&mut app, ">1%\n");
    assert_eq!(app.settings().filters, ["lat_pct>1%"]);
    // Values of a text column, after a negation.
    keys(&mut app, "=O!user=post");
    assert!(picture(&app).contains("!user=postgres"), "{}", picture(&app));
    press(&mut app, KeyCode::Tab);
    keys(&mut app, "\n");
    assert_eq!(app.settings().filters, ["!user=postgres"]);
    keys(&mut app, "=");
    press(&mut app, KeyCode::F(4));
    press(&mut app, KeyCode::Up);
    press(&mut app, KeyCode::Up);
    assert_eq!(app.prompt().expect("a question").editor.text(), "lat_pct>1%");
    press(&mut app, KeyCode::Down);
    assert_eq!(app.prompt().expect("a question").editor.text(), "!user=postgres");
    press(&mut app, KeyCode::Down);
    assert_eq!(app.prompt().expect("a question").editor.text(), "");
    press(&mut app, KeyCode::Esc);
    // A number says its units.
    keys(&mut app, "\\res>1");
    assert!(picture(&app).contains("K, M, G or T"), "{}", picture(&app));
    keys(&mut app, "00M\n");
    assert_eq!(app.entries().count(), 1, "one process has more than 100M");
}

#[test]
fn tab_goes_through_the_completions_and_back() {
    let mut app = app(100, 30, Settings::default());
    let text = |app: &App| app.prompt().expect("a question").editor.text().to_string();
    keys(&mut app, "\\lat_p");
    press(&mut app, KeyCode::Tab);
    assert_eq!(text(&app), "lat_pct");
    assert!(picture(&app).contains("> lat_pct"), "{}", picture(&app));
    press(&mut app, KeyCode::Tab);
    assert_eq!(text(&app), "lat_preempt_ns");
    assert!(picture(&app).contains("> lat_preempt_ns"), "{}", picture(&app));
    press(&mut app, KeyCode::BackTab);
    assert_eq!(text(&app), "lat_pct");
    press(&mut app, KeyCode::BackTab);
    assert_eq!(text(&app), "lat_preempt_ns", "the last one");
    press(&mut app, KeyCode::Tab);
    // What is typed now belongs to the completed text.
    keys(&mut app, ">");
    press(&mut app, KeyCode::Tab);
    assert_eq!(text(&app), "lat_pct>");
}

#[test]
fn a_completion_that_is_gone_is_followed_by_the_first_or_the_last() {
    let mut app = app(100, 30, Settings::default());
    let text = |app: &App| app.prompt().expect("a question").editor.text().to_string();
    keys(&mut app, "\\command=");
    press(&mut app, KeyCode::BackTab);
    let last = text(&app);
    let gone = last.trim_start_matches("command=").to_string();
    crate::view::show(&mut app, |frame| {
        frame.rows.retain(|row| row.ident.comm.to_string() != gone);
        frame.exited.clear();
    });
    assert!(picture(&app).contains("command="), "{}", picture(&app));
    press(&mut app, KeyCode::BackTab);
    assert_ne!(text(&app), last);
    // The palette has one list, and no way back through it.
    press(&mut app, KeyCode::Esc);
    keys(&mut app, ":");
    for _ in 0..3 {
        press(&mut app, KeyCode::BackTab);
    }
    assert_eq!(text(&app), "");
}

#[test]
fn commands_of_exited_processes_are_completed_and_compared_by_their_name() {
    let mut app = app(100, 30, Settings::default());
    let listed = picture(&app);
    assert!(listed.contains("exited × 1,756") && listed.contains("true"), "{listed}");
    keys(&mut app, "\\COMMAND==tr");
    let offered = picture(&app);
    assert_eq!(offered.matches("COMMAND==true").count(), 1, "{offered}");
    assert!(!offered.contains("true x"), "{offered}");
    press(&mut app, KeyCode::Tab);
    keys(&mut app, "\n");
    assert_eq!(app.settings().filters, ["COMMAND==true"]);
    assert!(picture(&app).contains("exited × 1,756"), "{}", picture(&app));
    assert!(app.entries().filter(|entry| entry.row.ident.comm.to_string() == "true").count() > 1);
}

#[test]
fn an_unknown_column_names_the_key_that_lists_them() {
    let mut app = app(80, 24, Settings::default());
    keys(&mut app, "\\qqqqqqqq>5\n");
    let told = app.message().map(|told| told.text.clone());
    assert_eq!(told.as_deref(), Some("no column 'qqqqqqqq': Tab completes one"));
}

#[test]
fn why_a_filter_is_refused_fits_beside_the_answer() {
    let of = |column: &Column| [">x", ">some", "=x"].map(|tail| format!("{}{tail}", column.name));
    let wrong = COLUMNS.iter().filter(|column| column.unit != Unit::Text).flat_map(of);
    for filter in wrong.chain(["cpu_plus_pct".into(), "command>x".into()]) {
        let mut app = app(80, 24, Settings::default());
        keys(&mut app, &format!("\\{filter}\n"));
        let told = app.message().unwrap_or_else(|| panic!("{filter} is one")).text.clone();
        let screen = picture(&app);
        assert!(screen.contains(&format!("{told}: {filter}")), "{told}\n{screen}");
    }
}

#[test]
fn matches_of_a_search_are_highlighted() {
    let mut app = app(80, 24, Settings::default());
    keys(&mut app, "/postgres\n");
    press(&mut app, KeyCode::Home);
    let all = highlighted(&app);
    // The selected row is reversed as a whole, and the heading and the footer are not rows.
    let matches: Vec<&String> = all.iter().filter(|text| text.contains("postgres")).collect();
    assert_eq!(matches.len(), 2, "{all:?}");
    assert!(matches.iter().all(|text| *text == "postgrespostgres"), "user and command: {all:?}");
    press(&mut app, KeyCode::Esc);
    assert!(!highlighted(&app).iter().any(|text| text.contains("postgres")));
}

#[test]
fn a_search_without_command_lines_names_the_key_that_shows_them() {
    let told = |app: &App| app.message().map(|told| told.text.clone()).unwrap_or_default();
    let mut narrow = app(80, 24, Settings::default());
    keys(&mut narrow, "/while\n");
    assert_eq!(told(&narrow), "no row contains 'while': / searched names, c adds command lines");
    keys(&mut narrow, "cn");
    assert_eq!(told(&narrow), "");
    assert!(narrow.selected().is_some(), "{}", picture(&narrow));
    for way in ["", "Vv"] {
        let mut long = app(80, 24, Settings::default());
        press(&mut long, KeyCode::Down);
        keys(&mut long, &format!("{way}/{}\n", "a long text ".repeat(9)));
        let told = told(&long);
        assert!(told.ends_with("…': / searched names, c adds command lines"), "{told}");
        assert_eq!((told.chars().count(), picture(&long).contains(&told)), (80, true), "{told}");
    }
    let mut wide = app(120, 24, Settings::default());
    keys(&mut wide, "/no such text\n");
    assert_eq!(told(&wide), "no row contains 'no such text'");
}
