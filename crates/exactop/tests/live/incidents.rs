//! Six incidents. Each is found from the first screen with at most three keys.

use crate::helpers::processes::{send, Load, TERM};
use crate::helpers::run::{command, without_ledger};
use crate::helpers::terminal::Terminal;
use crate::screen::is_heading;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// Rows of the first page in which a culprit must stand. Other tests run beside.
const SEEN_AT_ONCE: usize = 15;

/// The live view, as it starts.
fn first_screen() -> Option<Terminal> {
    (!without_ledger()).then(|| Terminal::live(120, 40, "-d 1 --source ledger"))
}

/// Presses the keys, one after the other, and waits until `is_found` holds of the screen.
#[track_caller]
fn finds(terminal: &Terminal, keys: &[&str], is_found: impl Fn(&str) -> bool) {
    assert!(keys.len() <= 3);
    for key in keys {
        terminal.keys(&[key]);
        terminal.settled();
    }
    terminal.wait("the culprit", |t| is_found(&t.screen()).then_some(()));
}

/// The words of a process's row, if it is among the first.
fn row(screen: &str, pid: u32) -> Option<Vec<String>> {
    let rows = screen.lines().skip_while(|line| !is_heading(line)).skip(1).take(SEEN_AT_ONCE);
    let mut rows = rows.map(|line| line.split_whitespace().map(String::from).collect::<Vec<_>>());
    rows.find(|words| words.first().is_some_and(|first| *first == pid.to_string()))
}

/// The figure in the column with this title.
fn figure(screen: &str, pid: u32, title: &str) -> Option<f64> {
    let heading = screen.lines().find(|line| is_heading(line))?;
    let at = heading.split_whitespace().position(|word| word.trim_start_matches('▾') == title)?;
    row(screen, pid)?.get(at)?.trim_start_matches('+').parse().ok()
}

/// A command in a control group of its own, which `exactop run` makes.
struct Limited(Child);

impl Limited {
    fn start(limits: &[&str]) -> Limited {
        let line = ["--", "sh", "-c", "while :; do :; done"];
        let run = [&["run", "-q"], limits, &line].concat();
        let run = command(&run).stderr(Stdio::null()).spawn();
        Limited(run.expect("the command starts"))
    }

    /// The beginning of its group's name.
    fn group(&self) -> String {
        format!("/exactop-run-{}-", self.0.id())
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        send(self.0.id(), TERM);
        let _ = self.0.wait();
    }
}

/// Threads of the test itself, which end with it.
struct Threads(Arc<AtomicBool>, Vec<JoinHandle<()>>);

impl Threads {
    /// Starts a thread for each piece of work, which is repeated.
    fn start(count: usize, work: impl Fn(&AtomicBool) + Clone + Send + 'static) -> Threads {
        let ended = Arc::new(AtomicBool::new(false));
        let start = |_| {
            let (ended, work) = (ended.clone(), work.clone());
            std::thread::spawn(move || {
                while !ended.load(Ordering::Relaxed) {
                    work(&ended);
                }
            })
        };
        let threads = (0..count).map(start).collect();
        Threads(ended, threads)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        for thread in self.1.drain(..) {
            thread.join().expect("a thread");
        }
    }
}

#[test]
fn a_runaway_stands_on_top() {
    let Some(terminal) = first_screen() else { return };
    let load = Load::shell("while :; do :; done");
    finds(&terminal, &[], |screen| {
        let pct = figure(screen, load.pid(), "%CPU");
        pct.is_some_and(|pct| pct > 20.0) && screen.contains("sh -c while :; do :; done")
    });
}

#[test]
fn a_fork_storm_is_told_with_its_parent() {
    let Some(terminal) = first_screen() else { return };
    // A life counts as short by the clock. Nice -20 keeps waits behind other tests out of it.
    let line = ["-n", "-20", "sh", "-c", "while :; do /bin/true; done"];
    let load = Load::start(Command::new("nice").args(line));
    // Other tests may cause worse findings; this key lists them all.
    finds(&terminal, &["!"], |screen| screen.contains("in processes that lived < 10 ms: true × "));
    // The parent's own time is little; with its exited children it is most of a CPU.
    finds(&terminal, &["Escape", "1"], |screen| {
        let [own, whole] = ["%CPU", "CPU+"].map(|title| figure(screen, load.pid(), title));
        own.zip(whole).is_some_and(|(own, whole)| whole > 3.0 * own && whole > 20.0)
    });
}

#[test]
fn a_throttled_group_is_told_with_its_quota() {
    let Some(terminal) = first_screen() else { return };
    let limited = Limited::start(&["--max", "20%"]);
    finds(&terminal, &["4"], |screen| {
        let is_it = |line: &str| {
            line.contains(&limited.group()) && line.contains("may use 0.2: throttled ")
        };
        screen.contains("throttled groups") && screen.lines().any(is_it)
    });
}

#[test]
fn a_noisy_neighbour_is_named() {
    let Some(terminal) = first_screen() else { return };
    let loud = Limited::start(&["--weight", "10000", "--cpus", "0"]);
    let _quiet = Limited::start(&["--weight", "100", "--cpus", "0"]);
    finds(&terminal, &["3"], |screen| {
        let heading = screen.lines().find(|line| line.contains("KEPT OFF BY")).unwrap_or_default();
        let at = heading.split_whitespace().position(|word| word == "▾LAT%");
        screen.lines().any(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let lat = at.and_then(|at| words.get(at)?.parse::<f64>().ok());
            // A group that waits half of the time, most of it behind the loud one.
            let first = words.iter().find(|word| word.starts_with('/'));
            lat.is_some_and(|pct| pct > 50.0)
                && first.is_some_and(|first| first.starts_with(&loud.group()))
                && words.last().is_some_and(|last| !last.starts_with(&loud.group()))
        })
    });
}

#[test]
fn a_lock_convoy_waits_for_locks() {
    let Some(terminal) = first_screen() else { return };
    let lock = Mutex::new(());
    let lock = Arc::new(lock);
    let _convoy = Threads::start(8, move |_| {
        let held = lock.lock().expect("a lock");
        std::thread::sleep(Duration::from_millis(2));
        drop(held);
    });
    // After waits for a CPU and for a quota come those for a lock.
    finds(&terminal, &["2", ">", ">"], |screen| {
        let me = std::process::id();
        let [lock, switches] = ["LCK", "VCX"].map(|title| figure(screen, me, title));
        screen.contains("▾LCK")
            && lock.is_some_and(|pct| pct > 50.0)
            && switches.is_some_and(|switches| switches > 100.0)
    });
}

#[test]
fn a_leak_of_threads_is_new_since_the_mark() {
    let Some(terminal) = first_screen() else { return };
    let leak = Arc::new(Mutex::new(Vec::new()));
    let _leak = Threads::start(1, move |_| {
        let rest = Threads::start(1, |_| std::thread::sleep(Duration::from_millis(200)));
        leak.lock().expect("a list").push(rest);
        std::thread::sleep(Duration::from_millis(100));
    });
    let threads = |screen: &str| figure(screen, std::process::id(), "nTH");
    terminal.keys(&["m"]);
    terminal.shows("marked");
    finds(&terminal, &["6"], |screen| threads(screen).is_some_and(|more| more >= 5.0));
    let before = threads(&terminal.screen());
    terminal.wait("more of them", |t| {
        before.zip(threads(&t.screen())).is_some_and(|(was, is)| is > was).then_some(())
    });
}
