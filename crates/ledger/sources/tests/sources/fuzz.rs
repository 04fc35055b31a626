//! Fuzz targets: files of /proc and of control groups, and everything that is computed from them.
//!
//! An input is a text: a line `== NAME` begins a file of the made-up machine; `== later` begins its
//! content at the second read.

use exactop_cgroups::{Hierarchy, Version};
use exactop_fuzzing::{corpus, Target};
use exactop_model::columns::{Context, COLUMNS};
use exactop_model::words::units;
use exactop_model::{Ask, Feed, FrameOptions, Needs, Row};
use exactop_sources::procfs::Procfs;
use exactop_sources::session::Session;
use exactop_sources::taskstats::Record;
use std::fs;
use std::path::Path;

/// Files of the made-up /proc; an input can name no others.
const PROC: &[&str] = &[
    "stat",
    "uptime",
    "loadavg",
    "meminfo",
    "7/stat",
    "7/statm",
    "7/status",
    "7/schedstat",
    "7/cmdline",
    "7/cgroup",
    "7/task/7/stat",
    "7/task/7/status",
    "7/task/7/schedstat",
    "7/task/8/stat",
    "7/task/8/status",
    "7/task/8/schedstat",
    "9/stat",
    "9/task/9/stat",
];

const MACHINE: &str = "\
== stat
cpu  90 20 30 4000 50 6 7 8 1 0
cpu0 40 10 10 2000 20 3 3 4 1 0
cpu3 50 10 20 2000 30 3 4 4 0 0
intr 123 1 2 3
ctxt 5
btime 6
processes 77
softirq 1 2 3
== uptime
350.25 600.00
== loadavg
0.50 1.25 2.00 3/120 4711
== meminfo
MemTotal:       24641516 kB
MemFree:        20000000 kB
MemAvailable:   22000000 kB
Buffers:            1000 kB
Cached:          2000000 kB
SwapTotal:             0 kB
SwapFree:              0 kB
SReclaimable:      50000 kB
== 7/stat
7 (a ) R (b) S 1 7 7 0 -1 4194304 100 0 0 0 70 30 5 6 20 0 2 0 15003 3133440 410 18446744073709551615 1 2 3 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 1 2 3 4 5 6 7 0
== 7/task/7/stat
7 (leader) S 1 7 7 0 -1 4194304 100 0 0 0 70 30 5 6 20 0 2 0 15003 3133440 410 18446744073709551615 1 2 3 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 1 2 3 4 5 6 7 0
== 7/task/8/stat
8 (worker) R 1 7 7 0 -1 4194304 100 0 0 0 30 10 5 6 20 5 2 0 15013 3133440 410 18446744073709551615 1 2 3 0 0 0 0 0 0 0 0 0 17 3 0 2 0 0 0 1 2 3 4 5 6 7 0
== 7/statm
765 410 300 200 0 100 0
== 7/status
Name:\ta
Uid:\t1000\t1000\t1000\t1000
voluntary_ctxt_switches:\t15
nonvoluntary_ctxt_switches:\t2
== 7/schedstat
123456789 456789 77
== 7/cmdline
/bin/a\0--b\0c d\0
== 7/cgroup
2:cpu,cpuacct:/a/b
0::/user.slice/x.scope
== later
== stat
cpu  95 20 31 4100 50 6 7 9 1 0
cpu0 42 10 10 2050 20 3 3 5 1 0
cpu3 53 10 21 2050 30 3 4 4 0 0
processes 79
== 7/stat
7 (a ) R (b) R 1 7 7 0 -1 4194304 100 0 0 0 74 31 5 6 20 0 2 0 15003 3133440 410 18446744073709551615 1 2 3 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 1 2 3 4 5 6 7 0
== 7/schedstat
163456789 466789 87
== 9/stat
9 (new) S 7 9 9 0 -1 4194304 100 0 0 0 1 0 0 0 20 0 1 0 15103 3133440 410 18446744073709551615 1 2 3 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 1 2 3 4 5 6 7 0
";

/// Writes the files in a part of an input.
fn write(root: &Path, allowed: &[&str], part: &[u8]) {
    let mut file: Option<(&str, Vec<u8>)> = None;
    let finish = |file: Option<(&str, Vec<u8>)>| {
        let Some((name, bytes)) = file else { return };
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, bytes).expect("a file");
    };
    for line in part.split_inclusive(|&b| b == b'\n') {
        if let Some(name) = line.strip_prefix(b"== ") {
            finish(file.take());
            let name = allowed.iter().find(|n| n.as_bytes() == name.trim_ascii_end());
            file = name.map(|name| (*name, Vec::new()));
        } else if let Some((_, bytes)) = &mut file {
            bytes.extend_from_slice(line);
        }
    }
    finish(file);
}

/// The parts of an input for the first and the second read.
fn looks(input: &[u8]) -> (&[u8], &[u8]) {
    const LATER: &[u8] = b"== later\n";
    match input.windows(LATER.len()).position(|part| part == LATER) {
        Some(at) => (&input[..at], &input[at + LATER.len()..]),
        None => (input, b""),
    }
}

fn is_harmless(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() || matches!(c as u32, 0x202a..=0x202e | 0x200b..=0x200f))
}

#[test]
fn fuzz_proc_files() {
    let all = [Needs::STAT, Needs::STATM, Needs::CMDLINE, Needs::USER, Needs::CGROUP]
        .into_iter()
        .chain([Needs::SCHEDSTAT, Needs::STATUS, Needs::MACHINE])
        .fold(Needs::NONE, Needs::with);
    Target::new(corpus!("proc_files"))
        .examples([MACHINE])
        .words(PROC.iter().map(|name| format!("== {name}\n")))
        .words(["== later\n", "cpu9 ", "7 (x) R ", "Uid:", "-"])
        .cases(40)
        .run(|input| {
            let proc = tempfile::tempdir().expect("a directory");
            let (first, second) = looks(input);
            write(proc.path(), PROC, first);
            // The content of /proc/stat is checked on opening.
            let Ok(source) = Procfs::open(proc.path()) else { return };
            let Ok(mut session) = Session::new(Box::new(source), proc.path()) else { return };
            let threads = input.len() % 2 == 1;
            let needs = if threads { all.with(Needs::THREADS) } else { all };
            let ask = Ask {
                options: FrameOptions { threads, ..FrameOptions::default() },
                needs,
                ..Ask::default()
            };
            for look in [first, second, first] {
                write(proc.path(), PROC, look);
                let Ok(Some(mut frame)) = session.next_frame(&ask) else { continue };
                let mut rows: Vec<&mut Row> =
                    frame.rows.iter_mut().chain(&mut frame.exited).collect();
                session.details(&mut rows, needs);
                let context = Context {
                    window_ns: frame.length_ns(),
                    cpus: frame.cpus.len() as u32,
                    of_machine: threads,
                    command_line: true,
                    memory_total: frame.system.memory.map(|memory| memory.total),
                    boottime_ns: Some(frame.t1_ns),
                };
                frame.rows.iter().chain(&frame.exited).for_each(|row| check(row, &context));
            }
        });
}

/// Checks that every cell can be shown.
fn check(row: &Row, context: &Context) {
    for column in COLUMNS {
        let value = (column.value)(row, context);
        let cell = units::cell(&value, column.unit);
        assert!(is_harmless(&cell), "{}: {cell:?}", column.name);
        assert!(value.number().is_none_or(f64::is_finite), "{}: {value:?}", column.name);
    }
}

const GROUP: &[&str] = &[
    "cpu.stat",
    "cpu.max",
    "cpu.weight",
    "cpu.pressure",
    "cgroup.procs",
    "cpuset.cpus.effective",
    "cpu.shares",
    "cpu.cfs_quota_us",
    "cpu.cfs_period_us",
    "cpuacct.stat",
    "cpuacct.usage",
];

const GROUPS: &str = "\
== cpu.stat
usage_usec 123456
user_usec 100000
system_usec 23456
nr_periods 10
nr_throttled 3
throttled_usec 5000
throttled_time 5000000
== cpu.max
40000 100000
== cpu.weight
100
== cpu.pressure
some avg10=0.00 avg60=0.00 avg300=0.00 total=1234
full avg10=0.00 avg60=0.00 avg300=0.00 total=0
== cgroup.procs
7
9
== cpuset.cpus.effective
0-3,7
== cpu.shares
1024
== cpu.cfs_quota_us
-1
== cpu.cfs_period_us
100000
== cpuacct.stat
user 12
system 34
== cpuacct.usage
123456789
";

#[test]
fn fuzz_cgroup_files() {
    Target::new(corpus!("cgroup_files"))
        .examples([GROUPS])
        .words(GROUP.iter().map(|name| format!("== {name}\n")))
        .words(["max", "usage_usec ", "user ", "total=", "-1"])
        .cases(100)
        .run(|input| {
            let root = tempfile::tempdir().expect("a directory");
            write(root.path(), GROUP, input);
            for version in [Version::V2, Version::V1] {
                let hierarchy = Hierarchy {
                    version,
                    root: root.path().into(),
                    accounting: Some(root.path().into()),
                    cpusets: None,
                    own: "/".into(),
                    own_accounting: "/".into(),
                };
                let groups = hierarchy.groups();
                assert!(groups.iter().all(|g| is_harmless(&g.name)));
                assert!(groups.iter().all(|g| g.allowed_cpus.is_none_or(f64::is_finite)));
                Hierarchy::processes(root.path());
            }
        });
}

#[test]
fn fuzz_mounts() {
    const MOUNTS: &str = "\
        29 1 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n\
        30 29 0:27 /a /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
        == later\n\
        3:cpu,cpuacct:/a/b\n\
        0::/user.slice/x.scope\n";
    Target::new(corpus!("mounts"))
        .examples([MOUNTS])
        .words([" - ", "cgroup2", "cgroup", "cpu", "cpuset", "/..", "0::", "== later\n"])
        .run(|input| {
            let (mounts, groups) = looks(input);
            let mounts = String::from_utf8_lossy(mounts);
            if let Ok(hierarchy) = Hierarchy::from(&mounts, groups) {
                let own = hierarchy.own_directory();
                hierarchy.accounting_of(&own);
                assert!(hierarchy.name(&own).is_absolute());
            }
        });
}

#[test]
fn fuzz_taskstats_records() {
    let record = |version: u16, length: usize| {
        let mut bytes: Vec<u8> = (0..length).map(|at| at as u8).collect();
        bytes[..2].copy_from_slice(&version.to_ne_bytes());
        bytes
    };
    let examples = [(8, 328), (12, 400), (14, 432), (15, 560), (16, 560), (17, 688), (99, 2000)];
    Target::new(corpus!("taskstats_records"))
        .examples(examples.map(|(version, length)| record(version, length)))
        .run(|input| match Record::parse(input) {
            Ok(record) => assert!(record.version >= 2 && input.len() >= 184),
            Err(malformed) => assert_eq!(malformed.length, input.len()),
        });
}
