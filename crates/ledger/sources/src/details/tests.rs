//! Details of rows on a /proc of ordinary files.

use super::*;
use crate::procfs::fake::{FakeProc, FakeTask};
use crate::procfs::Procfs;
use crate::source::{Request, Source};
use exactop_model::{Book, Frame, FrameOptions};

const ALL: [Needs; 5] = [Needs::STAT, Needs::STATM, Needs::CMDLINE, Needs::CGROUP, Needs::USER];

fn all() -> Needs {
    ALL.into_iter().fold(Needs::NONE, Needs::with)
}

/// The rows of a frame of this /proc, by tid.
fn rows(proc: &FakeProc, threads: bool) -> Vec<Row> {
    let mut source = Procfs::open(proc.root()).unwrap();
    let needs = if threads { Needs::THREADS } else { Needs::NONE };
    let mut book = Book::new();
    let mut look = || source.snapshot(&Request { needs, ..Request::default() }).unwrap();
    book.advance(look());
    let window = book.advance(look()).unwrap();
    let mut rows = Frame::new(&window, &book, &FrameOptions { threads, ..Default::default() }).rows;
    rows.sort_by_key(|row| row.key);
    rows
}

fn fill(proc: &FakeProc, row: &mut Row, needs: Needs) {
    let passwd = proc.write("passwd", format!("me:x:{}:0\n", row.ident.uid));
    Details::open(proc.root()).unwrap().with_passwd(passwd).fill(&mut [row], needs);
}

/// A process 7 with all its files.
fn process() -> FakeProc {
    let proc = FakeProc::new();
    proc.process(FakeTask { utime: 5, stime: 2, vsize: 8192, ..FakeTask::new(7) });
    proc.write("7/statm", "100 3 2 1 0 10 0\n");
    proc.write("7/cmdline", "sh\0-c\0a  b\0\0");
    proc.write("7/cgroup", "4:memory:/m\n0::/v2:x\n");
    proc
}

#[test]
fn all_requested_details_are_read() {
    let proc = process();
    let mut row = rows(&proc, false).remove(0);
    fill(&proc, &mut row, all());
    let page = rustix::param::page_size() as u64;
    let ticks = Ticks::of_this_system();
    let expected = Detail {
        virt: Ok(8192),
        res: Ok(3 * page),
        shr: Ok(2 * page),
        time_ns: Ok(ticks.to_ns(7).unwrap()),
        cmdline: Ok(b"sh -c a  b".to_vec()),
        user: Ok("me".into()),
        cgroup: Ok(b"/v2:x".to_vec()),
        named: Err(Missing::NotRead),
        disk: Err(Missing::NotRead),
    };
    assert_eq!(row.detail, expected);
}

#[test]
fn details_that_are_not_requested_stay() {
    let proc = process();
    let mut row = rows(&proc, false).remove(0);
    fill(&proc, &mut row, Needs::CGROUP);
    let expected = Detail { cgroup: Ok(b"/v2:x".to_vec()), ..Detail::default() };
    assert_eq!(row.detail, expected);
}

#[test]
fn a_thread_has_its_own_time_and_its_process_s_memory() {
    let proc = process();
    proc.thread(7, FakeTask { utime: 1, ..FakeTask::new(8) });
    let mut row = rows(&proc, true).remove(1);
    fill(&proc, &mut row, Needs::STAT | Needs::STATM);
    assert_eq!(row.key.tid, 8);
    assert_eq!(row.detail.time_ns, Ok(Ticks::of_this_system().to_ns(1).unwrap()));
    assert!(row.detail.res.is_ok());
}

/// A process whose leader the kernel hides, such as process 1.
#[test]
fn a_process_with_a_hidden_leader_has_its_details() {
    let proc = process();
    proc.thread(7, FakeTask { utime: 1, start: 900, ..FakeTask::new(8) });
    let mut row = rows(&proc, true).remove(1);
    row.kind = RowKind::Process;
    let mut gone = row.clone();
    fill(&proc, &mut row, all());
    assert_eq!(row.detail.time_ns, Ok(Ticks::of_this_system().to_ns(7).unwrap()), "of all threads");
    assert_eq!(row.detail.cmdline, Ok(b"sh -c a  b".to_vec()));
    assert!(row.detail.res.is_ok());
    gone.key.start_ns += 1_000_000_000;
    fill(&proc, &mut gone, all());
    assert_eq!(gone.detail.res, Err(Missing::Vanished));
}

#[test]
fn a_reused_pid_gives_no_details() {
    let proc = process();
    let mut row = rows(&proc, false).remove(0);
    proc.process(FakeTask { start: 102, ..FakeTask::new(7) });
    fill(&proc, &mut row, all());
    const GONE: Missing = Missing::Vanished;
    let d = &row.detail;
    assert_eq!(
        (&d.virt, &d.res, &d.shr, &d.time_ns),
        (&Err(GONE), &Err(GONE), &Err(GONE), &Err(GONE))
    );
    assert_eq!((&d.cmdline, &d.cgroup), (&Err(GONE), &Err(GONE)));
}

#[test]
fn a_start_within_a_tick_is_the_same_process() {
    let proc = process();
    let mut row = rows(&proc, false).remove(0);
    row.key.start_ns += Ticks::of_this_system().tick_ns() - 1;
    fill(&proc, &mut row, Needs::STAT);
    assert_eq!(row.detail.virt, Ok(8192));
}

#[test]
fn a_missing_or_invalid_file_gives_its_reason() {
    let proc = process();
    proc.write("7/statm", "nonsense\n");
    std::fs::remove_file(proc.root().join("7/cmdline")).unwrap();
    let mut row = rows(&proc, false).remove(0);
    fill(&proc, &mut row, all());
    assert_eq!(row.detail.res, Err(Missing::Source));
    assert_eq!(row.detail.cmdline, Err(Missing::Vanished));
    assert_eq!(row.detail.virt, Ok(8192));
    proc.exit(7);
    fill(&proc, &mut row, Needs::STAT);
    assert_eq!(row.detail.virt, Err(Missing::Vanished));
}

#[test]
fn a_command_line_is_read_once_in_a_life() {
    let proc = process();
    let mut row = rows(&proc, false).remove(0);
    let mut details = Details::open(proc.root()).unwrap();
    details.fill(&mut [&mut row], Needs::CMDLINE);
    proc.write("7/cmdline", "other\0");
    row.detail = Detail::default();
    details.fill(&mut [&mut row], Needs::CMDLINE);
    assert_eq!(row.detail.cmdline, Ok(b"sh -c a  b".to_vec()));
    row.ident.comm = exactop_model::Comm::new(b"other");
    details.fill(&mut [&mut row], Needs::CMDLINE);
    assert_eq!(row.detail.cmdline, Ok(b"other".to_vec()));
}

#[test]
fn a_kernel_thread_has_an_empty_command_line_and_an_exited_group_none() {
    let proc = process();
    let mut row = rows(&proc, false).remove(0);
    row.ident.kthread = true;
    fill(&proc, &mut row, Needs::CMDLINE);
    assert_eq!(row.detail.cmdline, Ok(Vec::new()));
    row.ident.comm = exactop_model::Comm::new(b"kworker/1:2");
    for purpose in ["events", "mm_percpu_wq"] {
        proc.write("7/comm", format!("kworker/1:2-{purpose}\n"));
        fill(&proc, &mut row, Needs::CMDLINE);
        let told = format!("kworker/1:2-{purpose}");
        assert_eq!(row.detail.cmdline, Ok(told.clone().into_bytes()), "the worker's name in /proc");
        assert_eq!(exactop_model::columns::command(&row, true), format!("[{told}]"));
    }
    row.kind = RowKind::Exited;
    fill(&proc, &mut row, all());
    assert_eq!(row.detail.cmdline, Err(Missing::NotApplicable));
    assert_eq!(row.detail.user, Err(Missing::NotApplicable));
}

#[test]
fn the_cgroup_is_in_the_hierarchy_with_the_cpu_controller() {
    let path = |text: &[u8]| cgroup_path(text).map(|path| String::from_utf8(path).unwrap());
    assert_eq!(path(b"3:cpu,cpuacct:/v1\n0::/\n").as_deref(), Some("/v1"));
    assert_eq!(path(b"3:cpuset:/v1\n0::/v2\n").as_deref(), Some("/v2"));
    assert_eq!(path(b"4:memory:/m\n"), None);
}

#[test]
fn errors_keep_their_reason() {
    assert_eq!(why(Errno::ACCESS), Missing::NotPermitted);
    assert_eq!(why(Errno::SRCH), Missing::Vanished);
    assert_eq!(why(Errno::IO), Missing::Source);
}
