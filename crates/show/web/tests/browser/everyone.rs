//! The page for users of screen readers, of keyboards, and of paper.

use super::drawn::{self, Planted};
use super::keys::{focused, press};
use super::{shown, Shown};
use exactop_web::page::Limits;
use serde_json::{json, Value};

fn planted() -> Planted {
    Planted { quota: Some(1), threads: true, sized: Some(10), ..Planted::default() }
}

const FRAME: &str = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))";

/// The accessibility tree: role and name of each element.
fn announced(page: &mut Shown) -> Vec<(String, String)> {
    page.browser.call("Accessibility.enable", json!({}));
    let tree = page.browser.call("Accessibility.getFullAXTree", json!({}));
    let word = |node: &Value, of: &str| node[of]["value"].as_str().unwrap_or_default().to_string();
    let nodes = tree["nodes"].as_array().expect("nodes").iter();
    let heard = nodes.filter(|node| node["ignored"] == false);
    heard.map(|node| (word(node, "role"), word(node, "name"))).collect()
}

#[test]
fn each_picture_has_a_table_for_screen_readers() {
    let Some(mut page) = shown(&planted(), &Limits::default()) else { return };
    page.browser.ask(
        "exactop.openRow([...exactop.model.rows.values()].find(row => row.comm === 'pool').key)",
    );
    page.browser.ask("exactop.openGroup('path:/shop/capped')");
    page.browser.ask("[...document.querySelectorAll('details.behind')].forEach(details => { details.open = true; })");
    page.browser.ask(FRAME);
    let heard = announced(&mut page);
    let of = |role: &str| -> Vec<&String> {
        heard.iter().filter(|(of, _)| of == role).map(|(_, name)| name).collect()
    };
    let pictures = [of("image"), of("img"), of("Canvas")].concat();
    let tables = [of("table"), of("grid")].concat();
    assert_eq!(pictures.len(), 5, "{pictures:?}");
    for picture in pictures {
        assert!(!picture.is_empty() && tables.contains(&picture), "{picture}: {tables:#?}");
    }
    for role in ["button", "combobox", "searchbox", "table", "region", "heading"] {
        let nameless = of(role).iter().filter(|name| name.is_empty()).count();
        assert!(nameless == 0 && !of(role).is_empty(), "{role}: {nameless} without a name");
    }
    page.is_quiet();
}

/// Focuses an element that Tab can reach.
fn focus(page: &mut Shown, selector: &str) {
    let found = page.browser.ask(&format!(
        "(() => {{ const of = {selector}; of.focus(); return document.activeElement === of && of.tabIndex === 0; }})()"
    ));
    assert_eq!(found, true, "{selector}");
}

/// A button with this text.
fn button(place: &str, text: &str) -> String {
    format!("[...document.querySelectorAll('{place} button')].find(button => button.textContent === '{text}')")
}

#[test]
fn keys_alone_lead_to_a_process_a_group_and_back() {
    let Some(mut page) = shown(&planted(), &Limits::default()) else { return };
    page.browser.press("Tab", 9, "");
    assert_eq!(focused(&mut page).0, "skip");
    page.browser.press("Enter", 13, "\r");
    assert_eq!(focused(&mut page).0, "rows-title");
    page.browser.press("Tab", 9, "");
    assert_eq!(focused(&mut page).0, "search", "Tab goes on from there");
    focus(&mut page, &button("#rows", "steady"));
    page.browser.press("Enter", 13, "\r");
    assert_eq!(focused(&mut page), ("row-title".into(), "steady 10".into()));
    page.browser.press("Tab", 9, "");
    assert_eq!(focused(&mut page).0, "row-close");
    page.browser.press("Enter", 13, "\r");
    assert_eq!(focused(&mut page).0, "rows-title");
    focus(&mut page, &button("#groups", "capped"));
    page.browser.press("Enter", 13, "\r");
    assert_eq!(focused(&mut page), ("group-title".into(), "/shop/capped".into()));
    focus(&mut page, &button("#group-facts", "Its processes"));
    page.browser.press("Enter", 13, "\r");
    assert_eq!(focused(&mut page).0, "rows-title");
    assert_eq!(page.words("document.getElementById('search').value"), "/shop/capped");
    page.is_quiet();
}

#[test]
fn on_paper_nothing_is_cut_off_and_all_is_light() {
    let planted = Planted { crowd: 120, ..planted() };
    let Some(mut page) = shown(&planted, &Limits::default()) else { return };
    page.browser.ask(
        "exactop.openRow([...exactop.model.rows.values()].find(row => row.comm === 'pool').key)",
    );
    page.browser.ask("exactop.openGroup('path:/shop/capped')");
    // A4 with Chromium's margins, with dark mode on.
    page.browser.look(718, 1000, true);
    let dark = json!([{ "name": "prefers-color-scheme", "value": "dark" }]);
    page.browser.call("Emulation.setEmulatedMedia", json!({ "media": "print", "features": dark }));
    page.browser.ask("dispatchEvent(new Event('beforeprint'))");
    page.browser.ask(FRAME);
    assert_eq!(page.words("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)");
    let idle = page.words("(() => { const c = exactop.balance.canvas; return c.getContext('2d').getImageData(c.width >> 1, 0, 1, 1).data.slice(0, 3).join(); })()");
    assert_eq!(idle, "233,236,240");
    let over = page.words(
        "[...document.querySelectorAll('body *')].filter(of => of.getClientRects().length && of.getBoundingClientRect().right > 719) \
         .map(of => `${of.tagName} ${of.id || of.closest('[id]').id} ${Math.round(of.getBoundingClientRect().right)}`).slice(0, 5).join(', ')",
    );
    assert_eq!(over, "", "beyond the paper's edge");
    let hidden = page.words(
        "[...document.querySelectorAll('body *')].filter(of => of.getClientRects().length && of.scrollHeight > of.clientHeight + 1 \
         && getComputedStyle(of).overflowY !== 'visible').map(of => of.id || of.className).join()",
    );
    assert_eq!(hidden, "", "scrolled away");
    assert_eq!(page.number("document.querySelectorAll('#rows tbody tr[data-key]').length"), 128.0);
    let pdf = page.browser.call("Page.printToPDF", json!({ "printBackground": true }));
    let pdf = pdf["data"].as_str().expect("a document");
    assert!(pdf.starts_with("JVBERi0"), "%PDF-");
    if let Some(dir) = std::env::var_os("EXACTOP_TEST_PICTURES") {
        use base64::Engine;
        let bytes = base64::engine::general_purpose::STANDARD.decode(pdf).expect("base64");
        std::fs::write(std::path::Path::new(&dir).join("page.pdf"), bytes).expect("a file");
    }
    page.is_quiet();
}

#[test]
fn a_mark_shows_what_is_new_since() {
    let planted = Planted { late: Some(60), ..planted() };
    let Some(mut page) = shown(&planted, &Limits::default()) else { return };
    let state = "['m', 'a', 'b', 'fresh'].map(name => { const of = exactop.address.state[name]; \
        return Array.isArray(of) ? exactop.model.slotsOf(of).join('-') : of; })";
    let said = "document.getElementById('said').textContent";
    let rows = "[...document.querySelectorAll('#rows tbody tr[data-key]')].map(tr => tr.querySelector('td').textContent).sort().join()";
    press(&mut page, 'm');
    assert!(page.words(said).contains("No window is chosen"));
    press(&mut page, '6');
    assert!(page.words(said).contains("No window is marked"));
    page.browser.ask("exactop.pick(exactop.model.timeOf([20, 21]), false)");
    let all = page.number("exactop.table.lines.length");
    press(&mut page, 'm');
    assert!(page.words(said).starts_with("Marked"));
    // Nothing has changed in the marked window itself.
    press(&mut page, '6');
    assert_eq!(page.browser.ask(state), json!(["20-21", "20-21", null, true]));
    assert_eq!(page.words(rows), "");
    for (slot, new) in [(59, ""), (60, "late,pool"), (100, "late,pool")] {
        page.browser
            .ask(&format!("exactop.pick(exactop.model.timeOf([{slot}, {}]), false)", slot + 1));
        assert_eq!(page.words(rows), new, "window {slot}");
    }
    let change = page.words("[...document.querySelectorAll('#rows tbody tr')].find(tr => tr.textContent.startsWith('late')).textContent");
    assert!(change.contains("+25.00"), "a quarter of a CPU more than nothing: {change}");
    let told = page.words("document.getElementById('rows-count').textContent");
    assert!(told.contains("2 rows") && told.contains("others are not new"), "{told}");
    // A link shows the same.
    let address = page.words("location.hash");
    let link = format!("{}{address}", page.url);
    page.browser.open(&link);
    assert_eq!(page.words(rows), "late,pool");
    // A process that begins in the marked window is not new; one that was idle before is not, either.
    page.browser.ask("exactop.address.go({ m: exactop.model.timeOf([60, 61]) })");
    assert_eq!(page.words(rows), "");
    page.browser.ask("exactop.address.go({ m: exactop.model.timeOf([20, 21]), a: exactop.model.timeOf([31, 32]) })");
    assert_eq!(page.words(rows), "");
    press(&mut page, '6');
    assert!(page.number("exactop.table.lines.length") >= all);
    press(&mut page, 'm');
    assert!(page.words(said).starts_with("Mark dropped"));
    assert_eq!(page.browser.ask(state)[0], Value::Null);
    page.is_quiet();
}

/// The script of axe-core, which `make test-web` installs; `None`: it is not here, which is reported.
fn axe() -> Option<String> {
    let Some(path) = std::env::var_os("EXACTOP_TEST_AXE") else {
        assert!(std::env::var_os("EXACTOP_TEST_WEB").is_none(), "EXACTOP_TEST_AXE: make test-web");
        eprintln!("not run: EXACTOP_TEST_AXE names no axe.min.js; 'make test-web' runs this test");
        return None;
    };
    Some(std::fs::read_to_string(path).expect("axe.min.js"))
}

/// Violations of WCAG 2.2 A and AA that axe-core finds: rule, and the first elements.
fn violations(page: &mut Shown, axe: &str) -> Vec<String> {
    page.browser.ask(&format!("(() => {{ {axe}\n; return 0; }})()"));
    let found = page.browser.ask(
        "axe.run(document, { preload: false, runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }) \
         .then(told => told.violations.map(of => `${of.id}: ${of.nodes.slice(0, 3).map(node => `${node.html.slice(0, 160)} (${node.failureSummary.slice(0, 300)})`).join(' | ')}`))",
    );
    let found = found.as_array().expect("violations").iter();
    found.map(|one| one.as_str().unwrap_or_default().to_string()).collect()
}

#[test]
fn axe_finds_no_violation_at_any_width() {
    let Some(axe) = axe() else { return };
    let pages = [drawn::document(&planted(), &Limits::default()), drawn::booked().0];
    for (number, document) in pages.iter().enumerate() {
        let Some(mut page) = super::shown_document(document) else { return };
        for (width, dark) in [(390, false), (768, true), (1440, false), (1440, true)] {
            page.browser.look(width, 900, dark);
            page.browser.ask("exactop.address.go({ row: [...exactop.model.rows.values()][0].key, group: 'path:/', pby: 'command' })");
            page.browser.ask(FRAME);
            let found = violations(&mut page, &axe);
            assert!(found.is_empty(), "page {number}, {width} px, dark {dark}: {found:#?}");
        }
        // A rule that cannot fail proves nothing.
        page.browser.ask("document.body.append(document.createElement('img'))");
        assert!(violations(&mut page, &axe).iter().any(|found| found.starts_with("image-alt")));
    }
}
