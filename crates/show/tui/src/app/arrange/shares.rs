//! CPU shares on the screen, rounded so that columns add up. No I/O.

use exactop_model::columns::Context;
use exactop_model::words::books::round_to_sum;
use exactop_model::{Counter, Frame, Row, RowKind};
use std::collections::HashMap;

/// A row's shares in tenths of a per cent; `None`: the source does not know.
#[derive(Clone, Copy)]
pub(super) struct Share {
    /// Its own share.
    pub(super) own: Option<i64>,
    /// Its share with that of exited descendants.
    pub(super) with_exited: Option<i64>,
}

/// The shares of all rows, whether or not they pass the filters.
pub(super) struct Shares {
    pub(super) live: Vec<Share>,
    pub(super) exited: Vec<Share>,
}

impl Shares {
    /// Rounds all rows of a kind together: their shown shares sum to what they used together, and
    /// each row is off by less than one tenth.
    pub(super) fn new(frame: &Frame, kind: RowKind, context: &Context) -> Shares {
        let cpus = if context.of_machine { u64::from(context.cpus) } else { 1 };
        let whole = i128::from(context.window_ns) * i128::from(cpus);
        let run = |row: &Row| row.delta.get(Counter::RunNs);
        let live = frame.rows.iter().map(|row| run(row).filter(|_| row.kind == kind));
        let all: Vec<Option<u64>> = live.chain(frame.exited.iter().map(run)).collect();
        let known: Vec<i128> = all.iter().flatten().map(|&ns| ns.into()).collect();
        let sum: i128 = known.iter().sum();
        let total = if whole == 0 { 0 } else { (sum * 1000 + whole / 2) / whole };
        let mut rounded = round_to_sum(&known, total as i64).into_iter();
        let own: Vec<Option<i64>> = all.iter().map(|ns| ns.and_then(|_| rounded.next())).collect();
        let (live, exited) = own.split_at(frame.rows.len());
        let by_ancestor = sums(frame, exited);
        let with_exited = |(row, &own): (&Row, &Option<i64>)| {
            row.children?.get(Counter::RunNs)?;
            let exited = by_ancestor.get(&row.key.tgid).filter(|_| row.key.is_leader());
            Some(own? + exited.copied().unwrap_or(0))
        };
        Shares {
            live: frame
                .rows
                .iter()
                .zip(live)
                .map(|(row, own)| Share { own: *own, with_exited: with_exited((row, own)) })
                .collect(),
            exited: exited.iter().map(|&own| Share { own, with_exited: None }).collect(),
        }
    }
}

/// Shares of exited processes, by nearest living ancestor.
fn sums(frame: &Frame, own: &[Option<i64>]) -> HashMap<u32, i64> {
    let mut sums = HashMap::new();
    for (row, share) in frame.exited.iter().zip(own).filter(|(row, _)| row.exited_processes > 0) {
        *sums.entry(row.ident.ppid).or_insert(0) += share.unwrap_or(0);
    }
    sums
}
