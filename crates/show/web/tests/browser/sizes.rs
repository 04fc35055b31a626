//! Heat maps of waits by size: each cell has the count of its window and bucket.

use super::drawing::shade;
use super::drawn::{waits, Planted, CAPPED, HOSTILE, SECOND, WAITING};
use super::driver::Browser;
use super::files::{rows, saved, text};
use super::live::{Machine, UNTIL};
use super::{shown, Shown};
use exactop_model::blame::sizes::{end_ns, BUCKETS};
use exactop_web::page::Limits;
use serde_json::{json, Value};

const WINDOWS: u64 = 40;
/// Windows before this one have no histograms.
const SIZED: u64 = 10;
/// The waits of the group that the tests open.
const SEED: u64 = WAITING[1].0;
const OPEN: &str = "exactop.openGroup('path:/shop/capped')";

fn planted() -> Planted {
    let sized = Some(SIZED);
    Planted { windows: WINDOWS, spike: 5, quota: Some(1), sized, ..Planted::default() }
}

fn open(planted: &Planted) -> Option<Shown> {
    let mut page = shown(planted, &Limits::default())?;
    page.browser.ask(OPEN);
    Some(page)
}

/// The figures at the end of a cell's sentence: waits of it, of its window, woken, preempted.
/// `None`: there was no histogram.
fn figures(sentence: &str) -> Option<Vec<u64>> {
    if sentence.ends_with("no histogram was kept") {
        return None;
    }
    let (_, told) = sentence.rsplit_once(": ").expect("figures");
    let digits = |part: &str| part.chars().filter(char::is_ascii_digit).collect::<String>();
    let told = told.replace(" of ", ",");
    Some(told.split(',').map(|part| digits(part).parse().expect("a number")).collect())
}

/// The cells, slot and bucket, whose figures are not those of the planted waits.
fn wrong(browser: &mut Browser, first_window: u64) -> Vec<[usize; 2]> {
    let told = browser.ask(
        "(() => { const { plot } = exactop.groups.sizes; const of = exactop.model.slots.from_us.map((_, slot) => \
         exactop.model.sizeEnds.map((_, line) => { plot.point(slot, line); return plot.toldLine.textContent; })); \
         plot.point(null); return of; })()",
    );
    let told: Vec<Vec<String>> = serde_json::from_value(told).expect("sentences");
    let mut wrong = Vec::new();
    for (slot, lines) in told.iter().enumerate() {
        assert_eq!(lines.len(), BUCKETS);
        let window = first_window + slot as u64;
        for (bucket, [woken, preempted]) in waits(SEED, window).into_iter().enumerate() {
            let of = figures(&lines[bucket]);
            let is_right = match of.as_deref() {
                None => window < SIZED,
                Some([all, _, of_woken, of_preempted]) => {
                    (*all, *of_woken, *of_preempted) == (woken + preempted, woken, preempted)
                        && window >= SIZED
                }
                Some(_) => panic!("{}", lines[bucket]),
            };
            if !is_right {
                wrong.push([slot, bucket]);
            }
        }
    }
    wrong
}

/// Adds one to a count of the page's data: the waits of the group, in a slot and a bucket.
fn plant_a_wrong_cell(page: &mut Shown, [slot, bucket]: [usize; 2]) {
    let planted = page.browser.ask(&format!(
        "(() => {{ const of = [...exactop.model.sizes.values()].find(of => of.by === 'cgroup' && of.owner === '{CAPPED}'); \
         const i = of.at.findIndex(at => at >= {0} && at < {0} + 2); of.figures[0][i]++; exactop.show(); return of.at[i]; }})()",
        2 * (BUCKETS * slot + bucket)
    ));
    assert_eq!(planted.as_u64().map(|at| at as usize / 2), Some(BUCKETS * slot + bucket));
}

#[test]
fn each_cell_tells_the_count_of_its_window_and_bucket() {
    let Some(mut page) = open(&planted()) else { return };
    assert_eq!(wrong(&mut page.browser, 0), [[0; 2]; 0]);
    let words = page.words("document.getElementById('group-sizes-told').textContent");
    assert!(words.contains("Histograms cover 75 % of that time."), "{words}");
    page.browser.picture("sizes");
    // Groups below are part of a group.
    page.browser.ask("exactop.openGroup('path:/shop')");
    assert_eq!(wrong(&mut page.browser, 0), [[0; 2]; 0]);
    let of = |window| waits(SEED, window).map(|kinds| kinds[0] + kinds[1]);
    let cell = (SIZED..WINDOWS)
        .find_map(|window| Some([window as usize, of(window).iter().position(|&n| n > 1)?]));
    plant_a_wrong_cell(&mut page, cell.expect("a cell with waits"));
    assert_eq!(wrong(&mut page.browser, 0), [cell.expect("a cell")], "a planted error is seen");
    page.is_quiet();
}

/// The colour in the middle of each cell.
fn colours(page: &mut Shown) -> Vec<Vec<[f64; 3]>> {
    let told = page.browser.ask(
        "(() => { const { plot } = exactop.groups.sizes, c = plot.canvas, { from_us, to_us } = exactop.model.slots; \
         const all = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; \
         return from_us.map((from, slot) => { const [left, right] = plot.pixels(from, to_us[slot]), x = (left + right) >> 1; \
         return exactop.model.sizeEnds.map((_, line, { length }) => { const y = Math.floor(c.height * (1 - (line + 0.5) / length)); \
         return [...all.slice(4 * (y * c.width + x), 4 * (y * c.width + x) + 3)]; }); }); })()",
    );
    serde_json::from_value(told).expect("colours")
}

#[test]
fn the_colour_of_a_cell_is_that_of_its_count() {
    let Some(mut page) = open(&planted()) else { return };
    let count = |window, bucket: usize| waits(SEED, window)[bucket].iter().sum::<u64>();
    let most = (SIZED..WINDOWS).flat_map(|window| (0..BUCKETS).map(move |b| count(window, b)));
    let most = most.max().expect("a count") as f64;
    for (slot, lines) in colours(&mut page).into_iter().enumerate() {
        for (bucket, colour) in lines.into_iter().enumerate() {
            let n = count(slot as u64, bucket) as f64;
            let expected = if (slot as u64) < SIZED {
                [255.0; 3]
            } else if n == 0.0 {
                shade(0.0)
            } else {
                shade(0.25 + 0.75 * n.ln() / most.ln())
            };
            let is_near = colour.iter().zip(expected).all(|(of, wanted)| (of - wanted).abs() < 4.0);
            assert!(is_near, "{slot} {bucket}: {n} is {colour:?} instead of {expected:?}");
        }
    }
    let legend = page.words(
        "[...document.querySelectorAll('#group-sizes-legend li')].map(li => li.textContent.replace(/\\D+$/, '')).join()",
    );
    let digits: Vec<String> =
        legend.split(',').map(|n| n.replace(|c: char| !c.is_ascii_digit(), "")).collect();
    assert_eq!(
        digits,
        ["".into(), "1".into(), format!("{:.0}", most.sqrt()), format!("{most}"), "".into()]
    );
    page.is_quiet();
}

#[test]
fn keys_lead_from_cell_to_cell() {
    let Some(mut page) = open(&planted()) else { return };
    let told = |page: &mut Shown| page.words("exactop.groups.sizes.plot.toldLine.textContent");
    page.browser.ask("exactop.groups.sizes.plot.canvas.focus()");
    page.browser.key("End");
    let all: u64 = waits(SEED, WINDOWS - 1).as_flattened().iter().sum();
    let words = told(&mut page).replace(' ', "");
    assert!(words.contains(&format!(":{all}waitsended")), "{words}");
    for (key, size) in [
        ("ArrowUp", "below 256 ns:"),
        ("ArrowDown", "below 256 ns:"),
        ("ArrowUp", "256 ns to 512 ns:"),
        ("ArrowLeft", "256 ns to 512 ns:"),
    ] {
        page.browser.key(key);
        assert!(told(&mut page).contains(size), "{key}: {}", told(&mut page));
    }
    assert_eq!(page.number("exactop.groups.sizes.plot.cursor"), (WINDOWS - 2) as f64);
    for _ in 0..BUCKETS {
        page.browser.key("ArrowUp");
    }
    assert!(told(&mut page).contains("4.29 s or longer:"), "{}", told(&mut page));
    // The other pictures have no lines, and the pointer finds a cell.
    let places = page.browser.ask(
        "(() => { const { x, y, width, height } = (exactop.groups.sizes.plot.canvas.scrollIntoView(), \
         exactop.groups.sizes.plot.canvas.getBoundingClientRect()); return [x + width - 2, y + height - 2, y + 2]; })()",
    );
    let [x, bottom, top] = [0, 1, 2].map(|n| places[n].as_f64().expect("a place"));
    for (y, size) in [(bottom, "below 256 ns:"), (top, "4.29 s or longer:")] {
        let event = json!({ "type": "mouseMoved", "x": x, "y": y });
        page.browser.call("Input.dispatchMouseEvent", event);
        assert!(told(&mut page).contains(size), "{size} {}", told(&mut page));
    }
    page.is_quiet();
}

/// The rows of a file that are not those of the planted waits.
fn wrong_rows(rows: &[Value]) -> Vec<Value> {
    let mut wrong = rows.to_vec();
    let mut missing = Vec::new();
    for window in SIZED..WINDOWS {
        for (bucket, [woken, preempted]) in waits(SEED, window).into_iter().enumerate() {
            if woken + preempted == 0 {
                continue;
            }
            let begins_us = begins_us_of(window);
            let row = json!({ "begins_us": begins_us, "length_ns": SECOND, "below_ns": end_ns(bucket),
                "woken": woken, "preempted": preempted, "count": woken + preempted });
            match wrong.iter().position(|of| *of == row) {
                Some(at) => drop(wrong.swap_remove(at)),
                None => missing.push(row),
            }
        }
    }
    wrong.extend(missing);
    wrong
}

fn begins_us_of(window: u64) -> u64 {
    (super::drawn::OFFSET as u64 + (100 + window) * SECOND) / 1000
}

#[test]
fn files_have_the_count_of_each_cell() {
    let Some(mut page) = open(&planted()) else { return };
    let dir = tempfile::tempdir().expect("a directory");
    // The same helper holds the CSV file to these rows.
    let all = rows(&mut page, dir.path(), "#group-sizes details");
    assert!(all.len() > 300, "{}", all.len());
    assert_eq!(wrong_rows(&all), Vec::<Value>::new());
    let svg = text(&mut page, dir.path(), "#group-sizes details", "SVG");
    for words in ["Waits of /shop/capped for a CPU, by size", "256 ns", "4.29 s", "no wait"] {
        assert!(svg.contains(words), "{words}");
    }
    assert_eq!(&saved(&mut page, dir.path(), "#group-sizes details", "PNG")[1..4], b"PNG");
    let window = all[0]["begins_us"].as_u64().expect("a time") - begins_us_of(0);
    let bucket = all[0]["below_ns"].as_u64().expect("an end").trailing_zeros() - 8;
    plant_a_wrong_cell(&mut page, [window as usize / 1_000_000, bucket as usize]);
    let planted = wrong_rows(&rows(&mut page, dir.path(), "#group-sizes details"));
    assert_eq!(planted.len(), 2, "a wrong row, and the right one is missing: {planted:?}");
    page.is_quiet();
}

#[test]
fn a_process_has_the_waits_of_its_name() {
    let Some(mut page) = open(&planted()) else { return };
    page.browser.ask(&format!(
        "exactop.openRow([...exactop.model.rows.values()].find(row => row.comm === '{HOSTILE}').key)"
    ));
    let sum = "(place => Array.from(exactop[place].sizes.open.counts.values()).flat().reduce((sum, n) => sum + n, 0))";
    let planted = (SIZED..WINDOWS).flat_map(|window| waits(SEED, window)).flatten().sum::<u64>();
    for place in ["row", "groups"] {
        assert_eq!(page.number(&format!("{sum}('{place}')")), planted as f64, "{place}");
    }
    // A name without waits has no picture.
    page.browser.ask(
        "exactop.openRow([...exactop.model.rows.values()].find(row => row.comm === 'starved').key)",
    );
    let words = page.words("document.getElementById('row-sizes-told').textContent");
    assert!(words.contains("None of its waits ended"), "{words}");
    assert_eq!(page.number("document.querySelectorAll('#row-sizes canvas').length"), 0.0);
    page.is_quiet();
}

#[test]
fn without_histograms_the_page_says_how_to_keep_them() {
    let Some(mut page) = open(&Planted { sized: None, ..planted() }) else { return };
    let words = page.words("document.getElementById('group-sizes-told').textContent");
    assert!(words.contains("'exactop record --blame histograms' keeps them"), "{words}");
    assert_eq!(page.number("document.querySelectorAll('#group-sizes canvas').length"), 0.0);
    page.is_quiet();
}

#[test]
fn a_live_page_keeps_the_waits_of_its_windows() {
    let Some(mut browser) = Browser::start() else { return };
    let mut machine = Machine::serve(planted());
    machine.measure(15);
    machine.open(&mut browser);
    assert_eq!(browser.ask(&UNTIL.replace("WANTED", "15")), 15);
    machine.measure(10);
    assert_eq!(browser.ask(&UNTIL.replace("WANTED", "25")), 25);
    browser.ask(OPEN);
    assert_eq!(wrong(&mut browser, 0), [[0; 2]; 0]);
    // The first windows are dropped, and the cells keep their windows.
    browser.ask("(exactop.most = 20, 0)");
    machine.measure(1);
    assert_eq!(browser.ask(&UNTIL.replace("WANTED", "20")), 20);
    browser.ask("exactop.show()");
    assert_eq!(wrong(&mut browser, 6), [[0; 2]; 0]);
    assert_eq!(browser.complaints(&machine.own), [""; 0]);
}
