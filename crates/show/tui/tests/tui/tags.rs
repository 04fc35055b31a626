//! Tags: several rows at once, and actions on all of them.

use crate::view::{app, keys, press};
use crossterm::event::KeyCode;
use exactop_testkit::{arranged, details};
use exactop_tui::app::action::HostAction;
use exactop_tui::app::placement::Placement;
use exactop_tui::canvas::Canvas;
use exactop_tui::draw::{draw, theme::Theme};
use exactop_tui::{Action, App, Settings, Target};
use ratatui_core::style::Modifier;

/// Selects a process by its PID.
fn select(app: &mut App, pid: u32) {
    press(app, KeyCode::Home);
    for _ in 0..app.line_count() {
        let line = app.selected_line().unwrap();
        if app.entries().nth(line).unwrap().row.key.tid == pid {
            return;
        }
        press(app, KeyCode::Down);
    }
    panic!("{pid} is not there");
}

fn pids(targets: &[Target]) -> Vec<u32> {
    targets.iter().map(|target| target.pid).collect()
}

#[test]
fn tagged_rows_are_signalled_together_once_it_is_confirmed() {
    let mut app = app(80, 24, Settings::default());
    for pid in [22_417, 22_418, 812] {
        select(&mut app, pid);
        keys(&mut app, " ");
    }
    assert_ne!(app.selected_line(), None, "it goes on to the next row");
    // A second press removes the tag.
    select(&mut app, 812);
    keys(&mut app, " ");
    keys(&mut app, "k");
    let asked = app.prompt().unwrap().head();
    assert!(asked.contains("2 processes (sh 22417, sh 22418)"), "{asked}");
    keys(&mut app, "9\n");
    let asked = app.prompt().unwrap().head();
    assert!(asked.contains("send SIGKILL to 2 processes"), "{asked}");
    assert_eq!(keys(&mut app, "n"), Action::Draw);
    keys(&mut app, "k9\n");
    let Action::Host(HostAction::SignalAll(targets, 9)) = keys(&mut app, "y") else {
        panic!("nothing is sent")
    };
    assert_eq!(pids(&targets), [22_417, 22_418]);
    let mut results: Vec<_> = targets.into_iter().map(|target| (target, Ok(()))).collect();
    results[1].1 = Err("not permitted".into());
    app.done_to_all("SIGKILL sent", results);
    let said = app.message().unwrap();
    assert!(said.is_error && said.text == "SIGKILL sent for 1 of 2: not permitted", "{said:?}");
    // Esc removes the tags.
    press(&mut app, KeyCode::Esc);
    keys(&mut app, "k");
    assert!(app.prompt().unwrap().head().starts_with("PID to signal"));
}

#[test]
fn nice_values_too_and_process_1_is_never_one_of_many() {
    let mut app = app(80, 24, Settings::default());
    for pid in [1, 812] {
        select(&mut app, pid);
        keys(&mut app, " ");
    }
    keys(&mut app, "r");
    assert!(app.prompt().unwrap().head().contains("1 process (postgres 812)"));
    keys(&mut app, "20\n");
    assert!(app.message().unwrap().text.contains("-20 to 19"));
    press(&mut app, KeyCode::Esc);
    keys(&mut app, "r5\n");
    let Action::Host(HostAction::ReniceAll(targets, 5)) = keys(&mut app, "y") else {
        panic!("nothing is set")
    };
    assert_eq!(pids(&targets), [812]);
}

#[test]
fn process_1_is_not_tagged_and_an_action_asks_for_its_number() {
    let mut app = app(80, 24, Settings::default());
    select(&mut app, 1);
    keys(&mut app, " ");
    let told = app.message().map_or("", |message| &message.text);
    assert_eq!(told, "process 1 cannot be tagged: select it and type its PID");
    assert!(!app.has_tags());
    keys(&mut app, "k");
    assert_eq!(app.prompt().unwrap().head().trim_end(), "PID to signal:");
}

#[test]
fn tags_stay_on_sleeping_tasks_while_another_page_is_open() {
    let mut app = app(80, 24, Settings::default());
    for pid in [22_417, 22_418] {
        select(&mut app, pid);
        keys(&mut app, " ");
    }
    select(&mut app, 812);
    press(&mut app, KeyCode::Enter);
    // A process's page has no rows of sleeping tasks.
    let mut frame = arranged(&app.ask(), 1);
    frame.rows.retain(|row| row.key.tgid == 812);
    app.accept(frame, &mut details);
    press(&mut app, KeyCode::Esc);
    assert_eq!(app.ask().options.still, exactop_model::IdleRows::All);
    let frame = arranged(&app.ask(), 1);
    app.accept(frame, &mut details);
    keys(&mut app, "k");
    let asked = app.prompt().unwrap().head();
    assert!(asked.starts_with("signal for 2 processes"), "{asked}");
}

#[test]
fn a_tagged_pid_with_another_start_is_left_out() {
    let mut app = app(80, 24, Settings::default());
    for pid in [22_417, 22_418] {
        select(&mut app, pid);
        keys(&mut app, " ");
    }
    keys(&mut app, "k\n");
    let mut frame = arranged(&app.ask(), 1);
    let reused = frame.rows.iter_mut().filter(|row| row.key.tgid == 22_417);
    reused.for_each(|row| row.key.start_ns += 10_000_001);
    app.accept(frame, &mut details);
    let Action::Host(HostAction::SignalAll(targets, 15)) = keys(&mut app, "y") else {
        panic!("nothing is sent")
    };
    assert_eq!(pids(&targets), [22_418]);
}

#[test]
fn a_selected_row_and_its_present_value_are_named_at_once() {
    let mut app = app(80, 24, Settings::default());
    select(&mut app, 22_418);
    keys(&mut app, "k");
    assert!(app.prompt().unwrap().head().starts_with("signal for PID 22418 (sh)"));
    press(&mut app, KeyCode::Esc);
    keys(&mut app, "r");
    let asked = app.prompt().unwrap().head();
    assert!(asked.contains("nice value for PID 22418 (sh), -20 to 19 [0]"), "{asked}");
    keys(&mut app, "7\n");
    assert!(app.prompt().unwrap().head().contains("PID 22418 (sh) from 0 to 7?"));
    let answer = keys(&mut app, "y");
    assert!(
        matches!(&answer, Action::Host(HostAction::Renice { target, nice: 7 }) if target.pid == 22_418)
    );
}

#[test]
fn a_signal_to_a_kernel_thread_is_refused() {
    let refused = "a kernel thread takes no signal: choose a process";
    let mut app = app(80, 24, Settings::default());
    select(&mut app, 2);
    keys(&mut app, "k");
    assert_eq!(app.message().map(|told| &*told.text), Some(refused));
    assert!(app.prompt().is_none());
    keys(&mut app, "r");
    assert!(app.prompt().unwrap().head().contains("PID 2 ("), "a nice value works");
    press(&mut app, KeyCode::Esc);
    // By its number, too.
    select(&mut app, 22_418);
    for _ in 0..3 {
        press(&mut app, KeyCode::Esc);
    }
    keys(&mut app, "k2\n");
    assert_eq!(app.message().map(|told| &*told.text), Some(refused));
    assert_eq!(app.prompt().unwrap().editor.text(), "2", "to be corrected");
    press(&mut app, KeyCode::Esc);
    // Among tagged rows, and for a number that is found on the machine.
    for pid in [2, 22_418] {
        select(&mut app, pid);
        keys(&mut app, " ");
    }
    keys(&mut app, "k");
    assert_eq!((app.message().map(|told| &*told.text), app.prompt()), (Some(refused), None));
    let key = exactop_model::TaskKey { tgid: 9, tid: 9, start_ns: 1 };
    let found = Target { pid: 9, key, name: "kthread".into(), nice: 0, kthread: true };
    app.identified(exactop_tui::app::target::ProcessAction::Kill, Ok(found));
    assert_eq!((app.message().map(|told| &*told.text), app.prompt()), (Some(refused), None));
}

#[test]
fn names_of_many_targets_leave_room_for_the_answer() {
    let mut app = app(80, 24, Settings::default());
    for pid in [812, 813, 22_417, 22_418] {
        select(&mut app, pid);
        keys(&mut app, " ");
    }
    for key in ["k", "r", "A", "J"] {
        keys(&mut app, key);
        let asked = app.prompt().unwrap().head();
        assert!(asked.contains("4 processes (postgres 812, ") && asked.contains(", …)"), "{asked}");
        assert!(asked.chars().count() <= 72, "{asked}");
        press(&mut app, KeyCode::Esc);
    }
}

#[test]
fn tags_are_seen_and_escape_takes_them_and_without_a_selection_space_looks() {
    let mut app = app(80, 24, Settings::default());
    assert_eq!(keys(&mut app, " "), Action::Refresh);
    select(&mut app, 22_417);
    keys(&mut app, " ");
    let underlined = |app: &App| {
        let mut canvas = Canvas::new(80, 24);
        draw(app, Theme::MONO, &mut canvas);
        let text: String = canvas.cells().content.iter().map(|cell| cell.symbol()).collect();
        let y = (8..23).filter(|&y| canvas.cells()[(3, y)].modifier.contains(Modifier::UNDERLINED));
        (y.count(), text.contains("1 tagged"))
    };
    assert_eq!(underlined(&app), (1, true));
    press(&mut app, KeyCode::Esc);
    assert_eq!(underlined(&app), (0, false));
}

#[test]
fn tagged_processes_get_their_cpus_together_and_the_result_counts_them() {
    let mut app = app(80, 24, Settings::default());
    for pid in [1, 22_417, 22_418] {
        select(&mut app, pid);
        keys(&mut app, " ");
    }
    keys(&mut app, "A");
    let asked = app.prompt().unwrap().head();
    assert!(asked.starts_with("CPUs for 2 processes (sh 22417, sh 22418)"), "{asked}");
    keys(&mut app, "3-1\n");
    assert!(app.message().unwrap().text.contains("'3-1': write numbers and ranges"));
    press(&mut app, KeyCode::Esc);
    // A CPU that is not there is refused at once, and the answer stays.
    keys(&mut app, "A1,7-9\n");
    assert_eq!(app.message().unwrap().text, "no CPU 7: this machine has 0-1");
    assert_eq!(app.prompt().unwrap().editor.text(), "1,7-9");
    press(&mut app, KeyCode::Esc);
    keys(&mut app, "A1,0\n");
    let asked = app.prompt().unwrap().head();
    assert!(asked.starts_with("run 2 processes (sh 22417, sh 22418) only on CPUs 0-1?"), "{asked}");
    assert_eq!(keys(&mut app, "n"), Action::Draw);
    keys(&mut app, "A1,0\n");
    let Action::Host(HostAction::Place(targets, place)) = keys(&mut app, "y") else {
        panic!("nothing is set")
    };
    assert_eq!(pids(&targets), [22_417, 22_418]);
    assert_eq!(place, Placement::Cpus("0-1".parse().unwrap()));
    let mut results: Vec<_> = targets.into_iter().map(|target| (target, Ok(()))).collect();
    results[0].1 = Err("Invalid argument".into());
    app.done_to_all("CPUs 0-1 set", results);
    let said = app.message().unwrap();
    assert!(said.is_error, "{said:?}");
    assert_eq!(said.text, "CPUs 0-1 set for 1 of 2: Invalid argument");
    assert!(!app.has_tags());
}

#[test]
fn tagged_processes_move_to_a_group_together_unless_their_pid_has_another_start() {
    let mut app = app(80, 24, Settings::default());
    for pid in [22_417, 22_418] {
        select(&mut app, pid);
        keys(&mut app, " ");
    }
    keys(&mut app, "J\n");
    assert!(app.prompt().is_none() && app.message().is_none(), "an empty answer cancels");
    keys(&mut app, "J/a/b\n");
    let asked = app.prompt().unwrap().head();
    assert!(asked.contains("move 2 processes (sh 22417, sh 22418) to group /a/b?"), "{asked}");
    let mut frame = arranged(&app.ask(), 1);
    let reused = frame.rows.iter_mut().filter(|row| row.key.tgid == 22_417);
    reused.for_each(|row| row.key.start_ns += 10_000_001);
    app.accept(frame, &mut details);
    let Action::Host(HostAction::Place(targets, place)) = keys(&mut app, "y") else {
        panic!("nothing is moved")
    };
    assert_eq!(pids(&targets), [22_418]);
    assert_eq!(place, Placement::Group("/a/b".into()));
    app.done_to_all("group /a/b set", vec![(targets[0].clone(), Ok(()))]);
    assert_eq!(app.message().unwrap().text, "group /a/b set for PID 22418 (sh)");
}

#[test]
fn the_place_of_a_selected_row_is_that_of_its_process() {
    let mut app = app(80, 24, Settings::default());
    keys(&mut app, "H");
    app.accept(arranged(&app.ask(), 1), &mut details);
    select(&mut app, 22_418);
    keys(&mut app, "A0\n");
    assert!(app.prompt().unwrap().head().starts_with("run PID 22418 (sh) only on CPUs 0?"));
    let action = keys(&mut app, "y");
    let Action::Host(HostAction::Place(targets, _)) = action else { panic!("nothing is set") };
    assert_eq!((targets[0].pid, targets[0].key.tid), (22_418, 22_418));
    app.done_to_all("CPUs 0 set", vec![(targets[0].clone(), Err("no".into()))]);
    assert_eq!(app.message().unwrap().text, "no");
}
