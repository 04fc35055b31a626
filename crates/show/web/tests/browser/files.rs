//! What is shown, saved as files: their figures are those of the document, to the nanosecond.

use super::drawn::{Planted, CPUS, HOSTILE, SECOND};
use super::{shown, Shown};
use exactop_testkit::wait;
use exactop_web::page::Limits;
use serde_json::{json, Value};
use std::path::Path;

/// Presses the button of a part of the page and returns the file that the browser saves.
pub(super) fn saved(page: &mut Shown, dir: &Path, place: &str, kind: &str) -> Vec<u8> {
    let before = std::fs::read_dir(dir).expect("the directory").count();
    let to = json!({ "behavior": "allow", "downloadPath": dir });
    page.browser.call("Page.setDownloadBehavior", to);
    page.browser.ask(&format!(
        "(() => {{ const place = document.querySelector('{place}'); place.open = true; \
         [...place.querySelectorAll('button')].find(of => of.textContent === '{kind}').click(); }})()"
    ));
    let ending = format!(".{}", kind.to_lowercase());
    let path = wait::find("the saved file", || {
        let files: Vec<_> = std::fs::read_dir(dir).ok()?.flatten().map(|of| of.path()).collect();
        let is_whole = |path: &&std::path::PathBuf| path.to_string_lossy().ends_with(&ending);
        (files.len() == before + 1).then(|| files.iter().find(is_whole).cloned()).flatten()
    });
    let bytes = std::fs::read(&path).expect("the file");
    std::fs::rename(&path, path.with_extension("seen")).expect("another name");
    bytes
}

pub(super) fn text(page: &mut Shown, dir: &Path, place: &str, kind: &str) -> String {
    String::from_utf8(saved(page, dir, place, kind)).expect("text")
}

/// The rows of a JSON file; the CSV file of the same place has the same rows.
pub(super) fn rows(page: &mut Shown, dir: &Path, place: &str) -> Vec<Value> {
    let json: Value = serde_json::from_str(&text(page, dir, place, "JSON")).expect("JSON");
    let csv = text(page, dir, place, "CSV");
    let rows = json["rows"].as_array().expect("rows").clone();
    let mut lines = csv.lines();
    let heads: Vec<&str> = lines.next().expect("a heading").split(',').collect();
    assert_eq!(lines.clone().count(), rows.len(), "{csv}");
    for (line, row) in lines.zip(&rows) {
        assert_eq!(row.as_object().expect("a row").len(), heads.len());
        let cells = line.split(',').collect::<Vec<_>>();
        for (head, cell) in heads.iter().zip(cells).filter(|(_, cell)| !cell.contains('"')) {
            match &row[head] {
                Value::Null => assert_eq!(cell, "", "{head}: {line}"),
                Value::String(text) => assert_eq!(cell, text, "{head}: {line}"),
                number => assert_eq!(cell, number.to_string(), "{head}: {line}"),
            }
        }
    }
    rows
}

fn sum(rows: &[Value], name: &str) -> u64 {
    let figure = |row: &Value| row[name].as_u64().unwrap_or_else(|| panic!("{name}: {row}"));
    rows.iter().map(figure).sum()
}

#[test]
fn the_balance_and_the_rows_are_saved_to_the_nanosecond() {
    let planted = Planted { no_irq: Some(60), ..Planted::default() };
    let Some(mut page) = shown(&planted, &Limits::default()) else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let balance = rows(&mut page, dir.path(), "#balance details");
    assert_eq!((balance.len(), sum(&balance, "capacity_ns")), (120, CPUS * 120 * SECOND));
    let names: Vec<String> = page.json["accounts"]
        .as_array()
        .expect("accounts")
        .iter()
        .map(|account| format!("{}_ns", account["id"].as_str().expect("a name")))
        .collect();
    for (slot, row) in balance.iter().enumerate() {
        for (account, name) in names.iter().enumerate() {
            assert_eq!(row[name], page.json["slots"]["parts_ns"][account][slot], "{name} {slot}");
        }
    }
    assert!(balance[0]["irq_ns"].is_u64() && balance[100]["irq_ns"].is_null(), "unknown: null");
    let cpus = rows(&mut page, dir.path(), "#cpus details");
    assert_eq!(cpus.len() as u64, CPUS);
    // Rows that are not in the document are in the file, and a search leaves those that match.
    let all = rows(&mut page, dir.path(), "#rows-files");
    assert_eq!(all.len() as f64, page.number("exactop.table.lines.length"));
    assert_eq!(sum(&all, "run_ns"), sum(&balance, "tasks_ns") + sum(&balance, "exited_ns"));
    assert!(all.iter().any(|row| row["name"] == HOSTILE));
    page.browser.ask("exactop.address.go({ q: 'stead' })");
    let found = rows(&mut page, dir.path(), "#rows-files");
    // Its exited children match by their parent.
    assert_eq!((found.len(), &found[1]["name"]), (2, &json!("true")));
    assert_eq!((&found[0]["pid"], &found[0]["run_ns"]), (&json!(10), &json!(60 * SECOND)));
    // Two ranges: a figure of each.
    page.browser.ask("exactop.address.go({ q: '', a: exactop.model.timeOf([10, 20]), b: exactop.model.timeOf([70, 80]) })");
    let both = rows(&mut page, dir.path(), "#rows-files");
    let spiky = both.iter().find(|row| row["name"] == "spiky").expect("its row");
    assert_eq!((&spiky["run_ns"], &spiky["run_ns_second"]), (&json!(0), &json!(3 * SECOND)));
    page.is_quiet();
}

#[test]
fn a_process_and_a_group_are_saved_with_their_pictures() {
    let planted = Planted { quota: Some(1), ..Planted::default() };
    let Some(mut page) = shown(&planted, &Limits::default()) else { return };
    let dir = tempfile::tempdir().expect("a directory");
    page.browser.ask(
        "exactop.openRow([...exactop.model.rows.values()].find(row => row.comm === 'starved').key)",
    );
    let states = rows(&mut page, dir.path(), "#row-states details");
    assert_eq!((sum(&states, "lat_ns"), sum(&states, "life_ns")), (120 * SECOND, 120 * SECOND));
    page.browser.ask("exactop.openGroup('path:/shop/capped')");
    let group = rows(&mut page, dir.path(), "#group-plot details");
    assert_eq!(sum(&group, "run_ns"), 48 * SECOND);
    assert_eq!((sum(&group, "throttle_ns"), &group[9]["may_use_cpus"]), (72 * SECOND, &json!(0.4)));
    let groups = rows(&mut page, dir.path(), "#groups-files");
    let capped = groups.iter().find(|row| row["name"] == "/shop/capped").expect("its row");
    assert_eq!((&capped["run_ns"], &capped["weight"]), (&json!(48 * SECOND), &json!(50)));
    // The picture of a hostile name is well-formed: it is drawn again from its text.
    page.browser.ask(
        "exactop.openRow([...exactop.model.rows.values()].find(row => row.comm === '<img src=x>' && row.pid === 14).key)",
    );
    let svg = text(&mut page, dir.path(), "#row-states details", "SVG");
    assert!(svg.contains("States of &#60;img src=x&#62;") && !svg.contains("<img"), "{svg}");
    let png = saved(&mut page, dir.path(), "#row-states details", "PNG");
    assert_eq!(&png[1..4], b"PNG");
    // Each column: 0.4 on a CPU and 0.6 throttled.
    use base64::Engine;
    let png = base64::engine::general_purpose::STANDARD.encode(png);
    let told = page.browser.ask(&format!(
        "(async () => {{ const image = new Image(); image.src = 'data:image/png;base64,{png}'; await image.decode(); \
         const c = document.createElement('canvas'); [c.width, c.height] = [image.width, image.height]; \
         const pen = c.getContext('2d'); pen.drawImage(image, 0, 0); const d = pen.getImageData(c.width >> 1, 0, 1, c.height).data; \
         const n = {{}}; for (let y = 0; y < c.height; y++) {{ const k = d.slice(4 * y, 4 * y + 3).join(); n[k] = (n[k] ?? 0) + 1; }} return n; }})()"
    ));
    let part = |colour: &str| told[colour].as_f64().unwrap_or_default() / (2.0 * 150.0);
    assert!((part("175,95,95") - 0.6).abs() < 0.03, "throttled: {told}");
    assert!((part("0,95,175") - 0.3).abs() < 0.03, "user mode: {told}");
    page.is_quiet();
}

#[test]
fn the_sums_threads_and_culprits_of_a_process_are_saved() {
    let planted = Planted { quota: Some(1), threads: true, ..Planted::default() };
    let Some(mut page) = shown(&planted, &Limits::default()) else { return };
    let dir = tempfile::tempdir().expect("a directory");
    page.browser.ask(
        "exactop.openRow([...exactop.model.rows.values()].find(row => row.comm === 'pool').key)",
    );
    let states = rows(&mut page, dir.path(), "#row-sums-files");
    let of = |name: &str| states.iter().find(|row| row["state"] == name).expect("a state");
    let sum = |name: &str| {
        format!("(() => {{ const m = exactop.model, row = [...m.rows.values()].find(row => row.comm === 'pool'); return row.sum(m.column('{name}'), 0, m.n); }})()")
    };
    for (state, column) in [("user", "user_ns"), ("sleep", "sleep_ns"), ("lat", "lat_ns")] {
        assert_eq!(of(state)["time_ns"], page.browser.ask(&sum(column)), "{state}");
    }
    assert_eq!(of("user")["life_ns"], page.browser.ask(&sum("life_ns")));
    let threads = rows(&mut page, dir.path(), "#row-threads-files");
    let ran: Vec<u64> = threads.iter().map(|row| row["run_ns"].as_u64().expect("ns")).collect();
    assert_eq!(ran, [120 * SECOND / 50, 120 * SECOND / 100, 0]);
    assert_eq!((&threads[0]["tid"], &threads[0]["name"]), (&json!(17), &json!(HOSTILE)));
    // Without a book culprits are unknown, not 0, and the title has the reason.
    let told = page.browser.ask("(() => { const of = document.getElementById('row-culprits-told'); return [of.textContent, of.title, document.getElementById('row-culprits').rows.length]; })()");
    assert_eq!((&told[0], &told[2]), (&json!("–"), &json!(0)), "{told}");
    assert!(told[1].as_str().is_some_and(|why| why.starts_with("No blame book")), "{told}");
    page.is_quiet();
}
