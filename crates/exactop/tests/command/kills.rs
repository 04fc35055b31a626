//! A recorder killed at random moments while processes come and go at full speed. Each window that
//! was shown, and so was synced before, is in the recording once; windows and gaps cover the whole
//! time. `make test-kills` kills a thousand times.

use crate::helpers::processes::Load;
use crate::helpers::run::{command, without_ledger};
use exactop_recording::{Gap, GapReason, Reader, Recording, Replay, ReplayStep, Span};
use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{channel, Sender};
use std::time::{Duration, Instant};

/// Default number of kills.
const KILLS: u32 = 20;

/// Moment of a kill.
#[derive(Clone, Copy)]
enum Moment {
    /// This long after the start.
    Started(Duration),
    /// This long after the first window.
    Shown(Duration),
}

/// Time until the first window was shown, and the windows that were shown completely.
struct Killed {
    first_after: Option<Duration>,
    shown: Vec<u64>,
}

/// Records and shows windows, and is killed.
fn killed(path: &str, moment: Moment) -> Killed {
    let words = ["--json", "-d", "0.1", "--source", "ledger", "--columns", "pid", "--record", path];
    let started = Instant::now();
    let mut recorder = command(&words).stdout(Stdio::piped()).spawn().expect("exactop");
    let lines = BufReader::new(recorder.stdout.take().expect("a pipe"));
    let (first, is_there) = channel();
    let reader = std::thread::spawn(move || shown(lines, &first));
    let first_after = match moment {
        Moment::Started(_) => None,
        Moment::Shown(_) => {
            is_there.recv().expect("it shows a window");
            Some(started.elapsed())
        }
    };
    let (Moment::Started(after) | Moment::Shown(after)) = moment;
    std::thread::sleep(after);
    assert!(recorder.try_wait().expect("a child").is_none(), "it records until it is killed");
    recorder.kill().expect("a kill");
    recorder.wait().expect("its end");
    Killed { first_after, shown: reader.join().expect("lines") }
}

/// The ends of the windows that were shown. The last line may be cut.
fn shown(mut lines: impl BufRead, first: &Sender<()>) -> Vec<u64> {
    let mut shown = Vec::new();
    let mut line = String::new();
    while lines.read_line(&mut line).is_ok_and(|n| n > 0) && line.ends_with('\n') {
        let told: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        shown.push(told["window"]["t1_ns"].as_u64().expect("ns"));
        // The test waits only for the first window.
        let _ = first.send(());
        line.clear();
    }
    shown
}

/// A random number from 0 to 1.
fn drawn() -> f64 {
    RandomState::new().build_hasher().finish() as f64 / u64::MAX as f64
}

/// All windows, and the gaps between them. A recorder killed between its keyframe and its first
/// window leaves a gap that no window follows, unless a later recorder runs.
fn all(path: &Path) -> (Vec<Span>, Vec<Gap>) {
    let mut replay = Replay::new(Reader::new(Recording::open(path).expect("a recording")));
    let (mut windows, mut gaps, mut since) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        match replay.forward().expect("readable") {
            ReplayStep::Window => {
                windows.push(replay.span().expect("a window"));
                gaps.append(&mut since);
            }
            ReplayStep::Gap(gap) => since.push(gap),
            ReplayStep::End => return (windows, gaps),
        }
    }
}

#[test]
fn windows_synced_in_a_fork_storm_are_there_once() {
    if without_ledger() {
        return;
    }
    let kills = std::env::var("EXACTOP_KILLS").map_or(KILLS, |n| n.parse().expect("a number"));
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let name = path.to_str().expect("UTF-8");
    let _storm = [Load::forks(), Load::forks()];
    let first = killed(name, Moment::Shown(Duration::ZERO));
    let usual = first.first_after.expect("it was waited for");
    let (mut shown, mut with_windows) = (first.shown, 1);
    for kill in 1..kills {
        let moment = match drawn() < 0.2 {
            true => Moment::Started(usual.mul_f64(drawn())),
            false => Moment::Shown(Duration::from_millis(400).mul_f64(drawn())),
        };
        let killed = killed(name, moment);
        with_windows += u32::from(!killed.shown.is_empty());
        shown.extend(killed.shown);
        if kill % 100 == 0 {
            eprintln!("{kill} kills: {} windows shown", shown.len());
        }
    }
    let (windows, gaps) = all(&path);
    let there: HashSet<u64> = windows.iter().map(|window| window.t1_ns).collect();
    assert_eq!(there.len(), windows.len(), "a window twice");
    for t1_ns in &shown {
        assert!(
            there.contains(t1_ns),
            "the window that ended at {t1_ns} was shown and is not there"
        );
    }
    assert!(gaps.iter().all(|gap| gap.why == GapReason::NotRunning), "{gaps:?}");
    let recorded: u64 = windows.iter().map(|window| window.t1_ns - window.t0_ns).sum();
    let missing: u64 = gaps.iter().map(|gap| gap.length_ns.expect("of one boot")).sum();
    let elapsed = windows[windows.len() - 1].t1_ns - windows[0].t0_ns;
    assert_eq!(recorded + missing, elapsed, "windows + gaps = elapsed");
    eprintln!(
        "{kills} kills, {with_windows} of them after a window: {} windows shown, {} there, {} gaps, 0 lost",
        shown.len(),
        windows.len(),
        gaps.len()
    );
}
