//! Going back and forth in difficult cases: files that overlap, damage, files created meanwhile,
//! and a time that is not recorded.

use crate::world::{self, all, machine, Live, Shown};
use exactop_model::feed::timeline::{Direction, Timeline, TimelineNote, Travel};
use exactop_model::{Ask, Feed};
use exactop_recording::{cut, GapReason, Options, Playback, Recorder, Recording, Sync, TimeRange};
use std::path::Path;

fn options() -> Options {
    Options { sync: Sync::Never, ..Options::default() }
}

fn recorder(path: &Path) -> Recorder {
    Recorder::open(path, machine("boot"), options()).expect("a recorder")
}

fn playback(path: &Path, at: Option<i128>) -> Playback {
    let recording = Recording::open(path).expect("a recording");
    Playback::new(recording, at).expect("readable").expect("windows")
}

fn on(playback: &mut Playback) -> Option<TimelineNote> {
    playback.travel(Travel::By(Direction::On, 1)).expect("readable")
}

fn t1_ns(playback: &mut Playback) -> u64 {
    playback.same_frame(&Ask::default()).expect("a window").t1_ns
}

fn end_of(shown: &Shown) -> i128 {
    i128::from(shown.frames[0].t1_ns) + (1 << 60)
}

/// The ends of all windows, in order.
fn way(playback: &mut Playback) -> Vec<u64> {
    let mut ends = vec![t1_ns(playback)];
    while on(playback) != Some(TimelineNote::End) {
        ends.push(t1_ns(playback));
    }
    ends
}

#[test]
fn two_files_of_the_same_time_show_it_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let mut live = Live::new(51, false);
    let mut from = recorder(&path);
    let shown: Vec<Shown> = (0..=200).filter_map(|_| live.window(&mut from)).collect();
    drop(from);
    let both = dir.path().join("both");
    std::fs::create_dir(&both).expect("a directory");
    for (file, first, last) in [(1, 0, 69), (2, 50, 199)] {
        let mut out = std::fs::File::create(both.join(format!("exactop-{file:08}.rec")));
        let when =
            TimeRange { from: Some(end_of(&shown[first]) - 1), to: Some(end_of(&shown[last])) };
        let recording = Recording::open(&path).expect("a recording");
        let told = cut(recording, when, false, out.as_mut().expect("a file")).expect("cut");
        assert_eq!(told.windows, (last - first + 1) as u64);
    }
    // The next keyframe of the second file comes after 64 windows.
    let (windows, gaps) = all(&both);
    let wanted: Vec<u64> =
        shown[..70].iter().chain(&shown[114..]).map(|shown| shown.frames[0].t1_ns).collect();
    let ends: Vec<u64> = windows.iter().map(|shown| shown.frames[0].t1_ns).collect();
    assert_eq!(ends, wanted);
    let [gap] = &gaps[..] else { panic!("{gaps:?}") };
    let missing_ns = shown[113].frames[0].t1_ns - shown[69].frames[0].t1_ns;
    assert_eq!((gap.why, gap.length_ns), (GapReason::Overlap, Some(missing_ns)));
    let mut playback = playback(&both, None);
    assert_eq!(way(&mut playback), wanted);
    playback.travel(Travel::By(Direction::Back, wanted.len() - 70)).expect("readable");
    assert_eq!(t1_ns(&mut playback), wanted[69]);
}

#[test]
fn a_change_that_cannot_be_read_leaves_the_screen_as_it_was() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let mut live = Live::new(52, false);
    let mut first = recorder(&path);
    let shown: Vec<Shown> = (0..5).filter_map(|_| live.window(&mut first)).collect();
    drop(first);
    live.book = exactop_model::Book::new();
    live.world.at_ns += 60_000_000_000;
    let mut second = recorder(&path);
    (0..5).for_each(|_| drop(live.window(&mut second)));
    drop(second);
    // Damage the payload, not the header, of the second file's only keyframe.
    let file = path.join("exactop-00000002.rec");
    let mut bytes = std::fs::read(&file).expect("the file");
    let frames = |at: &usize| bytes[*at..].starts_with(b"EXfr") && bytes[*at + 4] == 2;
    let keyframe = (0..bytes.len() - 60).find(frames).expect("a keyframe");
    bytes[keyframe + 60] ^= 1;
    std::fs::write(&file, bytes).expect("the file");
    let mut playback = playback(&path, Some(end_of(&shown[2]) - 1));
    let noted = playback.travel(Travel::Change(Direction::On)).expect("readable");
    assert_eq!(noted, Some(TimelineNote::End));
    assert_eq!(t1_ns(&mut playback), shown[2].frames[0].t1_ns);
}

#[test]
fn files_created_later_are_followed() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let mut live = Live::new(53, false);
    let small = Options { file_bytes: 20_000, ..options() };
    let mut recorder = Recorder::open(&path, machine("boot"), small).expect("a recorder");
    let mut wanted: Vec<u64> = Vec::new();
    let mut record = |windows| {
        let shown = (0..windows).filter_map(|_| live.window(&mut recorder));
        wanted.extend(shown.map(|shown| shown.frames[0].t1_ns));
        wanted.clone()
    };
    let first = record(5);
    let mut playback = playback(&path, None);
    let mut replay = world::open(&path);
    assert_eq!(way(&mut playback), first);
    let ends = |replay: &mut exactop_recording::Replay| {
        let mut ends = Vec::new();
        while let exactop_recording::ReplayStep::Window = replay.forward().expect("readable") {
            ends.push(replay.span().expect("a window").t1_ns);
        }
        ends
    };
    let begun = ends(&mut replay);
    assert_eq!(begun, first);
    let more = record(60);
    assert!(Recording::open(&path).expect("a recording").parts().len() > 2, "several files later");
    assert_eq!([begun, ends(&mut replay)].concat(), more);
    assert_eq!(way(&mut playback), more[first.len() - 1..], "on from where it was");
    let place = playback.place();
    assert_eq!(
        place.bounds().1,
        i128::from(more[more.len() - 1]) + (1 << 60),
        "the time line, too"
    );
}

#[test]
fn a_seek_to_a_time_in_a_gap_reports_the_gap() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let mut live = Live::new(54, false);
    let mut first = recorder(&path);
    let before: Vec<Shown> = (0..5).filter_map(|_| live.window(&mut first)).collect();
    drop(first);
    live.book = exactop_model::Book::new();
    live.world.at_ns += 60_000_000_000;
    let mut second = recorder(&path);
    let after: Vec<Shown> = (0..5).filter_map(|_| live.window(&mut second)).collect();
    drop(second);
    let until = end_of(&before[before.len() - 1]);
    let arrived = playback(&path, Some(until + 30_000_000_000)).arrived();
    let begins = i128::from(after[0].frames[0].t0_ns) + (1 << 60);
    let gap = TimelineNote::Gap { why: "no recorder ran", from_wall_ns: until, to_wall_ns: begins };
    assert_eq!(arrived, Some(gap));
    assert_eq!(playback(&path, Some(0)).arrived(), Some(TimelineNote::Begin));
    assert_eq!(playback(&path, Some(end_of(&before[1]) - 1)).arrived(), None);
    assert_eq!(
        playback(&path, Some(end_of(&after[0]) - 1)).arrived(),
        None,
        "not of the gap before"
    );
    assert_eq!(playback(&path, None).arrived(), None);
}
