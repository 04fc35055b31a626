//! The list of processes or threads, with sizes and times or with microstates.

use super::{figures, Part, ReportStyle};
use exactop_model::words::books::round_to_sum;
use exactop_model::{Counter, Frame, Missing, Needs, Row};

/// A column: its heading with the blank after its cells, and its rank for leaving it out on a
/// narrow screen.
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
    (" USR ", 12),
    (" SYS ", 11),
    ("TRP ", 0),
    (" TFL ", 1),
    (" DFL ", 3),
    (" LCK ", 9),
    (" SLP ", 8),
    (" LAT ", 10),
    ("VCX ", 6),
    ("ICX ", 5),
    ("SCL ", 4),
    ("SIG ", 2),
];

/// Least width of PROCESS on a narrow screen.
const LEAST_PROCESS: usize = 13;

pub(super) const USER_WIDTH: usize = 8;

/// Figures that the shown rows need.
pub(super) fn needs(style: &ReportStyle) -> Needs {
    match style.microstates {
        true => Needs::USER,
        false => Needs::USER | Needs::STAT | Needs::STATM,
    }
}

/// The list; `rows` are the shown rows, in order.
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
    // A whole screen has a heading of 78 columns.
    let header = match shown.len() == columns.len() {
        true => format!("{:<78}", heading + last),
        false => heading + last,
    };
    Part { header, lines: rows.iter().map(line).collect(), room }
}

/// The columns for which the screen has room besides the name; without a width, all.
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
    let count = |counter| row.delta.get(counter).map_or("-".into(), figures::count);
    let shares = shares(row).map(|share| share.map_or("-".into(), figures::tenths));
    let [user, system, text_fault, data_fault, lock, sleep, wait] = shares;
    // Traps other than page faults are part of USR or SYS; this kernel does not separate them.
    let trap = "-".to_string();
    let counts = [Counter::Vcx, Counter::Icx, Counter::Syscalls, Counter::Signals].map(count);
    let wide = |cell: &String| format!("{cell:>4} ");
    let narrow = |cell: &String| format!("{cell:>3} ");
    let who = [format!("{:6} ", row.key.tgid), format!("{:<8} ", self::user(style, row))];
    let on_cpu = [user, system];
    let off_cpu = [text_fault, data_fault, lock, sleep, wait];
    let states = on_cpu.iter().map(wide).chain([narrow(&trap)]).chain(off_cpu.iter().map(wide));
    who.into_iter().chain(states).chain(counts.iter().map(narrow)).collect()
}

/// USR, SYS, TFL, DFL, LCK, SLP and LAT in tenths of a per cent of the threads' lives inside the
/// window, exited threads included; for a process the average over its threads. Rounding preserves
/// the sum, which is 100.0 if each thread's states add up to its life. States without a column are
/// counted where illumos counts them: interrupts in SYS, stopped in SLP, a used-up quota and stolen
/// time in LAT. `None`: a zombie, which has no life left, or unknown states.
fn shares(row: &Row) -> [Option<i64>; 7] {
    let parts = [
        split(row).map(|(user, _)| user),
        split(row).map(|(_, system)| system + row.delta.get(Counter::IrqNs).unwrap_or(0)),
        row.delta.get(Counter::TextFaultNs),
        row.delta.get(Counter::DataFaultNs),
        row.delta.get(Counter::LockNs),
        sum(row, &[Counter::SleepNs, Counter::BlockNs, Counter::StopNs]),
        sum(row, &[Counter::LatNs, Counter::ThrottleNs])
            .map(|ns| ns + row.delta.get(Counter::StealNs).unwrap_or(0)),
    ];
    let known: Vec<i128> = parts.iter().flatten().map(|&ns| ns.into()).collect();
    let life = i128::from(row.life_ns);
    if life == 0 {
        return [None; 7];
    }
    let total = (known.iter().sum::<i128>() * 1000 + life / 2) / life;
    let mut tenths = round_to_sum(&known, total as i64).into_iter();
    parts.map(|part| part.and_then(|_| tenths.next()))
}

/// User and system time. A thread that ran without a clock tick hitting it counts as user time, as
/// in the kernel's own figures (cputime_adjust() in kernel/sched/cputime.c).
fn split(row: &Row) -> Option<(u64, u64)> {
    match row.split_ns() {
        Ok(split) => Some(split),
        Err(Missing::NoTick) => row.delta.get(Counter::RunNs).map(|run| (run, 0)),
        Err(_) => None,
    }
}

/// The sum of states; `None` if one is unknown.
fn sum(row: &Row, states: &[Counter]) -> Option<u64> {
    states.iter().map(|&state| row.delta.get(state)).sum()
}

/// CPU time in the window, per cent of the machine.
fn machine_share(frame: &Frame, row: &Row) -> Option<f64> {
    share(row.delta.get(Counter::RunNs)?, frame.length_ns() * frame.cpus.len() as u64)
}

/// A part in per cent; `None` if the whole is 0.
pub(super) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 * 100.0 / whole as f64)
}

fn shown(detail: &Result<u64, Missing>, text: fn(u64) -> String) -> String {
    detail.map_or("-".into(), text)
}

pub(super) fn user(style: &ReportStyle, row: &Row) -> String {
    match &row.detail.user {
        Ok(user) if !style.numeric => figures::name(user, USER_WIDTH, style.cut),
        _ => row.ident.uid.to_string(),
    }
}

/// The nice value; real-time scheduling (FIFO, RR, deadline) has none.
fn nice(row: &Row) -> String {
    const REAL_TIME: [u32; 3] = [1, 2, 6];
    match REAL_TIME.contains(&row.ident.policy) || row.letter == 'Z' {
        true => "-".into(),
        false => format!("{:3}", row.ident.nice),
    }
}

/// The program's name, for a thread its own name, and the number of threads or the thread's id.
fn process(style: &ReportStyle, row: &Row, width: usize) -> String {
    let number = match style.threads {
        true => row.key.tid,
        false => row.threads.unwrap_or(1),
    };
    format!("{}/{number}", figures::program(row.ident.comm.bytes(), width))
}
