//! CPUs one by one: a bar of the CPU's time by account, and the part that was not idle. With many
//! CPUs, one character each.

use super::text::{bar, graph, per_glyph, put, EIGHTHS};
use super::theme::{Ink, Theme};
use crate::app::recent::{busy, length_ns};
use crate::app::App;
use crate::layout::{CpuGrid, CpuPart, CpuStrip, Screen, CPU_GAP};
use exactop_model::{CpuRow, Frame};
use ratatui_core::buffer::Buffer;
use ratatui_core::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

/// The characters of the bar; the help page lists them, too.
pub(super) const GLYPHS: [(char, Ink, &str); 5] = [
    ('█', Ink::User, "user ~"),
    ('▓', Ink::System, "system ~"),
    ('▒', Ink::Irq, "interrupts"),
    ('░', Ink::Steal, "steal"),
    ('·', Ink::Idle, "offline"),
];

pub(super) fn line(
    app: &App,
    frame: &Frame,
    screen: &Screen,
    n: u16,
    theme: Theme,
    y: u16,
    buf: &mut Buffer,
) {
    match screen.cpus {
        Some(CpuPart::Cells(grid)) => cells(app, frame, grid, n, theme, y, buf),
        Some(CpuPart::Strip(strip)) => put(buf, 0, y, u16::MAX, &marks(frame, strip, n, theme)),
        None => {}
    }
}

fn cells(app: &App, frame: &Frame, grid: CpuGrid, n: u16, theme: Theme, y: u16, buf: &mut Buffer) {
    let first = usize::from(n) * usize::from(grid.per_line);
    let shown = frame.cpus.iter().skip(first).take(usize::from(grid.per_line));
    let digits = frame.cpus.last().map_or(1, |c| c.account.time.cpu.to_string().len());
    for (i, cpu) in (0u16..).zip(shown) {
        let x = i * (grid.cell + CPU_GAP);
        put(buf, x, y, grid.cell, &cell(app, cpu, digits, usize::from(grid.bar), theme));
    }
}

/// Least width of a bar that gives a part of itself to a graph.
const SHARED_BAR: usize = 20;

/// The last windows of a CPU, the newest at the right; empty: no room, or no last windows.
fn history(app: &App, cpu: u32, width: usize, theme: Theme) -> String {
    if width < SHARED_BAR || app.recent.len() < 2 || app.past.is_some() {
        return String::new();
    }
    let glyphs = width / 3;
    let parts = app.recent.last_of_cpu(cpu, glyphs * per_glyph(theme));
    format!(" {:>glyphs$}", graph(&parts, theme))
}

fn cell(app: &App, cpu: &CpuRow, digits: usize, width: usize, theme: Theme) -> Line<'static> {
    let time = &cpu.account.time;
    let history = history(app, time.cpu, width, theme);
    let width = width - history.width();
    let mut spans = vec![Span::raw(format!("cpu{:<digits$}", time.cpu))];
    if width > 0 {
        spans.push(Span::raw(" "));
        spans.extend(bar(&parts(cpu), width, theme));
        spans.push(Span::styled(history, theme.style(Ink::User)));
    }
    spans.push(figure(std::slice::from_ref(cpu), theme));
    Line::from(spans)
}

/// The part of these CPUs' time that was not idle, as text.
fn figure(cpus: &[CpuRow], theme: Theme) -> Span<'static> {
    let busy = busy(cpus).map_or("-".into(), |part| format!("{:.1}", part * 100.0));
    Span::styled(format!("{busy:>6}"), theme.style(Ink::Strong))
}

/// A line of a strip: the CPUs' numbers, a character for each, and how busy all of them were.
fn marks(frame: &Frame, strip: CpuStrip, n: u16, theme: Theme) -> Line<'static> {
    let per_mark = usize::from(strip.per_mark);
    let per_line = usize::from(strip.per_line) * per_mark;
    let all = frame.cpus.chunks(per_line).nth(usize::from(n));
    let cpus = all.unwrap_or_default();
    let (Some(first), Some(last)) = (cpus.first(), cpus.last()) else { return Line::default() };
    let [first, last] = [first, last].map(|cpu| cpu.account.time.cpu);
    let label = usize::from(strip.label);
    let name = format!("cpu{first}-{last} ");
    let mut spans = vec![Span::raw(format!("{name:<label$}"))];
    spans.extend(cpus.chunks(per_mark).map(|cpus| mark(cpus, theme)));
    if strip.figure > 0 {
        let shown = cpus.len().div_ceil(per_mark);
        spans.push(Span::raw(" ".repeat(usize::from(strip.per_line).saturating_sub(shown))));
        spans.push(figure(cpus, theme));
    }
    Line::from(spans)
}

/// A character whose height is the busy part, in the colour of the largest account.
fn mark(cpus: &[CpuRow], theme: Theme) -> Span<'static> {
    let Some(part) = busy(cpus) else { return Span::raw("-") };
    let is_offline = |cpu: &CpuRow| cpu.account.time.offline_ns > cpu.account.time.idle_ns;
    if part == 0.0 && cpus.iter().all(is_offline) {
        return Span::styled("·", theme.style(Ink::Idle));
    }
    let eighth = ((part * 8.0) as usize).min(EIGHTHS.len() - 1);
    let ink = match eighth {
        0 => Ink::Idle,
        _ => most(cpus),
    };
    Span::styled(EIGHTHS[eighth].to_string(), theme.style(ink))
}

/// The largest account that is not idle.
fn most(cpus: &[CpuRow]) -> Ink {
    let of = |n: usize| -> f64 { cpus.iter().filter_map(|cpu| Some(parts(cpu).get(n)?.0)).sum() };
    // The first four accounts are those of a CPU that is neither idle nor offline.
    let worst = (0..4).max_by(|&a, &b| of(a).total_cmp(&of(b)));
    worst.map_or(Ink::Idle, |n| GLYPHS[n].1)
}

/// Shares of the CPU's time in the order of [`GLYPHS`]. The accounts are exact; executing time is
/// split into user and system by the kernel's ticks.
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
    // Offline time is at the end of the bar, after idle time, which is blank.
    let idle = time.idle_ns as f64 / total;
    let mut parts: Vec<_> =
        ns.iter().zip(GLYPHS).map(|(ns, (glyph, ink, _))| (ns / total, glyph, ink)).collect();
    parts.insert(4, (idle, ' ', Ink::Idle));
    parts
}
