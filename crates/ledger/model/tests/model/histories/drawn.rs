//! Parses histories drawn by hand: one line for each task, one column for each microsecond.
//!
//! ```text
//! |    |    |      ends of windows
//! 7<1 sh ss00sss
//! ```
//!
//! `7<1 sh`: process 7, a child of 1, named sh; `8@7`: thread 8 of process 7. Then follow its
//! states: `0` `1` on that CPU, `l` waiting for one, `s` asleep, `D` uninterruptible, `T` stopped,
//! `Z` a zombie, `.` not alive. A new name on a line with the same number is the next process with
//! that number.

use super::check::{Books, Closed};
use super::machine::Machine;
use exactop_model::{Comm, MicroState};

/// Length of a column, ns.
pub const COLUMN: u64 = 1_000;

struct Line {
    tid: u32,
    tgid: u32,
    parent: u32,
    comm: Comm,
    states: Vec<u8>,
    account: u64,
}

/// Plays a drawing; returns the windows between the marks of its first line.
pub fn windows(drawing: &str) -> Vec<Closed> {
    let mut rows = drawing.lines().filter(|l| !l.trim().is_empty());
    let ruler = states(rows.next().expect("a ruler"));
    let mut lines: Vec<Line> = rows.map(line).collect();
    let (mut machine, mut books) = (Machine::new(), Books::new());
    let mut closed = Vec::new();
    for (column, mark) in ruler.iter().enumerate() {
        // Tasks that end make room for those that begin.
        for coming in [false, true] {
            for line in &mut lines {
                step(&mut machine, line, column, coming);
            }
        }
        if *mark == b'|' {
            closed.extend(books.close(&mut machine));
        }
        machine.now += COLUMN;
    }
    closed
}

/// Column of the text at which the states begin; the task's name stands before it.
const MARGIN: usize = 12;

fn states(text: &str) -> Vec<u8> {
    text.bytes().skip(MARGIN).collect()
}

fn line(text: &str) -> Line {
    let mut words = text[..MARGIN].split_whitespace();
    let (who, comm) = (words.next().expect("a number"), words.next().unwrap_or("x"));
    let number = |text: &str| text.parse::<u32>().expect("a number");
    let (tid, tgid, parent) = match (who.split_once('<'), who.split_once('@')) {
        (Some((pid, parent)), _) => (number(pid), number(pid), number(parent)),
        (_, Some((tid, tgid))) => (number(tid), number(tgid), 0),
        _ => panic!("neither 7<1 nor 8@7: {who}"),
    };
    let comm = Comm::new(comm.as_bytes());
    Line { tid, tgid, parent, comm, states: states(text), account: 0 }
}

fn step(machine: &mut Machine, line: &mut Line, column: usize, coming: bool) {
    let at = |column: usize| line.states.get(column).copied().unwrap_or(b'.');
    let before = if column == 0 { b'.' } else { at(column - 1) };
    let now = at(column);
    let goes = before != now && matches!(now, b'.' | b'Z');
    if before == now || goes == coming {
        return;
    }
    match (before, now) {
        (b'Z', _) => machine.reap(line.account | 1 << 63),
        (_, b'.' | b'Z') if line.tid != line.tgid => machine.end_thread(line.account),
        (_, b'.' | b'Z') => machine.end_process(line.tgid, now == b'Z'),
        (b'.', _) if line.tid == line.tgid => {
            line.account = machine.fork(line.parent, line.tid, line.comm);
        }
        (b'.', _) => line.account = machine.clone_thread(line.tgid, line.tid),
        _ => {}
    }
    let (state, cpu) = match now {
        b'0' => (MicroState::Run, 0),
        b'1' => (MicroState::Run, 1),
        b'l' => (MicroState::Lat, 0),
        b's' => (MicroState::Sleep, 0),
        b'D' => (MicroState::Block, 0),
        b'T' => (MicroState::Stop, 0),
        _ => return,
    };
    machine.set(line.account, state, cpu);
}
