//! The table: headings sort, columns come from the registry, and the address restores the view.

use super::drawn::Planted;
use super::{shown, Shown};
use exactop_web::page::Limits;

/// Names in the table, in its order.
fn names(page: &mut Shown) -> Vec<String> {
    let names = page.words(
        "[...document.querySelectorAll('#rows tbody tr[data-key] td:first-child')].map(td => td.textContent).join('|')",
    );
    names.split('|').map(String::from).collect()
}

/// Its headings, with the direction at the sort column.
fn heads(page: &mut Shown) -> String {
    page.words("[...document.querySelectorAll('#rows thead th')].map(th => `${th.textContent}:${th.getAttribute('aria-sort') ?? ''}`).join(' ')")
}

fn press(page: &mut Shown, heading: &str) {
    page.browser.ask(&format!(
        "[...document.querySelectorAll('#rows thead button')].find(button => button.textContent.startsWith('{heading}')).click()"
    ));
}

/// Moves in the browser's history.
fn go(page: &mut Shown, step: i32) {
    page.browser.ask(&format!(
        "new Promise(done => {{ addEventListener('hashchange', () => done(1), {{ once: true }}); history.go({step}); }})"
    ));
}

#[test]
fn a_heading_sorts_and_back_and_forward_restore_the_view() {
    let Some(mut page) = shown(&Planted::default(), &Limits::default()) else { return };
    assert_eq!(names(&mut page)[0], "steady", "who ran most");
    press(&mut page, "LAT");
    assert_eq!(names(&mut page)[0], "starved");
    let sorted = heads(&mut page);
    assert!(sorted.contains("LAT ▼:descending") && !sorted.contains("RUN ▼"), "{sorted}");
    press(&mut page, "LAT");
    assert_eq!(names(&mut page).last().map(String::as_str), Some("starved"));
    assert!(heads(&mut page).contains("LAT ▲:ascending"));
    go(&mut page, -2);
    assert_eq!(names(&mut page)[0], "steady");
    go(&mut page, 1);
    assert_eq!(names(&mut page)[0], "starved", "forward");
    press(&mut page, "COMMAND");
    press(&mut page, "COMMAND");
    let by_name = names(&mut page);
    let place = |of: &str| by_name.iter().position(|at| at == of);
    let (starved, steady) = (place("starved"), place("steady"));
    assert!(starved.is_some() && starved < steady, "{by_name:?}");
    page.is_quiet();
}

#[test]
fn columns_are_those_of_the_registry() {
    let Some(mut page) = shown(&Planted::default(), &Limits::default()) else { return };
    let known = page.json["columns"].as_array().expect("columns").len();
    let boxes = page.number("document.querySelectorAll('#columns-list input').length");
    assert_eq!(boxes as usize, known);
    for column in page.json["columns"].clone().as_array().expect("columns") {
        let name = column["name"].as_str().expect("a name");
        let found = exactop_model::columns::find(name);
        assert_eq!(found.ok().map(|found| found.help), column["help"].as_str(), "{name}");
    }
    assert!(!heads(&mut page).contains("SLEEP"));
    page.browser.ask("document.querySelector('#columns-list input[value=sleep_ns]').click()");
    page.browser.ask("document.querySelector('#columns-list input[value=user_ns]').click()");
    let (shown, address) = (heads(&mut page), page.words("location.hash"));
    assert!(shown.contains("SLEEP:none") && !shown.contains("USER:none"), "{shown}");
    // A link restores the view.
    let link = format!("{}{address}", page.url);
    page.browser.open(&link);
    assert_eq!(heads(&mut page), shown);
    page.is_quiet();
}
