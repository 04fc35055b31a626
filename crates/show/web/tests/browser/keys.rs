//! The page's keys, beside those of the live view.

use super::drawn::{self, Planted};
use super::{shown, Shown};
use exactop_tui::keys::{Binding, BINDINGS};
use exactop_web::page::Limits;
use serde_json::json;

/// Id and text of the focused element.
pub(super) fn focused(page: &mut Shown) -> (String, String) {
    let told = page.browser.ask("[document.activeElement.id, document.activeElement.textContent]");
    let word = |n: usize| told[n].as_str().unwrap_or_default().to_string();
    (word(0), word(1))
}

/// Presses a key that types a letter, and returns the focused element.
pub(super) fn press(page: &mut Shown, key: char) -> String {
    page.browser.press(&key.to_string(), 0, &key.to_string());
    focused(page).0
}

#[test]
fn the_keys_of_the_live_view_work_until_they_are_turned_off() {
    let (document, _) = drawn::booked();
    let Some(mut page) = super::shown_document(&document) else { return };
    let state = |page: &mut Shown, name: &str| {
        page.browser.ask(&format!("String(exactop.address.state.{name})")).to_string()
    };
    for (key, place, name, value) in [
        ('2', "rows-title", "sort", "lat_ns"),
        ('5', "rows-title", "sort", "migrations"),
        ('1', "rows-title", "sort", "run_ns"),
        ('K', "rows-title", "by", "command"),
        ('3', "pairs-title", "by", "command"),
        ('4', "groups-title", "by", "command"),
        ('!', "findings-title", "by", "command"),
        ('?', "", "by", "command"),
    ] {
        assert_eq!(press(&mut page, key), place, "{key}");
        assert_eq!(state(&mut page, name), json!(value).to_string(), "{key}");
    }
    // The last window, the one before, the last again; then that alone.
    let chosen = |page: &mut Shown| {
        page.number(
            "exactop.address.state.a ? exactop.model.slotsOf(exactop.address.state.a)[0] : -1",
        )
    };
    let last = page.number("exactop.model.n") - 1.0;
    for (key, slot) in [(']', last), ('[', last - 1.0), ('[', last - 2.0), (']', last - 1.0)] {
        press(&mut page, key);
        assert_eq!(chosen(&mut page), slot, "{key}");
    }
    press(&mut page, 'z');
    assert_eq!(chosen(&mut page), -1.0);
    // Each key is in the list; in a field it is a letter.
    let listed = page.words(
        "[...document.querySelectorAll('#keys-list kbd')].map(of => of.textContent).join(' ')",
    );
    let known = page_keys(&mut page).concat().join(" ");
    assert_eq!(listed, format!("{known} Enter"));
    assert_eq!(press(&mut page, '/'), "search");
    assert_eq!(press(&mut page, '3'), "search");
    assert_eq!(page.words("document.getElementById('search').value"), "3");
    page.browser.ask(
        "document.getElementById('search').blur(); document.getElementById('keys-on').click()",
    );
    assert_ne!(press(&mut page, '4'), "groups-title");
    assert!(page.words("location.hash").contains("keys=off"));
    page.is_quiet();
}

/// The page's keys: those of one action together.
fn page_keys(page: &mut Shown) -> Vec<Vec<String>> {
    let keys = page.browser.ask("exactop.keys.all.map(([keys]) => keys)");
    serde_json::from_value(keys).expect("keys")
}

/// Actions of the live view without a key on the page, and the reason.
const NOT_ON_THE_PAGE: &[(&[&str], &str)] = &[
    (&["open"], "Enter presses the focused row's name, as the browser does with each button"),
    (&["up", "down", "page up", "page down", "home", "end"], "the browser scrolls and Tab goes on"),
    (&["scroll left", "scroll right", "past left", "past right"], "the browser scrolls"),
    (&["window back", "window on", "ten back", "ten on"], "arrows do it on a focused picture"),
    (&["back"], "Escape clears on a focused picture; the browser's back key leaves a view"),
    (&["redraw", "suspend", "quit", "palette", "theme"], "the browser has its own"),
    (&["save"], "the address holds the view"),
    (&["refresh", "interval"], "the server measures, for all pages alike"),
    (
        &["go to", "play", "change back", "change on"],
        "the picture shows all time at once; [ and ] step",
    ),
    (
        &["kill", "renice", "affinity", "move to group", "weight", "limit", "tag"],
        "the page only shows: it changes no process",
    ),
    (
        &["environment", "files", "calls"],
        "read on demand and secret, or a button of an open process",
    ),
    (
        &["sort memory", "pressure"],
        "memory and pressure are values at an instant, which no range sums",
    ),
    (
        &["tree", "thread tree", "fold toggle", "fold", "unfold"],
        "there is no tree; totals by parent sum a branch's children",
    ),
    (&["command line"], "the row's detail has the command line"),
    (&["of machine"], "a list chooses the unit"),
    (&["idle owed"], "no document holds idle time owed"),
    (
        &["hide idle", "hide kernel"],
        "a range has only rows that were there; search leaves out the others",
    ),
    (&["user", "show filters", "search next"], "one search field filters by user, name and group"),
];

#[test]
fn each_key_of_the_live_view_is_on_the_page_or_has_a_reason() {
    let Some(mut page) = shown(&Planted::default(), &Limits::default()) else { return };
    let keys = page_keys(&mut page).concat();
    let is_on_page =
        |of: &Binding| of.names().split(' ').any(|name| keys.iter().any(|key| key == name));
    let excused =
        |of: &Binding| NOT_ON_THE_PAGE.iter().any(|(names, _)| names.contains(&of.name().as_str()));
    for binding in BINDINGS {
        let (name, is_here) = (binding.name(), is_on_page(binding));
        // A key of a time line may have another meaning in the live view.
        let is_one = is_here != excused(binding) || (is_here && binding.is_of_time());
        assert!(is_one, "'{name}' ({}): on the page {is_here}", binding.names());
    }
    let names: Vec<String> = BINDINGS.iter().map(Binding::name).collect();
    for (excused, reason) in NOT_ON_THE_PAGE {
        let unknown = excused.iter().find(|name| !names.iter().any(|known| known == *name));
        assert!(unknown.is_none() && !reason.is_empty(), "{unknown:?}");
    }
    // The page has no key of its own, and none twice.
    for (at, key) in keys.iter().enumerate() {
        let is_known = BINDINGS.iter().any(|of| of.names().split(' ').any(|name| name == key));
        assert!(is_known && !keys[..at].contains(key), "{key}");
    }
    page.is_quiet();
}

#[test]
fn keys_sort_reverse_and_choose_columns_as_in_the_live_view() {
    let planted = Planted { threads: true, quota: Some(1), ..Planted::default() };
    let Some(mut page) = shown(&planted, &Limits::default()) else { return };
    let state = "['sort', 'desc', 'unit'].map(name => exactop.address.state[name])";
    let sorts = |page: &mut Shown, keys: &str| {
        keys.chars().for_each(|key| drop(press(page, key)));
        page.browser.ask(state)
    };
    assert_eq!(sorts(&mut page, "T"), json!(["run_ns", true, "time"]));
    assert_eq!(sorts(&mut page, "P"), json!(["run_ns", true, "cpu"]));
    assert_eq!(sorts(&mut page, "R"), json!(["run_ns", false, "cpu"]));
    assert_eq!(sorts(&mut page, ">"), json!(["user_ns", true, "cpu"]));
    assert_eq!(sorts(&mut page, "<<"), json!(["pid", true, "cpu"]));
    assert_eq!(sorts(&mut page, "<<<"), json!(["name", true, "cpu"]));
    assert_eq!(sorts(&mut page, "N"), json!(["pid", true, "cpu"]));
    let pids = page.browser.ask("[...document.querySelectorAll('#rows tbody tr[data-key] td:nth-child(2)')].map(td => Number(td.textContent)).filter(pid => pid > 0)");
    let pids: Vec<u32> = serde_json::from_value(pids).expect("numbers");
    assert!(pids.len() > 5 && pids.is_sorted_by(|a, b| a >= b), "{pids:?}");
    // Microstates and back.
    let heads =
        "[...document.querySelectorAll('#rows thead th')].map(th => th.textContent).join(' ')";
    let usual = page.words(heads);
    press(&mut page, 'S');
    assert!(page.words(heads).contains("SLEEP") && !usual.contains("SLEEP"));
    press(&mut page, 'S');
    assert_eq!(page.words(heads), usual);
    assert_eq!(page.browser.ask(state)[2], "cpu");
    press(&mut page, 'o');
    assert_eq!(page.browser.ask("document.activeElement.parentElement.id"), "columns");
    assert_eq!(press(&mut page, 'C'), "cpus-title");
    assert_eq!(press(&mut page, 'g'), "groups-title");
    // Without a process, a word; with one in focus, its threads and its picture.
    press(&mut page, 'H');
    assert!(page.words("document.getElementById('said').textContent").starts_with("No process"));
    page.browser.ask("[...document.querySelectorAll('#rows button')].find(of => of.textContent === 'pool').focus()");
    assert_eq!(press(&mut page, 'H'), "row-threads-title");
    press(&mut page, 'G');
    assert_eq!(page.browser.ask("document.activeElement === exactop.row.plot.canvas"), true);
    page.browser.ask("exactop.address.go({ q: 'pool' })");
    press(&mut page, '=');
    assert!(page.number("exactop.table.lines.length") > 5.0);
    press(&mut page, 'p');
    assert!(page.words("document.getElementById('said').textContent").starts_with("A recording"));
    assert_eq!(press(&mut page, '\\'), "search");
    page.is_quiet();
}
