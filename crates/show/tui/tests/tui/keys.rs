//! Keys, clicks and frames: their effect on the state and on the requests to the feed.

use crossterm::event::{
    Event, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use exactop_model::on_demand::Panel;
use exactop_model::owner::Grouping;
use exactop_model::{ColumnId, Counter, Frame, IdleRows, Needs, Row, RowKind, TaskKey};
use exactop_testkit::{arranged, details, SECOND};
use exactop_tui::app::action::HostAction;
use exactop_tui::app::arrange::RowId;
use exactop_tui::app::process::Shows;
use exactop_tui::app::Page;
use exactop_tui::{Action, App, AutoSwitch, Settings, Target};

fn app() -> App {
    with(Settings::default())
}

fn with(settings: Settings) -> App {
    let mut app = App::new(settings).unwrap();
    app.resize(80, 24);
    next(&mut app);
    app
}

fn next(app: &mut App) {
    accept(app, arranged(&app.ask(), 0));
    look(app);
}

fn accept(app: &mut App, frame: Frame) {
    app.accept(frame, &mut details);
}

fn look(app: &mut App) {
    app.look(&mut details);
}

fn event(app: &mut App, event: Event) -> Action {
    let action = app.on_event(&event);
    if matches!(action, Action::Rearrange | Action::Refresh) {
        let frame = arranged(&app.ask(), 0);
        accept(app, frame);
    }
    look(app);
    action
}

fn key(app: &mut App, code: KeyCode) -> Action {
    event(app, Event::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}

fn ctrl(app: &mut App, c: char) -> Action {
    event(app, Event::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)))
}

/// Types text, one key per character.
fn keys(app: &mut App, text: &str) -> Action {
    text.chars().fold(Action::Draw, |_, c| {
        key(app, if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) })
    })
}

fn row(app: &App, line: usize) -> &Row {
    app.entries().nth(line).unwrap().row
}

fn message(app: &App) -> &str {
    app.message().map_or("", |m| m.text.as_str())
}

#[test]
fn exited_groups_stand_under_the_parent_and_the_column_adds_up() {
    let app = app();
    assert_eq!(row(&app, 0).key.tgid, 22_417);
    assert_eq!(row(&app, 1).kind, RowKind::Exited);
    assert_eq!(row(&app, 1).ident.ppid, 22_417);
    let frame = app.frame().unwrap();
    let shown: i64 = app.entries().filter_map(|e| e.line.cpu_tenths).sum();
    let used = frame.books.tasks_ns + frame.books.exited_ns;
    assert_eq!(shown, (used as f64 * 1000.0 / frame.length_ns() as f64).round() as i64);
    let parent = app.entries().next().unwrap();
    let below: i64 = app.entries().take(3).filter_map(|e| e.line.cpu_tenths).sum();
    assert_eq!(parent.line.cpu_plus_tenths, Some(below));
}

#[test]
fn the_tree_sums_branches() {
    let app = with(Settings { tree: true, ..Settings::default() });
    let of = |pid: u32| {
        let entry = app.entries().find(|e| e.row.key.tid == pid);
        entry.unwrap().line.cpu_plus_tenths.unwrap()
    };
    assert_eq!(of(21_002), of(22_417) + of(22_418) + of(22_600) + of(22_700));
    let all: i64 = app.entries().filter_map(|e| e.line.cpu_tenths).sum();
    let orphans = app.entries().last().unwrap().line.cpu_tenths.unwrap();
    assert_eq!(of(1) + of(2) + orphans, all);
}

#[test]
fn a_branch_with_an_unknown_figure_has_no_sum() {
    let mut app = with(Settings { tree: true, ..Settings::default() });
    let mut frame = arranged(&app.ask(), 0);
    let row = frame.rows.iter_mut().find(|row| row.key.tid == 22_418).unwrap();
    row.delta.forget(Counter::RunNs);
    accept(&mut app, frame);
    let of = |pid: u32| {
        let entry = app.entries().find(|e| e.row.key.tid == pid);
        entry.unwrap().line.cpu_plus_tenths
    };
    assert_eq!([of(22_418), of(21_002), of(1)], [None; 3], "its own and all above it");
    assert!(of(22_417).is_some() && of(2).is_some());
    // By CPU time, unknown values come last, as everywhere.
    let shown: Vec<u32> = app.entries().map(|e| e.row.key.tid).collect();
    let place = |pid: u32| shown.iter().position(|&tid| tid == pid);
    assert!(place(2) < place(1), "{shown:?}");
    assert!(place(22_700) < place(22_418), "{shown:?}");
}

#[test]
fn t_shows_threads_below_their_process_and_then_the_list() {
    let mut app = app();
    keys(&mut app, "t");
    assert!(app.settings().tree && app.settings().threads);
    let frame = arranged(&app.ask(), 0);
    accept(&mut app, frame);
    let depth = |prefix: &str| prefix.chars().count() / 2;
    let lines: Vec<_> = app.entries().map(|e| (depth(&e.line.prefix), e.row.clone())).collect();
    let mut threads = 0;
    for (n, (depth, row)) in lines.iter().enumerate() {
        if row.kind != RowKind::Task || row.key.is_leader() {
            continue;
        }
        threads += 1;
        let above = lines[..n].iter().rfind(|(above, _)| above + 1 == *depth);
        assert_eq!(above.map(|(_, row)| row.key.tid), Some(row.key.tgid), "{row:?}");
    }
    assert!(threads > 1, "{threads} threads");
    // The other tree has no threads.
    keys(&mut app, "t");
    assert!(!app.settings().tree && !app.settings().threads);
    keys(&mut app, "V");
    assert!(app.settings().tree && !app.settings().threads);
    keys(&mut app, "t");
    assert!(app.settings().tree && app.settings().threads);
}

#[test]
fn toggles_change_the_settings_and_ask_for_another_arrangement() {
    let mut app = app();
    for c in ['H', 'V', 'i', 'c'] {
        assert_eq!(keys(&mut app, &c.to_string()), Action::Rearrange, "{c}");
    }
    let s = app.settings();
    assert!(s.threads && s.tree && s.hide_idle);
    assert_eq!(s.command_line, AutoSwitch::Always);
    assert!(app.ask().options.threads);
    assert!(app.ask().needs.has(Needs::CMDLINE.with(Needs::THREADS)));
    keys(&mut app, "I");
    assert!(app.settings().of_machine);
}

#[test]
fn microstates_are_other_columns_and_back() {
    let mut app =
        with(Settings { columns: vec![ColumnId::Pid, ColumnId::Res], ..Settings::default() });
    assert_eq!(keys(&mut app, "S"), Action::Rearrange);
    assert!(app.settings().microstates);
    // Sorts by each state, to the right and to the left, in its natural order.
    use ColumnId::{MsDfl, MsLck, MsSlp, MsSys, MsUsr, Pid};
    for expected in [Pid, MsUsr, MsSys, MsDfl, MsLck, MsSlp] {
        keys(&mut app, if expected == Pid { "N" } else { ">" });
        assert_eq!(app.settings().sort, expected);
    }
    let order: Vec<u32> = (0..3).map(|line| row(&app, line).key.tgid).collect();
    assert_eq!(order, [1, 2, 311], "those that slept for the whole window, by number");
    // Columns chosen now belong to microstates, not to the usual columns.
    keys(&mut app, "f");
    keys(&mut app, " ");
    key(&mut app, KeyCode::Esc);
    assert_eq!(app.settings().microstate_columns[0], MsUsr);
    keys(&mut app, "S");
    assert!(!app.settings().microstates);
    assert_eq!(app.settings().columns, [Pid, ColumnId::Res]);
}

#[test]
fn only_as_many_still_rows_are_asked_for_as_fit() {
    let mut app = app();
    assert_eq!(app.ask().options.still, IdleRows::Some(14));
    keys(&mut app, "i");
    assert_eq!(app.ask().options.still, IdleRows::Hide);
    keys(&mut app, "i");
    for (keys_, why) in [("M", "memory"), ("P", "activity"), ("R", "ascending")] {
        keys(&mut app, keys_);
        let all = app.ask().options.still == IdleRows::All;
        assert_eq!(all, keys_ != "P", "{why}");
    }
    keys(&mut app, "P\\%CPU>1\n");
    assert_eq!(app.ask().options.still, IdleRows::All);
    keys(&mut app, "=");
    assert_eq!(app.ask().options.still, IdleRows::Some(14));
    key(&mut app, KeyCode::End);
    assert_eq!(app.selected_line(), Some(app.line_count() - 1));
}

#[test]
fn details_are_read_for_the_screen_unless_the_order_needs_all_rows() {
    let read = |settings| {
        let mut app = with(settings);
        let mut most = 0;
        app.resize(80, 10);
        app.accept(arranged(&app.ask(), 1), &mut |rows, _| most = most.max(rows.len()));
        app.look(&mut |rows, _| most = most.max(rows.len()));
        (most, app.frame().unwrap().rows.len())
    };
    let (most, all) = read(Settings::default());
    assert!(most < all, "{most} of {all}");
    let (most, all) = read(Settings { sort: ColumnId::Res, ..Settings::default() });
    assert_eq!(most, all);
}

#[test]
fn the_selection_follows_the_process() {
    let mut app = app();
    key(&mut app, KeyCode::Down);
    key(&mut app, KeyCode::Down);
    key(&mut app, KeyCode::Down);
    key(&mut app, KeyCode::Down);
    let line = app.selected_line().unwrap();
    let id = RowId::from_row(row(&app, line));
    assert_eq!(row(&app, line).key.tgid, 22_418);
    keys(&mut app, "N");
    let now = app.selected_line().unwrap();
    assert_ne!(now, line);
    assert_eq!(RowId::from_row(row(&app, now)), id);
    let mut frame = arranged(&app.ask(), 1);
    frame.rows.retain(|r| r.key.tgid != 22_418);
    accept(&mut app, frame);
    look(&mut app);
    assert_eq!(app.selected_line(), None);
    assert!(message(&app).contains("22418"));
}

/// The busiest process.
fn sh() -> Target {
    let key = TaskKey { tgid: 22_417, tid: 22_417, start_ns: 22_417 * SECOND };
    Target { pid: 22_417, key, name: "sh".into(), nice: 0, kthread: false }
}

#[test]
fn kill_asks_for_pid_signal_and_confirmation() {
    let mut app = app();
    keys(&mut app, "k\n");
    assert!(app.prompt().unwrap().head().contains("PID 22417 (sh)"));
    keys(&mut app, "kill\n");
    assert!(app.prompt().unwrap().head().contains("SIGKILL"));
    assert_eq!(keys(&mut app, "y"), Action::Host(HostAction::Signal { target: sh(), signal: 9 }));
    for no in ["n", "\n", "x"] {
        assert_eq!(keys(&mut app, "k\n\n"), Action::Draw);
        assert_eq!(keys(&mut app, no), Action::Draw, "{no:?}");
        assert!(app.prompt().is_none());
    }
    keys(&mut app, "k\n\n");
    key(&mut app, KeyCode::Esc);
    assert!(app.prompt().is_none());
}

#[test]
fn pids_that_would_hit_groups_are_refused() {
    let mut app = app();
    for bad in ["0", "-1", "abc", "99999999999"] {
        keys(&mut app, &format!("k{bad}\n"));
        assert!(message(&app).contains(bad), "{bad}");
        // The answer stays, to be corrected, and the line says why it is wrong.
        assert_eq!(app.prompt().map(|prompt| prompt.editor.text()), Some(bad));
        let shown = crate::view::picture(&app);
        assert!(shown.contains(message(&app)), "{shown}");
        key(&mut app, KeyCode::Esc);
    }
}

#[test]
fn a_reused_pid_is_not_signalled() {
    let mut app = app();
    keys(&mut app, "k\n\n");
    let mut frame = arranged(&app.ask(), 1);
    let reused = frame.rows.iter_mut().filter(|r| r.key.tgid == 22_417);
    reused.for_each(|r| r.key.start_ns += 10_000_001);
    accept(&mut app, frame);
    look(&mut app);
    assert_eq!(keys(&mut app, "y"), Action::Draw);
    assert_eq!(message(&app), "PID 22417 (sh) has exited: nothing done");
}

#[test]
fn renice_asks_for_value_and_confirmation() {
    let mut app = app();
    keys(&mut app, "r812\n");
    keys(&mut app, "20\n");
    assert!(message(&app).contains("-20 to 19"));
    // The wrong value stays, and is corrected.
    for _ in 0..2 {
        key(&mut app, KeyCode::Backspace);
    }
    keys(&mut app, "-5\n");
    let action = keys(&mut app, "y");
    assert!(
        matches!(&action, Action::Host(HostAction::Renice { target, nice: -5 }) if target.key.tid == 812),
        "{action:?}"
    );
}

#[test]
fn bad_intervals_are_refused_and_good_ones_take_effect() {
    let mut app = app();
    for bad in ["0", "-1", "nan", "1e9", "x"] {
        keys(&mut app, &format!("d{bad}\n"));
        assert!(app.message().is_some_and(|m| m.is_error), "{bad}");
        assert_eq!(app.settings().interval_s, 2.0);
        key(&mut app, KeyCode::Esc);
    }
    assert_eq!(keys(&mut app, "s0.5\n"), Action::Refresh);
    assert_eq!(app.settings().interval_s, 0.5);
}

#[test]
fn filters_are_added_shown_and_dropped() {
    let mut app = app();
    keys(&mut app, "\\%CPU>1\n");
    assert!(app.entries().all(|e| e.line.cpu_tenths > Some(9)));
    keys(&mut app, "\\nope>1\n");
    assert!(message(&app).contains("nope"));
    key(&mut app, KeyCode::Esc);
    keys(&mut app, "OCOMMAND=sh\n");
    assert_eq!(app.line_count(), 2);
    ctrl(&mut app, 'o');
    assert!(message(&app).contains("%CPU>1  and  COMMAND=sh"));
    keys(&mut app, "=");
    assert!(app.settings().filters.is_empty());
    assert!(app.line_count() > 10);
}

#[test]
fn the_user_filter_asks_the_host() {
    let mut app = app();
    assert_eq!(keys(&mut app, "ujo\n"), Action::Host(HostAction::LookUpUser("jo".into())));
    app.set_user("jo", Some(1000));
    look(&mut app);
    let live = |app: &App| {
        let all = app.entries().map(|e| e.row.clone());
        all.filter(|r| r.kind == RowKind::Process).collect::<Vec<_>>()
    };
    assert!(live(&app).iter().all(|r| r.ident.uid == 1000));
    app.set_user("!jo", Some(1000));
    look(&mut app);
    assert!(live(&app).iter().all(|r| r.ident.uid != 1000));
    app.set_user("nobody-here", None);
    assert!(message(&app).contains("nobody-here"));
    assert_eq!(keys(&mut app, "u\n"), Action::Rearrange);
    assert!(app.settings().user.is_none());
}

#[test]
fn searching_goes_on_from_the_selected_row_and_wraps() {
    let mut app = app();
    keys(&mut app, "Lpostgres\n");
    let first = app.selected_line().unwrap();
    keys(&mut app, "&");
    let second = app.selected_line().unwrap();
    assert!(second > first);
    keys(&mut app, "n");
    assert_eq!(app.selected_line(), Some(first));
    keys(&mut app, "/no such thing\n");
    assert!(message(&app).contains("no such thing"));
}

#[test]
fn sorting_by_keys_and_by_the_mouse() {
    let mut app = app();
    keys(&mut app, "N");
    assert_eq!(app.settings().sort, ColumnId::Pid);
    keys(&mut app, ">");
    assert_eq!(app.settings().sort, ColumnId::User);
    keys(&mut app, "<");
    assert_eq!(app.settings().sort, ColumnId::Pid);
    let click = |app: &mut App, x, y| {
        let kind = MouseEventKind::Down(MouseButton::Left);
        let mouse = MouseEvent { kind, column: x, row: y, modifiers: KeyModifiers::NONE };
        event(app, Event::Mouse(mouse))
    };
    click(&mut app, 9, 8);
    assert_eq!((app.settings().sort, app.settings().reverse), (ColumnId::User, false));
    click(&mut app, 9, 8);
    assert_eq!((app.settings().sort, app.settings().reverse), (ColumnId::User, true));
    click(&mut app, 9, 10);
    assert_eq!(app.selected_line(), Some(1));
    click(&mut app, 9, 3);
    assert_eq!(app.selected_line(), Some(1));
}

#[test]
fn the_process_page_watches_and_lets_go() {
    let mut app = app();
    key(&mut app, KeyCode::Enter);
    assert!(matches!(app.page(), Page::Process(p) if p.key.tgid == 22_417));
    let ask = app.ask();
    assert_eq!((ask.watch, ask.options.threads_of), (Some(22_417), Some(22_417)));
    assert!(ask.needs.has(Needs::CPU_SHARES));
    key(&mut app, KeyCode::Esc);
    assert_eq!((app.page(), app.ask().watch), (&Page::Table, None));
}

#[test]
fn system_calls_are_counted_while_they_are_shown() {
    let mut app = app();
    assert_eq!(keys(&mut app, "y"), Action::Refresh, "they are counted from now on");
    let shows = |app: &App| match app.page() {
        Page::Process(page) => Some(page.shows),
        _ => None,
    };
    assert_eq!(shows(&app), Some(Shows::Calls));
    let ask = app.ask();
    assert_eq!(ask.watch, Some(22_417));
    let asks = |app: &App, panel| app.ask().needs.has(Needs::panel(panel));
    assert!(asks(&app, Panel::Calls) && !asks(&app, Panel::Overview));
    key(&mut app, KeyCode::Esc);
    assert_eq!(shows(&app), Some(Shows::Overview));
    assert!(!asks(&app, Panel::Calls) && asks(&app, Panel::Overview));
    keys(&mut app, "y");
    keys(&mut app, "y");
    assert_eq!(shows(&app), Some(Shows::Overview), "the key goes there and back");
    keys(&mut app, "y");
    key(&mut app, KeyCode::Enter);
    assert_eq!(app.page(), &Page::Table);
    assert!(!asks(&app, Panel::Calls) && !asks(&app, Panel::Overview));
}

#[test]
fn the_group_of_the_left_process_page_is_selected() {
    let mut app = app();
    key(&mut app, KeyCode::Enter);
    let mut frame = arranged(&app.ask(), 0);
    let rows = frame.rows.iter_mut().filter(|row| row.key.tgid == 22_417);
    rows.for_each(|row| row.ident.cgroup_id = Some(2));
    app.accept(frame, &mut details);
    keys(&mut app, "g");
    let Page::Groups(page) = app.page() else { panic!("the page of groups") };
    let selected = page.selected.as_ref().expect("a group");
    assert_eq!((selected.name.as_str(), selected.id), ("/system.slice", Some(2)));
}

#[test]
fn an_exited_group_opens_the_page_of_its_living_ancestor() {
    let mut app = app();
    key(&mut app, KeyCode::Down);
    key(&mut app, KeyCode::Down);
    assert_eq!(row(&app, app.selected_line().unwrap()).kind, RowKind::Exited);
    key(&mut app, KeyCode::Enter);
    assert!(matches!(app.page(), Page::Process(p) if p.key.tgid == 22_417));
}

#[test]
fn the_chooser_changes_and_orders_columns() {
    let mut app = app();
    keys(&mut app, "f");
    key(&mut app, KeyCode::Down);
    keys(&mut app, " ");
    key(&mut app, KeyCode::Home);
    key(&mut app, KeyCode::Right);
    key(&mut app, KeyCode::Down);
    key(&mut app, KeyCode::Left);
    key(&mut app, KeyCode::Esc);
    assert_eq!(app.settings().columns[..3], [ColumnId::Pid, ColumnId::Pr, ColumnId::Ni]);
    keys(&mut app, "f");
    for _ in 0..60 {
        keys(&mut app, " ");
        key(&mut app, KeyCode::Down);
    }
    keys(&mut app, "q");
    assert!(!app.settings().columns.is_empty());
    assert_eq!(app.settings().check(), Ok(()));
}

#[test]
fn arrows_scroll_to_hidden_columns_and_along_the_command_to_its_end() {
    let mut app = with(Settings { command_line: AutoSwitch::Always, ..Settings::default() });
    let shown = |app: &App| crate::view::picture(app);
    let hidden = |app: &App| !shown(app).contains("%MEM");
    assert!(hidden(&app), "80 columns have no room for all: {}", shown(&app));
    let mut presses = 0;
    while hidden(&app) && presses < 20 {
        key(&mut app, KeyCode::Right);
        presses += 1;
    }
    assert!(presses < 20, "{}", shown(&app));
    assert!(shown(&app).contains(" scrolled · "), "{}", shown(&app));
    // The end of the longest command is reached, and no key goes beyond it.
    let mut last = String::new();
    for presses in 0.. {
        key(&mut app, KeyCode::Right);
        if std::mem::replace(&mut last, shown(&app)) == shown(&app) {
            break;
        }
        assert!(presses < 30, "{last}");
    }
    assert!(last.contains("/var/lib/postgresql"), "{last}");
    let many = (0..100).fold(Action::Draw, |_, _| key(&mut app, KeyCode::Right));
    assert_eq!((many, shown(&app)), (Action::Draw, last.clone()));
    // One press back moves again, and Esc shows the left end.
    key(&mut app, KeyCode::Left);
    assert_ne!(shown(&app), last);
    key(&mut app, KeyCode::Esc);
    assert!(!shown(&app).contains("scrolled") && hidden(&app), "{}", shown(&app));
}

#[test]
fn a_window_in_which_a_page_attached_its_programs_says_so() {
    let mut app = app();
    let window = |app: &mut App, beat| {
        let frame = arranged(&app.ask(), beat);
        accept(app, frame);
        look(app);
        crate::view::picture(app).contains(" % to attach")
    };
    assert!(!window(&mut app, 1));
    key(&mut app, KeyCode::Down);
    app.on_event(&Event::Key(KeyEvent::from(KeyCode::Enter)));
    assert_eq!([2, 3, 4].map(|beat| window(&mut app, beat)), [false, true, false]);
    // Files of a process need no programs.
    app.on_event(&Event::Key(KeyEvent::from(KeyCode::Char('l'))));
    assert_eq!([5, 6, 7].map(|beat| window(&mut app, beat)), [false; 3]);
    app.on_event(&Event::Key(KeyEvent::from(KeyCode::Char('l'))));
    assert_eq!([8, 9].map(|beat| window(&mut app, beat)), [false, true]);
}

#[test]
fn the_cost_of_attaching_has_its_unit_where_there_is_room() {
    for (width, cost) in
        [(200, " % of a CPU to attach"), (80, " % to attach"), (40, " % to attach")]
    {
        let mut app = app();
        app.resize(width, 24);
        app.on_event(&Event::Key(KeyEvent::from(KeyCode::Enter)));
        for beat in [1, 2] {
            let frame = arranged(&app.ask(), beat);
            accept(&mut app, frame);
            look(&mut app);
        }
        let screen = crate::view::picture(&app);
        let first = screen.lines().next().expect("a line");
        assert!(first.contains("cost ") && first.ends_with(cost), "{screen}");
    }
}

#[test]
fn quitting_pausing_saving() {
    let mut app = app();
    assert_eq!(keys(&mut app, "p"), Action::Draw);
    assert!(app.is_paused());
    assert_eq!(keys(&mut app, "p"), Action::Refresh);
    assert_eq!(keys(&mut app, "W"), Action::Host(HostAction::Save));
    assert_eq!(keys(&mut app, " "), Action::Refresh);
    assert_eq!(ctrl(&mut app, 'z'), Action::Suspend);
    assert_eq!(keys(&mut app, "hq"), Action::Draw);
    assert_eq!((app.page(), app.help()), (&Page::Table, None));
    assert_eq!(keys(&mut app, "q"), Action::Quit);
    assert_eq!(ctrl(&mut app, 'c'), Action::Quit);
}

#[test]
fn idle_rows_are_hidden_but_not_their_time() {
    let app = with(Settings { hide_idle: true, ..Settings::default() });
    assert!(app.entries().all(|e| match e.row.kind {
        RowKind::Exited => true,
        _ => e.row.delta.get(Counter::RunNs) > Some(0),
    }));
}

#[test]
fn sums_cycle_through_their_dimensions() {
    let mut app = app();
    assert_eq!(app.ask().options.by, None, "nobody looks");
    for by in Grouping::PAGES {
        keys(&mut app, "K");
        let ask = app.ask();
        let wanted = (Some(by), by.is_of_group());
        assert_eq!((ask.options.by, ask.groups), wanted, "groups with what each may use");
        let sums = app.frame().and_then(|frame| frame.sums.as_ref()).expect("asked for");
        let all: u64 = sums.rows.iter().map(|row| row.run_ns).sum();
        let books = &app.frame().expect("a frame").books;
        assert_eq!(all, books.tasks_ns + books.exited_ns, "{by}");
    }
    keys(&mut app, "K");
    assert_eq!(app.ask().options.by, Some(Grouping::Command), "and anew");
    key(&mut app, KeyCode::End);
    key(&mut app, KeyCode::Up);
    key(&mut app, KeyCode::Esc);
    assert_eq!((app.ask().options.by, app.ask().groups), (None, false), "back at the table");
    keys(&mut app, "KK");
    key(&mut app, KeyCode::Esc);
    keys(&mut app, "K");
    assert_eq!(app.ask().options.by, Some(Grouping::User), "where it was left");
}

#[test]
fn a_groups_limits_are_asked_for_confirmed_and_set() {
    use exactop_tui::app::target::Limit;
    let mut app = app();
    let batch = "/system.slice/batch.service".to_string();
    let limit = |weight, max: Option<&str>| {
        Action::Host(HostAction::SetGroup(Limit {
            group: batch.clone(),
            id: Some(3),
            weight,
            max: max.map(String::from),
        }))
    };
    keys(&mut app, "g");
    assert!(app.ask().groups, "they are on the screen");
    key(&mut app, KeyCode::End);
    keys(&mut app, "w500\n");
    assert!(app
        .prompt()
        .unwrap()
        .head()
        .contains("set weight 500 for /system.slice/batch.service?"));
    assert_eq!(keys(&mut app, "y"), limit(Some(500), None));
    keys(&mut app, "x50%\n");
    assert_eq!(keys(&mut app, "n"), Action::Draw, "the person thought better of it");
    keys(&mut app, "x50%\n");
    assert_eq!(keys(&mut app, "y"), limit(None, Some("50%")));
    for (bad, why) in [("w0\n", "1 to 10000"), ("xmuch\n", "per cent"), ("x5\n", "5 us")] {
        keys(&mut app, bad);
        assert!(app.prompt().is_some() && message(&app).contains(why), "{bad}");
        key(&mut app, KeyCode::Esc);
    }
    key(&mut app, KeyCode::Home);
    keys(&mut app, "w");
    assert!(message(&app).contains("/ has no limits"), "the root has none");
    let set = Limit { group: batch, id: None, weight: Some(5), max: None };
    app.limited(&set, Ok("weight 100 -> weight 5".into()));
    assert!(message(&app).ends_with("weight 100 -> weight 5"));
    keys(&mut app, "g");
    assert!(!app.ask().groups, "back at the table");
}
