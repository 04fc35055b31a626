//! What was not measured is a dash, and no difference is made with it. A measured zero is a figure.

use super::drawn::{json, Planted};
use super::{shown_json, Shown};
use exactop_web::page::Limits;
use serde_json::Value;

/// Cells of a table's row, by the row's heading.
fn cells(page: &mut Shown, table: &str, heading: &str) -> Vec<String> {
    let told = page.browser.ask(&format!(
        "(() => {{ const tr = [...document.querySelectorAll('#{table} tr')].find(tr => tr.children[0].textContent.startsWith('{heading}')); \
         return tr ? [...tr.children].slice(1).map(td => td.textContent) : null; }})()"
    ));
    serde_json::from_value(told).unwrap_or_else(|_| panic!("no {heading} in {table}"))
}

/// Index of the entry with this name.
fn place(list: &Value, key: &str, name: &str) -> usize {
    let list = list.as_array().expect("a list");
    list.iter().position(|one| one[key] == name).unwrap_or_else(|| panic!("no {name}"))
}

const TWO_RANGES: &str =
    "exactop.address.go({ a: exactop.model.timeOf([10, 20]), b: exactop.model.timeOf([70, 80]) })";

#[test]
fn states_that_were_not_measured_are_dashes_and_zero_is_a_figure() {
    let mut told = json(&Planted::default(), &Limits::default());
    let [steal, lock, user] =
        ["steal_ns", "lock_ns", "user_ns"].map(|name| place(&told["columns"], "name", name));
    let row = place(&told["rows"], "comm", "spiky");
    let figures = &mut told["rows"][row]["figures"];
    figures[steal] = Value::Null;
    figures[lock] = 0.into();
    figures[user] = Value::Null;
    let Some(mut page) = shown_json(&told.to_string()) else { return };
    page.browser.ask(
        "exactop.openRow([...exactop.model.rows.values()].find(row => row.comm === 'spiky').key)",
    );
    let dash = |n: usize| vec!["–".to_string(); n];
    assert_eq!(cells(&mut page, "row-sums", "stolen"), dash(3));
    assert_eq!(cells(&mut page, "row-sums", "on a lock"), ["0 ns", "0.00", "0.00"]);
    assert_eq!(cells(&mut page, "row-sums", "user mode"), dash(3));
    assert!(cells(&mut page, "row-sums", "on a CPU").iter().all(|cell| cell != "–"));
    page.browser.ask(TWO_RANGES);
    assert_eq!(cells(&mut page, "row-sums", "stolen"), dash(5));
    page.is_quiet();
}

#[test]
fn no_difference_is_made_with_an_account_that_was_not_measured() {
    let mut told = json(&Planted::default(), &Limits::default());
    let irq = place(&told["accounts"], "id", "irq");
    let slots = told["slots"]["parts_ns"][irq].as_array_mut().expect("slots");
    slots[..60].fill(Value::Null);
    slots[60..].fill(5_000_000.into());
    told["slots"]["irq_windows"].as_array_mut().expect("slots")[..60].fill(0.into());
    let Some(mut page) = shown_json(&told.to_string()) else { return };
    page.browser.ask(TWO_RANGES);
    let of_irq = cells(&mut page, "sums", "interrupts");
    assert_eq!((&*of_irq[0], &*of_irq[1], &*of_irq[5]), ("–", "–", "–"), "{of_irq:?}");
    assert_eq!(of_irq[3], "50.0 ms", "{of_irq:?}");
    assert_eq!(cells(&mut page, "sums", "outside"), vec!["–"; 6]);
    assert_ne!(cells(&mut page, "sums", "idle")[5], "–");
    page.is_quiet();
}

#[test]
fn a_cpu_that_was_not_there_has_no_load() {
    let mut told = json(&Planted::default(), &Limits::default());
    for name in ["busy_ns", "most_permille"] {
        told["cpus"][0][name].as_array_mut().expect("slots")[10..20].fill(Value::Null);
    }
    let Some(mut page) = shown_json(&told.to_string()) else { return };
    page.browser.ask("exactop.address.go({ v: exactop.model.timeOf([10, 20]) })");
    let told = page.words("document.querySelector('#cpus').textContent");
    assert!(!told.contains("NaN"), "{told}");
    // A live page's next window lacks a CPU that went offline.
    let next = "(() => { const { model } = exactop, cpu = [...model.cpus.values()][1], had = cpu.busy_ns.length; \
        cpu.busy_ns.length = cpu.most_permille.length = had - 1; \
        model.append({ ...JSON.parse(JSON.stringify({ slots: Object.fromEntries(Object.keys(model.slots).map(name => [name, name === 'parts_ns' ? model.slots.parts_ns.map(() => []) : []])) })), \
          about: { windows: 0, repaired: 0, inexact: 0, cpus: 1, source: 'ledger' }, cpus: [], rows: [], groups: [], threads: [], pairs: [], sizes: [], gaps: [], marks: [], marks_left_out: 0, gaps_left_out: 0, cpus_left_out: 0 }); \
        return [had, cpu.busy_ns.length, cpu.busy_ns.at(-1)]; })()";
    let told = page.browser.ask(next);
    assert_eq!((&told[0], &told[2]), (&told[1], &Value::Null), "{told}");
    page.is_quiet();
}
