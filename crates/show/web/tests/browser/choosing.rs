//! Chosen time ranges: their sums match the ledger's, and the address holds the choice.

use super::drawn::{Planted, CPUS, SECOND, SPIKE_NS};
use super::looks::FRAME;
use super::{shown, Shown};
use exactop_web::page::Limits;

/// Screen position of the middle of a slot.
fn place(page: &mut Shown, slot: usize) -> (f64, f64) {
    let told = page.browser.ask(&format!(
        "(() => {{ scrollTo(0, 0); const box = exactop.balance.canvas.getBoundingClientRect(); \
         const [left, right] = exactop.balance.pixels(exactop.model.slots.from_us[{slot}], exactop.model.slots.to_us[{slot}]); \
         return [box.left + (left + right) / 2 / exactop.balance.scale, box.top + box.height / 2]; }})()"
    ));
    (told[0].as_f64().expect("x"), told[1].as_f64().expect("y"))
}

/// The accounts' sums in ns as the page writes them; the last one is the total.
fn sums(page: &mut Shown) -> Vec<u64> {
    let words = page.words(
        "[...document.querySelectorAll('#sums tbody tr, #sums tfoot tr')].map(tr => tr.children[3].textContent).join('|')",
    );
    let digits = |cell: &str| cell.chars().filter(char::is_ascii_digit).collect::<String>();
    words.split('|').map(|cell| digits(cell).parse().unwrap_or(0)).collect()
}

#[test]
fn a_selected_time_range_has_the_ledgers_sums() {
    let Some(mut page) = shown(&Planted::default(), &Limits::default()) else { return };
    let all = sums(&mut page);
    assert_eq!(all.last(), Some(&(CPUS * 120 * SECOND)));
    let [from, to] = [10, 29].map(|slot| place(&mut page, slot));
    page.browser.drag(from, to, false);
    let of_stretch = sums(&mut page);
    let (whole, parts) = of_stretch.split_last().expect("sums");
    assert_eq!((*whole, parts.iter().sum::<u64>()), (CPUS * 20 * SECOND, CPUS * 20 * SECOND));
    let slots = &page.json["slots"]["parts_ns"];
    for (account, &sum) in parts.iter().enumerate() {
        let of_slots: i64 =
            (10..30).map(|slot| slots[account][slot].as_i64().map_or(0, |ns| ns)).sum();
        assert_eq!(sum as i64, of_slots, "account {account}");
    }
    // All rows together are the accounts tasks and exited.
    let run = page.number(
        "[...exactop.model.rows.values()].reduce((sum, row) => sum + (row.sum(exactop.model.column('run_ns'), 10, 30) ?? 0), 0)",
    );
    assert_eq!(run as u64, parts[0] + parts[1]);
    page.is_quiet();
}

#[test]
fn two_time_ranges_are_compared_and_back_returns() {
    let Some(mut page) = shown(&Planted::default(), &Limits::default()) else { return };
    let at = [10, 19, 70, 79].map(|slot| place(&mut page, slot));
    page.browser.drag(at[0], at[1], false);
    page.browser.drag(at[2], at[3], true);
    let first = page.words("document.querySelector('#rows tbody tr[data-key] td').textContent");
    assert_eq!(first, "spiky", "what the second has more comes first");
    let difference = page.words("document.querySelector('#rows tbody tr[data-key]').textContent");
    assert!(difference.contains("+30.00"), "3 s in 10 s: {difference}");
    page.browser.picture("compared");
    let address = page.words("location.hash");
    assert!(address.contains("a=") && address.contains("b="), "{address}");
    page.browser.ask("new Promise(done => { addEventListener('hashchange', () => done(1), { once: true }); history.back(); })");
    let back = page.words("location.hash");
    assert!(back.contains("a=") && !back.contains("b="), "{back}");
    // A link restores the choice.
    let link = format!("{}{address}", page.url);
    page.browser.open(&link);
    let first = page.words("document.querySelector('#rows tbody tr[data-key] td').textContent");
    assert_eq!(first, "spiky");
    page.is_quiet();
}

#[test]
fn keys_alone_compare_two_time_ranges() {
    let Some(mut page) = shown(&Planted::default(), &Limits::default()) else { return };
    let chosen = "['a', 'b', 'v'].map(name => { const of = exactop.address.state[name]; return of && exactop.model.slotsOf(of).join('-'); })";
    let canvas = "exactop.balance.canvas.focus()";
    page.browser.ask(canvas);
    page.browser.key("Home");
    (0..9).for_each(|_| page.browser.shift_key("ArrowRight"));
    assert_eq!(page.browser.ask(chosen), serde_json::json!(["0-10", null, null]));
    page.browser.ask("document.getElementById('second').focus()");
    page.browser.press("Enter", 13, "\r");
    page.browser.ask(canvas);
    page.browser.key("End");
    (0..59).for_each(|_| page.browser.shift_key("ArrowLeft"));
    assert_eq!(page.browser.ask(chosen), serde_json::json!(["0-10", "60-120", null]));
    // The difference of the accounts' shares, which is that of the spike.
    let cells = page.words(
        "[...document.querySelectorAll('#sums tbody tr')].map(tr => tr.lastChild.textContent).join()",
    );
    let spike = 100.0 * SPIKE_NS as f64 / (CPUS * 60 * SECOND) as f64;
    assert!(cells.starts_with(&format!("+{spike:.2},0")), "{cells}");
    let first = page.words("document.querySelector('#rows tbody tr[data-key]').textContent");
    assert!(first.starts_with("spiky") && first.contains("+5.00"), "3 s in 60 s: {first}");
    assert_eq!(
        page.words("document.getElementById('grown').textContent"),
        "Grew most: spiky 11 +5.0 % of a CPU. "
    );
    // Enter zooms into the first; Escape clears both, also in a picture that shows a part.
    page.browser.key("Enter");
    assert_eq!(page.browser.ask(chosen), serde_json::json!([null, null, "0-10"]));
    page.browser.key("Escape");
    assert_eq!(page.words("String(exactop.isSecond())"), "false");
    page.is_quiet();
}

#[test]
fn marks_of_findings_lead_on_by_mouse_and_by_keyboard() {
    let Some(mut page) = shown(&Planted::default(), &Limits::default()) else { return };
    let marks = page.number("document.querySelectorAll('#balance .lane i').length");
    let told = page.number("document.querySelectorAll('#findings > li').length");
    assert!(marks >= 1.0 && marks == told, "{marks} marks, {told} in the list");
    // The mark stands over its time.
    let at = page.browser.ask(
        "(() => { scrollTo(0, 0); const i = document.querySelector('#balance .lane .waiting'), box = i.getBoundingClientRect(); \
         const canvas = exactop.balance.canvas.getBoundingClientRect(), mark = exactop.model.marks.find(of => of.id === 'waiting'); \
         const x = us => canvas.left + canvas.width * (us - exactop.balance.from_us) / (exactop.balance.to_us - exactop.balance.from_us); \
         return [box.left - x(mark.from_us), box.right - x(mark.to_us), (box.left + box.right) / 2, (box.top + box.bottom) / 2]; })()",
    );
    let [left, right, x, y] = [0, 1, 2, 3].map(|n| at[n].as_f64().expect("a number"));
    assert!(left.abs() < 2.0 && right.abs() < 4.0, "{at}");
    page.browser.drag((x, y), (x, y), false);
    assert_eq!(page.words("document.getElementById('row-title').textContent"), "starved 12");
    page.browser.ask("exactop.address.go({ row: null, a: null })");
    page.browser.ask("document.querySelector('#findings .lead').focus()");
    page.browser.press("Enter", 13, "\r");
    assert_eq!(page.words("document.getElementById('row-title').textContent"), "starved 12");
    assert_eq!(page.words("document.activeElement.id"), "row-title");
    page.is_quiet();
}

#[test]
fn keys_choose_search_and_open_rows() {
    let Some(mut page) = shown(&Planted::default(), &Limits::default()) else { return };
    page.browser.ask("exactop.balance.canvas.focus()");
    for key in ["Home", "ArrowRight", "ArrowRight"] {
        page.browser.key(key);
    }
    let told = page.words("document.querySelector('#balance .told').textContent");
    assert!(told.contains("tasks") && told.contains("exact"), "{told}");
    page.browser.ask("document.getElementById('search').value = 'starv'; document.getElementById('search').dispatchEvent(new Event('input'))");
    assert_eq!(page.number("document.querySelectorAll('#rows tbody tr[data-key]').length"), 1.0);
    page.browser.ask("document.querySelector('#rows tbody tr[data-key] button').click()");
    let states = page.words("document.getElementById('row-sums').textContent");
    assert!(states.contains("waiting for a CPU2 min 0 s100.00"), "{states}");
    assert_eq!(page.words("document.activeElement.id"), "row-title");
    page.browser.ask("document.querySelector('#row-states details').open = true");
    page.browser.ask("document.querySelector('#balance details').open = true");
    page.browser.ask("new Promise(done => requestAnimationFrame(() => setTimeout(done)))");
    // Each picture has a table for screen readers.
    let rows = page.number("document.querySelectorAll('#balance .behind tbody tr').length");
    assert_eq!(rows, 120.0);
    assert_eq!(
        page.number("document.querySelectorAll('#row-states .behind tbody tr').length"),
        120.0
    );
    page.is_quiet();
}

#[test]
fn a_link_opens_the_parts_that_were_open() {
    let Some(mut page) = shown(&Planted::default(), &Limits::default()) else { return };
    let open =
        "[...document.querySelectorAll('details[open]')].map(of => of.closest('[id]').id).join()";
    let settled = "new Promise(done => setTimeout(() => requestAnimationFrame(() => done(location.hash)), 50))";
    assert_eq!(page.words(open), "");
    // Both in one step, as a script or a fast reader does.
    page.browser.ask("['#columns', '#balance details'].forEach(of => { document.querySelector(of).open = true; })");
    page.browser.ask(settled);
    let address = page.words("location.hash");
    assert!(address.contains("open=balance%2Ccolumns"), "{address}");
    let steps = page.number("history.length");
    let link = format!("{}{address}", page.url);
    page.browser.open(&link);
    assert_eq!(page.words(open), "balance,columns");
    // A picture that is made again keeps its table open, and a step of the page closes nothing.
    page.browser.ask(
        "exactop.openRow([...exactop.model.rows.values()].find(row => row.comm === 'steady').key)",
    );
    page.browser.ask("document.querySelector('#row-states details').open = true");
    page.browser.ask(settled);
    page.browser.ask(
        "exactop.openRow([...exactop.model.rows.values()].find(row => row.comm === 'spiky').key)",
    );
    page.browser.ask(settled);
    assert_eq!(page.words(open), "balance,columns,row-states");
    page.browser.ask("document.querySelectorAll('details').forEach(of => { of.open = false; })");
    page.browser.ask(settled);
    assert_eq!(page.words(open), "");
    assert!(!page.words("location.hash").contains("open="));
    assert!(page.number("history.length") <= steps + 4.0, "folding is no step of the back key");
    page.is_quiet();
}

#[test]
fn a_phone_shows_the_balance_of_one_range_and_of_two() {
    let Some(mut page) = shown(&Planted::default(), &Limits::default()) else { return };
    page.browser.look(390, 844, false);
    let is_whole = |page: &mut Shown, heads: &str| {
        page.browser.ask(FRAME);
        let shown = page.words(
            "[...document.querySelectorAll('#sums thead th')].filter(of => of.clientWidth).map(of => of.textContent).join()",
        );
        assert_eq!(shown, heads);
        let [scroll, client] = ["scrollWidth", "clientWidth"]
            .map(|of| page.number(&format!("document.getElementById('sums').parentElement.{of}")));
        assert!(scroll <= client, "{heads}: {scroll} of {client} pixels");
    };
    is_whole(&mut page, "Account,%,To the nanosecond");
    let at = [10, 19, 70, 79].map(|slot| place(&mut page, slot));
    page.browser.drag(at[0], at[1], false);
    page.browser.drag(at[2], at[3], true);
    is_whole(&mut page, "Account,%,Second: %,Difference, points");
    page.is_quiet();
}
