//! CPU cells: a bar of where the CPU's time went, and how much of it was not idle.

use super::text::{bar, put};
use super::theme::{Ink, Theme};
use crate::layout::{Screen, CPU_GAP};
use exactop_model::{CpuRow, Frame};
use ratatui::buffer::Buffer;
use ratatui::text::{Line, Span};

/// The characters of the bar, for the help page too.
pub(super) const GLYPHS: [(char, Ink, &str); 5] = [
    ('█', Ink::User, "user ~"),
    ('▓', Ink::System, "system ~"),
    ('▒', Ink::Irq, "interrupts"),
    ('░', Ink::Steal, "steal"),
    ('·', Ink::Idle, "offline"),
];

pub(super) fn line(frame: &Frame, screen: &Screen, n: u16, theme: Theme, y: u16, buf: &mut Buffer) {
    let Some(grid) = screen.cpus else { return };
    let first = usize::from(n) * usize::from(grid.per_line);
    let shown = frame.cpus.iter().skip(first).take(usize::from(grid.per_line));
    let digits = frame.cpus.last().map_or(1, |c| c.account.time.cpu.to_string().len());
    for (i, cpu) in (0u16..).zip(shown) {
        let x = i * (grid.cell + CPU_GAP);
        put(buf, x, y, grid.cell, &cell(cpu, digits, usize::from(grid.bar), theme));
    }
    let all = usize::from(grid.per_line) * usize::from(grid.lines);
    if n + 1 == grid.lines && frame.cpus.len() > all {
        let more = Line::raw(format!(" … {} more CPUs ", frame.cpus.len() - all));
        super::text::put_right(buf, y, &more);
    }
}

fn cell(cpu: &CpuRow, digits: usize, width: usize, theme: Theme) -> Line<'static> {
    let time = &cpu.account.time;
    let mut spans = vec![Span::raw(format!("cpu{:<digits$}", time.cpu))];
    if width > 0 {
        spans.push(Span::raw(" "));
        spans.extend(bar(&parts(cpu), width, theme));
    }
    let total = length_ns(cpu);
    let busy = match total {
        0 => "-".into(),
        total => {
            let idle = time.idle_ns.saturating_add(time.offline_ns);
            format!("{:.1}", total.saturating_sub(idle) as f64 * 100.0 / total as f64)
        }
    };
    spans.push(Span::styled(format!("{busy:>6}"), theme.style(Ink::Strong)));
    Line::from(spans)
}

fn length_ns(cpu: &CpuRow) -> u64 {
    let time = &cpu.account.time;
    let always = [time.task_ns, time.unnamed_ns, time.idle_ns, time.offline_ns];
    let known = always.into_iter().chain(time.irq_ns).chain(time.steal_ns);
    known.fold(0, u64::saturating_add)
}

/// Shares of the CPU's time in the order of [`GLYPHS`]. The accounts are exact; executing time
/// is split into user and system by the kernel's ticks.
fn parts(cpu: &CpuRow) -> Vec<(f64, char, Ink)> {
    let time = &cpu.account.time;
    let total = length_ns(cpu) as f64;
    if total == 0.0 {
        return Vec::new();
    }
    let run = time.task_ns.saturating_add(time.unnamed_ns) as f64;
    let user = cpu.ticks.map(|t| {
        let (user, system) = ((t.user + t.nice) as f64, t.system as f64);
        if user + system > 0.0 {
            user / (user + system)
        } else {
            1.0
        }
    });
    let user = run * user.unwrap_or(1.0);
    let ns = [
        user,
        run - user,
        time.irq_ns.unwrap_or(0) as f64,
        time.steal_ns.unwrap_or(0) as f64,
        time.offline_ns as f64,
    ];
    // Offline time is at the end of the bar, after idle, which is blank.
    let idle = time.idle_ns as f64 / total;
    let mut parts: Vec<_> =
        ns.iter().zip(GLYPHS).map(|(ns, (glyph, ink, _))| (ns / total, glyph, ink)).collect();
    parts.insert(4, (idle, ' ', Ink::Idle));
    parts
}
