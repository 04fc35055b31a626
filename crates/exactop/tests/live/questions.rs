//! Questions: their text, refusals of bad answers, and effects of good ones.

use crate::helpers::processes::Load;
use crate::helpers::terminal::Terminal;
use crate::screen::{is_footer, is_heading, table};
use std::os::unix::process::ExitStatusExt;

const OPTIONS: &str = "-d 0.3 --source procfs";

/// Answers a question.
fn answer(terminal: &Terminal, key: &str, question: &str, text: &str) {
    terminal.keys(&[key]);
    terminal.shows(question);
    terminal.line(text);
}

/// Bad answers, with the reason of each refusal.
fn refuses(terminal: &Terminal, key: &str, question: &str, answers: &[(&str, &str)]) {
    for (text, why) in answers {
        answer(terminal, key, question, text);
        terminal.shows(why);
        terminal.escape();
    }
}

#[test]
fn filters_choose_rows_and_bad_ones_say_why() {
    let load = Load::sleep();
    let terminal = Terminal::live(120, 30, OPTIONS);
    let wrong = [
        ("cpu", "no operator"),
        ("comand=sh", "no column 'comand'"),
        ("%CPU>much", "'much' is not a number"),
        ("COMMAND<x", "is text"),
    ];
    refuses(&terminal, "O", "add filter", &wrong);
    answer(&terminal, "O", "add filter", &format!("pid={}", load.pid()));
    terminal.passes(|screen| {
        table(&terminal, screen)?;
        let pids: Vec<&str> = rows(screen);
        let wanted = load.pid().to_string();
        (pids == [wanted.as_str()]).then_some(()).ok_or(format!("{pids:?} instead of {wanted}"))
    });
    terminal.keys(&["C-o"]);
    terminal.shows("filters: pid=");
    terminal.keys(&["="]);
    terminal.wait("all rows", |t| (rows(&t.screen()).len() > 5).then_some(()));
}

/// The first words of the rows.
fn rows(screen: &str) -> Vec<&str> {
    let table = screen.lines().skip_while(|l| !is_heading(l)).skip(1).filter(|l| !is_footer(l));
    table.filter_map(|l| l.split_whitespace().next()).collect()
}

#[test]
fn a_user_is_looked_up() {
    let terminal = Terminal::live(100, 24, OPTIONS);
    answer(&terminal, "u", "user (", "no-such-user");
    terminal.shows("no user 'no-such-user'");
    answer(&terminal, "u", "user (", "4294967294");
    terminal.shows("no row passes the filters");
    answer(&terminal, "u", "user (", "");
    terminal.wait("all rows", |t| (rows(&t.screen()).len() > 5).then_some(()));
}

#[test]
fn search_finds_a_sleeper() {
    // Other tests have sleepers too.
    let words = format!("{}.5", 100_000 + std::process::id());
    let load = Load::start(std::process::Command::new("sleep").arg(&words));
    let terminal = Terminal::live(100, 24, &format!("{OPTIONS} -c"));
    answer(&terminal, "/", "search:", &format!("sleep {words}"));
    terminal
        .wait("the row", |t| rows(&t.screen()).contains(&&*load.pid().to_string()).then_some(()));
    terminal.keys(&["&"]);
    answer(&terminal, "L", "search:", "no such words");
    terminal.shows("no such words");
    terminal.escape();
    terminal.passes(|screen| table(&terminal, screen));
}

#[test]
fn killing_asks_twice() {
    let mut load = Load::sleep();
    let pid = load.pid().to_string();
    let terminal = Terminal::live(100, 24, OPTIONS);
    answer(&terminal, "k", "PID to signal", "0");
    terminal.shows("'0' is not a PID");
    terminal.escape();
    answer(&terminal, "k", "PID to signal", "-1");
    terminal.shows("'-1' is not a PID");
    terminal.escape();
    answer(&terminal, "k", "PID to signal", &pid);
    terminal.shows(&format!("signal for PID {pid}"));
    terminal.line("NONSENSE");
    terminal.shows("no signal 'NONSENSE'");
    terminal.escape();
    for yes in [false, true] {
        answer(&terminal, "k", "PID to signal", &pid);
        terminal.shows(&format!("signal for PID {pid}"));
        terminal.line("");
        terminal.shows(&format!("send SIGTERM to PID {pid}"));
        assert!(load.0.try_wait().expect("a state").is_none(), "nothing was sent yet");
        terminal.text(if yes { "y" } else { "n" });
        terminal.wait("an end of the question", |t| (!t.screen().contains("[y/N]")).then_some(()));
    }
    terminal.shows(&format!("SIGTERM sent to PID {pid} (sleep)"));
    assert_eq!(load.0.wait().expect("an end").signal(), Some(15));
}

#[test]
fn a_vanished_process_is_reported_as_exited() {
    let mut load = Load::sleep();
    let pid = load.pid().to_string();
    let terminal = Terminal::live(100, 24, OPTIONS);
    answer(&terminal, "k", "PID to signal", &pid);
    terminal.shows(&format!("signal for PID {pid}"));
    terminal.line("9");
    terminal.shows("send SIGKILL");
    load.0.kill().expect("a kill");
    load.0.wait().expect("an end");
    terminal.text("y");
    terminal.shows(&format!("PID {pid} (sleep) has exited: nothing done"));
    // No process has this number in the windows to come.
    terminal.wait("a refusal", |t| {
        answer(t, "k", "PID to signal", &pid);
        let screen = t.wait("an answer", |t| {
            let screen = t.screen();
            let answered = screen.contains("signal for PID") || screen.contains("no process");
            answered.then_some(screen)
        });
        t.escape();
        screen.contains(&format!("no process {pid}: give the PID")).then_some(())
    });
}

#[test]
fn renicing_asks_too() {
    let load = Load::sleep();
    let pid = load.pid().to_string();
    let nice = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("its stat");
        let rest = stat.rsplit_once(") ").expect("a name").1;
        rest.split(' ').nth(16).and_then(|n| n.parse::<i32>().ok()).expect("a nice value")
    };
    let before = nice();
    let terminal = Terminal::live(100, 24, OPTIONS);
    answer(&terminal, "r", "PID to renice", &pid);
    terminal.shows(", -20 to 19 [");
    terminal.line("20");
    terminal.shows("'20' is not a nice value");
    terminal.escape();
    for yes in [false, true] {
        assert_eq!(nice(), before);
        answer(&terminal, "r", "PID to renice", &pid);
        terminal.shows(", -20 to 19 [");
        terminal.line("17");
        terminal.shows("to 17? [y/N]");
        terminal.text(if yes { "y" } else { "n" });
        terminal.wait("an end of the question", |t| (!t.screen().contains("[y/N]")).then_some(()));
    }
    terminal.shows(&format!("nice value of PID {pid} is 17"));
    assert_eq!(nice(), 17);
}

#[test]
fn intervals_that_make_no_sense_are_refused() {
    let terminal = Terminal::live(100, 24, OPTIONS);
    let wrong = [
        ("0", "is 0 s: write more than 0"),
        ("-1", "is -1 s: write more than 0"),
        ("nan", "is not a number of seconds"),
        ("1e9", "at most a day"),
        ("inf", "at most a day"),
        ("0.001", "write at least 0.01"),
        ("soon", "not a number of seconds"),
    ];
    refuses(&terminal, "d", "seconds from one window to the next", &wrong);
    answer(&terminal, "s", "seconds from one window to the next", "0.7");
    terminal.shows("window 0.7");
    terminal.passes(|screen| table(&terminal, screen));
}

#[test]
fn settings_are_kept() {
    let terminal = Terminal::live(100, 24, OPTIONS);
    terminal.keys(&["V", "C"]);
    terminal.shows("tree");
    terminal.keys(&["W"]);
    terminal.shows("settings saved in");
    let kept = std::fs::read_to_string(terminal.config()).expect("a file");
    for line in ["interval_s = 0.3", "tree = true", "per_cpu = false"] {
        assert!(kept.contains(line), "{line:?} is not in:\n{kept}");
    }
    terminal.keys(&["q"]);
    terminal.wait("an end", |t| (!t.alternate()).then_some(()));
    terminal.start("--source procfs");
    terminal.shows("tree");
    terminal.shows("window 0.3");
}
