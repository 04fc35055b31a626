//! Generated and written documents match the program.

use crate::helpers::run::{run, run_on, without_ledger};
use crate::made_up_proc::tree;
use exactop_model::columns::COLUMNS;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

pub fn document(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn the_columns_reference_is_up_to_date() {
    assert!(
        run(&["columns", "--markdown"]).fine() == document("reference/columns.md"),
        "docs/reference/columns.md is out of date: cargo run -p exactop -- columns --markdown > \
         docs/reference/columns.md"
    );
}

#[test]
fn columns_are_listed_in_every_form() {
    let text = run(&["columns"]).fine();
    let json: Value = serde_json::from_str(&run(&["columns", "--json"]).fine()).expect("JSON");
    let names = run(&["-O"]).fine();
    for (at, column) in COLUMNS.iter().enumerate() {
        assert!(text.contains(column.help), "{}", column.name);
        assert!(names.contains(&format!("{}\n", column.title)), "{}", column.name);
        let object = &json[at];
        assert_eq!(object["id"], column.name);
        for key in ["title", "unit", "meaning", "source", "needs"] {
            assert!(!object[key].is_null(), "{}: {key}", column.name);
        }
    }
}

/// Long names of all options, from the help.
fn options() -> Vec<String> {
    let help = run(&["--help"]).fine();
    let words = help.split_whitespace().filter(|w| w.starts_with("--") && w.len() > 2);
    let name = |w: &str| w.trim_matches(|c: char| !c.is_alphanumeric() && c != '-').to_string();
    let mut names: Vec<String> = words.map(name).collect();
    names.sort();
    names.dedup();
    assert!(names.len() > 10, "{names:?}");
    names
}

#[test]
fn the_manual_names_every_option_command_and_column() {
    let man = run(&["man"]).fine().replace("\\-", "-");
    for option in options() {
        assert!(man.contains(&option), "{option} is not in the manual");
    }
    for command in ["columns", "doctor", "man", "completions"] {
        assert!(man.contains(&format!("\\fB{command}\\fR")), "{command} is not in the manual");
    }
    for column in COLUMNS {
        assert!(man.contains(&format!("\\fB{}\\fR", column.name)), "{}", column.name);
    }
    for written in
        ["\\fB-n\\fR, \\fB--iterations\\fR \\fIN\\fR", "\\fB-p\\fR, \\fB--pid\\fR \\fIPID\\fR"]
    {
        assert!(man.contains(written), "{written} is not in the manual");
    }
    for section in ["NAME", "SYNOPSIS", "OPTIONS", "COLUMNS", "KEYS", "\"EXIT STATUS\"", "FILES"] {
        assert!(man.contains(&format!(".SH {section}\n")), "{section} is not in the manual");
    }
    assert!(!man.contains("proc-root"), "hidden options stay hidden");
}

#[test]
fn each_command_has_a_manual_page_of_its_own() {
    let names = run(&["man", "--list"]).fine();
    assert!(names.lines().any(|name| name == "exactop-lab-run"), "{names}");
    assert!(names.starts_with("exactop\n"), "{names}");
    for name in names.lines().skip(1) {
        let page = run(&["man", name]).fine();
        assert!(page.contains(&format!("\n.TH {name} 1 ")), "{name}: {page}");
        // Every option in the help is explained: the synopsis has all names, and notes mention
        // some.
        let words: Vec<&str> = name.split('-').skip(1).chain(["--help"]).collect();
        let help = run(&words).fine();
        let explained = page.split("\n.SH DESCRIPTION\n").nth(1).expect("a description");
        let explained = explained.split("\n.SH NOTES\n").next().expect("a part");
        let plain = explained.replace("\\-", "-");
        for option in help.lines().filter_map(|line| line.trim_start().split_once("--")) {
            let end = |c: char| !c.is_alphanumeric() && c != '-';
            let option = option.1.split(end).next().expect("a word");
            let begins = [format!("  --{option}"), format!(", --{option}")];
            let listed = !option.is_empty() && begins.iter().any(|begin| help.contains(begin));
            assert!(!listed || plain.contains(&format!("--{option}")), "{name}: --{option}");
        }
    }
    assert_eq!(run(&["man", "run"]).fine(), run(&["man", "exactop-run"]).fine());
}

#[test]
fn completions_know_every_option() {
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&["completions", shell]).fine();
        for option in options() {
            let name = if shell == "fish" { option.trim_start_matches('-') } else { &option };
            assert!(script.contains(name), "{shell}: {option}");
        }
    }
}

#[test]
fn completions_know_values_and_hide_what_help_hides() {
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&["completions", shell]).fine();
        let words: Vec<&str> =
            script.split(|c: char| !c.is_alphanumeric() && !"_-".contains(c)).collect();
        let mut values = vec!["lat_pct", "cgroup", "prstat", "procfs"];
        values.push("lab-compare");
        if cfg!(feature = "bpf") {
            values.extend(["nice-share", "epoll_wait", "clock_nanosleep"]);
        }
        for value in values {
            assert!(words.contains(&value), "{shell}: {value}");
        }
        assert!(!script.contains("proc-root") && !script.contains("proc_root"), "{shell}");
    }
}

#[test]
fn every_key_of_the_json_is_documented_and_there() {
    let tree = tree();
    let line = run_on(tree.path(), &["--json", "--once", "-d", "0.05"]).fine();
    let object: Value = serde_json::from_str(&line).expect("JSON");
    let text = document("reference/json.md");
    let top = text.split("## Top level").nth(1).and_then(|t| t.split("\n## ").next());
    let documented: Vec<&str> = top
        .expect("a section")
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    let mut found: Vec<&str> =
        object.as_object().expect("an object").keys().map(|k| &**k).collect();
    found.sort_by_key(|key| documented.iter().position(|d| d == key));
    assert_eq!(found, documented);
    for part in ["window", "books", "cost", "source", "system"] {
        for key in object[part].as_object().expect("an object").keys() {
            assert!(
                text.contains(&format!("`{key}`")),
                "{part}.{key} is not in docs/reference/json.md"
            );
        }
    }
    for key in object["cpus"][0].as_object().expect("an object").keys() {
        assert!(text.contains(&format!("`{key}`")), "cpus.{key} is not in docs/reference/json.md");
    }
}

/// Objects whose keys are data, not names of the schema: counts by kind, qualities by counter.
const KEYED_BY_DATA: [&str; 3] = ["errors", "errnos", "quality"];

/// Collects the keys of a JSON value, at every depth.
fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| keys(value, found)),
        Value::Object(object) => {
            for (key, value) in object {
                found.insert(key.clone());
                if !(KEYED_BY_DATA.contains(&key.as_str()) && value.is_object()) {
                    keys(value, found);
                }
            }
        }
        _ => {}
    }
}

/// Each command that prints JSON of the running machine, of a recording and of its tables.
#[test]
fn each_key_of_each_json_output_is_documented() {
    if without_ledger() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (kept, books, report, runs) = (path("kept"), path("books"), path("run"), path("runs"));
    run(&["-b", "--source", "ledger", "-d", "0.3", "-n", "4", "--record", &kept]).fine();
    run(&["export", "parquet", "--to", &books, &kept]).fine();
    run(&["run", "-q", "--json", &report, "--", "sh", "-c", "/bin/true; /bin/true"]).fine();
    run(&["run", "-q", "--repeat", "2", "--json", &runs, "--", "true"]).fine();
    // Each output with the title of its section.
    let mut outputs = [&report, &runs]
        .map(|file| ("`exactop run --json FILE`", std::fs::read_to_string(file).expect("a report")))
        .to_vec();
    let (on_demand, cgroups) = ("The commands that attach on demand", "`exactop cgroups --json`");
    for (title, line) in [
        ("JSON", ""),
        ("`exactop -b --by ... --json`", "-b --by command"),
        (on_demand, "syscalls --by process"),
        (on_demand, "wakeups"),
        (on_demand, "waits"),
        (on_demand, "waits --by command"),
        (on_demand, "moves"),
        (on_demand, "switches"),
        (on_demand, "owed"),
        ("`exactop blame --json`", "blame"),
        (cgroups, "cgroups"),
    ] {
        let words = [line, "--json -n 1 -d 0.3"].join(" ");
        outputs.push((title, run(&words.split_whitespace().collect::<Vec<_>>()).fine()));
    }
    for (title, line) in [
        ("`exactop report --json`", format!("report --json --by command {kept}")),
        ("`exactop diff --json`", format!("diff --json {kept} {kept}")),
        ("`exactop fleet check --json`", format!("fleet check --json --from {books}")),
        (cgroups, format!("cgroups --json -n 1 --replay {kept}")),
    ] {
        let done = run(&line.split_whitespace().collect::<Vec<_>>());
        // Something was found: a window of a busy machine may miss an event.
        assert!(matches!(done.code, Some(0 | 3)), "{line}: {}", done.err);
        outputs.push((title, done.out));
    }
    let text = document("reference/json.md");
    let section = |title: &str| {
        let mut sections = text.split("\n# ").map(|section| section.trim_start_matches("# "));
        let is_it = |section: &&str| section.lines().next() == Some(title);
        sections.find(is_it).unwrap_or_else(|| panic!("no section {title}"))
    };
    let lacks = |text: &str, key: &str| {
        COLUMNS.iter().all(|column| column.name != key) && !text.contains(&format!("`{key}`"))
    };
    let mut found = BTreeSet::new();
    for (title, output) in &outputs {
        let object = output.lines().next().expect("a line");
        let value = serde_json::from_str(object).or_else(|_| serde_json::from_str(output));
        let value: Value = value.unwrap_or_else(|error| panic!("{error}: {output}"));
        // The outermost keys stand in the section itself.
        let outermost = value.as_object().expect("an object").keys();
        let missing: Vec<_> = outermost.filter(|key| lacks(section(title), key)).collect();
        assert!(missing.is_empty(), "docs/reference/json.md, {title}: no {missing:?}");
        keys(&value, &mut found);
    }
    assert!(found.len() > 200, "{found:?}");
    found.retain(|key| lacks(&text, key));
    assert!(found.is_empty(), "docs/reference/json.md has no {found:?}");
}
