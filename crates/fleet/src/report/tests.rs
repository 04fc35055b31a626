//! Reports of a small exported fleet.

use super::*;
use crate::Parquet;
use exactop_export::{FleetTables, WindowSource};
use exactop_files::Directory;
use exactop_model::{Book, SourceKind};
use exactop_recording::{Span, TimeRange};
use exactop_testkit::{snapshot, WINDOW};
use std::path::Path;

const OFFSET: i64 = 1_760_000_000_000_000_000;
const WINDOWS: u64 = 30;

/// Exports hosts, each into its own directory, with windows of the made-up machine.
fn exported(path: &Path, hosts: &[&str]) {
    exported_of_boot(path, hosts, "boot");
}

/// The same, with a boot id.
fn exported_of_boot(path: &Path, hosts: &[&str], boot: &str) {
    exported_from(SourceKind::Ledger, path, hosts, boot);
}

/// The same, from a source.
fn exported_from(source: SourceKind, path: &Path, hosts: &[&str], boot: &str) {
    let into = Directory::open_or_make(path).expect("a directory");
    for (n, host) in hosts.iter().enumerate() {
        let (mut tables, mut book) = (FleetTables::default(), Book::new());
        for beat in 0..=WINDOWS {
            let now = snapshot(source, beat, None);
            let Some(window) = book.advance(now) else { continue };
            let span = Span { t0_ns: window.t0_ns, t1_ns: window.t1_ns, wall_offset_ns: OFFSET };
            tables
                .put(host, boot, &WindowSource { window: &window, span, book: &book })
                .expect("a row");
        }
        tables.write(&into.within(&format!("h{n}")).expect("a directory")).expect("written");
    }
}

fn report(path: &Path, by: Grouping) -> Report {
    let books = Parquet::open(path).expect("tables");
    Report::read(&books, TimeRange::default(), by, i128::MAX / 2)
        .expect("readable")
        .expect("windows")
}

#[test]
fn rows_and_pieces_sum_up_to_the_fleets_time() {
    let dir = tempfile::tempdir().expect("a directory");
    exported(dir.path(), &["one", "two", "evil\x1b[2J<b>"]);
    for by in Grouping::FLEET {
        let report = report(dir.path(), by);
        let sums = &report.sums;
        assert_eq!(sums.windows, 3 * WINDOWS);
        assert_eq!(sums.cpus_x_time_ns, u128::from(3 * WINDOWS * 2 * WINDOW));
        assert_eq!(sums.accounts_ns(), sums.cpus_x_time_ns as i128);
        assert_eq!(
            report.rows.iter().map(|row| row.run_ns).sum::<u128>(),
            sums.named_ns(),
            "{by:?}"
        );
        let pieces = report.pieces.iter().fold(Sums::default(), |mut all, piece| {
            all.and(&piece.sums);
            all
        });
        assert_eq!(pieces.cpus_x_time_ns, sums.cpus_x_time_ns);
        let drawn: u128 = report.pieces.iter().flat_map(|piece| &piece.run_ns).sum();
        assert_eq!(drawn, report.rows.iter().take(5).map(|row| row.run_ns).sum::<u128>(), "{by:?}");
        assert!(report.balance.holds());
        let page = page(&report, 2, true, &|ns| ns.to_string()).expect("pictures");
        for text in [page.html(), page.markdown(), page.text()] {
            assert!(!text.contains('\x1b') && text.contains("The balance holds."), "{text}");
        }
        assert!(!page.html().contains("<b>") && page.html().contains("<svg"));
    }
    let by_host = report(dir.path(), Grouping::Host);
    assert_eq!(by_host.rows.len(), 3);
    assert!(by_host.rows.iter().all(|row| row.run_ns == by_host.rows[0].run_ns && row.hosts == 1));
    let by_command = report(dir.path(), Grouping::Command);
    assert!(by_command.rows.iter().all(|row| row.hosts == 3), "{:?}", by_command.rows);
}

/// A source that sees no exits does not know that there were none.
#[test]
fn exits_that_no_host_sees_are_unknown() {
    let dir = tempfile::tempdir().expect("a directory");
    exported_from(SourceKind::Procfs, &dir.path().join("poor"), &["poor"], "boot");
    let text = |report: &Report| page(report, 9, false, &|ns| ns.to_string()).expect("it").text();
    let exited = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("exited ")).expect("a line");
        line.split_whitespace().nth(1).expect("a figure").to_string()
    };
    let poor = report(dir.path(), Grouping::Host);
    assert!(poor.balance.holds() && poor.rows.iter().all(|row| row.exited.is_none()));
    assert_eq!(exited(&text(&poor)), "-", "{}", text(&poor));
    assert!(!text(&poor).contains("see exits"), "{}", text(&poor));
    exported(&dir.path().join("good"), &["good"]);
    let both = report(dir.path(), Grouping::Host);
    assert!(both.balance.holds());
    let known: Vec<(&str, bool)> =
        both.rows.iter().map(|row| (&*row.name, row.exited.is_some())).collect();
    assert!(known.contains(&("good", true)) && known.contains(&("poor", false)), "{known:?}");
    assert_ne!(exited(&text(&both)), "-", "{}", text(&both));
    assert!(text(&both).contains("Not all windows see exits"), "{}", text(&both));
}

#[test]
fn a_time_without_windows_has_no_report_and_a_directory_without_tables_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let error = Parquet::open(dir.path()).expect_err("nothing").to_string();
    assert!(error.contains("no accounts.parquet"), "{error}");
    exported(dir.path(), &["one"]);
    let books = Parquet::open(dir.path()).expect("tables");
    let before = TimeRange { from: None, to: Some(0) };
    assert_eq!(Report::read(&books, before, Grouping::Host, 0).expect("readable"), None);
    std::fs::write(dir.path().join("h0/accounts.parquet"), "PAR1").expect("a file");
    let books = Parquet::open(dir.path()).expect("tables");
    let error =
        Report::read(&books, before, Grouping::Host, 0).expect_err("no Parquet").to_string();
    assert!(error.contains("h0/accounts.parquet: not a table"), "{error}");
}

/// A host that was exported twice counts once, in all forms of the report.
#[test]
fn duplicates_count_once() {
    let dir = tempfile::tempdir().expect("a directory");
    exported(dir.path(), &["one", "two"]);
    let plain = [Grouping::Host, Grouping::Pod, Grouping::Unit].map(|by| report(dir.path(), by));
    exported(&dir.path().join("again"), &["two"]);
    for once in plain {
        let twice = report(dir.path(), once.by);
        assert_eq!(twice.balance.hosts[1].doubled, WINDOWS);
        assert_eq!(twice.balance.sums.windows, 3 * WINDOWS);
        assert_eq!((&twice.rows, &twice.pieces), (&once.rows, &once.pieces), "{:?}", once.by);
        assert_eq!((twice.sums, twice.from_ns, twice.to_ns), (once.sums, once.from_ns, once.to_ns));
        let text = page(&twice, 2, false, &|ns| ns.to_string()).expect("no pictures").text();
        for words in
            ["2 hosts; of 240 s of CPU time ", "30 duplicate rows: here", "findings on 1 host:"]
        {
            assert!(text.split("Where the CPUs").next().expect("a head").contains(words), "{text}");
        }
        let text = page(&once, 2, false, &|ns| ns.to_string()).expect("no pictures").text();
        assert!(
            text.contains("2 hosts; of 240 s of CPU time ") && !text.contains("findings"),
            "{text}"
        );
    }
}

/// Two machines of one name are two rows, named with their boots.
#[test]
fn two_hosts_of_one_name_are_named_with_their_boots() {
    let dir = tempfile::tempdir().expect("a directory");
    let alone = dir.path().join("alone");
    exported_of_boot(&alone, &["one", "two"], "01234567-89ab");
    assert_eq!(names(&report(&alone, Grouping::Host)), ["one", "two"]);
    exported_of_boot(&dir.path().join("other"), &["two"], "76543210-89ab");
    let both = report(dir.path(), Grouping::Host);
    assert_eq!(names(&both), ["one", "two (boot 01234567)", "two (boot 76543210)"]);
    assert!(both.rows.iter().all(|row| row.run_ns == both.rows[0].run_ns && row.hosts == 1));
    let drawn: u128 = both.pieces.iter().flat_map(|piece| &piece.run_ns).sum();
    assert_eq!(drawn, both.sums.named_ns(), "pictures have all three");
    let text = page(&both, 5, false, &|ns| ns.to_string()).expect("no pictures").text();
    for words in ["have the name two:", "two boots at once, 01234567 and 76543210"] {
        assert!(text.contains(words), "{text}");
    }
    // The same windows a second time are of the same machine.
    exported_of_boot(&alone.join("again"), &["two"], "01234567-89ab");
    let twice = report(dir.path(), Grouping::Host);
    assert_eq!((&twice.rows, &twice.pieces), (&both.rows, &both.pieces));
}

fn names(report: &Report) -> Vec<&str> {
    let mut names: Vec<&str> = report.rows.iter().map(|row| &*row.name).collect();
    names.sort_unstable();
    names
}

#[test]
fn links_are_skipped_and_counted() {
    let dir = tempfile::tempdir().expect("a directory");
    exported(dir.path(), &["one", "two"]);
    let tables = |path: &Path| Parquet::open(path).expect("tables");
    assert_eq!(tables(dir.path()).skipped(), 0);
    std::os::unix::fs::symlink(dir.path(), dir.path().join("h0/circle")).expect("a link");
    std::fs::write(dir.path().join("h0/notes"), "text").expect("a file");
    let deep = (0..12).fold(dir.path().join("h1"), |path, n| path.join(n.to_string()));
    std::fs::create_dir_all(&deep).expect("directories");
    assert_eq!(tables(dir.path()).skipped(), 2);
    assert_eq!(report(dir.path(), Grouping::Host).rows.len(), 2, "each once");
}
