//! Screens of a made-up machine, compared character by character.

use crate::view::{app, press_all, show};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use exactop_model::blame::rows::{CulpritKind, CulpritRow, VictimRow};
use exactop_model::blame::{Booked, Waits};
use exactop_model::frame::named_sums::{May, NamedSum, NamedSums};
use exactop_model::ledger::exactness::{Repairs, WindowState};
use exactop_model::on_demand::waits::WaitWindow;
use exactop_model::on_demand::Subject;
use exactop_model::owner::Grouping;
use exactop_model::{Comm, Counter, Degraded, ErrorKind, Frame, Needs, Quality, Row, SourceKind};
use exactop_testkit::{arranged, details};
use exactop_tui::canvas::Canvas;
use exactop_tui::draw::{draw, theme::Theme};
use exactop_tui::{Action, App, AutoSwitch, Settings};
use ratatui_core::backend::TestBackend;
use ratatui_core::buffer::Cell;
use ratatui_core::style::{Color, Modifier};
use ratatui_core::terminal::Terminal;

fn screen(app: &App, theme: Theme) -> Terminal<TestBackend> {
    let (width, height) = app.size();
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let mut canvas = Canvas::new(width, height);
    let cursor = draw(app, theme, &mut canvas);
    terminal
        .draw(|frame| {
            frame.buffer_mut().clone_from(canvas.cells());
            if let Some(cursor) = cursor {
                frame.set_cursor_position(cursor);
            }
        })
        .unwrap();
    terminal
}

fn picture(app: &App) -> String {
    screen(app, Theme::FULL).backend().to_string()
}

#[test]
fn live_view_at_80x24() {
    insta::assert_snapshot!(picture(&app(80, 24, Settings::default())));
}

#[test]
fn live_view_at_200x50_with_cpus_and_command_lines() {
    let settings = Settings {
        per_cpu: AutoSwitch::Always,
        command_line: AutoSwitch::Always,
        ..Settings::default()
    };
    insta::assert_snapshot!(picture(&app(200, 50, settings)));
}

#[test]
fn live_view_at_120x40() {
    insta::assert_snapshot!(picture(&app(120, 40, Settings::default())));
}

/// From 120 columns on the table shows command lines until `c` chooses names.
#[test]
fn command_lines_follow_the_width_and_the_key() {
    let shows = |app: &App| picture(app).contains("sh -c while");
    for (width, wide) in [(80, false), (119, false), (120, true), (200, true)] {
        let mut app = app(width, 30, Settings::default());
        assert_eq!(shows(&app), wide, "{width}");
        assert_eq!(app.ask().needs.has(Needs::CMDLINE), wide, "{width}");
        for (switched, setting) in [(!wide, !wide), (wide, wide)] {
            press_all(&mut app, &[KeyCode::Char('c')]);
            assert_eq!(shows(&app), switched, "{width}");
            let saved = if setting { AutoSwitch::Always } else { AutoSwitch::Never };
            assert_eq!(app.settings().command_line, saved);
        }
    }
}

fn long_lines() -> Settings {
    Settings { command_line: AutoSwitch::Always, ..Settings::default() }
}

/// The cells of a row by their ink: bold, dim and plain text, each joined.
fn inks(app: &App, row: &str) -> [String; 3] {
    let terminal = screen(app, Theme::FULL);
    let buffer = terminal.backend().buffer();
    let mut lines = buffer.content.chunks(buffer.area.width.into());
    let text = |cells: &[Cell]| cells.iter().map(Cell::symbol).collect::<String>();
    let cells = lines.find(|cells| text(cells).contains(row)).expect("the row");
    let at = text(cells).find(row).expect("it is in it");
    let cells = &cells[text(cells)[..at].chars().count()..];
    let of = |wanted: Modifier| {
        let is = |cell: &&Cell| (cell.modifier & (Modifier::BOLD | Modifier::DIM)) == wanted;
        let cells: Vec<Cell> = cells.iter().filter(is).cloned().collect();
        text(&cells).trim().to_string()
    };
    [of(Modifier::BOLD), of(Modifier::DIM), of(Modifier::empty())]
}

#[test]
fn the_program_of_a_command_line_stands_out_and_threads_are_marked() {
    let wide = app(200, 50, Settings::default());
    let postgres = inks(&wide, "/usr/lib/postgresql/15/bin/postgres");
    assert_eq!(postgres, ["postgres", "/usr/lib/postgresql/15/bin/ -D /var/lib/postgresql", ""]);
    let narrow = app(120, 40, Settings { tree: true, ..Settings::default() });
    assert!(picture(&narrow).contains("├ /lib/systemd/systemd-journald"));
    let long = picture(&app(80, 40, long_lines()));
    assert!(long.contains(" …/postgres -D"), "a path that does not fit: {long}");
    assert_eq!(inks(&wide, "[kthreadd]"), ["", "[kthreadd]", ""]);
    let thread = |frame: &mut Frame| {
        let row = frame.rows.iter_mut().find(|row| row.key.tgid == 813).expect("it is there");
        row.key.tid = 815;
        row.ident.comm = Comm::new(b"\x1b[2J}x");
    };
    for (width, text) in
        [(200, "{\\x1b[2J}x} /usr/lib/postgresql/15/bin/postgres -D"), (80, "{\\x1b[2J}x} ")]
    {
        let mut threads = app(width, 50, Settings { threads: true, ..Settings::default() });
        show(&mut threads, thread);
        let shown = picture(&threads);
        assert!(shown.replace('"', " ").contains(text), "{shown}");
        assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{shown}");
    }
}

#[test]
fn hostile_command_lines_are_escaped() {
    let lines: [&[u8]; 8] = [
        b"\x1b]0;gotcha\x07",
        b"\xff\xfe/x y",
        "\u{202e}txt.exe".as_bytes(),
        b"\r\nroot 1 0",
        b"[kworker/0:9]",
        b"{thread}",
        b"/",
        b"\xe2\x80\x8b\x9b2J",
    ];
    for line in lines {
        let mut app = app(200, 50, Settings::default());
        let mut change = |rows: &mut [&mut Row], needs: Needs| {
            details(rows, needs);
            rows.iter_mut().filter(|row| row.key.tgid == 813).for_each(|row| {
                row.detail.cmdline = Ok(line.to_vec());
            });
        };
        app.accept(arranged(&app.ask(), 0), &mut change);
        app.look(&mut change);
        let shown = picture(&app);
        let bad = |c: char| {
            c.is_control() && c != '\n' || ('\u{200b}'..='\u{200f}').contains(&c) || c == '\u{202e}'
        };
        assert!(!shown.contains(bad), "{line:?}: {shown}");
        let pretends = shown.contains(" [kworker/0:9]") || shown.contains(" {thread}");
        assert!(!pretends, "{line:?}: {shown}");
    }
}

#[test]
fn live_view_at_40x10() {
    insta::assert_snapshot!(picture(&app(40, 10, Settings::default())));
}

#[test]
fn tree_at_80x24() {
    let settings = Settings { tree: true, command_line: AutoSwitch::Always, ..Settings::default() };
    insta::assert_snapshot!(picture(&app(80, 24, settings)));
}

/// A process may call itself like a kernel thread.
#[test]
fn kernel_threads_are_set_apart_and_hidden_by_a_key() {
    for command_line in [false, true] {
        let mut app = app(100, 30, Settings::default());
        if command_line {
            press_all(&mut app, &[KeyCode::Char('c')]);
        }
        let pretend = |frame: &mut Frame| {
            let rows = frame.rows.iter_mut().filter(|row| row.key.tgid == 990);
            rows.for_each(|row| row.ident.comm = Comm::new(b"[kworker/0:9]"));
            // A helper of the kernel, which is not a kernel thread.
            let exited = frame.exited.iter_mut().filter(|row| row.ident.comm.0.starts_with(b"ls"));
            exited.for_each(|row| (row.ident.ppid, row.ident.comm) = (2, Comm::new(b"kmodhelper")));
        };
        show(&mut app, pretend);
        let tasks = |seen: &str| seen.lines().find(|l| l.contains("Tasks ")).map(String::from);
        let before = picture(&app);
        assert!(before.contains(" [rcu_preempt]") && before.contains(" [kthreadd]"), "{before}");
        assert!(before.contains("kmodhelper"), "{before}");
        if !command_line {
            assert!(before.contains(" \\[kworker/0:9]"), "{before}");
        }
        let hide = KeyEvent::new(KeyCode::Char('k'), KeyModifiers::CONTROL);
        assert_eq!(app.on_event(&Event::Key(hide)), Action::Rearrange);
        show(&mut app, pretend);
        let after = picture(&app);
        assert!(!after.contains("rcu_preempt") && !after.contains("kthreadd"), "{after}");
        assert!(!after.contains("kmodhelper"), "{after}");
        assert!(after.contains("kernel threads hidden") && after.contains("sshd:") == command_line);
        assert_eq!(tasks(&before), tasks(&after), "the header counts everyone");
    }
}

#[test]
fn threads_of_one_user_at_80x24() {
    let mut app = app(80, 24, Settings { threads: true, ..Settings::default() });
    app.set_user("jo", Some(1000));
    app.look(&mut details);
    insta::assert_snapshot!(picture(&app));
}

#[test]
fn process_page_at_80x24() {
    let mut app = app(80, 24, Settings::default());
    press_all(&mut app, &[KeyCode::Down, KeyCode::Enter]);
    insta::assert_snapshot!(picture(&app));
}

/// A part of a figure reads as another figure.
#[test]
fn waits_of_a_process_have_whole_figures_at_every_width() {
    for width in 40..=200 {
        let mut app = app(width, 40, Settings::default());
        press_all(&mut app, &[KeyCode::Down, KeyCode::Enter]);
        show(&mut app, |frame| {
            let waits = frame.subjects.get::<WaitWindow>().expect("asked for").expect("waits");
            let mut waits = waits.clone();
            waits.rows[0].preempted = waits.rows[0].woken.clone();
            let thread = |n| {
                let mut row = waits.rows[0].clone();
                row.who.tid = row.who.tid.map(|tid| tid + n);
                row
            };
            waits.rows = (0..4).map(thread).collect();
            frame.subjects.tell(Subject::Waits, Some(Ok(waits.into())));
        });
        let page = crate::view::picture(&app);
        let at = |name: &str| {
            let at = page.lines().position(|line| line.starts_with(name));
            at.unwrap_or_else(|| panic!("{width}: no {name} in {page}"))
        };
        let line = |at: usize| page.lines().nth(at).unwrap_or_default();
        let threads = line(at("threads"));
        assert!(threads.ends_with(" 79.9 %") || threads.ends_with('…'), "{threads}");
        let queued = line(at("queued"));
        let second = if queued.contains("preemption") { queued } else { line(at("queued") + 1) };
        assert!(queued.contains("after wake-up") && second.contains("preemption"), "{page}");
        for line in [queued, second] {
            assert!(line.ends_with("max 1.20ms") || line.ends_with(" …"), "{width}: {line}");
            assert!(width < 80 || line.ends_with("max 1.20ms"), "{width}: {line}");
        }
    }
}

#[test]
fn system_calls_of_a_process_at_80x24_and_100x24() {
    let mut narrow = app(80, 24, Settings::default());
    press_all(&mut narrow, &[KeyCode::Down, KeyCode::Char('y')]);
    insta::assert_snapshot!("system_calls_at_80x24", picture(&narrow));
    let mut wide = app(100, 24, Settings::default());
    press_all(&mut wide, &[KeyCode::Down, KeyCode::Char('y')]);
    insta::assert_snapshot!("system_calls_at_100x24", picture(&wide));
    show(&mut wide, |frame| frame.subjects.tell(Subject::Syscalls, None));
    assert!(picture(&wide).contains("shown from the next window on"));
    let refused = || Some(Err("no \u{1b}[2J right".into()));
    show(&mut wide, |frame| frame.subjects.tell(Subject::Syscalls, refused()));
    let refused = picture(&wide);
    assert!(refused.contains("no system calls: no ") && !refused.contains('\u{1b}'));
}

#[test]
fn process_page_of_many_threads_at_120x30() {
    let mut app = app(120, 30, Settings::default());
    press_all(&mut app, &[KeyCode::Char('L'), KeyCode::Char('日'), KeyCode::Enter, KeyCode::Enter]);
    insta::assert_snapshot!(picture(&app));
}

#[test]
fn microstates_at_80x24() {
    insta::assert_snapshot!(picture(&app(80, 24, microstates())));
}

#[test]
fn microstates_with_bars_at_140x24() {
    insta::assert_snapshot!(picture(&app(140, 24, microstates())));
}

#[test]
fn process_page_in_microstates_at_160x30() {
    let mut app = app(160, 30, microstates());
    press_all(&mut app, &[KeyCode::Char('L'), KeyCode::Char('日'), KeyCode::Enter, KeyCode::Enter]);
    insta::assert_snapshot!(picture(&app));
}

#[test]
fn groups_at_80x24() {
    let mut app = app(80, 24, Settings::default());
    press_all(&mut app, &[KeyCode::Char('g')]);
    insta::assert_snapshot!(picture(&app));
}

#[test]
fn groups_at_160x30_with_a_limit_asked_about() {
    let mut app = app(160, 30, Settings::default());
    let keys = [KeyCode::Char('g'), KeyCode::End, KeyCode::Char('x')];
    press_all(&mut app, &keys);
    insta::assert_snapshot!(picture(&app));
}

#[test]
fn a_paused_view_promises_no_next_window() {
    for (page, figures) in [(KeyCode::Char('g'), ""), (KeyCode::Enter, "figures  ")] {
        let mut app = app(80, 40, Settings::default());
        press_all(&mut app, &[page]);
        show(&mut app, |frame| {
            frame.t0_ns += 230_000_000_000;
            frame.t1_ns += 230_000_000_000;
        });
        let shown = picture(&app);
        let age = format!("{figures}230s old; ");
        assert!(shown.contains(&format!("{age}the next window has new figures")), "{shown}");
        press_all(&mut app, &[KeyCode::Char('p')]);
        let shown = picture(&app);
        assert!(shown.contains(&format!("{age}paused: p shows the next window")), "{shown}");
    }
}

/// Two thirds of a wait are another container's fault, a third is its own.
fn kept_off(name: &str, lat_ns: u64) -> VictimRow {
    let culprit = |culprit: &str, kind, ns| CulpritRow {
        culprit: culprit.into(),
        kind,
        booked: Booked { ns, times: 1 },
    };
    let waits = Waits { lat_ns: lat_ns as i64, dispatches: 2, in_flight_delta_ns: 0 };
    let culprits = vec![
        culprit("shop/web-0/app", CulpritKind::Group, lat_ns / 3 * 2),
        culprit(name, CulpritKind::Own, lat_ns / 3),
    ];
    VictimRow { victim: name.into(), waits, culprits }
}

/// Three containers: one throttled by its quota, one starved by others, one without waits; and the
/// rest.
fn containers(frame: &mut Frame) {
    let length = frame.length_ns();
    let row = |name: &str, [run, lat, throttle]: [u64; 3], weight| NamedSum {
        name: name.into(),
        is_rest: name.starts_with('('),
        run_ns: length * run / 100,
        lat_ns: Some(length * lat / 100),
        throttle_ns: Some(length * throttle / 100),
        processes: 3,
        exited: Some(12),
        may: (!name.starts_with('(')).then_some(May {
            weight: Some(weight),
            cpus: (throttle > 0).then_some(0.4),
            periods: (throttle > 0).then_some(20),
            throttled: (throttle > 0).then_some(19),
        }),
        kept_off: (lat > 10).then(|| kept_off(name, length * lat / 100)),
    };
    let rows = vec![
        row("(in no container)", [70, 1, 0], 0),
        row("shop/web-0/app", [40, 2, 150], 100),
        row("db", [30, 50, 0], 25),
        row("idle\\x1b", [1, 0, 0], 100),
    ];
    frame.sums = Some(NamedSums { by: Grouping::Container, rows });
}

#[test]
fn sums_by_container_at_80x24_and_120x24() {
    for width in [80, 120] {
        let mut app = app(width, 24, Settings::default());
        press_all(&mut app, &[KeyCode::Char('K'); 5]);
        press_all(&mut app, &[KeyCode::Down]);
        show(&mut app, containers);
        press_all(&mut app, &[KeyCode::Down]);
        insta::assert_snapshot!(format!("sums_by_container_at_{width}x24"), picture(&app));
    }
}

fn microstates() -> Settings {
    Settings { microstates: true, ..Settings::default() }
}

/// Adds up the figures on the screen, as a person would.
#[test]
fn microstates_on_the_screen_add_up_to_100() {
    let app = app(140, 40, microstates());
    let text = picture(&app);
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<f64> =
            line.trim_matches('"').split_whitespace().map_while(|c| c.parse().ok()).collect();
        (cells.len() == 16).then(|| cells[1..12].iter().sum::<f64>())
    });
    let sums: Vec<f64> = rows.collect();
    assert!(sums.len() == 13, "{text}");
    assert!(sums.iter().all(|sum| (sum - 100.0).abs() < 0.01), "{sums:?}\n{text}");
}

/// Each state has its own mark, so that bars are readable without colours.
#[test]
fn bars_read_without_colours() {
    let app = app(140, 24, microstates());
    let mono = screen(&app, Theme::MONO).backend().to_string();
    assert_eq!(mono, picture(&app));
    let shell = mono.lines().find(|line| line.contains(" 22417 ")).expect("a row");
    for mark in ["█", "▓", "/", "!", "x", "#", "·"] {
        assert!(shell.contains(mark), "{mark} is not in {shell}");
    }
}

#[test]
fn a_page_of_which_nothing_is_known_says_why() {
    let mut app = app(120, 24, Settings::default());
    press_all(&mut app, &[KeyCode::Char('g')]);
    show(&mut app, |frame| frame.groups = Some(Err("no \x1b hierarchy".into())));
    let page = picture(&app);
    assert!(page.contains("no control groups: no \\x1b hierarchy"), "{page}");
    press_all(&mut app, &[KeyCode::Esc, KeyCode::Enter]);
    let refused = || Some(Err("cannot attach on_switch".into()));
    show(&mut app, |frame| frame.subjects.tell(Subject::Waits, refused()));
    let page = picture(&app);
    assert!(page.contains("waits in unknown: cannot attach on_switch"), "{page}");
}

#[test]
fn events_are_on_the_help_page_and_not_on_the_status_line() {
    let mut app = app(80, 24, Settings::default());
    show(&mut app, |frame| {
        frame.provenance.counters[Counter::UserNs as usize] = Quality::Missing;
        frame.errors.add(ErrorKind::UnseenSwitch, 1_234);
        frame.errors.add(ErrorKind::LostWakeup, 5_678);
    });
    let page = picture(&app);
    assert!(page.contains(" exact · us/sy ~ sampled "), "{page}");
    assert!(!page.contains("unseen_switch") && page.contains(" ? help"), "{page}");
    press_all(&mut app, &[KeyCode::Char('h'), KeyCode::End]);
    let help = picture(&app);
    assert!(
        help.contains("This window: exact; switches not shown 1,234, wake-ups not shown 5,678."),
        "{help}"
    );
}

#[test]
fn detail_that_the_daemon_gave_up_is_on_the_status_line_and_on_the_help_page() {
    let degraded = Degraded { history: true, brief: true, threads: true };
    for width in [80, 120, 200] {
        let mut app = app(width, 24, Settings::default());
        assert!(!picture(&app).contains("no history"), "nothing is missing");
        show(&mut app, |frame| frame.provenance.degraded = Some(degraded));
        let page = picture(&app);
        assert!(
            page.contains("no history, exit rows, thread rows · daemon at its memory bound"),
            "{page}"
        );
        press_all(&mut app, &[KeyCode::Char('h'), KeyCode::End]);
        show(&mut app, |frame| frame.provenance.degraded = Some(degraded));
        let help = picture(&app);
        assert!(help.contains("Missing: history, exit rows, thread rows"), "{help}");
        show(&mut app, |frame| frame.provenance.degraded = None);
        let help = picture(&app);
        assert!(help.contains("Missing: unknown (an earlier version did not state it)"), "{help}");
        press_all(&mut app, &[KeyCode::Esc]);
        show(&mut app, |frame| frame.provenance.degraded = None);
        let page = picture(&app);
        assert!(page.contains("missing detail unknown") || width < 200, "{page}");
    }
}

#[test]
fn help_at_80x24() {
    let mut app = app(80, 24, Settings::default());
    press_all(&mut app, &[KeyCode::Char('h')]);
    let page = picture(&app);
    // The number of lines changes with every column and word.
    let (text, count) = page.rsplit_once(" of ").expect("a foot");
    let rest = count.trim_start_matches(|c: char| c.is_ascii_digit());
    insta::assert_snapshot!(format!("{text} of N{rest}"));
}

#[test]
fn field_chooser_at_80x24() {
    let mut app = app(80, 24, Settings::default());
    let keys = [KeyCode::Char('f'), KeyCode::Down, KeyCode::Right, KeyCode::Down];
    press_all(&mut app, &keys);
    insta::assert_snapshot!(picture(&app));
}

#[test]
fn a_question_at_80x24() {
    let mut app = app(80, 24, Settings::default());
    press_all(&mut app, &[KeyCode::Char('k'), KeyCode::Enter, KeyCode::Enter]);
    insta::assert_snapshot!(picture(&app));
}

/// The current value stands at the end, which a narrow screen used to cut.
#[test]
fn a_question_shows_its_default_at_every_width() {
    for width in 40..=120 {
        let mut app = app(width, 24, Settings::default());
        for (key, tail) in [('r', " [0]: "), ('k', " [15 TERM]: ")] {
            press_all(&mut app, &[KeyCode::Home, KeyCode::Char(key)]);
            let page = picture(&app);
            assert!(page.contains(tail), "{width}: no {tail:?} in\n{page}");
            press_all(&mut app, &[KeyCode::Esc]);
        }
    }
}

/// Also in a column as narrow as its heading.
#[test]
fn the_column_that_orders_the_rows_is_marked() {
    let mut app = app(80, 24, Settings::default());
    press_all(&mut app, &[KeyCode::Char('<')]);
    assert_eq!(app.settings().sort, exactop_model::ColumnId::S);
    assert!(picture(&app).contains(" RES S▴ %CPU "), "{}", picture(&app));
}

#[test]
fn user_and_system_time_come_and_go_together_and_before_steal() {
    for width in 40..=220 {
        let picture = picture(&app(width, 24, Settings::default()));
        let has = |title: &str| picture.contains(&format!(" {title} "));
        assert_eq!(has("%USR"), has("%SYS"), "{width}: {picture}");
        assert!(has("%USR") || !has("%STL"), "{width}: {picture}");
        assert!(has("%USR") || width < 80, "{width}: {picture}");
    }
}

#[test]
fn a_window_that_does_not_close_says_so() {
    let mut app = app(120, 12, Settings::default());
    show(&mut app, |frame| {
        frame.exact = false;
        frame.errors.add(ErrorKind::Recursion, 3);
        frame.books.residual_ns = 40_000_000;
        frame.books.idle_ns -= 45_000_000;
        frame.books.unnamed_ns = 5_000_000;
        frame.books.irq_ns = None;
        frame.books.residual_ns += 3_000_000;
        frame.cost.bpf_ns = None;
    });
    insta::assert_snapshot!(picture(&app));
}

#[test]
fn a_window_in_which_something_was_set_right_says_of_how_many_tasks() {
    let mut app = app(120, 12, Settings::default());
    show(&mut app, |frame| {
        frame.state = WindowState::Repaired;
        frame.repaired = Repairs {
            events: Some(6),
            tasks: Some(4),
            ns: Some(2_000_000),
            wait_ns: Some(175_000_000),
        };
        frame.errors.add(ErrorKind::UnseenSwitch, 2);
        frame.errors.add(ErrorKind::LostWakeup, 4);
    });
    insta::assert_snapshot!(picture(&app));
}

#[test]
fn a_sampling_source_says_so() {
    let mut app = app(120, 12, Settings::default());
    show(&mut app, |frame| *frame = exactop_testkit::frame(SourceKind::Procfs, false));
    insta::assert_snapshot!(picture(&app));
}

/// Ticks of a whole life differ from the clock: that is neither a residual nor a window.
#[test]
fn figures_since_boot_say_so_and_have_no_residual() {
    for (width, height) in [(120, 12), (80, 12), (40, 10)] {
        for residual_ns in [40_000_000, -40_000_000] {
            let mut app = app(width, height, Settings::default());
            let missing = |frame: &mut Frame| {
                *frame = exactop_testkit::frame(SourceKind::Procfs, false);
                frame.provenance.reason = None;
                frame.books.residual_ns = residual_ns;
                frame.books.idle_ns = frame.books.idle_ns.wrapping_add_signed(-residual_ns);
            };
            let since_boot = |frame: &mut Frame| {
                missing(frame);
                frame.t0_ns = 0;
            };
            show(&mut app, missing);
            assert!(picture(&app).contains("resid"), "a window shows it: {}", picture(&app));
            show(&mut app, since_boot);
            let screen = picture(&app);
            for word in ["resid", "inexact", "window"] {
                assert!(!screen.contains(word), "{word:?} in\n{screen}");
            }
            assert!(screen.contains("since boot"), "{screen}");
            if residual_ns > 0 {
                insta::assert_snapshot!(format!("since_boot_at_{width}x{height}"), screen);
            }
            press_all(&mut app, &[KeyCode::Char('h')]);
            show(&mut app, since_boot);
            let help = picture(&app);
            let told = help.lines().find(|line| line.contains("This window: "));
            assert!(told.is_none_or(|line| line.contains("This window: since boot.")), "{help}");
        }
    }
}

#[test]
fn without_colours_nothing_is_coloured_and_the_text_is_the_same() {
    let mut app = app(80, 24, Settings { per_cpu: AutoSwitch::Always, ..Settings::default() });
    press_all(&mut app, &[KeyCode::Down]);
    let mono = screen(&app, Theme::MONO);
    let buffer = mono.backend().buffer();
    let plain = |c: Color| c == Color::Reset;
    assert!(buffer.content.iter().all(|cell| plain(cell.fg) && plain(cell.bg)));
    assert_eq!(mono.backend().to_string(), picture(&app));
    insta::assert_snapshot!(mono.backend().to_string());
}

#[test]
fn hostile_names_cannot_reach_the_terminal() {
    let settings = Settings { command_line: AutoSwitch::Always, ..Settings::default() };
    let mut app = app(150, 40, settings);
    for page in [None, Some(KeyCode::Char('V')), Some(KeyCode::Enter)] {
        press_all(&mut app, page.as_slice());
        let screen = screen(&app, Theme::FULL);
        for cell in &screen.backend().buffer().content {
            assert!(!cell.symbol().contains(|c: char| c.is_control() || c == '\u{202e}'));
        }
    }
}

/// On every screen with enough lines, also if books with every account fill most of a wide line.
#[test]
fn user_and_system_time_stand_in_the_header_at_every_width() {
    for per_cpu in [AutoSwitch::Never, AutoSwitch::Always] {
        for width in 40..=220 {
            let mut app = app(width, 24, Settings { per_cpu, ..Settings::default() });
            show(&mut app, |frame| {
                let books = &mut frame.books;
                books.unnamed_ns = books.tasks_ns / 3;
                books.offline_ns = books.tasks_ns / 5;
                books.tasks_ns -= books.unnamed_ns + books.offline_ns;
            });
            let picture = picture(&app);
            let header = picture.lines().take(6).collect::<Vec<_>>().join("\n");
            for tick in ["~us ", " sy ", " id "] {
                assert!(header.contains(tick), "{width}: no '{tick}' in\n{header}");
            }
            assert!(header.contains("idle "), "{width}: no books in\n{header}");
        }
    }
}

/// After any number of events and at any width.
#[test]
fn the_status_line_is_calm_and_says_where_help_is_at_every_width() {
    let grades: [(WindowState, Option<u64>, &str); 3] = [
        (WindowState::Exact, Some(0), "exact"),
        (WindowState::Repaired, Some(1_234), "repaired 1,234"),
        (WindowState::Inexact, Some(3), "inexact"),
    ];
    for (state, tasks, word) in grades {
        for user in [None, Some("jo")] {
            for width in 40..=220 {
                let mut app = app(width, 24, Settings::default());
                user.into_iter().for_each(|user| app.set_user(user, Some(1000)));
                show(&mut app, |frame| {
                    (frame.state, frame.exact) = (state, state != WindowState::Inexact);
                    frame.repaired = Repairs { tasks, ..Repairs::nothing() };
                    frame.errors.add(ErrorKind::UnseenSwitch, 1_000_000);
                    frame.errors.add(ErrorKind::Recursion, 1_000_000);
                    frame.books.unnamed_ns = 1;
                });
                let picture = picture(&app);
                let header = picture.lines().take(9).collect::<Vec<_>>().join("\n");
                for text in [word, "? help"].into_iter().chain(user) {
                    assert!(header.contains(text), "{width}: no '{text}' in\n{header}");
                }
                assert!(!header.contains("unseen"), "{width}: counts in\n{header}");
            }
        }
    }
}

#[test]
fn the_reason_for_sampling_is_shown_as_far_as_it_fits() {
    for width in [80, 200] {
        let mut app = app(width, 24, Settings::default());
        show(&mut app, |frame| *frame = exactop_testkit::frame(SourceKind::Procfs, false));
        let page = picture(&app);
        let why = if width == 80 { "inexact · not permitted to load" } else { "run it as root" };
        assert!(page.contains(why) && page.contains("? help"), "{page}");
    }
}
