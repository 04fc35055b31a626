//! `exactop prstat` as a user of illumos runs it.

use crate::helpers::processes::{send, HUP, INT, TERM};
use crate::helpers::run::{command, done, program, run, run_on, without_ledger};
use crate::made_up_proc::tree;
use exactop_workloads::workloads::{
    ExecThreads, ExitingThreads, ForkStorm, PipePingPong, StopContinue,
};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

const HEADER: &str =
    "   PID USERNAME  SIZE   RSS STATE  PRI NICE      TIME  CPU PROCESS/NLWP       ";

/// Arguments, and words that the one line must contain.
const REFUSED: &[(&[&str], &str)] = &[
    (&["-C", "1"], "processor sets"),
    (&["-h", "1"], "locality groups"),
    (&["-H"], "locality groups"),
    (&["-j", "default"], "projects"),
    (&["-J"], "projects"),
    (&["-k", "1"], "tasks"),
    (&["-T"], "tasks"),
    (&["-t", "-m"], "-t conflicts with -v and -m"),
    (&["-tv"], "-t conflicts with -v and -m"),
    (&["-t", "-a"], "-t conflicts with -a"),
    (&["-t", "-Z"], "-t conflicts with -a and -Z"),
    (&["-aZ"], "-a conflicts with -t and -Z"),
    (&["-n", "0"], "-n 0 leaves no line above"),
    (&["-n", "5,0"], "15,5"),
    (&["-n", ""], "15,5"),
    (&["-s", "name"], "cpu, pri, rss, size, time"),
    (&["-d", "x"], "u, d"),
    (&["-p", "0"], "write a process id"),
    (&["-P", "x"], "'x'"),
    (&["-u", "no-such-user"], "no user 'no-such-user'"),
    (&["-U", "no-such-user"], "no user 'no-such-user'"),
    (&["five"], "'five'"),
    (&["5", "0"], "1 or more"),
    (&["5", "1", "1"], "'1'"),
    (&["-x"], "'-x'"),
    (&["-m", "--source", "procfs"], "-m needs the ledger"),
    (&["-mL", "--proc-root", "/proc"], "-m needs the ledger"),
    (&["--source", "procfs", "--socket", "s"], "--source procfs reads no socket"),
    (&["-m", "--source", "ledger", "--socket", "s"], "--source ledger reads no socket"),
    (&["-m", "--socket", "/nonexistent/s"], "/nonexistent/s"),
];

#[test]
fn wrong_use_is_refused_in_one_line_with_1() {
    for (args, words) in REFUSED {
        let done = run(&[&["prstat"], *args].concat());
        done.refused(1, words);
        assert!(done.err.starts_with("exactop: prstat: "), "{args:?}: {}", done.err);
    }
}

/// Reports of a made-up /proc, users as numbers.
fn reports(args: &[&str]) -> String {
    run_on(tree().path(), &[&["prstat", "-r"], args].concat()).fine()
}

fn row(pid: u32, name: &str) -> String {
    let uid = rustix::process::geteuid().as_raw();
    format!("{pid:6} {uid:<8}  212M 3072K sleep   19    0   0:00:04 0.0% {name}/1")
}

const TOTAL: &str = "Total: 3 processes, 3 lwps, load averages: 2.52, 1.57, 0.79";

#[test]
fn a_report_has_a_heading_rows_and_a_total() {
    let text = reports(&["0", "1"]);
    let lines: Vec<&str> = text.lines().collect();
    let rows = [row(1, "init"), row(7, "a) R 1 (b"), row(812, "evil?[2J?,\"")];
    assert_eq!(lines, [HEADER, &rows[0], &rows[1], &rows[2], TOTAL]);
}

#[test]
fn reports_follow_each_other() {
    let text = reports(&["-n", "1", "-c", "0", "3"]);
    let rows = row(1, "init");
    let report = [HEADER, &rows, TOTAL].join("\n") + "\n";
    assert_eq!(text, report.repeat(3));
}

#[test]
fn a_link_named_prstat_runs_prstat() {
    let tree = tree();
    let mut prstat = command(&["-r", "-n", "1", "0", "1", "--proc-root"]);
    prstat.arg(tree.path()).arg0("/usr/bin/prstat");
    assert!(done(prstat).fine().starts_with(HEADER));
    let mut prstat = command(&["-x"]);
    prstat.arg0("prstat");
    assert_eq!(done(prstat).code, Some(1));
}

#[test]
fn rows_are_chosen_and_sorted() {
    let pids = |args: &[&str]| {
        let text = reports(&[args, &["0", "1"]].concat());
        let rows = text.lines().skip(1).take_while(|line| !line.starts_with("Total"));
        rows.map(|line| line[..6].trim().parse().expect("a pid")).collect::<Vec<u32>>()
    };
    assert_eq!(pids(&["-p", "7,812"]), [7, 812]);
    assert_eq!(pids(&["-u", "4294967294"]), [0; 0]);
    assert_eq!(pids(&["-U", "0"]), [1, 7, 812]);
    assert_eq!(pids(&["-U", "1"]), [0; 0]);
    assert_eq!(pids(&["-P", "1"]), [1, 7, 812]);
    assert_eq!(pids(&["-P", "0"]), [0; 0]);
    assert_eq!(pids(&["-z", "/system.slice/a.service"]), [1, 7, 812]);
    assert_eq!(pids(&["-z", "/"]), [0; 0]);
    assert_eq!(pids(&["-L", "-S", "size", "-s", "time"]), [1, 7, 812]);
}

#[test]
fn a_split_report_sums_below() {
    let text = reports(&["-a", "-n", "2,3", "-d", "u", "0", "1"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].parse::<i64>().is_ok(), "{text}");
    assert_eq!(
        lines[4],
        " NPROC USERNAME  SWAP   RSS MEMORY      TIME  CPU                             "
    );
    assert!(
        lines[5].starts_with("     3 ") && lines[5].contains(" 636M 9216K   0.2%   0:00:12 0.0%")
    );
    assert_eq!((lines[6], lines.len()), (TOTAL, 7));
    let text = reports(&["-Z", "-d", "d", "0", "1"]);
    assert!(text.contains("     -        3  636M 9216K   0.2%   0:00:12 0.0%"), "{text}");
    assert!(text.contains("/system.slice/a.service\n"), "{text}");
    assert!(text.lines().next().is_some_and(|date| date.contains(" UTC 20")), "{text}");
}

#[test]
fn prstat_exits_with_0_after_a_signal() {
    for (signal, code) in [(INT, Some(0)), (TERM, Some(0)), (HUP, Some(129))] {
        let tree = tree();
        let mut child = command(&["prstat", "600", "--proc-root"]);
        let mut child = child.arg(tree.path()).stdout(Stdio::piped()).spawn().expect("a start");
        let mut out = child.stdout.take().expect("a pipe");
        std::io::Read::read_exact(&mut out, &mut [0; 10]).expect("the first report");
        send(child.id(), signal);
        assert_eq!(child.wait().expect("an end").code(), code, "signal {signal}");
    }
}

/// Output on a terminal, which script(1) makes; `keys` are typed.
fn on_terminal(args: &str, keys: &[u8]) -> (Option<i32>, String) {
    let tree = tree();
    let line = format!(
        "stty rows 24; {} prstat -r --proc-root {} {args}",
        program(),
        tree.path().display()
    );
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm");
    let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script(1)");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(keys).expect("keys");
    let output = child.wait_with_output().expect("an end");
    drop(input);
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn on_a_terminal_reports_stand_over_each_other() {
    let (code, text) = on_terminal("0 2", b"");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("Please wait...\r"), "{text:?}");
    let (_, reports) = text.split_once("Please wait").expect("both");
    assert_eq!(reports.matches("\x1b[H\x1b[K\x1b[4m   PID ").count(), 2, "{text:?}");
    assert_eq!(
        reports.matches('\n').count(),
        2 * (1 + 21 + 1),
        "every line of the screen: {text:?}"
    );
    assert!(text.contains("\x1b[?1049h") && text.ends_with("\x1b[?7h\x1b[?1049l"), "{text:?}");
    let (_, text) = on_terminal("-n 3 0 2", b"");
    assert!(
        !text.contains("\x1b[?1049h") && text.contains("\x1b[5A\r\x1b[K\x1b[4m   PID "),
        "{text:?}"
    );
    let (_, text) = on_terminal("-c 0 1", b"");
    assert!(text.contains("Please wait...\r\n   PID "), "{text:?}");
}

#[test]
fn q_ends_prstat_and_any_other_key_refreshes() {
    // The first report is due after a second: a key that comes later finds it there.
    let (code, text) = on_terminal("-c 600", b"q");
    assert_eq!((code, text.matches("PID").count() <= 1), (Some(0), true), "{text:?}");
    let (code, text) = on_terminal("-c 600", b"xyQ");
    assert!(code == Some(0) && (2..=3).contains(&text.matches("PID").count()), "{text:?}");
}

/// The sum of a row's states in tenths of a per cent; `None`: a zombie has no states.
fn sum_of_states(row: &[&str]) -> Option<u64> {
    let states = row[2..10].iter().filter(|cell| **cell != "-").map(|cell| {
        (cell.parse::<f64>().unwrap_or_else(|_| panic!("{cell} in {row:?}")) * 10.0).round() as u64
    });
    states.reduce(|a, b| a + b)
}

/// Threads that start, execute another program, stop and exit in every window.
#[test]
fn microstates_sum_to_100_in_a_storm_of_births_and_ends() {
    if without_ledger() {
        return;
    }
    let load = (
        ForkStorm::start(1).expect("a fork storm"),
        ExecThreads::start(1).expect("execs"),
        ExitingThreads::start(1).expect("exits"),
        StopContinue::start(2).expect("stops"),
    );
    let text = run(&["prstat", "-mL", "-c", "-n", "100000", "1", "4"]).fine();
    drop(load);
    let is_row = |line: &&str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let (mut rows, mut without) = (0, 0);
    for line in text.lines().filter(is_row) {
        let row: Vec<&str> = line.split_whitespace().collect();
        match sum_of_states(&row) {
            Some(tenths) => assert!(tenths.abs_diff(1000) <= 1, "{tenths} tenths in {line}"),
            // A zombie's counts are 0, and no figure of it is unknown.
            None => {
                assert_eq!(row[10..14], ["0"; 4], "{line}");
                without += 1;
            }
        }
        rows += 1;
    }
    println!("{rows} rows, {without} of them without states");
    assert!(rows - without > 200, "{rows} rows, {without} without states");
}

/// If the ledger does not open, the refusal names the reason.
#[test]
fn microstates_of_real_threads_sum_to_100() {
    let load = PipePingPong::start(8).expect("a load");
    let done = run(&["prstat", "-mL", "-p", &load.pid().to_string(), "1", "1"]);
    if run(&["doctor"]).code != Some(0) {
        assert_eq!(done.code, Some(1));
        assert!(done.err.contains("cannot measure microstates (-m)"), "{}", done.err);
        return;
    }
    let text = done.fine();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.contains(" lab-"))
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows.len(), 9, "{text}");
    for row in &rows {
        assert!(sum_of_states(row).is_some_and(|tenths| tenths.abs_diff(1000) <= 1), "{row:?}");
        assert_eq!(row[4], "-", "TRP is not measured");
    }
    assert!(text.contains("Total: 1 processes, 9 lwps, "), "{text}");
    assert!(rows.iter().filter(|row| row[10] != "0" && row[12] != "0").count() >= 8, "{text}");
}
