//! Moves to other CPUs as text, JSON lines and CSV: by cause, by pair of CPUs, and by process or
//! thread.

use super::losses;
use crate::figure::{self, count, ns, pid, text as word, tid, Figure};
use crate::grid::{Layout, Text};
use crate::Sheet;
use exactop_model::on_demand::moves::{Cause, MoveRow, MoveSums, MoveWindow, Unknown};
use exactop_model::words::plural::counted;
use serde_json::json;
use std::cmp::Reverse;

/// Version of the JSON schema; raised when a field changes its meaning or is removed.
pub const SCHEMA: u32 = 1;

/// The sums that every kind of row of moves has.
macro_rules! sums {
    ($of:ty, $sums:expr) => {
        [
            Figure::new("MOVES", "moves", |_, row: &$of| count($sums(row).moves)),
            Figure::machine_only("queued", |_, row: &$of| count($sums(row).queued)),
            Figure::machine_only("before_ns", |_, row: &$of| ns($sums(row).before_ns)),
            Figure::shown("BEFORE", |_, row: &$of| ns($sums(row).mean_before_ns())),
            Figure::machine_only("ran", |_, row: &$of| count($sums(row).ran)),
            Figure::machine_only("after_ns", |_, row: &$of| ns($sums(row).after_ns)),
            Figure::shown("AFTER", |_, row: &$of| ns($sums(row).mean_after_ns())),
            Figure::new("PAID", "paid", |_, row: &$of| judged_moves(row.cause(), $sums(row).paid)),
            Figure::new("NOT", "unpaid", |_, row: &$of| {
                judged_moves(row.cause(), $sums(row).unpaid)
            }),
        ]
    };
}

/// Common part of rows of moves.
trait HasCause {
    /// The cause, if all moves of the row have the same one.
    fn cause(&self) -> Option<Cause>;
}

/// The number of moves; `None` for a cause that left no choice, because such a move cannot have
/// paid.
fn judged_moves(cause: Option<Cause>, moves: u64) -> exactop_model::Value {
    count((cause.is_none_or(Cause::could_stay)).then_some(moves))
}

type OfCause = (Cause, MoveSums);
type OfCpus = (u32, u32, MoveSums);

impl HasCause for OfCause {
    fn cause(&self) -> Option<Cause> {
        Some(self.0)
    }
}

impl HasCause for OfCpus {
    fn cause(&self) -> Option<Cause> {
        None
    }
}

impl HasCause for MoveRow {
    fn cause(&self) -> Option<Cause> {
        Some(self.cause)
    }
}

fn causes() -> Vec<Figure<MoveWindow, OfCause>> {
    let mut figures = vec![Figure::new("CAUSE", "cause", |_, (cause, _): &OfCause| {
        word(cause.name().to_string())
    })];
    figures.extend(sums!(OfCause, |row: &OfCause| row.1));
    figures.push(Figure::shown("MEANING", |_, (cause, _)| word(cause.meaning().to_string())));
    figures
}

/// Figures of moves from one CPU to another.
fn cpus() -> Vec<Figure<MoveWindow, OfCpus>> {
    let mut figures = vec![
        Figure::new("FROM", "from", |_, (from, ..): &OfCpus| count(u64::from(*from))),
        Figure::new("TO", "to", |_, (_, to, _)| count(u64::from(*to))),
    ];
    figures.extend(sums!(OfCpus, |row: &OfCpus| row.2));
    figures
}

/// Figures of a thread's or a process's moves of one kind.
fn rows() -> Vec<Figure<MoveWindow, MoveRow>> {
    let mut figures = vec![
        Figure::machine_only("pid", |_, row: &MoveRow| pid(&row.who)),
        Figure::machine_only("tid", |_, row| tid(&row.who)),
        Figure::machine_only("comm", |_, row| word(row.who.comm.to_string())),
        Figure::new("CAUSE", "cause", |_, row| word(row.cause.name().to_string())),
        Figure::new("FROM", "from", |_, row| count(u64::from(row.from))),
        Figure::new("TO", "to", |_, row| count(u64::from(row.to))),
    ];
    figures.extend(sums!(MoveRow, |row: &MoveRow| row.sums));
    figures.push(Figure::shown("WHO", |_, row| word(row.who.to_string())));
    figures
}

/// Rows by thread or by process, most moves first.
fn sorted(moves: &MoveWindow, threads: bool) -> Vec<MoveRow> {
    let mut rows = if threads { moves.rows.clone() } else { moves.by_process() };
    rows.sort_by_key(|row| (Reverse(row.sums.moves), row.who, row.cause, row.from, row.to));
    rows
}

const LAYOUT: Layout = Layout {
    texts: &[("CAUSE", Text::Words), ("MEANING", Text::Words), ("WHO", Text::Name)],
    yields: &["MEANING", "AFTER", "BEFORE", "PAID|NOT"],
};

/// Text for people: by cause, between CPUs, by process or thread.
pub fn text(moves: &MoveWindow, threads: bool, sheet: Sheet) -> String {
    let of = moves.by_kernel().map(|all| format!(" of the {all} that the kernel counted"));
    let summary = format!(
        "Window {:.3} s: {} told{}, {} born on another CPU than their parent's",
        moves.seconds(),
        counted(moves.migrations(), "migration"),
        of.unwrap_or_default(),
        moves.births(),
    );
    let mut out = sheet.line(&summary, 2);
    out += &missing(moves, sheet);
    out += "\n";
    out += &figure::table(&causes(), moves, &moves.by_cause(), sheet, &LAYOUT, &[]);
    out += "\n";
    out += &figure::table(&cpus(), moves, &moves.by_cpus(), sheet, &LAYOUT, &[]);
    out += "\n";
    out + &figure::table(&rows(), moves, &sorted(moves, threads), sheet, &LAYOUT, &[])
}

/// A line for each kind of unknown.
fn missing(moves: &MoveWindow, sheet: Sheet) -> String {
    let unseen = "without a wait: how it ended was not seen";
    let mut out = losses::text(&moves.losses, "migration", unseen, sheet);
    if moves.missed > 0 {
        let missed = counted(moves.missed, "migration");
        out += &sheet.line(&format!("{missed} missing: the kernel did not show them"), 2);
    }
    for Unknown { why, moves } in &moves.unknown {
        out += &sheet.line(&format!("{moves} of unknown cause: {why}"), 2);
    }
    out
}

/// One JSON object on one line.
pub fn json(moves: &MoveWindow, threads: bool) -> String {
    let unknown = |unknown: &Unknown| json!({ "why": unknown.why, "moves": unknown.moves });
    let mut object = json!({
        "schema": SCHEMA,
        "window": { "t0_ns": moves.t0_ns, "t1_ns": moves.t1_ns },
        "migrations": moves.migrations(),
        "by_kernel": moves.by_kernel(),
        "births": moves.births(),
        "missed": moves.missed,
        "causes": figure::objects(&causes(), moves, &moves.by_cause()),
        "cpus": figure::objects(&cpus(), moves, &moves.by_cpus()),
        "rows": figure::objects(&rows(), moves, &sorted(moves, threads)),
        "unknown": moves.unknown.iter().map(unknown).collect::<Vec<_>>(),
    });
    losses::tell(&moves.losses, &mut object);
    format!("{object}\n")
}

/// The CSV header.
pub fn csv_header() -> Vec<u8> {
    figure::csv_header(&rows())
}

/// CSV, one line per cause and thread or process.
pub fn csv(moves: &MoveWindow, threads: bool) -> Vec<u8> {
    figure::csv(&rows(), moves, [moves.t0_ns, moves.t1_ns], &sorted(moves, threads))
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::on_demand::losses::Losses;
    use exactop_model::{Comm, TaskRef};

    fn window() -> MoveWindow {
        let row = |tid, from, to, cause, moves, queued| MoveRow {
            who: TaskRef::thread(70, tid, Comm::new(b"w\x1bk"), Comm::new(b"w\x1bk")),
            from,
            to,
            cause,
            sums: MoveSums {
                moves,
                queued,
                before_ns: queued * 1_500_000,
                ran: moves,
                after_ns: moves * 20_000,
                paid: moves / 2,
                unpaid: 1,
            },
        };
        MoveWindow {
            t0_ns: 0,
            t1_ns: 1_000_000_000,
            rows: vec![
                row(70, 0, 1, Cause::Wakeup, 40, 0),
                row(71, 0, 1, Cause::Wakeup, 2, 0),
                row(71, 1, 0, Cause::NewIdle, 7, 7),
                row(71, 0, 3, Cause::Affinity, 1, 1),
                row(72, 0, 1, Cause::Fork, 1, 0),
            ],
            unknown: Vec::new(),
            missed: 0,
            losses: Losses::default(),
            whole: true,
        }
    }

    #[test]
    fn text_by_process() {
        insta::assert_snapshot!(text(&window(), false, Sheet::rows(20)));
    }

    #[test]
    fn text_by_thread_with_what_is_not_known() {
        let unknown = vec![Unknown { why: "moved by someone_new".into(), moves: 3 }];
        let losses = Losses { lost: 2, unseen: 1, ..Losses::default() };
        let window = MoveWindow { unknown, missed: 4, losses, ..window() };
        insta::assert_snapshot!(text(&window, true, Sheet::rows(2)));
    }

    #[test]
    fn a_narrow_screen_leaves_out_what_matters_least() {
        let row = |tid, comm: &[u8]| MoveRow {
            who: TaskRef::thread(tid, tid, Comm::new(comm), Comm::new(comm)),
            ..window().rows[2]
        };
        let rows = vec![row(27_051, b"kworker/1:1"), row(7, b"sh")];
        let unknown = vec![Unknown { why: "moved by someone_new".into(), moves: 3 }];
        let window = MoveWindow { rows, unknown, ..window() };
        let narrow = |width| crate::sheet::fits(width, |sheet| text(&window, false, sheet));
        insta::assert_snapshot!([40, 60, 80].map(narrow).join("\n---\n\n"));
    }

    #[test]
    fn json_and_csv_say_the_same() {
        insta::assert_snapshot!(json(&window(), true));
        let both = [csv_header(), csv(&window(), true)].concat();
        insta::assert_snapshot!(String::from_utf8(both).unwrap());
    }
}
