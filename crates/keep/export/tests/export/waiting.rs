//! Tasks that wait all through a window have that time, whether or not an event happened to them.
//! Texts of a recording are escaped.

use exactop_export::{export, fields, TableName};
use exactop_files::Directory;
use exactop_model::{
    Book, Comm, Counter, Ident, MicroState, Snapshot, SourceKind, TaskKey, TaskSample,
};
use exactop_recording::{Clocks, Machine, Options, Recorder, Recording, Sync, TimeRange};
use exactop_testkit::samples;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Row, RowAccessor};
use std::fs::File;
use std::path::Path;

const SECOND: u64 = 1_000_000_000;
const WINDOWS: u64 = 5;

fn task(n: u32, name: &str, state: MicroState, cgroup: u64) -> TaskSample {
    let key = TaskKey { tgid: n, tid: n, start_ns: 1 };
    let comm = Comm::new(name.as_bytes());
    let ident = Ident { comm, cgroup_id: Some(cgroup), ..Ident::default() };
    TaskSample { state, ..samples::task(n.into(), key, ident) }
}

/// Four tasks: one in every window, one that waits for a CPU, one throttled, one asleep. The first
/// changes its group in the last window.
fn record(path: &Path) {
    let machine = Machine {
        host: "made-up".into(),
        boot_id: "b\x1b[2Joot".into(),
        kernel: "6.18.0".into(),
        architecture: "x86_64".into(),
        exactop: "0.1.0".into(),
    };
    let options = Options { sync: Sync::Never, ..Options::default() };
    let mut recorder = Recorder::open(path, machine, options).expect("a recorder");
    let mut book = Book::new();
    let mut tasks = [
        task(1, "busy", MicroState::Sleep, 7),
        task(2, "starved", MicroState::Lat, 7),
        task(3, "throttled", MicroState::Throttle, 8),
        task(4, "asleep", MicroState::Sleep, 8),
    ];
    for n in 0..=WINDOWS {
        let mut now: Snapshot = samples::snapshot(SourceKind::Ledger, (10 + n) * SECOND);
        now.cpus = [0, 1].map(samples::cpu).to_vec();
        now.cpus.iter_mut().for_each(|cpu| cpu.idle_ns = n * SECOND);
        if n >= 2 {
            // In the second window one CPU has too little time and the other too much.
            now.cpus[0].idle_ns -= 100;
            now.cpus[1].idle_ns += 100;
        }
        now.complete = n == 0;
        if n > 0 {
            tasks[0].counters.bump(Counter::LatNs, SECOND / 2);
            tasks[0].counters.bump(Counter::SleepNs, SECOND / 2);
        }
        if n == WINDOWS {
            tasks[0].ident.cgroup_id = Some(8);
            now.moves = vec![samples::moved(7, 8, [(Counter::LatNs, SECOND / 5)])];
        }
        now.tasks = if n == 0 { tasks.to_vec() } else { vec![tasks[0]] };
        recorder.record(&now, &book, Clocks { wall_offset_ns: 0, suspended_ns: 0 });
        book.advance(now);
    }
    assert_eq!(recorder.notices(), []);
}

/// All rows of a table.
fn rows(out: &Path, which: TableName) -> Vec<Row> {
    let day = std::fs::read_dir(out).expect("days").next().expect("one").expect("a day").path();
    let file = File::open(day.join(format!("{}.parquet", which.name()))).expect("a file");
    let reader = SerializedFileReader::new(file).expect("Parquet");
    let rows = reader.get_row_iter(None).expect("rows");
    rows.map(|row| row.expect("a row")).collect()
}

fn place(which: TableName, name: &str) -> usize {
    fields(which).iter().position(|field| field.name == name).expect(name)
}

#[test]
fn a_task_that_waits_all_through_a_window_has_a_row() {
    let dir = tempfile::tempdir().expect("a directory");
    let (path, out) = (dir.path().join("recording"), dir.path().join("out"));
    record(&path);
    let into = Directory::open_or_make(&out).expect("a directory");
    let recording = Recording::open(&path).expect("it");
    export(recording, TimeRange::default(), &mut &into).expect("exported");
    let told = rows(&out, TableName::Rows);
    let sum = |name: &str, column: &str| -> u64 {
        let its = told
            .iter()
            .filter(|row| row.get_string(place(TableName::Rows, "comm")).expect("a name") == name);
        its.map(|row| row.get_ulong(place(TableName::Rows, column)).expect("known")).sum()
    };
    assert_eq!(sum("busy", "lat_ns"), WINDOWS * SECOND / 2);
    assert_eq!(sum("starved", "lat_ns"), WINDOWS * SECOND);
    assert_eq!(sum("throttled", "throttle_ns"), WINDOWS * SECOND);
    assert_eq!(sum("starved", "life_ns"), WINDOWS * SECOND);
    assert_eq!(sum("asleep", "sleep_ns"), 0, "who sleeps has none");
    // Time before a change of group is the old group's.
    let groups = rows(&out, TableName::Groups);
    let sum = |group: u64, column: &str| -> u64 {
        let id = place(TableName::Groups, "cgroup_id");
        let its = groups.iter().filter(|row| row.get_ulong(id).expect("a group") == group);
        its.map(|row| row.get_ulong(place(TableName::Groups, column)).expect("known")).sum()
    };
    let waited = [7, 8].map(|group| sum(group, "lat_ns"));
    let moved = SECOND / 2 - SECOND / 5;
    assert_eq!(waited, [WINDOWS * SECOND + WINDOWS * SECOND / 2 - moved, moved]);
    assert_eq!(sum(8, "throttle_ns"), WINDOWS * SECOND);
    assert_eq!([7, 8].map(|group| sum(group, "tasks")), [WINDOWS - 1, 1], "that did something");
    let exact: Vec<bool> = rows(&out, TableName::Accounts)
        .iter()
        .map(|row| row.get_bool(place(TableName::Accounts, "exact")).expect("known"))
        .collect();
    assert_eq!(exact, [true, false, true, true, true]);
    // Control characters in the recording's texts are escaped.
    let boot = rows(&out, TableName::Accounts)[0]
        .get_string(place(TableName::Accounts, "boot_id"))
        .cloned();
    assert!(!boot.as_ref().expect("it").contains('\x1b') && boot.expect("it").contains("oot"));
}
