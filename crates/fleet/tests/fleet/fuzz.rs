//! Foreign files may hold anything: they are read to the end or refused.

use exactop_export::{FleetTables, WindowSource};
use exactop_files::Directory;
use exactop_fleet::check::{check, json, page, Tolerance};
use exactop_fleet::report::{Grouping, Report};
use exactop_fleet::Parquet;
use exactop_fuzzing::{corpus, Target};
use exactop_model::{Book, SourceKind};
use exactop_recording::{Span, TimeRange};
use exactop_testkit::snapshot;
use std::path::{Path, PathBuf};

/// Directory with the tables of a few windows.
fn exported(into: &Path) -> PathBuf {
    let (mut tables, mut book) = (FleetTables::default(), Book::new());
    for n in 0..4 {
        let Some(window) = book.advance(snapshot(SourceKind::Ledger, n, None)) else { continue };
        let wall_offset_ns = 1_760_000_000_000_000_000;
        let span = Span { t0_ns: window.t0_ns, t1_ns: window.t1_ns, wall_offset_ns };
        tables
            .put("host", "boot", &WindowSource { window: &window, span, book: &book })
            .expect("a row");
    }
    tables.write(&Directory::open_or_make(into).expect("a directory")).expect("written");
    into.join("day=2025-10-09")
}

#[test]
fn fuzz_tables() {
    let dir = tempfile::tempdir().expect("a directory");
    let day = exported(dir.path());
    let table = |name: &str| std::fs::read(day.join(name)).expect("a table");
    let examples = [table("accounts.parquet"), table("charges.parquet")];
    let names = ["accounts.parquet", "charges.parquet"];
    let read = || {
        let books = Parquet::open(dir.path()).expect("they are there");
        let balance = check(&books, TimeRange::default(), &Tolerance::default(), 0)?;
        drop((json(&balance), page(&balance, 10, &|ns| ns.to_string()).text()));
        Report::read(&books, TimeRange::default(), Grouping::Command, 0)
    };
    assert!(read().expect("nothing is wrong with them").is_some());
    // A case reads all tables twice.
    let target = Target::new(corpus!("tables")).cases(600);
    target.examples(examples.iter().map(|e| &e[..])).run(|bytes| {
        // Replace one table at a time.
        for (name, whole) in names.iter().zip(&examples) {
            std::fs::write(day.join(name), bytes).expect("a file");
            drop(read());
            std::fs::write(day.join(name), whole).expect("a file");
        }
    });
}
