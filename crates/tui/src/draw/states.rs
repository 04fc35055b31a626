//! The states of a thread on the screen: names, marks, colours, a bar of them, and figures that
//! add up to 100.0.

use super::text::bar;
use super::theme::{Ink, Theme};
use exactop_model::words::books::round_to_sum;
use exactop_model::{Counter, Counters, Row};
use ratatui::text::Span;

/// The mark of a state, for the help page too. Each has its own, so that a bar reads without
/// colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// The heading of its column.
    pub(super) name: &'static str,
    /// The id of its column.
    pub(super) column: &'static str,
    /// What a bar is made of.
    pub(super) glyph: char,
    /// Its colour.
    pub(super) ink: Ink,
}

const fn mark(name: &'static str, column: &'static str, glyph: char, ink: Ink) -> Mark {
    Mark { name, column, glyph, ink }
}

const USER: Mark = mark("USR", "ms_usr", '█', Ink::User);
const SYSTEM: Mark = mark("SYS", "ms_sys", '▓', Ink::System);

/// The states beside running, in the order of a bar.
const OTHERS: [(Mark, Counter); 10] = [
    (mark("IRQ", "ms_irq", '▒', Ink::Irq), Counter::IrqNs),
    (mark("STL", "ms_stl", '░', Ink::Steal), Counter::StealNs),
    (mark("LAT", "ms_lat", '/', Ink::RunQueue), Counter::LatNs),
    (mark("THR", "ms_thr", '!', Ink::Throttled), Counter::ThrottleNs),
    (mark("LCK", "ms_lck", 'x', Ink::Lock), Counter::LockNs),
    (mark("TFL", "ms_tfl", 't', Ink::Sleep), Counter::TextFaultNs),
    (mark("DFL", "ms_dfl", 'f', Ink::Sleep), Counter::DataFaultNs),
    (mark("BLK", "ms_blk", '#', Ink::Sleep), Counter::BlockNs),
    (mark("STP", "ms_stp", '=', Ink::Sleep), Counter::StopNs),
    (mark("SLP", "ms_slp", '·', Ink::Sleep), Counter::SleepNs),
];

/// All marks.
pub(super) fn marks() -> impl Iterator<Item = Mark> {
    [USER, SYSTEM].into_iter().chain(OTHERS.map(|(mark, _)| mark))
}

/// Time in each state.
pub(super) type Parts = Vec<(Mark, Option<u64>)>;

/// The states of a row, or of sums that belong to it. Where user and system time cannot be told
/// apart they are one part, `RUN`.
pub(super) fn parts(row: &Row, delta: &Counters) -> Parts {
    let running = match row.split_ns() {
        Ok((user, system)) => vec![(USER, Some(user)), (SYSTEM, Some(system))],
        Err(_) => vec![(mark("RUN", "", '█', Ink::User), delta.get(Counter::RunNs))],
    };
    running.into_iter().chain(OTHERS.map(|(mark, counter)| (mark, delta.get(counter)))).collect()
}

/// A bar of them; `life_ns` is the whole.
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

/// Shares in tenths of a per cent by column, rounded together: where the states are the whole of
/// the row's life they add up to it on the screen, too.
pub(super) fn tenths(row: &Row) -> Vec<(&'static str, i64)> {
    let known: Vec<(&str, u64)> = parts(row, &row.delta)
        .into_iter()
        .filter_map(|(mark, ns)| Some((mark.column, ns?)))
        .collect();
    let sum: u64 = known.iter().map(|(_, ns)| ns).sum();
    if sum != row.life_ns || sum == 0 {
        return Vec::new();
    }
    let exact: Vec<i128> = known.iter().map(|&(_, ns)| ns.into()).collect();
    known.iter().map(|(column, _)| *column).zip(round_to_sum(&exact, 1000)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::columns;
    use std::collections::HashSet;

    #[test]
    fn every_state_has_its_own_mark_and_a_column() {
        let glyphs: HashSet<char> = marks().map(|m| m.glyph).collect();
        assert_eq!(glyphs.len(), marks().count());
        for mark in marks() {
            assert_eq!(columns::find(mark.column).map(|c| c.title), Some(mark.name));
        }
        let counted = OTHERS.map(|(_, counter)| counter);
        let missing = Counter::STATES.iter().filter(|c| !counted.contains(c));
        assert_eq!(missing.collect::<Vec<_>>(), [&Counter::RunNs]);
    }
}
