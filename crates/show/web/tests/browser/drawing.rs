//! Pixels: each account is as high as its share, and together they fill the picture.

use super::drawn::{self, Planted};
use super::driver::Browser;
use super::{shown, shown_json, Shown};
use exactop_web::page::Limits;
use serde_json::{json, Value};
use std::path::Path;

/// For the column in the middle of each slot: its number of pixels in each account's colour, and of
/// other pixels.
const HEIGHTS: &str = r"(() => {
  const canvas = document.querySelector('#balance canvas'), pen = canvas.getContext('2d');
  const model = exactop.model, plot = exactop.balance;
  const rgb = name => {
    pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
    return pen.fillStyle;
  };
  const colours = model.accounts.map(account => rgb(account.id));
  const all = pen.getImageData(0, 0, canvas.width, canvas.height).data;
  return JSON.stringify(model.slots.from_us.map((from, i) => {
    const [left, right] = plot.pixels(from, model.slots.to_us[i]);
    const x = (left + right) >> 1;
    const counts = new Array(colours.length + 1).fill(0);
    for (let y = 0; y < canvas.height; y++) {
      const colour = '#' + [0, 1, 2].map(n => all[4 * (y * canvas.width + x) + n].toString(16).padStart(2, '0')).join('');
      const at = colours.indexOf(colour);
      counts[at < 0 ? colours.length : at]++;
    }
    return counts;
  }));
})()";

fn heights(page: &mut Shown) -> Vec<Vec<f64>> {
    serde_json::from_str(&page.words(HEIGHTS)).expect("numbers")
}

#[test]
fn areas_are_as_high_as_their_shares_and_fill_the_picture() {
    let planted = Planted { gap: Some(50), ..Planted::default() };
    let Some(mut page) = shown(&planted, &Limits::default()) else { return };
    let height = page.number("exactop.balance.canvas.height");
    let slots = page.json["slots"].clone();
    let share = |account: usize, slot: usize| {
        let ns = |of: &Value| of[slot].as_f64().map_or(0.0, |ns| ns);
        ns(&slots["parts_ns"][account]) / ns(&slots["capacity_ns"])
    };
    for (slot, counts) in heights(&mut page).into_iter().enumerate() {
        let (other, accounts) = counts.split_last().expect("counts");
        assert_eq!((*other, accounts.iter().sum::<f64>()), (0.0, height), "slot {slot}");
        for (account, &pixels) in accounts.iter().enumerate() {
            let expected = share(account, slot) * height;
            assert!(
                (pixels - expected).abs() <= 1.0,
                "slot {slot}, {account}: {pixels} of {expected}"
            );
        }
    }
    page.browser.picture("areas");
    page.is_quiet();
}

#[test]
fn interrupts_that_were_not_measured_are_named_and_are_not_zero() {
    let limits = Limits::default();
    let every = "interrupts: not measured";
    for (from, in_legend) in [
        (None, "interrupts"),
        (Some(0), every),
        (Some(61), "interrupts: not measured in 60 of 120 windows"),
    ] {
        let planted = Planted { no_irq: from, ..Planted::default() };
        let Some(mut page) = shown(&planted, &limits) else { return };
        assert_eq!(page.number("exactop.model.n"), 120.0);
        let legend = "JSON.stringify([...document.querySelectorAll('#legend li')].map(li => li.textContent))";
        let legend: Vec<String> = serde_json::from_str(&page.words(legend)).expect("texts");
        assert!(legend.iter().any(|text| text == in_legend), "{from:?}: {legend:?}");
        assert!(legend.iter().any(|text| text == "steal"), "{legend:?}");
        for slot in [10, 100] {
            let sentence = page.words(&format!("exactop.balance.of.told({slot})"));
            let is_missing = from.is_some_and(|from| slot >= from);
            assert_eq!(sentence.contains(every), is_missing, "{slot}: {sentence}");
        }
        page.is_quiet();
    }
}

/// A column of the picture may stand for windows of both kinds.
#[test]
fn sums_of_windows_that_measured_interrupts_in_part_are_marked() {
    let planted = Planted { no_irq: Some(64), ..Planted::default() };
    let limits = Limits { slots: 20, ..Limits::default() };
    let Some(mut page) = shown(&planted, &limits) else { return };
    let slots = &page.json["slots"];
    let count = |name: &str, slot: usize| slots[name][slot].as_u64().expect("a number");
    let n = slots["windows"].as_array().expect("slots").len();
    let is_part = |&slot: &usize| (1..count("windows", slot)).contains(&count("irq_windows", slot));
    let [slot]: [usize; 1] =
        (0..n).filter(is_part).collect::<Vec<_>>().try_into().expect("one slot has both kinds");
    assert!((0..n).all(|slot| count("steal_windows", slot) == count("windows", slot)));
    let measured: u64 = (0..n).map(|slot| count("irq_windows", slot)).sum();
    assert_eq!(measured, 63, "windows before the 64th");
    let (some, all) = (count("windows", slot) - count("irq_windows", slot), count("windows", slot));
    let words = format!("interrupts: not measured in {some} of {all} windows");
    let sentence = page.words(&format!("exactop.balance.of.told({slot})"));
    assert!(sentence.contains(&words) && !sentence.contains("steal: not"), "{sentence}");
    // The cells of an account in the sums.
    let mut cells = |account: &str| {
        page.words(&format!(
            "[...document.querySelectorAll('#sums tr')].map(tr => tr.innerText).find(text => text.startsWith('{account}'))"
        ))
    };
    let (irq, steal) = (cells("interrupts"), cells("steal"));
    assert!(irq.contains("not measured in 57 of 120 windows") && irq.contains('≥'), "{irq}");
    assert!(!steal.contains("not measured") && !steal.contains('≥'), "{steal}");
    // In the table behind the picture only that column is in part.
    let marked = "(() => { const [heads, rows] = exactop.balance.of.table([0, exactop.model.n]), at = heads.findIndex(head => head.id === 'irq_ns'); \
        return JSON.stringify(rows.map((row, i) => heads[at].show(row[at], row).startsWith('≥') ? i : -1).filter(i => i >= 0)); })()";
    assert_eq!(page.words(marked), format!("[{slot}]"));
    page.is_quiet();
}

#[test]
fn a_spike_of_one_window_is_as_high_as_it_was() {
    let limits = Limits { slots: 20, ..Limits::default() };
    let Some(mut page) = shown(&Planted::default(), &limits) else { return };
    let height = page.number("exactop.balance.canvas.height");
    // At any place in its slot, not only in the middle.
    let highest = page.number(
        "(() => { const c = exactop.balance.canvas, p = c.getContext('2d'); \
         const d = p.getImageData(0, 0, c.width, c.height).data; \
         p.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--tasks').trim(); \
         const t = [1, 3, 5].map(n => parseInt(p.fillStyle.slice(n, n + 2), 16)); let most = 0; \
         for (let x = 0; x < c.width; x++) { let n = 0; for (let y = 0; y < c.height; y++) { \
         const i = 4 * (y * c.width + x); if (d[i] === t[0] && d[i + 1] === t[1] && d[i + 2] === t[2]) n++; } \
         most = Math.max(most, n); } return most; })()",
    );
    // 3.52 of 4 CPUs, without the line of the mean; the mean of its slot is 1.02.
    assert!(highest > 0.85 * height && highest < 0.9 * height, "{highest} of {height}");
    page.browser.picture("spike");
    page.is_quiet();
}

/// In a slot, the colour of each CPU near the top and near the bottom of its strip.
fn strips(page: &mut Shown, slot: usize) -> Vec<[[f64; 3]; 2]> {
    let colours = page.browser.ask(&format!(
        "(() => {{ const plot = exactop.cpus, c = plot.canvas, n = exactop.model.cpus.size; \
         const [left, right] = plot.pixels(exactop.model.slots.from_us[{slot}], exactop.model.slots.to_us[{slot}]); \
         const at = y => [...c.getContext('2d').getImageData((left + right) >> 1, Math.floor(y * c.height / n), 1, 1).data.slice(0, 3)]; \
         return [...Array(n).keys()].map(i => [at(i + 0.25), at(i + 0.75)]); }})()"
    ));
    serde_json::from_value(colours).expect("colours")
}

/// The page's light colours from an idle to a fully used CPU.
pub(super) fn shade(share: f64) -> [f64; 3] {
    let [cold, warm, hot] = [[233.0, 236.0, 240.0], [240.0, 180.0, 60.0], [190.0, 40.0, 30.0]];
    let (one, other, part) =
        if share < 0.5 { (cold, warm, 2.0 * share) } else { (warm, hot, 2.0 * share - 1.0) };
    [0, 1, 2].map(|n: usize| one[n] + (other[n] - one[n]) * part)
}

#[test]
fn each_cpu_has_a_strip_on_which_a_spike_stays_what_it_was() {
    let busy = 0.62 / 4.0;
    // One window per column; then six windows per column, whose upper half is the busiest of them.
    for (slots, slot, most, mean) in [
        (Limits::default().slots, 50, busy, busy),
        (Limits::default().slots, 77, busy + 0.75, busy + 0.75),
        (20, 8, busy, busy),
        (20, 12, busy + 0.75, busy + 0.75 / 6.0),
    ] {
        let limits = Limits { slots, ..Limits::default() };
        let Some(mut page) = shown(&Planted::default(), &limits) else { return };
        let strips = strips(&mut page, slot);
        assert_eq!(strips.len(), 4);
        for strip in strips {
            for (colour, expected) in strip.iter().zip([most, mean].map(shade)) {
                let is_near =
                    colour.iter().zip(expected).all(|(of, wanted)| (of - wanted).abs() < 8.0);
                assert!(is_near, "{slots} slots, {slot}: {colour:?} instead of {expected:?}");
            }
        }
        page.is_quiet();
    }
}

/// Rows that are made, put in and taken out in each of 120 steps: by half of the screen, then across
/// the table; and rows that pass in the first ones.
const STEPS: &str = "new Promise(done => { const table = exactop.table, place = document.getElementById('rows'); \
    const height = place.querySelector('tr[data-key]').getBoundingClientRect().height; const sight = Math.ceil(place.clientHeight / height); \
    const line = table.line; let made = 0; table.line = of => { made++; return line.call(table, of); }; \
    place.scrollTop = 0; exactop.address.go({ q: 'more' }); exactop.address.go({ q: '' }); \
    const watch = new MutationObserver(() => {}); watch.observe(place, { childList: true, subtree: true }); \
    const rows = nodes => [...nodes].filter(of => of.nodeName === 'TR').length; \
    const steps = []; let n = 0; \
    const step = () => { const seen = watch.takeRecords(); \
      const sum = what => seen.reduce((sum, of) => sum + rows(of[what]), 0); \
      if (n > 0) steps.push([made, sum('addedNodes'), sum('removedNodes')]); made = 0; \
      if (n++ < 120) { place.scrollTop = n <= 80 ? n * place.clientHeight / 2 : (place.scrollHeight - place.clientHeight) * (n - 80) / 40; \
        requestAnimationFrame(() => requestAnimationFrame(step)); } \
      else { table.line = line; watch.disconnect(); done({ steps, sight, all: table.lines.length, passed: 40 * sight + 40 * (sight + 10) }); } }; \
    requestAnimationFrame(step); })";

/// CPU time of the page's main thread, s: scripts, styles, layout and paint.
fn main_thread_s(page: &mut Shown) -> f64 {
    let told = page.browser.call("Performance.getMetrics", json!({}));
    let metrics = told["metrics"].as_array().expect("metrics");
    let task = metrics.iter().find(|of| of["name"] == "TaskDuration").expect("the sum of tasks");
    task["value"].as_f64().expect("s")
}

#[test]
fn thirty_thousand_rows_are_a_hundred_in_the_page() {
    let mut page =
        drawn::json(&Planted { windows: 3, crowd: 100, ..Planted::default() }, &Limits::default());
    let rows = page["rows"].as_array_mut().expect("rows");
    let like: Vec<Value> = rows.iter().filter(|row| row["comm"] != "~other").cloned().collect();
    let more = like.iter().cycle().take(30_000 - rows.len()).enumerate().map(|(n, row)| {
        let (key, comm) =
            (format!("more{n}"), format!("{}-{n}", row["comm"].as_str().expect("text")));
        let mut row = row.clone();
        (row["key"], row["comm"]) = (key.into(), comm.into());
        row
    });
    rows.extend(more);
    let Some(mut page) = shown_json(&page.to_string()) else { return };
    assert_eq!(page.number("exactop.table.lines.length"), 30_000.0);
    // At each place all rows in sight are drawn, and only some around them are in the document.
    let scroll = "new Promise(done => { const place = document.getElementById('rows'); \
        let n = 0, most = 0, last = 0; const gaps = []; const begun = performance.now(); \
        const step = () => { const all = [...place.querySelectorAll('tbody tr[data-key]')], box = place.getBoundingClientRect(); \
          most = Math.max(most, place.querySelectorAll('tr').length); \
          last = all.at(-1).getAttribute('aria-rowindex'); \
          const [first, end] = [all[0].getBoundingClientRect().top - box.top, all.at(-1).getBoundingClientRect().bottom - box.bottom]; \
          if (first > 40 || end < -60) gaps.push([n, first, end]); \
          if (n++ < 50) { place.scrollTop = (place.scrollHeight - place.clientHeight) * n / 50; requestAnimationFrame(() => requestAnimationFrame(step)); } \
          else done([gaps, most, last, 2 * n, performance.now() - begun]); }; \
        requestAnimationFrame(step); })";
    let told = page.browser.ask(scroll);
    assert_eq!((&told[0], &told[2]), (&json!([]), &json!("30001")), "{told}");
    assert!(told[1].as_f64().expect("rows") < 100.0, "{told}");
    let [frames, ms] = [3, 4].map(|n| told[n].as_f64().expect("a number"));
    println!("{:.1} frames a second over {frames} frames", 1e3 * frames / ms);
    // A wheel or a finger: some rows in each frame. CPU time does not contain that of other programs.
    page.browser.call("Performance.enable", json!({ "timeDomain": "threadTicks" }));
    let before = main_thread_s(&mut page);
    let slowly = page.browser.ask(
        "new Promise(done => { const place = document.getElementById('rows'); let n = 0, begun; place.scrollTop = 0; \
         const step = () => { if (n === 0) begun = performance.now(); \
           if (n++ < 100) { place.scrollTop += 60; requestAnimationFrame(step); } \
           else done([100, performance.now() - begun, place.querySelector('tbody tr[data-key]').getAttribute('aria-rowindex')]); }; \
         requestAnimationFrame(step); })",
    );
    let [frames, ms] = [0, 1].map(|n| slowly[n].as_f64().expect("a number"));
    let cpu_ms = 1e3 * (main_thread_s(&mut page) - before) / frames;
    println!(
        "{:.1} frames a second with rows in each frame, {cpu_ms:.1} ms of CPU time",
        1e3 * frames / ms
    );
    assert!(
        slowly[2].as_str().is_some_and(|row| row.parse::<u32>().is_ok_and(|row| row > 200)),
        "it followed: {slowly}"
    );
    let told = page.browser.ask(STEPS);
    let steps: Vec<[f64; 3]> = serde_json::from_value(told["steps"].clone()).expect("steps");
    let sight = told["sight"].as_f64().expect("rows in sight");
    // Rows in sight, a margin on both sides, and the two spaces.
    let most = sight + 2.0 * 4.0 + 2.0;
    assert!(steps.len() > 100 && sight > 5.0 && told["all"] == 30_000, "{told}");
    for [made, added, removed] in &steps {
        assert!(made.max(*added).max(*removed) <= most, "{most} at most: {told}");
    }
    // A step of less than the screen makes only what comes into sight.
    let all_made: f64 = steps.iter().map(|[made, ..]| made).sum();
    assert!(all_made <= told["passed"].as_f64().expect("rows") + 3.0 * most, "{told}");
    // The length of a frame depends on other users of the CPU; its work, at the best of three
    // times, does not.
    let work = page.browser.ask(
        "(() => { const place = document.getElementById('rows'); const best = []; \
         for (let turn = 0; turn < 3; turn++) for (let n = 0; n < 40; n++) { \
           place.scrollTop = place.scrollHeight * ((n + 0.1 * turn) / 40); const begun = performance.now(); \
           exactop.table.draw(); place.offsetHeight; \
           best[n] = Math.min(best[n] ?? Infinity, performance.now() - begun); } \
         best.sort((a, b) => a - b); \
         const time = what => { const begun = performance.now(); what(); return performance.now() - begun; }; \
         return [best[20], best.at(-1), ...['lat_ns', 'name'].map(sort => time(() => exactop.address.go({ sort }))), \
           time(() => exactop.address.go({ q: 'crowd29-' })), time(() => exactop.address.go({ q: '', by: 'command' }))]; })()",
    );
    println!(
        "ms: half of the frames, all, sort by figure and by name, search, sum by command: {work}"
    );
    page.is_quiet();
}

/// Time until the whole page was drawn, and the size of its data.
const DRAWN: &str = "(() => { const at = performance.getEntriesByType('navigation')[0].loadEventEnd; \
    const model = exactop.model; return [Math.round(at), document.getElementById('data').textContent.length, \
    model.n, model.about.windows, model.rows.size, model.groups.size, model.threads.size].join(', '); })()";

#[test]
#[ignore = "a measurement: cargo test --release -p exactop-web --test browser -- --ignored --nocapture"]
fn an_hour_and_a_week_are_drawn_at_once() {
    let told =
        "ms until it is drawn, bytes of data, columns of time, windows, rows, groups, threads";
    for (name, windows) in [("an hour of seconds", 3600), ("a week of ten seconds", 60_480)] {
        let planted =
            Planted { windows, crowd: 150, quota: Some(1), threads: true, ..Planted::default() };
        let Some(mut page) = shown(&planted, &Limits::default()) else { return };
        println!("{name}: {} ({told})", page.words(DRAWN));
        page.is_quiet();
    }
    // A recorded page that 'exactop replay --html' made.
    let Some(path) = std::env::var_os("EXACTOP_TEST_PAGE") else { return };
    let Some(mut browser) = Browser::start() else { return };
    browser.look(1200, 900, false);
    for _ in 0..5 {
        browser.open_file(Path::new(&path));
        println!("{}: {} ({told})", path.display(), browser.ask(DRAWN));
    }
}
