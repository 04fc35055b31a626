//! The list of processes or threads, with sizes and times or with microstates.

use super::{figures, Part, ReportStyle};
use exactop_model::{Counter, Frame, Missing, Needs, Row};

/// A column: its heading as wide as its cells with the blank after them, and how late it is left out
/// on a narrow screen.
type Column = (&'static str, u8);

const SIZES: &[Column] = &[
    ("   PID ", 9),
    ("USERNAME ", 5),
    (" SIZE ", 2),
    ("  RSS ", 6),
    ("STATE  ", 7),
    ("PRI ", 3),
    ("NICE ", 1),
    ("     TIME ", 4),
    (" CPU ", 8),
];
const STATES: &[Column] = &[
    ("   PID ", 13),
    ("USERNAME ", 7),
    ("USR ", 12),
    ("SYS ", 11),
    ("TRP ", 0),
    ("TFL ", 1),
    ("DFL ", 3),
    ("LCK ", 9),
    ("SLP ", 8),
    ("LAT ", 10),
    ("VCX ", 6),
    ("ICX ", 5),
    ("SCL ", 4),
    ("SIG ", 2),
];

/// What PROCESS keeps on a narrow screen.
const LEAST_PROCESS: usize = 13;

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
    let (columns, name_width) = if style.microstates { (STATES, 12) } else { (SIZES, 16) };
    let shown = fitting(columns, style.width);
    let line = |row| {
        let cells = match style.microstates {
            true => states(style, row),
            false => sizes(style, frame, row),
        };
        let cells: String = shown.iter().map(|&at| cells[at].as_str()).collect();
        cells + &process(style, row, name_width)
    };
    let last = if style.threads { "PROCESS/LWPID" } else { "PROCESS/NLWP" };
    let heading: String = shown.iter().map(|&at| columns[at].0).collect();
    // Whole screens have a heading of 78 columns.
    let header = match shown.len() == columns.len() {
        true => format!("{:<78}", heading + last),
        false => heading + last,
    };
    Part { header, lines: rows.iter().map(line).collect(), room }
}

/// The columns for which a screen has room beside the name, all where there is none.
fn fitting(columns: &[Column], width: Option<usize>) -> Vec<usize> {
    let mut shown: Vec<usize> = (0..columns.len()).collect();
    let used = |shown: &[usize]| shown.iter().map(|&at| columns[at].0.len()).sum::<usize>();
    while shown.len() > 1 && width.is_some_and(|width| used(&shown) + LEAST_PROCESS > width) {
        let least = shown.iter().copied().min_by_key(|&at| columns[at].1);
        shown.retain(|&at| Some(at) != least);
    }
    shown
}

fn sizes(style: &ReportStyle, frame: &Frame, row: &Row) -> Vec<String> {
    vec![
        format!("{:6} ", row.key.tgid),
        format!("{:<8} ", user(style, row)),
        format!("{:>5} ", shown(&row.detail.virt, figures::size)),
        format!("{:>5} ", shown(&row.detail.res, figures::size)),
        format!("{:<6} ", figures::state(row)),
        format!("{:>3} ", figures::priority(row.ident.prio)),
        format!(" {:>3} ", nice(row)),
        format!("{:>9} ", shown(&row.detail.time_ns, figures::time)),
        format!("{:>3}% ", machine_share(frame, row).map_or("-".into(), figures::percent)),
    ]
}

fn states(style: &ReportStyle, row: &Row) -> Vec<String> {
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
    let who = [format!("{:6} ", row.key.tgid), format!("{:<8} ", self::user(style, row))];
    who.into_iter().chain(cells.iter().map(|cell| format!("{cell:>3} "))).collect()
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
fn machine_share(frame: &Frame, row: &Row) -> Option<f64> {
    share(row.delta.get(Counter::RunNs)?, frame.length_ns() * frame.cpus.len() as u64)
}

/// A part in per cent, if there is a whole.
pub(super) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 * 100.0 / whole as f64)
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
