//! A recording as one page.

use crate::helpers::run::run;
use serde_json::Value;
use std::path::Path;

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// The data that the page's script reads.
fn data(page: &str) -> Value {
    let begin = "<script type=\"application/json\" id=\"data\">";
    let (_, data) = page.split_once(begin).expect("where data are");
    let (data, _) = data.split_once("</script>").expect("their end");
    serde_json::from_str(data).expect("JSON")
}

fn sum(list: &Value) -> i64 {
    list.as_array().expect("a list").iter().filter_map(Value::as_i64).sum()
}

#[test]
fn a_page_holds_the_recording_and_loads_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let (path, file) = (dir.path().join("recording"), dir.path().join("page.html"));
    let words = ["--json", "-n", "6", "-d", "0.1", "--source", "procfs", "--record", text(&path)];
    let printed = run(&words).fine();
    let said = run(&["replay", text(&path), "--html", text(&file)]).fine();
    assert!(said.starts_with("6 windows, ") && said.ends_with(" bytes\n"), "{said}");
    let page = std::fs::read_to_string(&file).expect("the page");
    assert!(page.contains("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"));
    let shown = run(&["replay", text(&path), "--html", "/dev/stdout"]).fine();
    assert!(shown.ends_with("</html>\n"), "nothing but the page is there");
    assert!(!page.contains("http:") && !page.contains("https:"));
    let data = data(&page);
    let windows = printed.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let books: Vec<Value> = windows.map(|window| window["books"].clone()).collect();
    let of = |name: &str| books.iter().filter_map(|books| books[name].as_i64()).sum::<i64>();
    let slots = &data["slots"];
    assert_eq!(sum(&slots["capacity_ns"]), of("total_ns"));
    for (account, name) in [(0, "tasks_ns"), (3, "unnamed_ns"), (6, "idle_ns")] {
        assert_eq!(sum(&slots["parts_ns"][account]), of(name), "{name}");
    }
    let all: i64 = (0..9).map(|account| sum(&slots["parts_ns"][account])).sum();
    assert_eq!(all, of("total_ns"));
}

#[test]
fn a_page_of_nothing_or_beside_windows_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let (path, file) = (dir.path().join("recording"), dir.path().join("page.html"));
    let words = ["--json", "-n", "2", "-d", "0.1", "--source", "procfs", "--record", text(&path)];
    run(&words).fine();
    let (path, file) = (text(&path), text(&file));
    let page = |more: &[&str]| run(&[&["replay", path, "--html", file], more].concat());
    page(&["-t", "now+1m"]).refused(1, "no window ends in");
    page(&["-t", "nonsense"]).refused(2, "nonsense");
    page(&["--json"]).refused(2, "conflicts with");
    page(&["-d", "1"]).refused(2, "--delay conflicts with a replay");
    assert!(!Path::new(file).exists(), "nothing is written for nothing");
    page(&["-t", "1h ago+2h"]).fine();
    page(&["-t", "1h ago"]).fine();
    let own = format!("{path}/exactop-00000001.rec");
    run(&["replay", path, "--html", &own]).refused(2, "is a part of the recording");
}
