//! Keys that are pressed before a new window is drawn, as over a slow line: they refer to the
//! screen that the user saw.

use crate::helpers::processes::Load;
use crate::helpers::terminal::Terminal;
use std::os::unix::process::ExitStatusExt;

/// A process that is always on top of the table, among others that run now and then, so that each
/// window holds other rows in another order.
struct Crowd {
    hog: Load,
    others: Vec<Load>,
}

impl Crowd {
    fn new() -> Crowd {
        let blinks = |n| Load::shell(&format!("while :; do sleep 0.{n}; done"));
        let others = (30..45).map(blinks).collect();
        // If permitted, it runs at a higher priority than the rest, and has a row in every window.
        let hog = Load::shell("exec nice -n -15 sh -c 'while :; do :; done' 2>/dev/null");
        Crowd { hog, others }
    }

    /// A view of these processes only, so that other load does not matter; sorted by time used, so
    /// that the hog stays on top even in a window in which it got no CPU.
    fn terminal(&self, options: &str) -> Terminal {
        let all = [&self.hog].into_iter().chain(&self.others).map(|load| load.pid().to_string());
        let all: Vec<String> = all.collect();
        let pids = all.join(",");
        let terminal = Terminal::live(100, 30, &format!("-d 0.5 -o TIME+ {options} -p {pids}"));
        let on_top = format!("{:>6} ", self.hog.pid());
        terminal.wait("the hog on top", |t| {
            let screen = t.screen();
            let mut rows = screen.lines().skip_while(|l| !l.contains("PID")).skip(1);
            let first = rows.next()?.to_string();
            first.starts_with(&on_top).then_some(())
        });
        terminal
    }
}

/// Sends `Space k` in one write. `always`: the hog has a row at every moment.
fn offers_the_hog(options: &str, always: bool) {
    let crowd = Crowd::new();
    let terminal = crowd.terminal(options);
    for _ in 0..5 {
        terminal.keys(&["Space", "k"]);
        let screen = terminal.shows("PID to signal");
        let question = screen.lines().find(|l| l.contains("PID to signal")).expect("the question");
        let nobody = question.trim() == "PID to signal:" && !always;
        assert!(nobody || question.contains(&format!("[{} sh]", crowd.hog.pid())), "{question}");
        terminal.escape();
        terminal.wait("no question", |t| (!t.screen().contains("PID to signal")).then_some(()));
    }
}

#[test]
fn the_process_on_top_is_offered() {
    offers_the_hog("", true);
}

#[test]
fn no_other_process_is_offered_with_idle_rows_hidden() {
    offers_the_hog("-i", false);
}

#[test]
fn blind_answers_hit_the_process_on_top() {
    for _ in 0..2 {
        let mut crowd = Crowd::new();
        let terminal = crowd.terminal("");
        terminal.keys(&["Space", "k", "Enter", "Enter", "y"]);
        let screen = terminal.shows("SIGTERM sent to PID");
        let sent = format!("SIGTERM sent to PID {} ", crowd.hog.pid());
        assert!(screen.contains(&sent), "{screen}");
        assert_eq!(crowd.hog.0.wait().expect("an end").signal(), Some(15));
        for other in &mut crowd.others {
            assert!(other.0.try_wait().expect("a state").is_none(), "{} was hit", other.pid());
        }
    }
}

#[test]
fn refreshing_twice_and_asking_does_not_end_the_view() {
    let crowd = Crowd::new();
    let terminal = crowd.terminal("-i");
    for _ in 0..4 {
        terminal.keys(&["Space", "Space", "k"]);
        terminal.shows("PID to signal");
        assert!(terminal.alternate());
        terminal.escape();
        terminal.wait("no question", |t| (!t.screen().contains("PID to signal")).then_some(()));
    }
}

#[test]
fn an_unfinished_escape_sequence_stops_no_window() {
    let terminal = Terminal::live(100, 30, "--source procfs -d 0.2");
    terminal.text("\x1b[");
    let before = terminal.screen();
    terminal.wait("another window", |t| (t.screen() != before).then_some(()));
    let second = terminal.screen();
    terminal.wait("and another", |t| (t.screen() != second).then_some(()));
    // The cursor goes up.
    terminal.text("A");
    terminal.keys(&["p"]);
    terminal.shows("PAUSED");
}
