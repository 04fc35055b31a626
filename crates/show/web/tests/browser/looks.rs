//! Names that look like markup, a phone, dark mode, and paper.

use super::drawn::{Planted, HOSTILE};
use super::{shown, Shown};
use exactop_web::page::Limits;
use serde_json::json;

pub const FRAME: &str =
    "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))";

#[test]
fn hostile_names_are_text() {
    let Some(mut page) = shown(&Planted::default(), &Limits::default()) else { return };
    let table = page.words("document.getElementById('rows').textContent");
    assert!(table.contains(HOSTILE), "{table}");
    assert_eq!(
        page.words("document.getElementById('title').textContent"),
        "exactop: made-up <b>host</b>"
    );
    page.browser.ask("exactop.address.go({ by: 'cgroup' })");
    let table = page.words("document.getElementById('rows').textContent");
    assert!(table.contains("/</script><script>window.bad=1</script>\\u{2028}"), "{table}");
    let made = page.number(
        "document.querySelectorAll('img, b, body script:not([type]):not(:last-of-type)').length",
    );
    assert_eq!(made, 0.0);
    assert_eq!(page.words("String(window.bad)"), "undefined");
    // A script that the policy forbids does not run.
    let blocked = page.browser.ask(
        "new Promise(done => { addEventListener('securitypolicyviolation', () => done('blocked')); \
         const made = document.createElement('div'); \
         try { made.setAttribute('onclick', 'window.bad = 2'); document.body.append(made); made.click(); } catch { done('blocked'); } \
         setTimeout(() => done(String(window.bad)), 2000); })",
    );
    assert_eq!(blocked, "blocked");
}

#[test]
fn it_fits_a_phone_and_the_dark() {
    let Some(mut page) = shown(&Planted::default(), &Limits::default()) else { return };
    page.browser.look(360, 740, true);
    page.browser
        .ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))");
    let wide = page.number("document.documentElement.scrollWidth");
    assert!(wide <= 360.0, "{wide} pixels");
    // The element with the namespace of SVG takes no room.
    assert_eq!(page.number("document.querySelector('svg').getClientRects().length"), 0.0);
    assert_eq!(page.words("getComputedStyle(document.body).backgroundColor"), "rgb(20, 22, 26)");
    let idle = page.words(
        "(() => { const c = exactop.balance.canvas; return c.getContext('2d').getImageData(c.width >> 1, 0, 1, 1).data.slice(0, 3).join(); })()",
    );
    assert_eq!(idle, "38,42,49", "idle time in the dark");
    page.browser.picture("phone-dark");
    page.browser.look(1200, 900, true);
    page.browser
        .ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))");
    page.browser.picture("dark");
    page.is_quiet();
}

/// Names of the table's columns, with the texts of a row.
const CELLS: &str = "(() => { const tr = [...document.querySelectorAll('#rows tbody tr[data-key]')].find(tr => tr.textContent.startsWith('starved')); \
    return [...document.querySelectorAll('#rows thead th')].map((th, i) => [th.textContent.replace(/ [▼▲]$/, ''), tr.children[i].textContent]); })()";

#[test]
fn a_phone_shows_the_columns_that_fit_and_the_others_in_the_detail() {
    let Some(mut page) = shown(&Planted::default(), &Limits::default()) else { return };
    let cells = |page: &mut Shown| -> Vec<(String, String)> {
        serde_json::from_value(page.browser.ask(CELLS)).expect("cells")
    };
    let wide = cells(&mut page);
    page.browser.look(390, 844, false);
    page.browser.ask(FRAME);
    for sort in ["run_ns", "dispatches", "name"] {
        page.browser.ask(&format!("exactop.address.go({{ sort: '{sort}', row: null }})"));
        let [scroll, client] = ["scrollWidth", "clientWidth"]
            .map(|of| page.number(&format!("document.getElementById('rows').{of}")));
        assert!(scroll <= client, "{sort}: {scroll} of {client} pixels");
        let cut = page.words(
            "[...document.querySelectorAll('#rows :is(th, td):not(:first-child)')].filter(of => of.scrollWidth > of.clientWidth).map(of => of.textContent).join()",
        );
        assert_eq!(cut, "", "{sort}: cut off");
        let narrow = cells(&mut page);
        assert!(narrow.len() > 2 && narrow.len() < wide.len(), "{narrow:?} of {wide:?}");
        assert!(narrow.iter().all(|cell| wide.contains(cell)), "{narrow:?}: {wide:?}");
        let title = page.words(&format!(
            "exactop.model.columns[Math.max(0, exactop.model.column('{sort}'))].title"
        ));
        let is_sorted = narrow.iter().any(|(name, _)| title.starts_with(name));
        assert!(sort == "name" || is_sorted, "{title}: {narrow:?}");
        page.browser.ask("exactop.openRow([...exactop.model.rows.values()].find(row => row.comm === 'starved').key)");
        let detail = page.browser.ask("[...document.querySelectorAll('#row-facts dt')].map(dt => [dt.textContent, dt.nextSibling.textContent])");
        let detail: Vec<(String, String)> = serde_json::from_value(detail).expect("facts");
        // The names of a row are in the title and in facts of their own.
        let named = ["COMMAND", "PID", "USER", "UNDER"];
        let hidden = wide.iter().filter(|cell| !narrow.contains(cell));
        for cell in hidden.filter(|(name, _)| !named.contains(&name.as_str())) {
            assert!(detail.contains(cell), "{cell:?} in {detail:?}");
        }
    }
    page.browser.picture("phone");
    // A column without a heading is chosen by name.
    page.browser.ask("(() => { const of = document.getElementById('sort'); of.value = 'sleep_ns'; of.dispatchEvent(new Event('change')); })()");
    assert!(cells(&mut page).iter().any(|(name, _)| name == "SLEEP"));
    page.is_quiet();
}

/// Animations, transitions and smooth scrolling of a page that asks for all of them.
const MOTIONS: &str = "(() => { const all = [document.documentElement, document.getElementById('rows'), document.querySelector('button')]; \
    for (const of of all) Object.assign(of.style, { animation: 'spin 1s', transition: 'opacity 1s', scrollBehavior: 'smooth' }); \
    return all.flatMap(of => { const is = getComputedStyle(of); return [is.animationName, is.transitionDuration, is.scrollBehavior]; }).join(); })()";

#[test]
fn nothing_moves_for_a_reader_who_asks_for_less_motion() {
    let Some(mut page) = shown(&Planted::default(), &Limits::default()) else { return };
    assert_eq!(page.words(MOTIONS), ["spin,1s,smooth"; 3].join(","), "the test can fail");
    let feature = json!([{ "name": "prefers-reduced-motion", "value": "reduce" }]);
    page.browser.call("Emulation.setEmulatedMedia", json!({ "features": feature }));
    assert_eq!(page.words(MOTIONS), ["none,0s,auto"; 3].join(","));
    assert!(!exactop_web::page::script().contains("smooth"), "the script scrolls at once, too");
    page.is_quiet();
}
