//! Pictures: where the time went and which groups used it, over time.

use super::{Piece, Report};
use crate::sums::Sums;
use crate::Clock;
use exactop_report::plot::page::Block;
use exactop_report::plot::{Areas, PlotError, Whole, IRQ, OTHERS, PALE, STEAL, TASKS, UNNAMED};

pub(super) fn charts(report: &Report, clock: Clock) -> Result<Vec<Block>, PlotError> {
    let mut blocks = Vec::new();
    for (file, areas) in
        [("accounts.svg", accounts(report, clock)), ("rows.svg", rows(report, clock))]
    {
        let caption =
            format!("{}; together 100 % of the CPUs of hosts that have windows then.", areas.title);
        blocks.push(Block::Picture(file.into(), caption, areas.svg()?));
    }
    Ok(blocks)
}

fn areas(
    report: &Report,
    clock: Clock,
    title: String,
    names: Vec<(String, usize)>,
    parts: &dyn Fn(&Piece) -> Vec<u128>,
) -> Areas {
    let (unit_ns, unit) = match (report.to_ns - report.from_ns) / 1_000_000_000 {
        ..300 => (1e9, "seconds"),
        300..18_000 => (60e9, "minutes"),
        _ => (3600e9, "hours"),
    };
    let at = |ns: i128| (ns - report.from_ns) as f64 / unit_ns;
    let whole = |piece: &Piece| Whole {
        from: at(piece.from_ns),
        to: at(piece.to_ns.min(report.to_ns)),
        // Microseconds: nanoseconds of a large fleet exceed 64 bits.
        parts: parts(piece)
            .into_iter()
            .map(|ns| u64::try_from(ns / 1000).unwrap_or(u64::MAX))
            .collect(),
    };
    Areas {
        title,
        x_label: format!("{unit} since {}", clock(report.from_ns)),
        y_label: "% of all CPUs".into(),
        names,
        wholes: report.pieces.iter().map(whole).collect(),
        ..Areas::default()
    }
}

fn named(names: &[(&str, usize)]) -> Vec<(String, usize)> {
    names.iter().map(|&(name, colour)| (name.into(), colour)).collect()
}

fn accounts(report: &Report, clock: Clock) -> Areas {
    type Account = (&'static str, usize, fn(&Sums) -> u128);
    let all: [Account; 5] = [
        ("tasks", TASKS, Sums::named_ns),
        ("unnamed", UNNAMED, |sums| sums.unnamed_ns),
        ("interrupts", IRQ, |sums| sums.irq_ns),
        ("stolen", STEAL, |sums| sums.steal_ns),
        ("idle, offline", PALE, |sums| sums.idle_ns + sums.offline_ns),
    ];
    let is_measured = |&(_, colour, _): &Account| match colour {
        IRQ => report.sums.irq_windows > 0,
        STEAL => report.sums.steal_windows > 0,
        _ => true,
    };
    let (drawn, unmeasured): (Vec<Account>, Vec<Account>) = all.into_iter().partition(is_measured);
    let parts = |piece: &Piece| drawn.iter().map(|(_, _, ns)| ns(&piece.sums)).collect();
    let names: Vec<_> = drawn.iter().map(|&(name, colour, _)| (name, colour)).collect();
    Areas {
        unmeasured: unmeasured.into_iter().map(|(name, ..)| name.into()).collect(),
        ..areas(report, clock, "Where the CPUs' time went".into(), named(&names), &parts)
    }
}

fn rows(report: &Report, clock: Clock) -> Areas {
    let parts = |piece: &Piece| {
        let sums = &piece.sums;
        let mut parts = piece.run_ns.clone();
        let busy = sums.named_ns() + sums.unnamed_ns;
        let others = busy.saturating_sub(parts.iter().sum());
        parts.extend([others, sums.idle_ns + sums.offline_ns + sums.irq_ns + sums.steal_ns]);
        parts
    };
    let drawn = report.pieces.first().map_or(0, |piece| piece.run_ns.len());
    let top = report.rows.iter().take(drawn).enumerate();
    let mut names: Vec<(String, usize)> = top.map(|(at, row)| (report.shown(row), at)).collect();
    names.extend(named(&[("all others", OTHERS), ("not used by tasks", PALE)]));
    areas(report, clock, format!("CPU time by {}", report.by.name()), names, &parts)
}
