//! Going back and forth in recordings: on any route a window is shown as recorded, joined windows
//! sum, and changes are found where they were made.

use crate::world::{arrangements, machine, Live};
use exactop_fuzzing::Choices;
use exactop_model::feed::timeline::{Direction, Timeline, TimelineNote, Travel};
use exactop_model::{Ask, Counter, Feed, Frame};
use exactop_recording::{Options, Playback, Recorder, Recording, Sync};
use std::path::Path;

/// A window as recorded, its time, and whether it is a moment of change.
struct RecordedWindow {
    frames: Vec<Frame>,
    wall_ns: (i128, i128),
    after_gap: bool,
    spike: bool,
}

/// CPU time without and with a spike.
const CALM_NS: u64 = 0;
const BUSY_NS: u64 = 900_000_000;

/// Records random sessions, boots and bursts; returns the windows.
fn draw(path: &Path, choices: &mut Choices) -> Vec<RecordedWindow> {
    let mut told: Vec<RecordedWindow> = Vec::new();
    let (mut at_ns, mut offset_ns, mut seed) = (1_000_000_000, 1 << 60, 1);
    for session in 0..1 + choices.below(4) {
        seed += 1;
        let mut live = Live::new(seed, choices.below(3) == 0);
        let boot = choices.below(3) == 0;
        live.world.at_ns = if boot { 1_000_000_000 } else { at_ns };
        offset_ns += if boot { at_ns as i64 } else { 0 };
        live.wall_offset_ns = offset_ns;
        let name = if boot { format!("boot {session}") } else { "boot".into() };
        let options = Options { file_bytes: 30_000, sync: Sync::Never, ..Options::default() };
        let mut recorder = Recorder::open(path, machine(&name), options).expect("a recorder");
        let mut before = CALM_NS;
        for window in 0..2 + choices.below(150) {
            let busy = if choices.below(20) == 0 { BUSY_NS } else { CALM_NS };
            live.world.extra_ns += busy;
            let suspended = window % 37 == 36;
            if suspended {
                let ns = 77_000_000_000 * window as i64;
                live.suspend(ns.unsigned_abs());
                offset_ns += ns;
            }
            let Some(shown) = live.window(&mut recorder) else { continue };
            let frame = &shown.frames[0];
            let wall = |ns: u64| i128::from(ns) + i128::from(offset_ns);
            told.push(RecordedWindow {
                wall_ns: (wall(frame.t0_ns), wall(frame.t1_ns)),
                after_gap: window == 1 && !told.is_empty() || suspended,
                spike: window > 1 && busy != before,
                frames: shown.frames,
            });
            before = busy;
        }
        // Recording continues later, in the same boot or in another.
        at_ns = live.world.at_ns + 1_000_000_000 * (1 + choices.below(5000) as u64);
    }
    told
}

fn frames(playback: &mut Playback) -> Vec<Frame> {
    let asks = arrangements().map(|options| Ask { options, ..Ask::default() });
    asks.iter().map(|ask| playback.same_frame(ask).expect("a window")).collect()
}

fn open(path: &Path) -> Playback {
    let recording = Recording::open(path).expect("a recording");
    Playback::new(recording, None).expect("readable").expect("windows")
}

/// The window where a journey should end.
fn where_to(told: &[RecordedWindow], at: usize, travel: Travel) -> usize {
    let changes = |t: &RecordedWindow| t.after_gap || t.spike;
    match travel {
        Travel::By(Direction::On, n) => (at + n).min(told.len() - 1),
        Travel::By(Direction::Back, n) => at.saturating_sub(n),
        Travel::Change(Direction::On) => {
            (at + 1..told.len()).find(|&n| changes(&told[n])).unwrap_or(at)
        }
        Travel::Change(Direction::Back) => (0..at).rev().find(|&n| changes(&told[n])).unwrap_or(at),
        Travel::To(ns) => told.iter().position(|t| t.wall_ns.1 > ns).unwrap_or(told.len() - 1),
    }
}

#[test]
fn any_route_through_any_recording_shows_the_recorded_windows() {
    let (mut gaps, mut spikes, mut ends) = (0, 0, 0);
    for seed in 0..8u8 {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("recording");
        let bytes: Vec<u8> =
            (0..2000u32).map(|n| (n * n / 7 + 31 * u32::from(seed)) as u8).collect();
        let mut choices = Choices::new(&bytes);
        let told = draw(&path, &mut choices);
        let mut playback = open(&path);
        let mut at = 0;
        assert_eq!(frames(&mut playback), told[0].frames);
        for _ in 0..40 {
            let direction = if choices.below(2) == 0 { Direction::Back } else { Direction::On };
            let travel = match choices.below(4) {
                0 => Travel::By(direction, 1),
                1 => Travel::By(direction, 10),
                2 => Travel::Change(direction),
                _ => {
                    let there = &told[choices.below(told.len())];
                    Travel::To(there.wall_ns.0 + choices.below(2_000_000_000) as i128 - 500_000_000)
                }
            };
            let noted = playback.travel(travel).expect("readable");
            let to = where_to(&told, at, travel);
            let place = playback.place();
            assert_eq!((place.from_wall_ns, place.to_wall_ns), told[to].wall_ns, "{travel:?}");
            assert_eq!(frames(&mut playback), told[to].frames, "seed {seed}, {travel:?}");
            match noted {
                Some(TimelineNote::Gap { to_wall_ns, .. }) => {
                    gaps += 1;
                    assert!(told[to].after_gap && to_wall_ns == told[to].wall_ns.0);
                }
                Some(TimelineNote::Spike { before, now }) => {
                    spikes += 1;
                    assert!(told[to].spike && (now - before).abs() > 0.5, "{before} {now}");
                }
                Some(TimelineNote::Begin | TimelineNote::End) => ends += 1,
                None => assert!(!told[to].after_gap),
            }
            at = to;
        }
    }
    assert!(gaps > 5 && spikes > 5 && ends > 5, "{gaps} gaps, {spikes} spikes, {ends} ends");
}

/// The windows that should be shown as one: from the same stretch of the clock, without a gap
/// between.
fn joined(told: &[RecordedWindow], length_ns: i128) -> Vec<Vec<&RecordedWindow>> {
    let stretch = |t: &RecordedWindow| (t.wall_ns.1 - 1).div_euclid(length_ns);
    let mut groups: Vec<Vec<&RecordedWindow>> = Vec::new();
    for window in told {
        match groups.last_mut() {
            Some(group) if !window.after_gap && stretch(group[0]) == stretch(window) => {
                group.push(window);
            }
            _ => groups.push(vec![window]),
        }
    }
    groups
}

#[test]
fn joined_windows_are_sums() {
    for seed in [3u8, 9] {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("recording");
        let bytes: Vec<u8> =
            (0..2000u32).map(|n| (n * n / 5 + 7 * u32::from(seed)) as u8).collect();
        let told = draw(&path, &mut Choices::new(&bytes));
        let mut playback = open(&path);
        for length_ns in [7_000_000_000, 60_000_000_000, 3_600_000_000_000] {
            playback.travel(Travel::To(0)).expect("readable");
            playback.join(Some(length_ns)).expect("readable");
            let groups = joined(&told, length_ns.into());
            for group in &groups {
                let place = playback.place();
                let whole = (group[0].wall_ns.0, group[group.len() - 1].wall_ns.1);
                assert_eq!((place.from_wall_ns, place.to_wall_ns), whole);
                assert_eq!(place.windows, group.len());
                sums(&frames(&mut playback)[0], group);
                playback.travel(Travel::By(Direction::On, 1)).expect("readable");
            }
            let last =
                playback.travel(Travel::By(Direction::Back, groups.len())).expect("readable");
            assert_eq!(last, Some(TimelineNote::Begin), "as many back");
        }
        playback.join(None).expect("readable");
        assert_eq!(frames(&mut playback), told[0].frames);
    }
}

/// The sum holds every window's figures exactly once.
fn sums(sum: &Frame, of: &[&RecordedWindow]) {
    let of = || of.iter().map(|told| &told.frames[0]);
    let books = || of().map(|frame| frame.books);
    assert_eq!(sum.books.total_ns, books().map(|b| b.total_ns).sum::<u64>());
    assert_eq!(sum.books.idle_ns, books().map(|b| b.idle_ns).sum::<u64>());
    let named = sum.books.tasks_ns + sum.books.exited_ns;
    assert_eq!(named, books().map(|b| b.tasks_ns + b.exited_ns).sum::<u64>());
    assert_eq!(sum.died, of().map(|frame| frame.died).sum::<Option<u64>>());
    assert_eq!(sum.born, of().map(|frame| frame.born).sum::<Option<u64>>());
    let run = |frame: &Frame| -> u64 {
        let rows = frame.rows.iter().chain(&frame.exited);
        rows.filter_map(|row| row.delta.get(Counter::RunNs)).sum()
    };
    assert_eq!(run(sum), of().map(run).sum::<u64>(), "over all rows");
}

#[test]
fn damaged_windows_are_skipped() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let options = Options { sync: Sync::Never, ..Options::default() };
    let mut recorder = Recorder::open(&path, machine("boot"), options).expect("a recorder");
    let mut live = Live::new(17, false);
    let told = (0..150).filter(|_| live.window(&mut recorder).is_some()).count();
    drop(recorder);
    let file = path.join("exactop-00000001.rec");
    let mut content = std::fs::read(&file).expect("the file");
    // Among the windows after the second keyframe of three.
    let middle = content.len() * 2 / 3;
    content[middle] ^= 1;
    std::fs::write(&file, content).expect("the file");
    let mut playback = open(&path);
    let mut seen = vec![playback.place().to_wall_ns];
    loop {
        let noted = playback.travel(Travel::By(Direction::On, 1)).expect("readable");
        if noted == Some(TimelineNote::End) {
            break;
        }
        seen.push(playback.place().to_wall_ns);
    }
    assert!(seen.len() < told && seen.len() > told / 2 && seen.is_sorted(), "{}", seen.len());
    // The same windows on the way back.
    let mut back = vec![playback.place().to_wall_ns];
    while playback.travel(Travel::By(Direction::Back, 1)).expect("readable")
        != Some(TimelineNote::Begin)
    {
        back.push(playback.place().to_wall_ns);
    }
    back.reverse();
    assert_eq!(back, seen);
}
