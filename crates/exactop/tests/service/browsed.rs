//! The live page in a real browser during a storm of forks; without Chromium the test says so and
//! is left out.

#[allow(dead_code)] // These tests use a part of it.
#[path = "../../../show/web/tests/browser/driver.rs"]
mod driver;

use crate::helpers::processes::{send, Load, INT};
use crate::helpers::run::{command, run, without_ledger};
use crate::metrics;
use crate::page::Page;
use driver::Browser;
use exactop_metrics::http::{Front, Server};
use exactop_metrics::{Clock, Metrics, Settings};
use exactop_model::ledger::window::TaskDelta;
use exactop_model::owner::NoNames;
use exactop_recording::{Reader, Recording, Replay, ReplayStep};
use exactop_testkit::wait;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Waits for a number of windows, and checks the drawing: pixels in the middle of a window without
/// an account's colour, the sums of accounts and of rows, and the exits below each row.
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
    const rows = [...model.rows.values()], of = (list, name) =>
      list.reduce((sum, row) => sum + row.sum(model.column(name), 0, model.n), 0);
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
fn a_page_in_a_fork_storm_fills_its_picture_and_makes_no_requests() {
    if without_ledger() {
        return;
    }
    let Some(mut browser) = Browser::start() else { return };
    let _storm = Load::forks();
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

/// The row of sums as drawn, by headings, with the expected CPU time and exits.
const SUMMED: &str = r"(() => {
  exactop.address.go({ unit: 'time' });
  exactop.show();
  const texts = of => [...document.querySelectorAll('#rows ' + of)].map(cell => cell.textContent.trim());
  const heads = texts('thead th').slice(-exactop.table.heads.length).map(text => text.replace(/ [▼▲]$/, ''));
  const sums = texts('tfoot td').slice(-heads.length);
  return {
    sums: Object.fromEntries(heads.map((head, i) => [head, sums[i]])),
    pids: [...exactop.model.rows.values()].map(row => row.pid),
    run_ns: [...exactop.model.rows.values()].reduce((sum, row) => sum + row.sum(exactop.model.column('run_ns'), 0, exactop.model.n), 0),
    expected: exactop.table.text(RUN_NS, exactop.model.column('run_ns')),
    exits: exactop.table.text(EXITS, exactop.model.column('exited')),
  };
})()";

/// The counters of `/metrics` over all windows of a recording.
fn counted(dir: &Path) -> BTreeMap<String, i128> {
    let mut replay = Replay::new(Reader::new(Recording::open(dir).expect("a recording")));
    let mut counting = Metrics::new(Settings::default(), Clock::read());
    loop {
        match replay.forward().expect("readable") {
            ReplayStep::Window => {
                let window = replay.window().expect("it is at its end");
                counting.advance(window, replay.book(), &NoNames);
            }
            ReplayStep::Gap(_) => {}
            ReplayStep::End => break,
        }
    }
    let page = move |format| Some(counting.render(format).into());
    let server = Server::start("127.0.0.1:0".parse().expect("an address"), Front::default(), page);
    let server = server.expect("a server");
    metrics::any_page(server.address().port())
}

/// True if a recording, which may just begin, has such a task in a window.
fn is_recorded(dir: &Path, is_it: impl Fn(&TaskDelta) -> bool) -> bool {
    let Ok(recording) = Recording::open(dir) else { return false };
    let mut replay = Replay::new(Reader::new(recording));
    while let Ok(ReplayStep::Window | ReplayStep::Gap(_)) = replay.forward() {
        if replay.window().is_some_and(|window| window.tasks.iter().any(&is_it)) {
            return true;
        }
    }
    false
}

/// A zombie makes no sum unknown: none of its figures is unknown, though it lived before it had a
/// row.
#[test]
fn the_row_of_sums_holds_what_the_page_of_metrics_counts() {
    if without_ledger() {
        return;
    }
    let Some(mut browser) = Browser::start() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let (log, file) = (dir.path().join("log"), dir.path().join("page.html"));
    let log = log.to_str().expect("UTF-8");
    let mut recorder = Load::start(&mut command(&["record", "-d", "0.3", "--dir", log]));
    let _storm = Load::forks();
    wait::until("a window", || is_recorded(log.as_ref(), |_| true));
    let zombie = Load::start(&mut Command::new("true"));
    let is_it =
        |task: &TaskDelta| task.sample.key.tgid == zombie.pid() && task.sample.letter == 'Z';
    wait::until("a window with a zombie", || is_recorded(log.as_ref(), is_it));
    send(recorder.pid(), INT);
    assert_eq!(recorder.0.wait().expect("an end").code(), Some(130));
    run(&["replay", log, "--html", file.to_str().expect("UTF-8")]).fine();
    let page = counted(log.as_ref());
    let of_groups = |family: &str| -> i128 {
        page.iter().filter(|(name, _)| name.starts_with(family)).map(|(_, value)| value).sum()
    };
    let run_ns = of_groups("exactop_group_cpu_seconds_total");
    let exits = of_groups("exactop_group_exited_processes_total");
    browser.look(1200, 900, false);
    browser.open_file(&file);
    let asked = SUMMED.replace("RUN_NS", &run_ns.to_string());
    let told = browser.ask(&asked.replace("EXITS", &exits.to_string()));
    let pids = told["pids"].as_array().expect("rows");
    assert!(pids.contains(&zombie.pid().into()), "no row of the zombie: {told}");
    assert_eq!(told["run_ns"].to_string(), run_ns.to_string(), "{told}");
    assert_eq!(told["sums"]["RUN"], told["expected"], "{run_ns} ns of /metrics; {told}");
    assert_eq!(told["sums"]["EXIT"], told["exits"], "{exits} exits of /metrics; {told}");
    assert!(run_ns > 0 && exits > 0);
    // A column has its place if its figures are known, though all of them may be zero.
    let sum = |column: &str| {
        told["sums"][column].as_str().unwrap_or_else(|| panic!("no {column}: {told}")).to_string()
    };
    for column in ["BLOCK", "STEAL", "THR", "DISP", "ICX"] {
        assert!(sum(column).starts_with(|c: char| c.is_ascii_digit()), "{column}: {told}");
    }
    // Without a tick the user of the time is unknown: all rows with ticks have at least this.
    for column in ["USER", "SYSTEM"] {
        let sum = sum(column);
        let known = sum.strip_prefix("≥ ").unwrap_or(&sum);
        assert!(known.starts_with(|c: char| c.is_ascii_digit()), "{column}: {told}");
    }
}
