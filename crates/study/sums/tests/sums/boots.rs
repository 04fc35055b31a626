//! Numbers are unique within a boot: equal numbers of two boots are different groups and users, and
//! a piece of time ends where windows do not continue.

use crate::drawn::{self, machine, read, Drawn, Planted, OFFSET};
use exactop_model::{Book, Frame, FrameOptions, Tap};
use exactop_recording::{Clocks, Machine, Options, Recorder, Sync};
use exactop_sums::{report, text, Grouping, Stretch};
use std::collections::BTreeMap;
use std::path::Path;

/// Records windows of a boot. If `told`, every number has its own name.
fn boot(path: &Path, name: &str, drawn: &mut Drawn, windows: usize, told: bool) -> u64 {
    let options = Options { sync: Sync::Never, ..Options::default() };
    let about = Machine { boot_id: name.into(), kernel: format!("6.18.0-{name}"), ..machine() };
    let mut recorder = Recorder::open(path, about, options).expect("a recorder");
    let mut book = Book::new();
    let mut run_ns = 0;
    for n in 0..=windows {
        let now = drawn.next(n == 0);
        recorder.record(&now, &book, Clocks { wall_offset_ns: OFFSET, suspended_ns: 0 });
        let Some(window) = book.advance(now) else { continue };
        let books = exactop_model::Books::from_window(&window);
        run_ns += books.tasks_ns + books.exited_ns;
        for row in &mut Frame::new(&window, &book, &FrameOptions::default()).rows {
            let (Some(id), true) = (row.ident.cgroup_id, told) else { continue };
            row.detail.cgroup = Ok(format!("/{name}-{id}").into_bytes());
            row.detail.user = Ok(format!("{name}-{}", row.ident.uid));
            recorder.details(row);
        }
        recorder.settle();
    }
    run_ns
}

fn by_name(stretch: &Stretch) -> BTreeMap<&str, u64> {
    stretch.rows.iter().map(|row| (row.group.name.as_str(), row.sum.run_ns)).collect()
}

#[test]
fn groups_and_users_of_two_boots_are_not_mixed() {
    for told in [true, false] {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("recording");
        let mut used = Vec::new();
        for (seed, name) in [(1, "one"), (2, "two")] {
            used.push(boot(&path, name, &mut Drawn::new(seed, Planted::default()), 8, told));
        }
        let groups = read(&path, Grouping::Cgroup, None);
        let of = |begin: &str, end: &str| -> u64 {
            let rows = by_name(&groups);
            let its = rows.iter().filter(|(name, _)| name.starts_with(begin) && name.contains(end));
            its.map(|(_, ns)| ns).sum()
        };
        match told {
            true => assert_eq!([of("/one-", ""), of("/two-", "")], used[..]),
            false => {
                assert_eq!([of("(control", "of boot 1,"), of("(control", "of boot 2,")], used[..]);
            }
        }
        let users = read(&path, Grouping::User, None);
        let exited = by_name(&users)[Grouping::User.none()];
        let named: u64 = by_name(&users).values().sum();
        assert_eq!(named, used.iter().sum::<u64>());
        if told {
            let rows = by_name(&users);
            let one: u64 =
                rows.iter().filter(|(name, _)| name.starts_with("one-")).map(|r| r.1).sum();
            let two: u64 =
                rows.iter().filter(|(name, _)| name.starts_with("two-")).map(|r| r.1).sum();
            assert_eq!(one + two + exited, named);
            assert!(one > 0 && two > 0);
        }
        let head = text::head(&groups, &|ns| ns.to_string());
        assert!(head.contains("Linux 6.18.0-one, then booted with Linux 6.18.0-two"), "{head}");
        assert!(head.contains("; 1 gap of unknown length"), "{head}");
    }
}

#[test]
fn no_piece_spans_a_gap_or_a_boot() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let mut drawn = Drawn::new(3, Planted::default());
    // More windows than pieces, in sessions an hour apart, and another boot.
    for _ in 0..3 {
        boot(&path, "one", &mut drawn, 201, false);
        drawn.pass(3600 * drawn::SECOND);
    }
    boot(&path, "two", &mut Drawn::new(4, Planted::default()), 201, false);
    let stretch = read(&path, Grouping::Command, None);
    assert_eq!((stretch.windows, stretch.gaps.len()), (4 * 201, 3));
    let head = text::head(&stretch, &|ns| ns.to_string());
    assert!(head.contains("; 3 gaps, 7202.0 s and 1 of unknown length"), "{head}");
    assert!(stretch.slots.len() <= 480, "{}", stretch.slots.len());
    for slot in &stretch.slots {
        let wall = u64::try_from(slot.to_wall_ns - slot.from_wall_ns).expect("a length");
        assert_eq!(wall, slot.length_ns, "nothing is painted over");
    }
    assert_eq!(stretch.slots.iter().map(|slot| slot.windows).sum::<u64>(), stretch.windows);
    assert_eq!(stretch.slots.iter().filter(|slot| !slot.goes_on).count(), 4);
}

#[test]
fn windows_of_half_a_second_or_so_show_what_happens_within_a_second() {
    // Jitter: some windows are a little longer than half a second.
    for (length, windows, shown) in
        [(501_000_000, 30, true), (500_000_000, 1500, true), (600_000_000, 30, false)]
    {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("recording");
        let mut drawn = Drawn::new(6, Planted::default());
        drawn.length_ns = length;
        boot(&path, "one", &mut drawn, windows, false);
        let stretch = read(&path, Grouping::Command, None);
        let page = report::page(&stretch, 5, true, &|ns| ns.to_string()).expect("a page").html();
        assert_eq!(page.contains("Use of all CPUs within each second"), shown, "{length} ns");
        assert_eq!(page.contains("Use of each CPU"), !shown, "{length} ns");
    }
}
