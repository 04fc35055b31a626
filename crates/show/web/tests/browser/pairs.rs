//! The matrix of the blame book.

use super::{files, shown, shown_document, Shown};
use crate::drawn::{booked, Planted};
use exactop_web::page::Limits;

/// The cells of each line of the matrix.
fn lines(page: &mut Shown) -> Vec<Vec<String>> {
    let told = page.words(
        "[...document.querySelectorAll('#pairs tr')].map(tr => [...tr.children].map(of => of.textContent).join('|')).join('\\n')",
    );
    told.lines().map(|line| line.split('|').map(String::from).collect()).collect()
}

fn choose(page: &mut Shown, by: &str) {
    page.browser.ask(&format!(
        "(() => {{ const of = document.getElementById('pby'); of.value = '{by}'; of.dispatchEvent(new Event('change')); }})()"
    ));
}

#[test]
fn the_matrix_has_the_parts_of_each_wait_and_leads_on() {
    let (document, books) = booked();
    let Some(mut page) = shown_document(&document) else { return };
    choose(&mut page, "command");
    let told = lines(&mut page);
    let book = books.iter().find(|book| book.by == "command").expect("the key");
    let waited: Vec<_> = book.rows.iter().filter(|row| row.booked_ns() > 0).collect();
    assert!(waited.len() > 1 && told.len() == 1 + waited.len(), "{told:?}");
    for row in waited {
        let line = told.iter().find(|line| line[0] == row.victim).expect("its line");
        let rate = 1e3 * row.booked_ns() as f64 / book.length_ns as f64;
        assert_eq!(line[1], format!("{rate:.1}"), "{line:?}");
        let mut parts = vec![0.0; line.len()];
        for culprit in &row.culprits {
            let name = if culprit.kind.name() == "own" { "itself" } else { &culprit.culprit };
            let column = told[0].iter().position(|head| head == name);
            let part = 100.0 * culprit.booked.ns as f64 / row.booked_ns() as f64;
            parts[column.unwrap_or(line.len() - 1)] += part;
        }
        for (cell, part) in line.iter().zip(parts).skip(2) {
            let shown: f64 = match cell.as_str() {
                "" => 0.0,
                told => told.trim_start_matches('<').parse().expect("a figure"),
            };
            assert!((shown - part).abs() <= 1.0, "{line:?}, {part}");
        }
    }
    let words = page.words("document.getElementById('pairs-told').textContent");
    assert!(words.contains("The blame book covers "), "{words}");
    page.browser.picture("pairs");
    // A victim leads to its processes, and a link to the same view.
    let address = page.words("location.hash");
    assert!(address.contains("pby=command"), "{address}");
    page.browser.ask("document.querySelector('#pairs tbody button').click()");
    let first = page.words("document.querySelector('#pairs tbody button').textContent");
    assert_eq!(page.words("document.getElementById('search').value"), first);
    choose(&mut page, "cgroup");
    assert!(lines(&mut page).len() > 1);
    page.is_quiet();
}

#[test]
fn two_time_ranges_tell_whose_wait_grew() {
    let (document, _) = booked();
    let Some(mut page) = shown_document(&document) else { return };
    let slots = page.number("exactop.model.n") as usize;
    let at = |slot: usize, end: &str| format!("exactop.model.slots.{end}_us[{slot}]");
    let (first, last) = (0, slots - 1);
    page.browser.ask(&format!(
        "exactop.address.go({{ pby: 'command', a: [{}, {}], b: [{}, {}] }})",
        at(first, "from"),
        at(first, "to"),
        at(first, "from"),
        at(last, "to")
    ));
    // The recorded waits are a few microseconds: as large as real ones, they differ in the figures.
    page.browser.ask(
        "exactop.model.pairs.forEach(pair => { pair.figures = [pair.at.map((slot, i) => \
         (Array.isArray(pair.figures[0]) ? pair.figures[0][i] : pair.figures[0]) * 1e5 * (slot + 1))]; }), exactop.show(), 0",
    );
    let told = lines(&mut page);
    assert_eq!(told[0][2], "CHANGE", "{told:?}");
    let mut changed = 0;
    for line in &told[1..] {
        let rate = |from: usize, to: usize| {
            let of = format!(
                "[...exactop.model.pairs.values()].filter(pair => pair.by === 'command' && pair.victim === {0}) \
                 .reduce((sum, pair) => sum + (pair.sum(0, {from}, {to}) ?? 0), 0) * 1e3 / \
                 exactop.model.slots.blame_ns.slice({from}, {to}).reduce((sum, ns) => sum + ns, 0)",
                serde_json::json!(line[0])
            );
            of
        };
        let [one, both] =
            [(first, first + 1), (first, last + 1)].map(|(from, to)| page.number(&rate(from, to)));
        let shown: f64 = line[2].trim_start_matches('+').parse().expect("a figure");
        assert!((shown - (both - one)).abs() < 0.06, "{line:?}: {one} {both}");
        changed += u32::from(shown > 0.0);
    }
    assert!(changed > 0, "{told:?}");
    page.is_quiet();
}

#[test]
fn without_a_book_there_is_no_matrix() {
    let Some(mut page) = shown(&Planted::default(), &Limits::default()) else { return };
    let hidden = page.browser.ask("document.getElementById('pairs-section').hidden");
    assert_eq!(hidden, true);
    page.is_quiet();
}

#[test]
fn a_process_has_the_culprits_of_its_name_and_all_pairs_are_saved() {
    let (document, books) = booked();
    let Some(mut page) = shown_document(&document) else { return };
    let dir = tempfile::tempdir().expect("a directory");
    choose(&mut page, "command");
    let saved = files::rows(&mut page, dir.path(), "#pairs-files");
    let book = books.iter().find(|book| book.by == "command").expect("the key");
    let booked: u64 = book.rows.iter().map(|row| row.booked_ns()).sum();
    let ns = |row: &serde_json::Value| row["wait_ns"].as_u64().expect("ns");
    assert_eq!(saved.iter().map(ns).sum::<u64>(), booked);
    for row in book.rows.iter().filter(|row| row.booked_ns() > 0 && row.victim != "~other") {
        // The book and the processes of this recording are independent; here one has the name.
        page.browser.ask(&format!(
            "(() => {{ const row = [...exactop.model.rows.values()].find(row => row.kind === 'process'); \
             row.comm = {}; exactop.openRow(row.key); }})()",
            serde_json::json!(row.victim)
        ));
        let title = page.words("document.getElementById('row-culprits-title').textContent");
        assert_eq!(title, format!("Who had the CPU while processes named {} waited", row.victim));
        let told = page.words("document.getElementById('row-culprits-told').textContent");
        assert!(told.starts_with("By command name"), "{told}");
        let of = files::rows(&mut page, dir.path(), "#row-culprits-files");
        assert_eq!(of.iter().map(ns).sum::<u64>(), row.booked_ns(), "{}", row.victim);
        let lines = page.number("document.querySelectorAll('#row-culprits tbody tr').length");
        assert_eq!(lines as usize, of.len().min(20));
    }
    page.is_quiet();
}
