//! Windows of a made-up /proc, in every format.

use crate::helpers::run::{command, done, run_on};
use crate::made_up_proc::tree;
use serde_json::Value;

/// Five windows of a source without books.
const RECORDED: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../keep/recording/tests/recordings/form-1-procfs.rec");

const QUICK: [&str; 3] = ["--once", "-d", "0.05"];

fn once(args: &[&str]) -> String {
    let tree = tree();
    run_on(tree.path(), &[&QUICK, args].concat()).fine()
}

fn object(args: &[&str]) -> Value {
    serde_json::from_str(&once(&[&["--json"], args].concat())).expect("JSON")
}

/// The table below the summary.
fn table(text: &str) -> Vec<&str> {
    text.lines().skip_while(|line| !line.is_empty()).skip(1).collect()
}

#[test]
fn text_has_a_summary_and_a_table() {
    let text = once(&["--columns", "pid,uid,s,virt,res,cpu_plus_pct,time,comm"]);
    assert!(text.starts_with("exactop - "), "{text}");
    assert!(text.contains(", procfs, "), "{text}");
    assert!(text.contains("\nTasks:   3 total,   0 running,   3 sleep,"), "{text}");
    assert!(text.contains("load average: 2.52, 1.57, 0.79\n"), "{text}");
    assert!(text.contains("MiB Mem :   3789.0 total,   1843.2 free,"), "{text}");
    let uid = rustix::process::geteuid().as_raw();
    let row =
        |pid: u32, rest: &str| format!("{pid:7} {uid:7} S   212M   3.0M      -   0:04.00 {rest}");
    let expected = [
        "    PID     UID S   VIRT    RES   CPU+     TIME+ COMM".into(),
        row(1, "init"),
        row(7, "a) R 1 (b"),
        row(812, "evil\\x1b[2J\\x0a,\""),
    ];
    assert_eq!(table(&text), expected);
}

#[test]
fn output_has_no_escape_sequences() {
    for args in
        [&["-c"][..], &["-c", "--json"], &["--csv", "--columns", "command,comm,cgroup", "-c"]]
    {
        let text = once(args);
        let harmless = |c: char| c == '\n' || !c.is_control();
        assert!(text.chars().all(harmless), "{args:?}: {text:?}");
    }
}

#[test]
fn the_precise_top_is_a_command_and_a_preset() {
    let tree = tree();
    let root = tree.path();
    let command = run_on(root, &["ptop", "0.05", "2"]).fine();
    let sums = command.lines().filter(|line| line.trim_start().starts_with("V:V:S"));
    assert_eq!(sums.count(), 2, "{command}");
    assert!(command.contains("   (hm) (str)\n"), "{command}");
    let preset = once(&["--preset", "ptop", "-b"]);
    assert_eq!(preset.lines().next(), command.lines().next());
    let csv = once(&["--preset", "ptop", "--csv"]);
    assert!(csv.lines().next().is_some_and(|head| head.contains("cusr_pct")), "{csv}");
}

#[test]
fn presets_of_ones_own_are_in_the_configuration() {
    let tree = tree();
    let home = tempfile::tempdir().expect("a directory");
    let dir = home.path().join("exactop");
    std::fs::create_dir(&dir).expect("a directory");
    let file = dir.join("config.toml");
    std::fs::write(&file, "[presets.mine]\ncolumns = [\"pid\", \"comm\"]\nsort = \"pid\"\n")
        .expect("written");
    let with = |args: &[&str]| {
        let mut command = command(&[&QUICK[..], args].concat());
        command.arg("--proc-root").arg(tree.path()).env("XDG_CONFIG_HOME", home.path());
        done(command)
    };
    let text = with(&["-b", "--preset", "mine"]).fine();
    assert_eq!(table(&text)[0].trim(), "PID COMM", "{text}");
    let refused = with(&["-b", "--preset", "yours"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("top, prstat, ptop, mine"), "{}", refused.err);
    std::fs::write(&file, "[presets.mine]\ncolumns = [\"pidd\"]\n").expect("written");
    let refused = with(&["-b", "--preset", "mine"]);
    assert!(
        refused.err.contains("config.toml:2: no column 'pidd': did you mean 'pid'?"),
        "{}",
        refused.err
    );
    std::fs::write(&file, "[presets.mine]\ncolumns\n").expect("written");
    let refused = with(&["-b", "--preset", "mine"]);
    assert!(refused.err.contains("config.toml:2: key with no value"), "{}", refused.err);
    assert!(refused.err.contains(": correct this line (KEY = VALUE)"), "{}", refused.err);
}

#[test]
fn command_lines_replace_names() {
    let text = once(&["-c", "--columns", "command"]);
    assert_eq!(table(&text)[1..], ["/sbin/init splash", "a", "\\x1b]0;pwned\\x07 --flag"]);
}

#[test]
fn each_cpu_has_a_line_when_asked() {
    let text = once(&["-1"]);
    assert!(text.contains("\n%Cpu0  :") && text.contains("\n%Cpu1  :"), "{text}");
    assert!(!text.contains("%Cpu(s)"), "{text}");
}

#[test]
fn lines_are_as_wide_as_asked() {
    let widest = |text: &str| text.lines().map(|l| l.chars().count()).max();
    assert_eq!(widest(&once(&["-w", "40"])), Some(40));
    let tree = tree();
    let mut command = command(&["-b", "--once", "-d", "0.05", "-w", "--proc-root"]);
    command.arg(tree.path()).env("COLUMNS", "33");
    assert_eq!(widest(&done(command).fine()), Some(33));
}

#[test]
fn rows_are_sorted_and_selected() {
    let pids = |args: &[&str]| {
        let text = once(&[&["--columns", "pid"], args].concat());
        table(&text)[1..].iter().map(|l| l.trim().parse().expect("a pid")).collect::<Vec<u32>>()
    };
    assert_eq!(pids(&[]), [1, 7, 812]);
    assert_eq!(pids(&["-o", "+PID"]), [812, 7, 1]);
    assert_eq!(pids(&["-o", "comm"]), [7, 812, 1]);
    assert_eq!(pids(&["-p", "7,1"]), [1, 7]);
    assert_eq!(pids(&["-p", "7", "-p", "1"]), [1, 7]);
    assert_eq!(pids(&["-i"]), [0; 0]);
    assert_eq!(pids(&["--filter", "pid>1", "--filter", "!comm=evil"]), [7]);
    assert_eq!(pids(&["-H"]), [1, 7, 812]);
    assert_eq!(pids(&["-u", "4294967294"]), [0; 0]);
    assert_eq!(pids(&["-u", "!4294967294"]), [1, 7, 812]);
    assert_eq!(pids(&["-u", &rustix::process::geteuid().as_raw().to_string()]), [1, 7, 812]);
}

#[test]
fn json_is_one_object_a_line_and_its_books_add_up() {
    let tree = tree();
    let text = run_on(tree.path(), &["--json", "-n", "3", "-d", "0.05"]).fine();
    let windows: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(windows.len(), 3);
    for pair in windows.windows(2) {
        assert_eq!(pair[0]["window"]["t1_ns"], pair[1]["window"]["t0_ns"], "no gap");
    }
    for object in &windows {
        assert_eq!(object["schema"]["name"], "exactop.window");
        assert_eq!(object["schema"]["version"], 1);
        let (window, books) = (&object["window"], &object["books"]);
        let ns = |value: &Value| if value.is_null() { 0 } else { value.as_i64().expect("integer") };
        let length = ns(&window["t1_ns"]) - ns(&window["t0_ns"]);
        let sum: i64 = books
            .as_object()
            .expect("an object")
            .iter()
            .filter(|(key, _)| *key != "total_ns")
            .map(|(_, value)| ns(value))
            .sum();
        assert_eq!(ns(&books["total_ns"]), 2 * length);
        assert_eq!(sum + ns(&window["residual_ns"]), 2 * length);
    }
}

#[test]
fn json_rows_have_the_columns_asked_for() {
    let object = object(&["--columns", "PID,%CPU,comm,cpu_plus_pct"]);
    let rows = object["tasks"].as_array().expect("a list");
    assert_eq!(rows.len(), 3);
    assert_eq!(
        rows[2],
        serde_json::json!({
            "kind": "process", "pid": 812, "cpu_pct": 0.0, "comm": "evil\\x1b[2J\\x0a,\"",
            "cpu_plus_pct": null,
        })
    );
    assert_eq!(object["source"]["name"], "procfs");
    assert_eq!(object["window"]["exact"], false);
    assert_eq!(object["books"]["exited_ns"], Value::Null);
}

#[test]
fn json_rows_have_no_null_that_procfs_could_fill() {
    let object = object(&[]);
    let row = &object["tasks"][0];
    let keys = ["pid", "ppid", "user", "uid", "virt", "res", "shr", "time", "cgroup", "run_ns"];
    for key in keys.iter().chain(&["user_ns", "start_ns", "threads", "vcx", "lat_ns"]) {
        assert!(!row[key].is_null(), "{key}: {row:#}");
    }
}

#[test]
fn csv_has_one_header_and_a_line_for_each_row_and_window() {
    let tree = tree();
    let args = ["--csv", "-n", "2", "-d", "0.05", "--columns", "pid,comm,stl_pct"];
    let text = run_on(tree.path(), &args).fine();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1 + 2 * 3, "{text}");
    assert_eq!(lines[0], "t0_ns,t1_ns,kind,pid,comm,stl_pct,wall_s");
    assert!(lines[1].contains(",process,1,init,,"), "{text}");
    assert!(lines[3].contains(",process,812,\"evil\\x1b[2J\\x0a,\"\"\",,"), "{text}");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time");
    for line in &lines[1..] {
        let wall_s: u64 = line.rsplit(',').next().and_then(|s| s.parse().ok()).expect("a time");
        assert!(now.as_secs().abs_diff(wall_s) < 3600, "{line}");
    }
    let end = lines[1].split(',').nth(1);
    assert_eq!(end, lines[4].split(',').next(), "the windows meet");
}

#[test]
fn formats_without_a_header_read_the_details_of_their_columns() {
    let csv = once(&["--csv", "--columns", "pid,mem_pct,elapsed"]);
    let row = csv.lines().nth(1).expect("a row");
    let cells: Vec<&str> = row.split(',').collect();
    let number = |cell: &str| cell.parse::<f64>().is_ok_and(|n| n > 0.0);
    assert!(number(cells[4]) && number(cells[5]), "{csv}");
    let by_memory = once(&["--preset", "ptop", "-b", "-o", "mem_pct"]);
    assert!(by_memory.contains("V:V:S"), "{by_memory}");
}

/// Without the ledger all windows are inexact; with it those that say so.
#[test]
fn inexact_windows_are_a_status_of_their_own_where_that_is_asked_for() {
    let tree = tree();
    let checked = |args: &[&str]| run_on(tree.path(), &[&["-n", "2", "-d", "0.05"], args].concat());
    assert_eq!(checked(&["--csv"]).code, Some(0));
    let found = checked(&["--csv", "--check"]);
    assert_eq!(found.code, Some(3), "{}", found.err);
    assert!(found.err.starts_with("exactop: inexact windows: 2 of 2 ("), "{}", found.err);
    assert_eq!(found.out.lines().count(), 1 + 2 * 3, "all are printed: {}", found.out);

    let any = done(command(&["--json", "-n", "3", "-d", "0.2", "--check"]));
    let state = |line: &str| {
        let object: Value = serde_json::from_str(line).expect("JSON");
        object["window"]["state"].as_str().map(String::from)
    };
    let states: Vec<_> = any.out.lines().map(state).collect();
    let inexact = states.iter().filter(|state| state.as_deref() == Some("inexact")).count();
    assert_eq!(states.len(), 3, "{}", any.err);
    assert_eq!(any.code, Some(if inexact > 0 { 3 } else { 0 }), "{states:?}: {}", any.err);
    let of_recorded = ["replay", "--json", "--check", RECORDED];
    assert_eq!(done(command(&of_recorded)).code, Some(3));
}
