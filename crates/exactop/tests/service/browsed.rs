//! The live page in a real browser, beside a storm of forks; without Chromium that is said, and left out.

#[allow(dead_code)] // These tests use a part of it.
#[path = "../../../page/tests/browser/driver.rs"]
mod driver;

use crate::helpers::processes::Load;
use crate::helpers::run::alone;
use crate::page::Page;
use driver::Browser;

/// Waits for so many windows, and looks at what is drawn: pixels in the middle of a window that have no account's
/// colour; what the accounts sum to; what the rows do; how many exited below whom.
const LOOKED_AT: &str = r"new Promise(done => {
  const look = () => {
    if (!(window.exactop?.model.n >= 12)) return setTimeout(look, 50);
    exactop.show();
    const { model, balance: plot } = exactop, canvas = plot.canvas, pen = canvas.getContext('2d');
    const style = getComputedStyle(document.documentElement);
    const colours = new Set(model.accounts.map(account => {
      pen.fillStyle = style.getPropertyValue('--' + account.id).trim();
      return pen.fillStyle;
    }));
    const pixels = pen.getImageData(0, 0, canvas.width, canvas.height).data;
    const hex = n => pixels[n].toString(16).padStart(2, '0');
    let strange = 0;
    model.slots.from_us.forEach((from, i) => {
      const [left, right] = plot.pixels(from, model.slots.to_us[i]), x = (left + right) >> 1;
      for (let y = 0; y < canvas.height; y++) {
        const at = 4 * (y * canvas.width + x);
        if (!colours.has('#' + hex(at) + hex(at + 1) + hex(at + 2))) strange++;
      }
    });
    const all = [0, model.n], sums = model.sums(all);
    // Window by window: where a row has no figure in one, it has no sum of all.
    const each = [...Array(model.n).keys()], rows = [...model.rows.values()], of = (list, name) =>
      list.reduce((sum, row) => each.reduce((sum, i) => sum + (row.sum(model.column(name), i, i + 1) ?? 0), sum), 0);
    done({
      strange,
      residual: String(sums.capacity - sums.parts.reduce((sum, ns) => sum + ns, 0n)),
      rows: of(rows, 'run_ns') - Number(sums.parts[0] + sums.parts[1]),
      exited: of(rows.filter(row => row.kind === 'exited'), 'exited'),
      text: document.getElementById('rows').textContent,
    });
  };
  look();
})";

#[test]
fn a_page_beside_a_storm_of_forks_fills_its_picture_and_asks_nobody() {
    let Some(_alone) = alone() else { return };
    let Some(mut browser) = Browser::start() else { return };
    let _storm = Load::shell("while :; do /bin/true; done");
    let page = Page::serve(&["--source", "ledger"]);
    browser.look(1200, 900, false);
    browser.open(&page.url());
    let told = browser.ask(LOOKED_AT);
    assert_eq!((&told["strange"], &told["residual"]), (&0.into(), &"0".into()), "{told}");
    assert_eq!(told["rows"], 0, "rows are all of the tasks' time: {told}");
    assert!(told["exited"].as_f64().is_some_and(|exited| exited >= 20.0), "{told}");
    assert!(told["text"].as_str().is_some_and(|text| text.contains("× true")), "{told}");
    browser.picture("storm");
    let complaints = browser.complaints(&format!("http://{}/", page.address));
    assert!(complaints.is_empty(), "{complaints:#?}");
}
