//! A range of time has all windows that end in it and no other, whatever the clock did; the rest of
//! the range is reported as gaps.

use crate::world::{all, machine, Live};
use exactop_recording::{
    cut, Gap, GapReason, Options, Recorder, Recording, Sync, TimeRange, Windows,
};
use std::path::Path;

const SECOND: i64 = 1_000_000_000;

fn recorder(path: &Path, boot: &str) -> Recorder {
    let options = Options { file_bytes: 4_000, sync: Sync::Never, ..Options::default() };
    Recorder::open(path, machine(boot), options).expect("a recorder")
}

/// A window's beginning and end by the wall clock.
type Ends = (i128, i128);

fn recorded(recorder: &mut Recorder, live: &mut Live, windows: usize) -> Vec<Ends> {
    let window = |live: &mut Live, recorder: &mut Recorder| {
        let frame = live.window(recorder)?.frames.remove(0);
        let wall = |ns: u64| i128::from(ns) + i128::from(live.wall_offset_ns);
        Some((wall(frame.t0_ns), wall(frame.t1_ns)))
    };
    (0..windows).filter_map(|_| window(live, recorder)).collect()
}

/// Windows and gaps of a range.
fn read(path: &Path, when: TimeRange) -> (Vec<Ends>, Vec<Gap>) {
    let mut windows =
        Windows::from_recording(Recording::open(path).expect("it"), when).expect("it");
    let (mut ends, mut gaps) = (Vec::new(), Vec::new());
    loop {
        let more = windows.advance().expect("readable");
        gaps.extend_from_slice(windows.gaps());
        if !more {
            assert_eq!(
                !ends.is_empty(),
                when.is_in(&Recording::open(path).expect("it")).expect("it")
            );
            return (ends, gaps);
        }
        let span = windows.replay().span().expect("a window");
        ends.push((span.wall_t0_ns(), span.wall_t1_ns()));
    }
}

/// Windows and gaps of a cut of the range.
fn cut_out(path: &Path, dir: &Path, when: TimeRange) -> (usize, Vec<Gap>) {
    let mut bytes = Vec::new();
    cut(Recording::open(path).expect("it"), when, false, &mut bytes).expect("a part");
    if bytes.is_empty() {
        return (0, Vec::new());
    }
    std::fs::write(dir.join("part"), bytes).expect("a file");
    let (windows, gaps) = all(&dir.join("part"));
    (windows.len(), gaps)
}

#[test]
fn after_a_clock_set_back_a_range_has_the_windows_of_both_times() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let (mut live, mut recorder) = (Live::of(41, false, 4), recorder(&path, "boot"));
    let mut there = recorded(&mut recorder, &mut live, 25);
    live.wall_offset_ns -= 17 * SECOND;
    there.extend(recorded(&mut recorder, &mut live, 15));
    live.wall_offset_ns += 7 * SECOND;
    there.extend(recorded(&mut recorder, &mut live, 10));
    drop(recorder);
    assert!(Recording::open(&path).expect("it").parts().len() > 3, "several files");
    let (begin, end) = (there[0].0, there.iter().map(|w| w.1).max().expect("windows"));
    let second = i128::from(SECOND);
    let seconds = (end - begin) / second;
    for from in (-5..seconds + 5).step_by(8) {
        for length in [3, 12] {
            let from = begin + from * second + second / 3;
            let to = from + length * second;
            for when in [
                TimeRange { from: Some(from), to: Some(to) },
                TimeRange { from: Some(from), to: None },
                TimeRange { from: None, to: Some(to) },
            ] {
                let is_in = |end: i128| {
                    when.from.is_none_or(|from| end > from) && when.to.is_none_or(|to| end <= to)
                };
                let expected: Vec<Ends> = there.iter().filter(|w| is_in(w.1)).copied().collect();
                let (found, gaps) = read(&path, when);
                assert_eq!(found, expected, "{when:?}");
                assert_eq!(gaps, [], "all is recorded");
                if length == 12 {
                    let (cut, gaps) = cut_out(&path, dir.path(), when);
                    assert_eq!(cut, expected.len(), "{when:?}");
                    assert!(gaps.iter().all(|gap| gap.why == GapReason::Cut), "{gaps:?}");
                }
            }
        }
    }
}

#[test]
fn gaps_at_the_edges_of_a_range_and_within_are_reported() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let mut live = Live::of(43, false, 4);
    let minute = 60 * i128::from(SECOND);
    let session = |live: &mut Live| {
        let there = recorded(&mut recorder(&path, "boot"), live, 21);
        live.world.at_ns += 600 * SECOND as u64;
        live.book = exactop_model::Book::new();
        there
    };
    let sessions = [session(&mut live), session(&mut live), session(&mut live)];
    let (first, last) = (sessions[1][0], *sessions[1].last().expect("windows"));
    // From two minutes before the middle session to three minutes after.
    let when = TimeRange { from: Some(first.0 - 2 * minute), to: Some(last.1 + 3 * minute) };
    let (windows, gaps) = read(&path, when);
    assert_eq!(windows, sessions[1]);
    let told: Vec<_> = gaps.iter().map(|gap| (gap.from_wall_ns, gap.to_wall_ns)).collect();
    assert_eq!(told, [(first.0 - 2 * minute, first.0), (last.1, last.1 + 3 * minute)]);
    let lengths: Vec<_> = gaps.iter().map(|gap| i128::from(gap.length_ns.expect("ns"))).collect();
    assert_eq!(lengths, [2 * minute, 3 * minute]);
    assert!(gaps.iter().all(|gap| gap.why == GapReason::NotRunning));
    let whole = |(begin, end): Ends| end - begin;
    let sum = windows.into_iter().map(whole).sum::<i128>() + lengths.iter().sum::<i128>();
    assert_eq!(Some(sum), when.to.zip(when.from).map(|(to, from)| to - from));
    // The whole recording: both gaps, whole.
    let (windows, gaps) = read(&path, TimeRange::default());
    assert_eq!((windows.len(), gaps.len()), (60, 2));
    // The range starts within a window: no part of the gap before is in it.
    let (_, gaps) = read(&path, TimeRange { from: Some(first.0 + 1), to: Some(last.1) });
    assert_eq!(gaps, []);
}

#[test]
fn consecutive_gaps_are_each_reported_also_in_a_cut() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let mut live = Live::of(47, false, 4);
    let first = recorded(&mut recorder(&path, "boot"), &mut live, 60);
    live.world.at_ns += 600 * SECOND as u64;
    live.book = exactop_model::Book::new();
    let second = recorded(&mut recorder(&path, "boot"), &mut live, 21);
    // The end of the first session is damaged; after it no recorder ran.
    let parts = Recording::open(&path).expect("it").parts().to_vec();
    let session = parts[0].session;
    let last = parts.iter().rfind(|part| part.session == session).expect("a file");
    let file = path.join(&last.name);
    let mut bytes = std::fs::read(&file).expect("a file");
    let middle = bytes.len() / 2;
    bytes[middle..middle + 200].fill(0x55);
    std::fs::write(&file, bytes).expect("a file");
    let (windows, gaps) = read(&path, TimeRange::default());
    let [damaged, nobody] = &gaps[..] else { panic!("{gaps:?}") };
    assert_eq!((damaged.why, nobody.why), (GapReason::Damaged, GapReason::NotRunning));
    assert!(windows.len() < first.len() + second.len() && windows.ends_with(&second));
    let told: i128 = windows.iter().map(|(begin, end)| end - begin).sum();
    let missed: i128 = gaps.iter().map(|gap| i128::from(gap.length_ns.expect("ns"))).sum();
    assert_eq!(told + missed, second[second.len() - 1].1 - first[0].0, "windows + gaps = elapsed");
    let (cut, in_part) = cut_out(&path, dir.path(), TimeRange::default());
    assert_eq!((cut, in_part), (windows.len(), gaps));
}
