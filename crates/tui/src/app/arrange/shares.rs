//! CPU shares as they are shown: rounded so that columns add up. Pure.

use super::{At, Rules};
use exactop_model::words::books::round_to_sum;
use exactop_model::{Counter, Frame, Row};
use std::collections::HashMap;

/// Shares in tenths of a per cent, of all rows whether or not they pass the filters.
pub(super) struct Shares {
    own: HashMap<At, i64>,
    /// Of exited processes, by nearest living ancestor.
    exited: HashMap<u32, i64>,
}

impl Shares {
    /// Rounds all rows together: what they show is in sum what they used together, and a row is
    /// off by less than one tenth.
    pub(super) fn new(frame: &Frame, rules: &Rules) -> Shares {
        let cpus = if rules.context.of_machine { u64::from(rules.context.cpus) } else { 1 };
        let whole = i128::from(rules.context.window_ns) * i128::from(cpus);
        let run = |at: At, row: &Row| Some((at, i128::from(row.delta.get(Counter::RunNs)?)));
        let live = frame.rows.iter().enumerate().filter(|(_, row)| rules.is_wanted_kind(row));
        let live = live.filter_map(|(i, row)| run(At::Live(i), row));
        let gone = frame.exited.iter().enumerate().filter_map(|(i, r)| run(At::Exited(i), r));
        let (at, ns): (Vec<At>, Vec<i128>) = live.chain(gone).filter(|(_, ns)| *ns > 0).unzip();
        let sum: i128 = ns.iter().sum();
        let total = if whole == 0 { 0 } else { (sum * 1000 + whole / 2) / whole };
        let own: HashMap<At, i64> = at.into_iter().zip(round_to_sum(&ns, total as i64)).collect();
        let mut exited = HashMap::new();
        for (i, row) in frame.exited.iter().enumerate().filter(|(_, r)| r.exited_processes > 0) {
            let share = own.get(&At::Exited(i)).copied().unwrap_or(0);
            *exited.entry(row.ident.ppid).or_insert(0) += share;
        }
        Shares { own, exited }
    }

    /// What a row used; `None` where the source cannot tell.
    pub(super) fn own(&self, at: At, row: &Row) -> Option<i64> {
        row.delta.get(Counter::RunNs)?;
        Some(self.own.get(&at).copied().unwrap_or(0))
    }

    /// What a row and its exited descendants used.
    pub(super) fn with_exited(&self, at: At, row: &Row) -> Option<i64> {
        row.children?.get(Counter::RunNs)?;
        let exited = match row.key.is_leader() {
            true => self.exited.get(&row.key.tgid).copied().unwrap_or(0),
            false => 0,
        };
        Some(self.own(at, row)? + exited)
    }
}
