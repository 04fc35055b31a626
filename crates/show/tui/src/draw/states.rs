//! Thread states on the screen: names, marks, colours, bars, and figures that add up to 100.0.

use super::text::bar;
use super::theme::{Ink, Theme};
use exactop_model::words::books::round_to_sum;
use exactop_model::{ColumnId, Counter, Counters, Row};
use ratatui_core::text::Span;

/// The mark of a state; the help page lists them, too. Each is unique, so that a bar is readable
/// without colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// Heading of its column.
    pub(super) name: &'static str,
    /// Its column; `None`: user and system time in one.
    pub(super) column: Option<ColumnId>,
    /// The character of its bar.
    pub(super) glyph: char,
    /// Its colour.
    pub(super) ink: Ink,
}

const USER: (ColumnId, char) = (ColumnId::MsUsr, '█');
const SYSTEM: (ColumnId, char) = (ColumnId::MsSys, '▓');
const RUNNING: Mark = Mark { name: "RUN", column: None, glyph: '█', ink: Ink::User };

/// All states but running, in the order of a bar.
const OTHERS: [((ColumnId, char), Counter); 10] = [
    ((ColumnId::MsIrq, '▒'), Counter::IrqNs),
    ((ColumnId::MsStl, '░'), Counter::StealNs),
    ((ColumnId::MsLat, '/'), Counter::LatNs),
    ((ColumnId::MsThr, '!'), Counter::ThrottleNs),
    ((ColumnId::MsLck, 'x'), Counter::LockNs),
    ((ColumnId::MsTfl, 't'), Counter::TextFaultNs),
    ((ColumnId::MsDfl, 'f'), Counter::DataFaultNs),
    ((ColumnId::MsBlk, '#'), Counter::BlockNs),
    ((ColumnId::MsStp, '='), Counter::StopNs),
    ((ColumnId::MsSlp, '·'), Counter::SleepNs),
];

fn mark((id, glyph): (ColumnId, char)) -> Mark {
    let column = id.column();
    Mark { name: column.title, column: Some(id), glyph, ink: Ink::from_column(column) }
}

/// All marks.
pub(super) fn marks() -> impl Iterator<Item = Mark> {
    [USER, SYSTEM].into_iter().chain(OTHERS.map(|(state, _)| state)).map(mark)
}

/// Time in each state; `None`: unknown.
pub(super) type Parts = Vec<(Mark, Option<u64>)>;

/// The states of a row, or of sums that belong to it. If user and system time cannot be separated,
/// they are one part, `RUN`.
pub(super) fn parts(row: &Row, delta: &Counters) -> Parts {
    let running = match row.split_ns() {
        Ok((user, system)) => vec![(mark(USER), Some(user)), (mark(SYSTEM), Some(system))],
        Err(_) => vec![(RUNNING, delta.get(Counter::RunNs))],
    };
    let others = OTHERS.map(|(state, counter)| (mark(state), delta.get(counter)));
    running.into_iter().chain(others).collect()
}

/// A bar of the parts; `life_ns` is the whole.
pub(super) fn picture(
    parts: &Parts,
    life_ns: u64,
    width: usize,
    theme: Theme,
) -> Vec<Span<'static>> {
    let share = |ns: u64| ns as f64 / life_ns.max(1) as f64;
    let known = parts.iter().filter_map(|(m, ns)| Some((share((*ns)?), m.glyph, m.ink)));
    bar(&known.collect::<Vec<_>>(), width, theme)
}

/// Shares in tenths of a per cent by column, rounded together. If the states cover the row's whole
/// life, their shown shares add up to it.
pub(super) fn tenths(row: &Row) -> Vec<(ColumnId, i64)> {
    let (marks, known): (Vec<Mark>, Vec<i128>) = parts(row, &row.delta)
        .into_iter()
        .filter_map(|(mark, ns)| Some((mark, i128::from(ns?))))
        .unzip();
    let sum: i128 = known.iter().sum();
    if sum != row.life_ns.into() || sum == 0 {
        return Vec::new();
    }
    let rounded = marks.iter().map(|mark| mark.column).zip(round_to_sum(&known, 1000));
    rounded.filter_map(|(column, tenths)| Some((column?, tenths))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::columns::Rounding;
    use std::collections::HashSet;

    #[test]
    fn every_state_has_its_own_mark_and_a_column() {
        let glyphs: HashSet<char> = marks().map(|m| m.glyph).collect();
        assert_eq!(glyphs.len(), marks().count());
        let ascii = |glyph: &char| match glyph.is_ascii() {
            true => *glyph,
            false => crate::canvas::ascii(&glyph.to_string()),
        };
        let plain: HashSet<char> = glyphs.iter().map(ascii).collect();
        assert_eq!(plain.len(), glyphs.len(), "in ASCII, too: {plain:?}");
        let columns: HashSet<_> = marks().filter_map(|m| m.column).collect();
        assert_eq!(columns.len(), marks().count());
        assert!(columns.iter().all(|id| id.column().rounding == Rounding::States));
        let counted = OTHERS.map(|(_, counter)| counter);
        let missing = Counter::STATES.iter().filter(|c| !counted.contains(c));
        assert_eq!(missing.collect::<Vec<_>>(), [&Counter::RunNs]);
    }
}
