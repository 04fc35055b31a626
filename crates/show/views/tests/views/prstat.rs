//! Reports in prstat's format, compared with a screen of illumos character by character.

use exactop_model::{
    Activity, Comm, Counter, Counters, Frame, Ident, MicroState, Missing, Needs, Row, RowKind,
    SourceKind, TaskKey,
};
use exactop_testkit::Details;
use exactop_views::prstat::{
    GroupBy, Order, Report, ReportSections, ReportStyle, Room, RowSelection,
};

const MS: u64 = 1_000_000;
const WINDOW: u64 = 1000 * MS;
const ROOM: Room = Room { top: 15, bottom: 5 };

/// A row of one thread that slept for the whole window.
fn row(pid: u32, tid: u32, comm: &str) -> Row {
    let mut row = exactop_testkit::frame(SourceKind::Ledger, false).rows.remove(0);
    row.kind = RowKind::Process;
    row.key = TaskKey { tgid: pid, tid, start_ns: 0 };
    row.ident = Ident { comm: Comm::new(comm.as_bytes()), prio: 120, ..Ident::default() };
    row.letter = 'S';
    row.doing = Activity { state: MicroState::Sleep, cpu: Some(1) };
    row.threads = Some(1);
    row.life_ns = WINDOW;
    row.delta = Counters::zero();
    row
}

/// Sets counters of a row.
fn with(mut row: Row, counters: &[(Counter, u64)]) -> Row {
    for &(counter, value) in counters {
        row.delta.set(counter, value);
    }
    row
}

fn frame(rows: Vec<Row>) -> Frame {
    let base = exactop_testkit::frame(SourceKind::Ledger, false);
    Frame { t0_ns: base.t1_ns - WINDOW, rows, ..base }
}

/// Details by process: size and resident size in KiB, seconds, user, cgroup.
fn details(rows: &mut [&mut Row], needs: Needs) {
    for row in rows {
        let (size, rss, seconds, user, cgroup) = match row.key.tgid {
            7160 => (3864, 2772, 0, "root", "/user.slice"),
            16_145 => {
                (57_344, 47_104, 2591, "postgresql", "/system.slice/postgresql-16@main.service")
            }
            95 => (0, 0, 2853, "root", "/"),
            3571 => (5500, 3500, 18, "root", "/system.slice/nscd.service"),
            _ => (10_240, 9380, 305, "root", "/system.slice/nscd.service"),
        };
        let detail = &mut row.detail;
        if needs.has(Needs::STAT) {
            (detail.virt, detail.time_ns) = (Ok(size << 10), Ok(seconds * 1000 * MS));
        }
        if needs.has(Needs::STATM) {
            detail.res = Ok(rss << 10);
        }
        if needs.has(Needs::USER) {
            detail.user = Ok(user.into());
        }
        if needs.has(Needs::CGROUP) {
            detail.cgroup = Ok(cgroup.into());
        }
    }
}

/// A machine of two CPUs: one process on a CPU, one with many threads, a kernel thread, a daemon.
fn machine() -> Frame {
    let mut prstat = with(row(7160, 7160, "prstat"), &[(Counter::RunNs, 4 * MS)]);
    prstat.doing = Activity { state: MicroState::Run, cpu: Some(0) };
    prstat.letter = 'R';
    let mut beam = with(row(16_145, 16_145, "beam.smp"), &[(Counter::RunNs, 640 * MS)]);
    (beam.ident.uid, beam.threads, beam.ident.nice, beam.ident.prio) = (103, Some(51), 5, 125);
    let mut pool = row(95, 95, "kworker/u8:2-ev");
    (pool.ident.kthread, pool.ident.nice, pool.ident.prio, pool.letter) = (true, -20, 100, 'I');
    let mut nscd = row(3571, 3571, "nscd");
    (nscd.threads, nscd.ident.policy, nscd.ident.prio) = (Some(30), 1, 89);
    frame(vec![nscd, pool, beam, prstat])
}

fn report(style: &ReportStyle, frame: Frame) -> Report {
    style.report(frame, &RowSelection::default(), ROOM, &mut Details(details))
}

fn rows_of(report: &Report) -> &[String] {
    &report.parts[0].lines
}

#[test]
fn sizes_and_times() {
    let text = report(&ReportStyle { cut: true, ..ReportStyle::default() }, machine()).text();
    let expected = "   PID USERNAME  SIZE   RSS STATE  PRI NICE      TIME  CPU PROCESS/NLWP       
 16145 postgre*   56M   46M sleep   14    5   0:43:11  32% beam.smp/51
  7160 root     3864K 2772K cpu0    19    0   0:00:00 0.2% prstat/1
    95 root        0K    0K idle    39  -20   0:47:33 0.0% kworker/u8:2-ev/1
  3571 root     5500K 3500K sleep   50    -   0:00:18 0.0% nscd/30
Total: 4 processes, 83 lwps, load averages: 2.52, 1.57, 0.79
";
    assert_eq!(text, expected);
}

#[test]
fn long_names_stay_whole_in_uncut_reports() {
    let whole = report(&ReportStyle::default(), machine());
    assert!(rows_of(&whole)[0].starts_with(" 16145 postgresql   56M   46M sleep "), "{whole:?}");
    let numbers = report(&ReportStyle { numeric: true, ..ReportStyle::default() }, machine());
    assert!(rows_of(&numbers)[0].starts_with(" 16145 103        56M   46M sleep "), "{numbers:?}");
}

/// The rows of the example from which this format was taken.
#[test]
fn microstates_of_threads() {
    let first = &[
        (Counter::RunNs, 85 * MS),
        (Counter::UserNs, 78 * MS),
        (Counter::SystemNs, 7 * MS),
        (Counter::LockNs, 38 * MS),
        (Counter::SleepNs, 875 * MS),
        (Counter::BlockNs, MS),
        (Counter::LatNs, MS),
        (Counter::Vcx, 1999),
        (Counter::Icx, 124),
        (Counter::Syscalls, 8123),
    ];
    let other = &[
        (Counter::RunNs, MS),
        (Counter::UserNs, MS),
        (Counter::LockNs, 999 * MS),
        (Counter::Vcx, 131),
        (Counter::Syscalls, 133),
        (Counter::Signals, 1_234_567),
    ];
    let thread = |mut row: Row| {
        row.kind = RowKind::Task;
        row
    };
    let rows = vec![
        thread(with(row(76_798, 661, "tserver"), other)),
        thread(with(row(76_798, 1, "tserver"), first)),
    ];
    let style = ReportStyle { microstates: true, threads: true, ..ReportStyle::default() };
    let expected =
        "   PID USERNAME  USR  SYS TRP  TFL  DFL  LCK  SLP  LAT VCX ICX SCL SIG PROCESS/LWPID
 76798 root      7.8  0.7   -  0.0  0.0  3.8 87.6  0.1  1K 124  8K   0 tserver/1
 76798 root      0.1  0.0   -  0.0  0.0 99.9  0.0  0.0 131   0 133  1M tserver/661
Total: 1 processes, 2 lwps, load averages: 2.52, 1.57, 0.79
";
    assert_eq!(report(&style, frame(rows)).text(), expected);
}

/// The average over threads: 250 ms on the CPU in three lives, one of which ended at 500 ms.
#[test]
fn microstates_of_a_process_are_shares_of_all_its_lives() {
    let mut process = with(
        row(812, 812, "a-name-that-is-long"),
        &[
            (Counter::RunNs, 250 * MS),
            (Counter::UserNs, 250 * MS),
            (Counter::SleepNs, 1750 * MS),
            (Counter::StopNs, 500 * MS),
        ],
    );
    (process.life_ns, process.threads, process.exited_tasks) = (2500 * MS, Some(2), 1);
    let style = ReportStyle { microstates: true, ..ReportStyle::default() };
    let expected =
        "   PID USERNAME  USR  SYS TRP  TFL  DFL  LCK  SLP  LAT VCX ICX SCL SIG PROCESS/NLWP
   812 root     10.0  0.0   -  0.0  0.0  0.0 90.0  0.0   0   0   0   0 a-name-that-/2
";
    let text = report(&style, frame(vec![process])).text();
    assert!(text.starts_with(expected), "{text}");
}

/// Random states in tenths, including states without a column of their own.
#[test]
fn printed_microstates_add_up_to_100() {
    let mut seed = 1u64;
    let mut drawn = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) >> (seed >> 28 & 31)
    };
    let style = ReportStyle { microstates: true, threads: true, ..ReportStyle::default() };
    for _ in 0..1_000 {
        let states: Vec<_> = Counter::STATES.iter().map(|&state| (state, drawn())).collect();
        let mut thread = with(row(7, 8, "x"), &states);
        thread.life_ns = states.iter().map(|(_, ns)| ns).sum();
        if thread.life_ns == 0 {
            continue;
        }
        // In half of the cases system calls are timed; else no tick hit the thread.
        let (run, user) = (states[0].1, drawn() % (states[0].1 + 1));
        if drawn() % 2 == 0 {
            thread = with(thread, &[(Counter::UserNs, user), (Counter::SystemNs, run - user)]);
        } else {
            thread.delta.forget(Counter::UserNs);
        }
        let report = report(&style, frame(vec![thread]));
        let line = &rows_of(&report)[0];
        let cells: Vec<&str> = line.split_whitespace().skip(2).take(8).collect();
        let tenths = |cell: &&str| (cell.parse::<f64>().unwrap_or(0.0) * 10.0).round() as u64;
        assert_eq!(cells.iter().map(tenths).sum::<u64>(), 1000, "{line}: {states:?}");
        assert_eq!(cells.iter().filter(|cell| **cell == "-").count(), 1, "TRP alone: {line}");
    }
}

#[test]
fn an_unknown_figure_is_a_dash_and_a_zombie_has_no_time() {
    let mut unknown = row(5, 5, "new");
    unknown.delta = Counters::unknown();
    let mut zombie = row(6, 6, "dead");
    (zombie.life_ns, zombie.letter, zombie.doing.state) = (0, 'Z', MicroState::Zombie);
    let style = ReportStyle { microstates: true, ..ReportStyle::default() };
    let states = report(&style, frame(vec![unknown.clone(), zombie.clone()]));
    assert_eq!(
        rows_of(&states),
        [
            "     5 root        -    -   -    -    -    -    -    -   -   -   -   - new/1",
            "     6 root        -    -   -    -    -    -    -    -   0   0   0   0 dead/1",
        ]
    );
    /// A process that exited before it was read.
    fn gone(rows: &mut [&mut Row], _: Needs) {
        for row in rows {
            row.detail.virt = Err(Missing::Vanished);
        }
    }
    let frame = frame(vec![unknown, zombie]);
    let sizes =
        ReportStyle::default().report(frame, &RowSelection::default(), ROOM, &mut Details(gone));
    assert_eq!(
        rows_of(&sizes),
        [
            "     5 0            -     - sleep   19    0         -   -% new/1",
            "     6 0            -     - zombie  19    -         - 0.0% dead/1",
        ]
    );
}

#[test]
fn states_have_prstats_names() {
    let name = |state, letter| {
        let mut row = row(1, 1, "x");
        (row.doing, row.letter) = (Activity { state, cpu: Some(12) }, letter);
        exactop_views::prstat::figures::state(&row)
    };
    let names = [
        (MicroState::Run, 'R', "cpu12 "),
        (MicroState::Lat, 'R', "run"),
        (MicroState::LatPreempt, 'R', "run"),
        (MicroState::Throttle, 'R', "wait"),
        (MicroState::Sleep, 'S', "sleep"),
        (MicroState::Lock, 'S', "sleep"),
        (MicroState::Block, 'D', "sleep"),
        (MicroState::DataFault, 'D', "sleep"),
        (MicroState::Stop, 'T', "stop"),
        (MicroState::Zombie, 'Z', "zombie"),
        (MicroState::Block, 'I', "idle"),
        (MicroState::Unknown, 'R', "run"),
        (MicroState::Unknown, 't', "stop"),
        (MicroState::Unknown, 'S', "sleep"),
    ];
    for (state, letter, expected) in names {
        assert_eq!(name(state, letter), expected, "{state:?} {letter}");
    }
}

#[test]
fn users_below_processes() {
    let style = ReportStyle {
        lists: ReportSections::Both(GroupBy::User),
        cut: true,
        ..ReportStyle::default()
    };
    let report = style.report(
        machine(),
        &RowSelection::default(),
        Room { top: 1, bottom: 5 },
        &mut Details(details),
    );
    let expected = "   PID USERNAME  SIZE   RSS STATE  PRI NICE      TIME  CPU PROCESS/NLWP       
 16145 postgre*   56M   46M sleep   14    5   0:43:11  32% beam.smp/51
 NPROC USERNAME  SWAP   RSS MEMORY      TIME  CPU                             
     1 postgre*   56M   46M   1.2%   0:43:11  32%
     3 root     9364K 6272K   0.2%   0:47:51 0.2%
Total: 4 processes, 83 lwps, load averages: 2.52, 1.57, 0.79
";
    assert_eq!(report.text(), expected);
}

#[test]
fn users_alone_and_their_threads() {
    let style =
        ReportStyle { lists: ReportSections::Groups(GroupBy::User), ..ReportStyle::default() };
    let users = report(&style, machine());
    assert_eq!(users.parts.len(), 1);
    assert_eq!(rows_of(&users)[1], "     3 root     9364K 6272K   0.2%   0:47:51 0.2%");
    let threads: Vec<Row> = (0..3).map(|n| row(3571, 3571 + n, "nscd")).collect();
    let style = ReportStyle { threads: true, ..style };
    let text = report(&style, frame(threads)).text();
    let expected = "  NLWP USERNAME  SWAP   RSS MEMORY      TIME  CPU                             
     3 root     5500K 3500K   0.1%   0:00:54 0.0%
Total: 1 processes, 3 lwps, load averages: 2.52, 1.57, 0.79
";
    assert_eq!(text, expected, "threads share their process's memory");
}

/// Details of all but the first `HIDDEN` of root's processes.
fn hidden<const HIDDEN: usize>(rows: &mut [&mut Row], needs: Needs) {
    details(rows, needs);
    for row in rows {
        if [7160, 95, 3571][..HIDDEN].contains(&row.key.tgid) {
            let detail = &mut row.detail;
            detail.virt = Err(Missing::NotPermitted);
            detail.res = Err(Missing::NotPermitted);
            detail.time_ns = Err(Missing::NotPermitted);
        }
    }
}

#[test]
fn sums_mark_unknown_figures_of_their_rows() {
    let style =
        ReportStyle { lists: ReportSections::Groups(GroupBy::User), ..ReportStyle::default() };
    let root = |reads: fn(&mut [&mut Row], Needs)| {
        let report = style.report(machine(), &RowSelection::default(), ROOM, &mut Details(reads));
        rows_of(&report)[1].to_string()
    };
    assert_eq!(root(hidden::<2>), "     3 root     5500K+3500K+  0.1%+  0:00:18+0.2%");
    assert_eq!(root(hidden::<3>), "     3 root         -     -     -%         - 0.2%");
}

#[test]
fn cgroups_stand_where_zones_do() {
    let style = ReportStyle {
        lists: ReportSections::Both(GroupBy::Cgroup),
        cut: true,
        ..ReportStyle::default()
    };
    let mut frame = machine();
    frame.rows[2].ident.cgroup_id = Some(4711);
    let report = style.report(
        frame,
        &RowSelection::default(),
        Room { top: 0, bottom: 2 },
        &mut Details(details),
    );
    let expected = "  CGID    NPROC  SWAP   RSS MEMORY      TIME  CPU CGROUP                      
  4711        1   56M   46M   1.2%   0:43:11  32% /system.slice/postgresql-16*
     -        1 3864K 2772K   0.1%   0:00:00 0.2%                  /user.slice
Total: 4 processes, 83 lwps, load averages: 2.52, 1.57, 0.79
";
    assert_eq!(report.text(), expected);
}

/// Process 1, which /proc does not describe, is in the root group with the kernel's threads.
#[test]
fn a_group_stands_once_even_with_unreadable_processes() {
    fn unread(rows: &mut [&mut Row], needs: Needs) {
        details(rows, needs);
        rows.iter_mut().filter(|row| row.key.tgid == 1).for_each(|row| {
            row.detail = exactop_model::Detail {
                cgroup: Err(Missing::NotPermitted),
                ..exactop_model::Detail::default()
            };
        });
    }
    let style =
        ReportStyle { lists: ReportSections::Groups(GroupBy::Cgroup), ..ReportStyle::default() };
    let mut rows = [row(1, 1, "init"), row(95, 95, "kworker"), row(96, 96, "gone")];
    rows.iter_mut().for_each(|row| row.ident.cgroup_id = Some(1));
    rows[2].ident.cgroup_id = Some(7);
    rows[2].key.tgid = 1;
    for order in [[0, 1, 2], [1, 0, 2]] {
        let rows = order.map(|at| rows[at].clone()).into();
        let report =
            style.report(frame(rows), &RowSelection::default(), ROOM, &mut Details(unread));
        let groups: Vec<(&str, &str)> = rows_of(&report)
            .iter()
            .map(|line| (line[..15].trim(), line.rsplit(' ').next().expect("a word")))
            .collect();
        assert_eq!(groups, [("7        1", "-"), ("1        2", "/")], "{report:?}");
    }
}

#[test]
fn a_narrow_screen_keeps_the_process_and_what_matters_most() {
    let lines = |microstates, width| {
        let style = ReportStyle {
            microstates,
            threads: true,
            cut: true,
            width: Some(width),
            ..ReportStyle::default()
        };
        let text = report(&style, machine()).text();
        let lines: Vec<String> = text.lines().take(2).map(String::from).collect();
        lines
    };
    for width in 30..80 {
        for microstates in [false, true] {
            let [heading, first] = <[String; 2]>::try_from(lines(microstates, width)).unwrap();
            assert!(heading.trim_end().len() <= width, "{width}: {heading}");
            assert_eq!(heading.find("PROCESS/LWPID"), first.find("beam.smp/16145"), "{width}");
        }
    }
    assert_eq!(lines(true, 60)[0], "   PID USERNAME  USR  SYS  LCK  SLP  LAT VCX PROCESS/LWPID");
    assert_eq!(lines(true, 46)[0], "   PID  USR  SYS  LCK  SLP  LAT PROCESS/LWPID");
    assert_eq!(lines(false, 60)[0], "   PID USERNAME   RSS STATE       TIME  CPU PROCESS/LWPID");
    let all_but_traps =
        "   PID USERNAME  USR  SYS  TFL  DFL  LCK  SLP  LAT VCX ICX SCL SIG PROCESS/LWPID";
    assert_eq!(lines(true, 80)[0], all_but_traps);
}

#[test]
fn shares_of_groups_over_100_are_scaled_down() {
    let busy = |pid| with(row(pid, pid, "busy"), &[(Counter::RunNs, 1500 * MS)]);
    let mut other = busy(16_145);
    other.ident.uid = 103;
    let style =
        ReportStyle { lists: ReportSections::Groups(GroupBy::User), ..ReportStyle::default() };
    let rows = frame(vec![busy(1), other]);
    let report =
        style.report(rows, &RowSelection::default(), ROOM, &mut Details(exactop_testkit::details));
    let cpu: Vec<&str> = rows_of(&report).iter().map(|line| &line[line.len() - 4..]).collect();
    assert_eq!(cpu, [" 50%", " 50%"]);
}

#[test]
fn rows_are_sorted_by_any_key_both_ways() {
    let order = |key, ascending| {
        let style = ReportStyle { key, ascending, ..ReportStyle::default() };
        let report = report(&style, machine());
        rows_of(&report).iter().map(|l| l[..6].trim().parse().unwrap()).collect::<Vec<u32>>()
    };
    assert_eq!(order(Order::Cpu, false), [16_145, 7160, 95, 3571]);
    assert_eq!(order(Order::Cpu, true), [95, 3571, 7160, 16_145]);
    assert_eq!(order(Order::Time, false), [95, 16_145, 3571, 7160]);
    assert_eq!(order(Order::Size, false), [16_145, 3571, 7160, 95]);
    assert_eq!(order(Order::Rss, true), [95, 7160, 3571, 16_145]);
    assert_eq!(order(Order::Pri, false), [3571, 95, 7160, 16_145]);
}

#[test]
fn rows_are_chosen_and_the_total_counts_those() {
    let total = |chosen: &RowSelection| {
        let report = ReportStyle::default().report(machine(), chosen, ROOM, &mut Details(details));
        report.total.split(", load").next().unwrap().to_string()
    };
    let none = RowSelection::default;
    assert_eq!(total(&none()), "Total: 4 processes, 83 lwps");
    assert_eq!(
        total(&RowSelection { pids: vec![95, 3571], ..none() }),
        "Total: 2 processes, 31 lwps"
    );
    assert_eq!(total(&RowSelection { users: vec![103], ..none() }), "Total: 1 processes, 51 lwps");
    assert_eq!(total(&RowSelection { cpus: vec![0], ..none() }), "Total: 1 processes, 1 lwps");
    let path = vec!["/system.slice/nscd.service".into()];
    assert_eq!(total(&RowSelection { cgroups: path, ..none() }), "Total: 1 processes, 30 lwps");
    let both = RowSelection { pids: vec![95], users: vec![103], ..none() };
    assert_eq!(total(&both), "Total: 0 processes, 0 lwps");
}
