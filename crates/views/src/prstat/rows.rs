//! The list of processes or threads, with sizes and times or with microstates.

use super::{figures, Part, ReportStyle};
use exactop_model::{Counter, Frame, Missing, Needs, Row};

const SIZES: &str =
    "   PID USERNAME  SIZE   RSS STATE  PRI NICE      TIME  CPU PROCESS/NLWP       ";
const SIZES_THREADS: &str =
    "   PID USERNAME  SIZE   RSS STATE  PRI NICE      TIME  CPU PROCESS/LWPID      ";
const STATES: &str =
    "   PID USERNAME USR SYS TRP TFL DFL LCK SLP LAT VCX ICX SCL SIG PROCESS/NLWP  ";
const STATES_THREADS: &str =
    "   PID USERNAME USR SYS TRP TFL DFL LCK SLP LAT VCX ICX SCL SIG PROCESS/LWPID ";

/// The width of USERNAME.
pub(super) const USER_WIDTH: usize = 8;

/// What must be read of the rows shown.
pub(super) fn needs(style: &ReportStyle) -> Needs {
    match style.microstates {
        true => Needs::USER,
        false => Needs::USER | Needs::STAT | Needs::STATM,
    }
}

/// The list; `rows` are those shown, in order.
pub(super) fn part(style: &ReportStyle, frame: &Frame, rows: &[Row], room: usize) -> Part {
    let header = match (style.microstates, style.threads) {
        (false, false) => SIZES,
        (false, true) => SIZES_THREADS,
        (true, false) => STATES,
        (true, true) => STATES_THREADS,
    };
    let line = |row| match style.microstates {
        true => states(style, row),
        false => sizes(style, frame, row),
    };
    Part { header, lines: rows.iter().map(line).collect(), room }
}

fn sizes(style: &ReportStyle, frame: &Frame, row: &Row) -> String {
    format!(
        "{:6} {:<8} {:>5} {:>5} {:<6} {:>3}  {:>3} {:>9} {:>3}% {}",
        row.key.tgid,
        user(style, row),
        shown(&row.detail.virt, figures::size),
        shown(&row.detail.res, figures::size),
        figures::state(row),
        figures::priority(row.ident.prio),
        nice(row),
        shown(&row.detail.time_ns, figures::time),
        machine_share(frame, row).map_or("-".into(), figures::percent),
        process(style, row, 16),
    )
}

fn states(style: &ReportStyle, row: &Row) -> String {
    let share = |ns: Option<u64>| ns.map_or("-".into(), |ns| figures::percent(of_life(row, ns)));
    let state = |counter| row.delta.get(counter);
    let count = |counter| row.delta.get(counter).map_or("-".into(), figures::count);
    let (user, system) = row.split_ns().ok().unzip();
    // Every sleep that is not a fault or a lock, waiting for disks included.
    let sleep = state(Counter::SleepNs).zip(state(Counter::BlockNs)).map(|(s, b)| s + b);
    let cells = [
        share(user),
        share(system),
        // Other traps than page faults: part of USR or SYS, this kernel does not say which.
        "-".into(),
        share(state(Counter::TextFaultNs)),
        share(state(Counter::DataFaultNs)),
        share(state(Counter::LockNs)),
        share(sleep),
        share(state(Counter::LatNs)),
        count(Counter::Vcx),
        count(Counter::Icx),
        count(Counter::Syscalls),
        count(Counter::Signals),
    ];
    let cells: String = cells.iter().map(|cell| format!("{cell:>3} ")).collect();
    let user = self::user(style, row);
    format!("{:6} {user:<8} {cells}{}", row.key.tgid, process(style, row, 12))
}

/// Of the lives of the row's threads inside the window, exited ones included: for a process the
/// average over its threads. A zombie has no life left, and spends none of it in any state.
fn of_life(row: &Row, ns: u64) -> f64 {
    match row.life_ns {
        0 => 0.0,
        life => ns as f64 * 100.0 / life as f64,
    }
}

/// CPU time in the window, per cent of the machine.
pub(super) fn machine_share(frame: &Frame, row: &Row) -> Option<f64> {
    let whole = frame.length_ns() * frame.cpus.len() as u64;
    let run = row.delta.get(Counter::RunNs)?;
    (whole > 0).then(|| run as f64 * 100.0 / whole as f64)
}

fn shown(detail: &Result<u64, Missing>, text: fn(u64) -> String) -> String {
    detail.map_or("-".into(), text)
}

/// The user's name.
pub(super) fn user(style: &ReportStyle, row: &Row) -> String {
    match &row.detail.user {
        Ok(user) if !style.numeric => figures::name(user, USER_WIDTH, style.cut),
        _ => row.ident.uid.to_string(),
    }
}

/// Where scheduling does not style at it there is no nice value: real time (FIFO, RR, deadline).
fn nice(row: &Row) -> String {
    const REAL_TIME: [u32; 3] = [1, 2, 6];
    match REAL_TIME.contains(&row.ident.policy) || row.letter == 'Z' {
        true => "-".into(),
        false => format!("{:3}", row.ident.nice),
    }
}

/// The program's name, for a thread its own, and the number of threads or of the thread.
fn process(style: &ReportStyle, row: &Row, width: usize) -> String {
    let number = match style.threads {
        true => row.key.tid,
        false => row.threads.unwrap_or(1),
    };
    format!("{}/{number}", figures::program(row.ident.comm.bytes(), width))
}
