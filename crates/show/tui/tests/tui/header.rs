//! The lines above the table while their figures change.

use crate::view::{app, picture, show};
use exactop_model::ledger::system::StatTicks;
use exactop_model::Frame;
use exactop_tui::{App, Settings};

fn line(app: &App, with: &str) -> String {
    let screen = picture(app);
    let found = screen.lines().find(|line| line.contains(with));
    found.unwrap_or_else(|| panic!("no {with}: {screen}")).to_string()
}

/// Ticks of a machine that runs niced tasks, and the long books of many CPUs.
fn niced(frame: &mut Frame) {
    frame.ticks =
        Some(StatTicks { user: 10, nice: 600, system: 90, idle: 300, ..StatTicks::default() });
    let books = &mut frame.books;
    let known =
        [&mut books.total_ns, &mut books.tasks_ns, &mut books.exited_ns, &mut books.idle_ns];
    known.into_iter().for_each(|ns| *ns *= 64);
    books.unnamed_ns = books.idle_ns / 2;
    books.idle_ns -= books.unnamed_ns;
    for ns in [&mut books.irq_ns, &mut books.steal_ns].into_iter().flatten() {
        *ns *= 64;
    }
}

#[test]
fn all_ticks_stand_beside_long_books_as_long_as_these_name_every_account() {
    let mut app = app(160, 24, Settings::default());
    show(&mut app, niced);
    let books = line(&app, "CPU ");
    for account in ["tasks", "exited", "unnamed", "irq", "steal", "idle"] {
        assert!(books.contains(account), "{books}");
    }
    assert!(
        books.ends_with("~us  1.0 sy  9.0 ni 60.0 id 30.0 wa  0.0 hi  0.0 si  0.0 st  0.0"),
        "{books}"
    );
}

#[test]
fn ticks_that_are_0_leave_before_others() {
    for (width, shown) in [
        (60, "~us  1.0 sy  9.0 ni 60.0 id 30.0 wa  0.0 si  0.0 st  0.0"),
        (50, "~us  1.0 sy  9.0 ni 60.0 id 30.0 wa  0.0 st  0.0"),
        (40, "~us  1.0 sy  9.0 ni 60.0 id 30.0 st  0.0"),
    ] {
        let mut app = app(width, 24, Settings::default());
        show(&mut app, niced);
        assert_eq!(line(&app, "~us").trim_end(), shown, "{width} columns");
    }
}

/// Changes the figures of the first line to narrow or wide ones.
fn figures(wide: bool) -> impl Fn(&mut Frame) {
    move |frame| {
        frame.system.load = Some(if wide { [12.5, 11.5, 10.5] } else { [2.5, 1.5, 0.5] });
        frame.cost.user_ns = frame.length_ns() / if wide { 8 } else { 800 };
    }
}

#[test]
fn parts_of_the_first_line_stay_in_their_places_while_figures_change() {
    let parts =
        ["exactop", "up ", "users", "load", "busy", "ledger", "exact ", "cost ", "of a CPU"];
    let (mut app, mut next) = (app(40, 10, Settings::default()), 0);
    for (width, height) in [(80, 24), (112, 30), (118, 40), (120, 40), (160, 45), (200, 50)] {
        app.resize(width, height);
        let mut places = |wide: bool| {
            next += 1;
            show(&mut app, |frame| {
                let length_ns = frame.length_ns();
                frame.t0_ns += next * length_ns;
                frame.t1_ns += next * length_ns;
                figures(wide)(frame);
            });
            let first = picture(&app).lines().next().expect("a line").to_string();
            let column = |part| Some(first[..first.find(part)?].chars().count());
            (parts.map(column), first)
        };
        // The graph of the last windows grows to its full width.
        (0..if width == 80 { 125 } else { 1 }).for_each(|_| drop(places(false)));
        let wide = places(true);
        for now in [places(false), places(true), places(false)] {
            assert_eq!(now.0, wide.0, "{width} columns:\n{}\n{}", now.1, wide.1);
        }
    }
}
