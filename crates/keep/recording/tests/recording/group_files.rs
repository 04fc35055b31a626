//! The kernel's files of control groups are recorded while displayed, and a replay shows the same
//! rows as the screen did. Otherwise a replay shows the ledger's charges.

use crate::world::{machine, open, Live, World};
use exactop_model::cgroups::{rows, uses, GroupSample, Groups};
use exactop_model::run::CpuStat;
use exactop_model::{Ask, Feed, SourceKind, Tap};
use exactop_recording::{Options, Playback, Recorder, Recording, ReplayStep, Sync};
use std::path::{Path, PathBuf};

/// The groups, which come and go; 77 is the group of the machine's tasks.
const GROUPS: [(&str, u64); 4] = [("/", 1), ("/a.slice", 7), ("/a.slice/b.service", 77), ("/c", 9)];

/// The groups' files after a while: no figure runs backwards, and some are missing.
fn read(world: &mut World, before: &[GroupSample]) -> Vec<GroupSample> {
    let some = |before: Option<u64>, drawn: u64| {
        (!drawn.is_multiple_of(4)).then(|| before.into_iter().sum::<u64>() + drawn)
    };
    let group = |&(name, id): &(&str, u64), drawn: &mut dyn FnMut() -> u64| {
        let then = before.iter().find(|group| group.id == Some(id));
        let then = then.cloned().unwrap_or_else(GroupSample::default);
        let usage_ns = some(then.stat.usage_ns, drawn());
        let nr_throttled = some(then.stat.nr_throttled, drawn() % 9);
        let stat = CpuStat { usage_ns, nr_throttled, ..then.stat };
        GroupSample {
            name: name.into(),
            id: Some(id),
            stat,
            weight: Some(100),
            max: drawn().is_multiple_of(2).then(|| "max 100000".into()),
            allowed_cpus: drawn().is_multiple_of(2).then_some(0.4),
            cpus: Some("0-1".into()),
            pressure_some_ns: some(then.pressure_some_ns, drawn()),
            pressure_full_ns: None,
            processes: Some(drawn() % 100),
        }
    };
    let count = 2 + world.below(3) as usize;
    GROUPS[..count].iter().map(|of| group(of, &mut || world.below(1 << 40))).collect()
}

/// Rows on the screen and values of the files, of each window in which they were displayed.
type Shown = Option<(Groups, [Vec<GroupSample>; 2])>;

fn record(path: &Path, complete: bool, windows: u64) -> Vec<Shown> {
    let options = Options { sync: Sync::Never, ..Options::default() };
    let mut recorder = Recorder::open(path, machine("boot"), options).expect("a recorder");
    let (mut live, mut files, mut shown) = (Live::new(9, complete), Vec::new(), Vec::new());
    for n in 0..=windows {
        let now = live.world.next();
        recorder.record(&now, &live.book, live.clocks());
        let after = read(&mut live.world, &files);
        let before = std::mem::replace(&mut files, after);
        let Some(window) = live.book.advance(now) else { continue };
        if n % 5 == 1 {
            shown.push(None);
            continue;
        }
        recorder.groups(&before, &files);
        let is_ledger = window.end.provenance.source == SourceKind::Ledger;
        let uses = is_ledger.then(|| uses(&window, &live.book));
        let groups = Groups {
            t0_ns: window.t0_ns,
            t1_ns: window.t1_ns,
            cpus: Some(2),
            no_ledger: (!is_ledger).then(|| "the source is procfs".into()),
            rows: rows(&before, &files, uses.as_ref()),
        };
        shown.push(Some((groups, [before, files.clone()])));
    }
    shown
}

fn recorded(complete: bool, windows: u64) -> (tempfile::TempDir, PathBuf, Vec<Shown>) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let shown = record(&path, complete, windows);
    (dir, path, shown)
}

fn on_page(feed: &mut dyn Feed) -> Result<Groups, String> {
    let ask = Ask { groups: true, ..Ask::default() };
    feed.same_frame(&ask).expect("a window").groups.expect("the page")
}

/// Across keyframes, with the ledger and with a source that charges nothing to groups.
#[test]
fn groups_are_what_was_on_the_screen() {
    for complete in [false, true] {
        let (_dir, path, shown) = recorded(complete, 150);
        let mut replay = open(&path);
        for shown in &shown {
            assert_eq!(replay.forward().expect("readable"), ReplayStep::Window);
            match (shown, on_page(&mut replay)) {
                (Some((shown, _)), groups) => assert_eq!(groups.as_ref(), Ok(shown)),
                (None, Ok(groups)) => {
                    assert!(!complete, "nothing was charged to groups");
                    let usage = groups.rows.iter().filter_map(|row| row.stat.usage_ns);
                    assert_eq!(usage.count(), 0, "not displayed");
                }
                (None, Err(why)) => assert!(complete && why.contains("procfs"), "{why}"),
            }
        }
    }
}

#[test]
fn joined_windows_span_the_first_beginning_to_the_last_end() {
    let (_dir, path, shown) = recorded(true, 60);
    let recording = Recording::open(&path).expect("a recording");
    let mut playback = Playback::new(recording, None).expect("readable").expect("a window");
    playback.timeline().expect("a time line").join(Some(3_000_000_000)).expect("joined");
    let (mut at, mut sums) = (0, 0);
    while at < shown.len() {
        let windows = playback.timeline().expect("it").place().windows;
        let all: Option<Vec<_>> = shown[at..at + windows].iter().map(Option::as_ref).collect();
        let told = on_page(&mut playback).map(|groups| groups.rows);
        let expected = all.map(|all| {
            let (first, last) = (&all[0].1[0], &all[all.len() - 1].1[1]);
            rows(first, last, None)
        });
        assert_eq!(told.ok(), expected);
        sums += usize::from(expected.is_some() && windows > 1);
        at += windows;
        playback.next_frame(&Ask::default()).expect("the next");
    }
    assert!(sums > 3, "{sums}");
}

#[test]
fn a_cut_has_group_files_and_an_anonymous_one_hides_their_names() {
    let (dir, path, shown) = recorded(true, 8);
    for anonymous in [false, true] {
        let mut replay = open(&crate::cut::whole(&path, anonymous, dir.path()));
        for shown in &shown {
            assert_eq!(replay.forward().expect("readable"), ReplayStep::Window);
            let Some((shown, _)) = shown else { continue };
            let groups = on_page(&mut replay).expect("them");
            if !anonymous {
                assert_eq!(&groups, shown);
                continue;
            }
            let figures = |groups: &Groups| {
                let of = |row: &exactop_model::cgroups::GroupRow| (row.sample.id, row.stat);
                let mut all: Vec<_> = groups.rows.iter().map(of).collect();
                all.sort_by_key(|(id, _)| *id);
                all
            };
            assert_eq!(figures(&groups), figures(shown));
            let names = groups.rows.iter().map(|row| row.sample.name.as_str());
            let is_hidden = |name: &str| name == "/" || name.starts_with("/g");
            assert!(names.clone().all(is_hidden), "{:?}", names.collect::<Vec<_>>());
        }
    }
}
