//! Waits of a process are recorded while its page is open, and shown as they were. Other windows
//! say that they were not displayed.

use crate::world::{machine, open, Live, World};
use exactop_model::on_demand::losses::Losses;
use exactop_model::on_demand::waits::{Latency, OtherShare, Sleep, WaitKind, WaitRow, WaitWindow};
use exactop_model::{Ask, Comm, Feed, SyscallNr, Tap, TaskRef};
use exactop_recording::{cut, Options, Playback, Recorder, Recording, ReplayStep, Sync, TimeRange};
use std::path::{Path, PathBuf};

/// The process whose page is open.
const PID: u32 = 101;

type WaitResult = Result<WaitWindow, String>;

fn latency(world: &mut World) -> Latency {
    let mut latency = Latency::default();
    for _ in 0..world.below(9) {
        let bucket = world.below(latency.buckets.len() as u64) as usize;
        let (waits, ns) = (1 + world.below(1 << 33), world.below(1 << 50));
        latency.buckets[bucket] += waits;
        (latency.count, latency.ns) = (latency.count + waits, latency.ns + ns);
        latency.max_ns = latency.max_ns.max(Some(ns));
    }
    latency
}

fn who(world: &mut World) -> TaskRef {
    let names: [&[u8]; 3] = [b"sh", b"\x1b[2J", b"0123456789abcde"];
    match world.below(4) {
        0 => TaskRef::INTERRUPT,
        n => TaskRef {
            tgid: 1 + world.below(u64::from(u32::MAX)) as u32,
            tid: (n > 1).then(|| 1 + world.below(1 << 22) as u32),
            comm: Comm::new(names[world.below(3) as usize]),
            process: Comm::new(if n == 2 { b"" } else { names[world.below(3) as usize] }),
        },
    }
}

fn others(world: &mut World) -> Vec<OtherShare> {
    (0..world.below(4))
        .map(|_| OtherShare { who: who(world), amount: world.below(1 << 40) })
        .collect()
}

/// Random waits of some threads.
fn drawn(world: &mut World) -> WaitWindow {
    let kinds = [WaitKind::Sleep, WaitKind::Lock, WaitKind::Block, WaitKind::Throttle];
    let thread = |world: &mut World, n: u32| {
        let sleep = |world: &mut World| Sleep {
            kind: kinds[world.below(4) as usize],
            nr: SyscallNr(world.below(400) as i32 - 1),
            count: world.below(5),
            ns: world.below(1 << 40),
            max_ns: (world.below(2) == 0).then(|| world.below(1 << 40)),
        };
        let comm = Comm::new(format!("thread-{n}").as_bytes());
        WaitRow {
            sleeps: (0..world.below(4)).map(|_| sleep(world)).collect(),
            woken: latency(world),
            preempted: latency(world),
            queued: world.below(3),
            ran_instead: others(world),
            woken_by: others(world),
            ..WaitRow::new(TaskRef::thread(PID, PID + n, comm, comm))
        }
    };
    let rows = (0..world.below(5) as u32).map(|n| thread(world, n)).collect();
    let skipped = (world.below(2) == 0).then(|| world.below(9));
    let losses =
        Losses { lost: world.below(3), skipped, unseen: 2, tables_bytes: Some(4096), left_out: 0 };
    WaitWindow { t0_ns: world.at_ns - 1_000_000_000, t1_ns: world.at_ns + 77, rows, losses }
}

/// What the page shows in a window: nothing, a failure, or waits.
fn look(live: &mut Live, n: u64) -> Option<WaitResult> {
    match n % 5 {
        0 => None,
        1 => Some(Err("cannot attach on_switch".into())),
        _ => Some(Ok(drawn(&mut live.world))),
    }
}

/// Records windows; returns what the page showed in each.
fn record(path: &Path, windows: u64) -> Vec<Option<WaitResult>> {
    let options = Options { sync: Sync::Never, ..Options::default() };
    let mut recorder = Recorder::open(path, machine("boot"), options).expect("a recorder");
    let mut live = Live::new(7, false);
    let mut told = Vec::new();
    for n in 0..=windows {
        // On-demand figures come after the window's snapshot and before the next.
        let now = live.world.next();
        recorder.record(&now, &live.book, live.clocks());
        if live.book.advance(now).is_none() {
            continue;
        }
        let looked = look(&mut live, n);
        looked.iter().for_each(|waits| recorder.waits(PID, waits));
        told.push(looked);
    }
    told
}

/// Losses as the kept texts have them, without later kinds of loss.
fn losses(of: &Losses) -> String {
    let Losses { lost, skipped, unseen, tables_bytes, .. } = of;
    format!(
        "Losses {{ lost: {lost}, skipped: {skipped:?}, unseen: {unseen}, tables_bytes: {tables_bytes:?} }}"
    )
}

/// Figures and names of the whole recording as text.
fn words(path: &Path) -> String {
    use std::fmt::Write;
    let (mut replay, mut out) = (open(path), String::new());
    while replay.forward().expect("readable") == ReplayStep::Window {
        let window = replay.window().expect("it").t1_ns;
        match replay.waits() {
            None => writeln!(out, "{window} nobody looked"),
            Some((of, Err(why))) => writeln!(out, "{window} {of} not known: {why}"),
            Some((of, Ok(waits))) => {
                let _ = writeln!(out, "{window} {of} {} {}", waits.t1_ns, losses(&waits.losses));
                for row in &waits.rows {
                    let p99 = |latency: &Latency| (latency.count, latency.quantile_ns(0.99));
                    let (woken, preempted) = (p99(&row.woken), p99(&row.preempted));
                    let _ = writeln!(out, "  {} {woken:?} {preempted:?} {}", row.who, row.queued);
                    let _ = writeln!(out, "  {:?}", row.sleeps);
                    let parts = [&row.ran_instead, &row.woken_by];
                    let parts = parts.map(|of| of.iter().map(|o| (o.who.to_string(), o.amount)));
                    let parts = parts.map(Iterator::collect::<Vec<_>>);
                    let _ = writeln!(out, "  {parts:?}");
                }
                Ok(())
            }
        }
        .expect("a text");
    }
    out
}

/// The first format of waits: all later versions read it. The file was created once, and never
/// again.
#[test]
fn form_1_with_waits_is_read() {
    let kept = |end| {
        let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
        dir.join(format!("form-1-waits.{end}"))
    };
    if std::env::var_os("EXACTOP_KEEP_RECORDING").is_some() {
        assert!(!kept("rec").exists(), "it is there, and stays as it is");
        let (_dir, path, _) = dir_of(12);
        let mut out = std::fs::File::create(kept("rec")).expect("a file");
        let recording = Recording::open(&path).expect("a recording");
        cut(recording, TimeRange::default(), false, &mut out).expect("one file");
        std::fs::write(kept("txt"), words(&kept("rec"))).expect("its words");
    }
    let expected = std::fs::read_to_string(kept("txt")).expect("its words");
    assert_eq!(words(&kept("rec")), expected);
    assert!(expected.contains("not known") && expected.contains("thread-1"), "{expected}");
}

fn shown(feed: &mut dyn Feed, watch: u32) -> Option<WaitResult> {
    let ask = Ask { watch: Some(watch), ..Ask::default() };
    let frame = feed.same_frame(&ask).expect("a window");
    frame.subjects.get::<WaitWindow>().map(|told| told.cloned().map_err(String::from))
}

fn nobody_looked(told: &Option<WaitResult>) -> bool {
    matches!(told, Some(Err(why)) if why.contains("not displayed"))
}

fn dir_of(windows: u64) -> (tempfile::TempDir, PathBuf, Vec<Option<WaitResult>>) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let told = record(&path, windows);
    (dir, path, told)
}

/// Across keyframes, which reset the decoder.
#[test]
fn waits_are_shown_as_recorded() {
    let (_dir, path, told) = dir_of(200);
    let mut replay = open(&path);
    for told in &told {
        assert_eq!(replay.forward().expect("readable"), ReplayStep::Window);
        assert!(nobody_looked(&shown(&mut replay, PID + 1)), "another process's page");
        let shown = shown(&mut replay, PID);
        match told {
            None => assert!(nobody_looked(&shown), "{shown:?}"),
            Some(_) => assert_eq!(&shown, told),
        }
        assert_eq!(replay.waits().is_some(), told.is_some());
    }
    assert_eq!(replay.forward().expect("readable"), ReplayStep::End);
}

#[test]
fn joined_windows_have_waits_if_all_of_them_have() {
    let (_dir, path, told) = dir_of(60);
    let recording = Recording::open(&path).expect("a recording");
    let mut playback = Playback::new(recording, None).expect("readable").expect("a window");
    let timeline = playback.timeline().expect("a time line");
    timeline.join(Some(3_000_000_000)).expect("joined");
    let (mut at, mut sums, mut unknown) = (0, 0, 0);
    while at < told.len() {
        let windows = playback.timeline().expect("it").place().windows;
        let of: Option<Vec<&WaitResult>> =
            told[at..at + windows].iter().map(Option::as_ref).collect();
        let shown = shown(&mut playback, PID);
        match of {
            None => {
                assert!(nobody_looked(&shown), "{shown:?}");
                unknown += 1;
            }
            Some(of) => {
                let both = of.into_iter().cloned().reduce(|sum, next| {
                    let mut sum = sum?;
                    sum.then(next?);
                    Ok(sum)
                });
                assert_eq!(shown, both);
                sums += 1;
            }
        }
        at += windows;
        playback.next_frame(&Ask::default()).expect("the next");
    }
    assert!(sums > 3 && unknown > 3, "{sums} {unknown}");
}

#[test]
fn a_cut_has_waits_and_an_anonymous_one_no_names() {
    let (dir, path, told) = dir_of(20);
    for anonymous in [false, true] {
        let mut replay = open(&crate::cut::whole(&path, anonymous, dir.path()));
        for told in &told {
            assert_eq!(replay.forward().expect("readable"), ReplayStep::Window);
            let shown = replay.waits().map(|(of, waits)| (of, waits.clone()));
            match (told, anonymous) {
                (told, false) => assert_eq!(shown, told.clone().map(|told| (PID, told))),
                (Some(Ok(told)), true) => masked(told, &shown.expect("them").1.expect("waits")),
                (Some(Err(_)), true) => {
                    let why = shown.expect("them").1.expect_err("not known");
                    assert_eq!(why, "cannot measure the waits");
                }
                (None, true) => assert_eq!(shown, None),
            }
        }
    }
}

/// Everything except names is unchanged.
fn masked(told: &WaitWindow, shown: &WaitWindow) {
    let names = |waits: &WaitWindow| {
        let of = |row: &WaitRow| {
            let others = row.ran_instead.iter().chain(&row.woken_by).map(|other| other.who);
            std::iter::once(row.who).chain(others).collect::<Vec<TaskRef>>()
        };
        waits.rows.iter().flat_map(of).collect::<Vec<TaskRef>>()
    };
    for (then, now) in names(told).into_iter().zip(names(shown)) {
        let is_kernel = then.tgid == 0;
        assert_eq!(now.comm == then.comm, is_kernel, "{then} {now}");
        assert!(is_kernel || now.comm.to_string().starts_with("cmd"), "{now}");
        let (was, is) = (then.process.to_string(), now.process.to_string());
        assert!(is_kernel || was.is_empty() && is.is_empty() || is.starts_with("cmd"), "{is}");
    }
    let nameless = |waits: &WaitWindow| {
        let mut waits = waits.clone();
        for row in &mut waits.rows {
            let others = row.ran_instead.iter_mut().chain(&mut row.woken_by);
            let others = others.map(|other| &mut other.who);
            for who in others.chain([&mut row.who]) {
                (who.comm, who.process) = (Comm::default(), Comm::default());
            }
        }
        waits
    };
    assert_eq!(nameless(told), nameless(shown));
}
