//! Control groups with the cost of their limits, threads, and targets of findings.

use super::drawn::{Planted, HOSTILE};
use super::{shown, Shown};
use exactop_web::page::Limits;

fn planted() -> Planted {
    Planted { quota: Some(1), threads: true, ..Planted::default() }
}

/// The cells of this group's line, then the cost of its limit.
fn line(page: &mut Shown, name: &str) -> Vec<String> {
    let cells = page.words(&format!(
        "(() => {{ const tr = [...document.querySelectorAll('#groups tbody tr')].find(tr => tr.querySelector('button').textContent === {}); \
         if (!tr) return 'none'; const told = of => of?.textContent ?? ''; \
         return [told(tr.querySelector('button')), ...[...tr.children].slice(1).map(told), told(tr.querySelector('.cost'))].join('|'); }})()",
        serde_json::json!(name)
    ));
    cells.split('|').map(String::from).collect()
}

#[test]
fn a_groups_limit_stands_beside_what_it_costs() {
    let Some(mut page) = shown(&planted(), &Limits::default()) else { return };
    let capped = line(&mut page, "capped");
    let expected =
        ["capped", "0.40", "1.00", "0.40", "50", "0.0", "60.0", "1 080/1 200", "0.40", "–", "0"];
    assert_eq!(capped[..11], expected);
    assert_eq!(capped[11], "asked for 1.00 CPUs, may use 0.40: 60 % of that time throttled");
    // A child's time is part of its parent's.
    assert_eq!(line(&mut page, "shop")[1..4], ["0.40", "1.00", "0.40"]);
    let told = page.words("document.getElementById('groups-told').textContent");
    assert!(told.contains("1 others did nothing"), "{told}");
    page.browser.ask("document.getElementById('gby').value = 'container'; document.getElementById('gby').dispatchEvent(new Event('change'))");
    let container = line(&mut page, &format!("till {HOSTILE}"));
    assert_eq!(container[1..4], ["0.40", "1.00", "0.40"], "the quota above holds for it, too");
    page.is_quiet();
}

#[test]
fn figures_that_were_not_read_are_missing() {
    let planted = Planted { quota: Some(60), ..Planted::default() };
    let Some(mut page) = shown(&planted, &Limits::default()) else { return };
    assert_eq!(line(&mut page, "capped")[7..9], ["–", "–"], "read in half of the windows only");
    let why = page.words("[...document.querySelectorAll('#groups tbody td')].find(td => td.textContent === '–').title");
    assert!(why.contains("--record"), "{why}");
    page.is_quiet();
}

#[test]
fn a_finding_leads_to_its_group_and_its_processes() {
    let Some(mut page) = shown(&planted(), &Limits::default()) else { return };
    page.browser.ask("[...document.querySelectorAll('#balance .lane .throttled')][0].click()");
    assert_eq!(page.words("document.getElementById('group-title').textContent"), "/shop/capped");
    assert_eq!(page.words("document.activeElement.id"), "group-title");
    assert_eq!(
        page.number("document.querySelectorAll('#group-plot .lane .throttled').length"),
        1.0
    );
    page.browser.ask("exactop.clear()");
    let pixels = page.words(
        "(() => { const c = exactop.groups.plot.canvas, p = c.getContext('2d'); const d = p.getImageData(c.width >> 1, 0, 1, c.height).data; \
         const n = {}; for (let y = 0; y < c.height; y++) { const k = d.slice(4 * y, 4 * y + 3).join(); n[k] = (n[k] ?? 0) + 1; } \
         return JSON.stringify(n); })()",
    );
    let pixels: std::collections::BTreeMap<String, f64> =
        serde_json::from_str(&pixels).expect("JSON");
    let height = pixels.values().sum::<f64>();
    // 0.4 got and 0.6 throttled of 1.05 CPUs, and a line at the quota.
    let part = |colour: &str| pixels.get(colour).map_or(0.0, |n| n / height);
    assert!((part("175,95,95") - 0.6 / 1.05).abs() < 0.03, "throttled: {pixels:?}");
    assert!((part("47,116,201") - 0.4 / 1.05).abs() < 0.03, "got: {pixels:?}");
    assert!(part("27,29,33") > 0.0, "the quota: {pixels:?}");
    page.browser.picture("group");
    page.browser.ask("document.querySelector('#group-facts button').click()");
    assert_eq!(page.number("document.querySelectorAll('#rows tbody tr[data-key]').length"), 1.0);
    // A link restores the view.
    let address = page.words("location.hash");
    let link = format!("{}{address}", page.url);
    page.browser.open(&link);
    assert_eq!(page.words("document.getElementById('group-title').textContent"), "/shop/capped");
    // A process's finding leads to the process.
    page.browser.ask("exactop.lead(exactop.model.marks.find(mark => mark.id === 'waiting'))");
    assert_eq!(page.words("document.getElementById('row-title').textContent"), "starved 12");
    page.is_quiet();
}

#[test]
fn a_process_has_its_threads_and_says_what_is_not_here() {
    let Some(mut page) = shown(&planted(), &Limits::default()) else { return };
    page.browser.ask(
        "exactop.openRow([...exactop.model.rows.values()].find(row => row.comm === 'pool').key)",
    );
    let threads = page.words("[...document.querySelectorAll('#row-threads tbody tr')].map(tr => [...tr.children].slice(0, 2).map(td => td.textContent).join(' ')).join('|')");
    assert_eq!(threads, format!("{HOSTILE} 17 2.40 s|pool 16 1.20 s|pool 15 0 ns"));
    let told = page.words("document.getElementById('row-look').textContent");
    assert!(told.contains("exactop waits --replay DIR -p 15"), "{told}");
    assert!(told.contains("exactop syscalls -p PID"), "{told}");
    page.browser.picture("threads");
    page.is_quiet();
}

#[test]
fn two_time_ranges_name_the_rows_that_grew() {
    let Some(mut page) = shown(&planted(), &Limits::default()) else { return };
    let at = |slot: usize| format!("exactop.model.slots.from_us[{slot}]");
    let go = format!(
        "exactop.address.go({{ a: [{}, {}], b: [{}, {}] }})",
        at(10),
        at(20),
        at(70),
        at(80)
    );
    page.browser.ask(&go);
    let grown = page.words("document.getElementById('grown').textContent");
    assert_eq!(grown, "Grew most: spiky 11 +30.0 % of a CPU. ");
    page.browser.ask("document.querySelector('#grown button').click()");
    assert_eq!(page.words("document.getElementById('row-title').textContent"), "spiky 11");
    page.is_quiet();
}

/// Text and title of a fact of the open process.
fn fact(page: &mut Shown, pid: u32, name: &str) -> (String, String) {
    let told = page.browser.ask(&format!(
        "(() => {{ exactop.openRow([...exactop.model.rows.values()].find(row => row.pid === {pid}).key); \
         const dd = [...document.querySelectorAll('#row-facts dt')].find(dt => dt.textContent === '{name}').nextSibling; \
         return [dd.textContent, dd.title]; }})()"
    ));
    serde_json::from_value(told).expect("a fact")
}

#[test]
fn a_process_has_its_moves_and_the_limits_of_its_group() {
    let Some(mut page) = shown(&planted(), &Limits::default()) else { return };
    let quota = fact(&mut page, 14, "Its group may use");
    assert_eq!(quota.0, "0.40 CPUs by the quota of /shop, as last read");
    assert_eq!(fact(&mut page, 14, "Its group’s weight").0, "50");
    assert_eq!(fact(&mut page, 14, "Moves between CPUs").0, "0, 0.0 a second");
    for name in ["Its group may use", "Its group’s weight"] {
        let (text, why) = fact(&mut page, 10, name);
        assert!(text == "–" && why.starts_with("Not read in that time"), "{name}: {text} {why}");
    }
    // A source without a count of moves has none, not 0.
    page.browser.ask("exactop.model.rows.forEach(row => { row.figures[exactop.model.column('migrations')] = null; }), 0");
    page.browser.ask("exactop.model.groups.clear(), exactop.show(), 0");
    let (text, why) = fact(&mut page, 10, "Moves between CPUs");
    assert!(text == "–" && why.contains("no count of moves"), "{text} {why}");
    let (text, why) = fact(&mut page, 10, "Its group may use");
    assert!(text == "–" && why.contains("no figures of its control group"), "{text} {why}");
    page.is_quiet();
}
