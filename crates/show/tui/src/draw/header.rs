//! The lines above the table: the machine, the books, tasks, memory; and the status line.

use super::text::{blanks, cut, graph, pack, per_glyph, put, put_right, seconds, width, Piece};
use super::theme::{Ink, Theme};
use super::{books, pressure};
use crate::app::first_line::FirstLine;
use crate::app::past::ShownPast;
use crate::app::App;
use crate::layout::{HeaderLine, Screen, WIDE};
use exactop_model::on_demand::owed::OwedWindow;
use exactop_model::text::escape::{escape_str, harmless};
use exactop_model::words::audit;
use exactop_model::words::books::{hundredths, round_to_sum};
use exactop_model::words::degraded;
use exactop_model::words::units::{long_size, thousands};
use exactop_model::{Frame, SourceKind};
use ratatui_core::buffer::Buffer;
use ratatui_core::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

/// What the lines of the header share with the last line of the screen.
pub(super) struct Summary {
    /// The books.
    pub(super) books: Line<'static>,
    /// True if the first line has room for the state of the books.
    pub(super) status_first: bool,
    first_line: FirstLine,
}

impl Summary {
    /// Forms it for a screen of this width.
    pub(super) fn new(app: &App, frame: &Frame, theme: Theme, room: usize) -> Summary {
        let about = width(&about(app, frame, theme), "  ");
        let status = status_line(app, frame, theme, usize::MAX).width();
        let first_line = app.grow_first_line(about, status, COST.len() + cost_text(frame).len());
        let FirstLine { about, status, cost, .. } = first_line;
        let status_first = about + status + cost + 2 * STATUS_BEFORE_COST.len() <= room;
        Summary { books: books_line(app, frame, theme, room), status_first, first_line }
    }
}

pub(super) fn draw(
    app: &App,
    frame: &Frame,
    screen: &Screen,
    summary: &Summary,
    theme: Theme,
    buf: &mut Buffer,
) {
    let room = usize::from(buf.area.width);
    for (y, line) in (0u16..).zip(&screen.header) {
        match line {
            HeaderLine::Machine => {
                let line = machine_line(app, frame, theme, room, summary);
                put(buf, 0, y, u16::MAX, &line.left);
                put_right(buf, y, &line.right);
                if let Some((x, busy)) = line.busy {
                    put(buf, x, y, u16::MAX, &busy);
                }
            }
            HeaderLine::Time => super::timeline::draw(app, theme, y, buf),
            HeaderLine::Books => {
                put(buf, 0, y, buf.area.width, &summary.books);
                let left = room.saturating_sub(summary.books.width() + GAP);
                let ticks = ticks_line(frame, theme, left);
                if !screen.header.contains(&HeaderLine::Ticks) && ticks.width() <= left {
                    put_right(buf, y, &ticks);
                }
            }
            HeaderLine::Findings => {
                put(buf, 0, y, u16::MAX, &super::findings::line(frame, theme, room));
            }
            HeaderLine::Ticks => put(buf, 0, y, u16::MAX, &ticks_line(frame, theme, room)),
            HeaderLine::Cpus(n) => super::cpus::line(app, frame, screen, *n, theme, y, buf),
            HeaderLine::Tasks => {
                let has_own_line = screen.header.contains(&HeaderLine::Memory);
                let tasks = pack(tasks(app, frame, theme), " ", room);
                let used = tasks.width();
                put(buf, 0, y, u16::MAX, &tasks);
                if !has_own_line && room > used + 60 {
                    put_right(buf, y, &pack(beside(app, frame, theme), " ", room - used - 3));
                }
            }
            HeaderLine::Memory => {
                put(buf, 0, y, u16::MAX, &pack(beside(app, frame, theme), " ", room))
            }
        }
    }
}

/// Gap between the books and the ticks to their right.
const GAP: usize = 3;

/// The ticks that fit; user, system and idle are always shown, and those that are 0 leave first.
fn ticks_line(frame: &Frame, theme: Theme, room: usize) -> Line<'static> {
    let ticks = ticks(frame, theme);
    let least = ticks.iter().filter(|tick| tick.rank() == MATTERS).map(|tick| tick.width() + 1);
    let least = least.sum::<usize>().saturating_sub(1);
    pack(ticks, " ", room.max(least))
}

/// The books. If the ticks have no line of their own, the line leaves room for them at its right:
/// for all of which the books with every account leave room, and at least for the important ones.
fn books_line(app: &App, frame: &Frame, theme: Theme, room: usize) -> Line<'static> {
    let owed = owed(app, frame);
    let line = |room| books::line(frame, app.settings.of_machine, &owed, theme, room);
    let beside = match room >= usize::from(WIDE) {
        true => {
            let books = books::least_width(frame, app.settings.of_machine, &owed);
            ticks_line(frame, theme, room.saturating_sub(books + GAP)).width() + GAP
        }
        false => 0,
    };
    line(room.saturating_sub(beside))
}

/// The part of the idle time that was owed to waiting tasks, in the unit of the books; `-` until its
/// first window has ended, empty if the user has not asked for it.
fn owed(app: &App, frame: &Frame) -> String {
    if !app.shows_owed || app.past.is_some() {
        return String::new();
    }
    let cpus = if app.settings.of_machine { frame.cpus.len() as u64 } else { 1 };
    let share = |window: &OwedWindow| {
        let whole_ns = (window.t1_ns - window.t0_ns).checked_mul(cpus).filter(|&ns| ns > 0)?;
        Some((u128::from(window.owed_ns) * 10_000 / u128::from(whole_ns)) as i64)
    };
    let counted = frame.subjects.get::<OwedWindow>().and_then(Result::ok).and_then(share);
    format!(" (owed {})", counted.map_or("-".into(), hundredths))
}

pub(super) fn machine_line(
    app: &App,
    frame: &Frame,
    theme: Theme,
    room: usize,
    summary: &Summary,
) -> MachineLine {
    let &Summary { status_first, first_line, .. } = summary;
    // It explains an unusual cost. What stands on which line does not depend on it.
    let why = if app.attached_in_window() { TO_ATTACH } else { "" };
    let cost = format!("{COST}{:>1$}", cost_text(frame), first_line.cost - COST.len());
    let cost = Piece::new(9, theme, Ink::Plain, cost).and(theme, Ink::Plain, why);
    let mut right = pack(vec![cost], "", room);
    if status_first {
        let mut first = status_line(app, frame, theme, usize::MAX);
        first.push_span(blanks(first_line.status - first.width()));
        first.push_span(STATUS_BEFORE_COST);
        first.spans.extend(right.spans);
        right = first;
    }
    let left = pack(about(app, frame, theme), "  ", room.saturating_sub(right.width() + 2));
    // The unit of the per cent is shown if the last windows also have room.
    let left_width = left.width().max(first_line.about);
    let used = left_width + right.width() + 2 * GAP + BUSY.len() + LEAST_BARS;
    if used + OF_A_CPU.len() <= room {
        let before_why = right.spans.len() - 1;
        right.spans.insert(before_why, Span::raw(OF_A_CPU));
    }
    let free = room.saturating_sub(left_width + right.width() + 2 * GAP);
    // Else the last windows get the line from which the books' state moved away.
    let busy = busy(app, theme, free).filter(|_| !status_first).map(|busy| {
        let x = room - right.width() - GAP - busy.width();
        (x as u16, busy)
    });
    MachineLine { left, right, busy }
}

/// The first line of the screen.
pub(super) struct MachineLine {
    left: Line<'static>,
    right: Line<'static>,
    /// The last windows and their first cell.
    pub(super) busy: Option<(u16, Line<'static>)>,
}

/// Text after the cost of a window in which programs were attached for a page.
const TO_ATTACH: &str = " to attach";
/// Text after the cost of looking.
const OF_A_CPU: &str = " of a CPU";
/// Gap between the state of the books and the cost; the gap before the state is at least as wide.
const STATUS_BEFORE_COST: &str = "     ";
/// Text before the bars.
pub(super) const BUSY: &str = "busy ";
/// Least number of bars.
const LEAST_BARS: usize = 8;
/// Most bars: more are not readable.
const MOST_BARS: usize = 60;

/// How busy all CPUs were in the last windows, the newest at the right; `None`: no room.
pub(super) fn busy(app: &App, theme: Theme, free: usize) -> Option<Line<'static>> {
    let bars = free.checked_sub(BUSY.len()).filter(|&bars| bars >= LEAST_BARS)?.min(MOST_BARS);
    // Earlier windows of this machine are cells of the graph; joined or recorded ones are not.
    let is_elsewhere = |past: &ShownPast| !past.kept || past.joined().is_some();
    if app.recent.len() < 2 || app.past.as_ref().is_some_and(is_elsewhere) {
        return None;
    }
    let parts: Vec<f32> = app.recent.last(bars * per_glyph(theme)).collect();
    let bars = Span::styled(graph(&parts, theme), theme.style(Ink::User));
    Some(Line::from(vec![Span::styled(BUSY, theme.style(Ink::Dim)), bars]))
}

fn about(app: &App, frame: &Frame, theme: Theme) -> Vec<Piece> {
    let system = &frame.system;
    let mut pieces = vec![Piece::new(9, theme, Ink::Strong, "exactop")];
    if let Some(marked) = app.shown_against() {
        let from = marked.from.as_deref().map_or(String::new(), |from| format!("{from} · "));
        let text = format!("change since {from}window {} s", seconds(marked.frame.length_ns()));
        pieces.push(Piece::new(9, theme, Ink::Alarm, text));
    }
    // The time line says which window of the past this is.
    if let Some(time) = system.local_time.as_ref().filter(|_| app.past.is_none()) {
        pieces.push(Piece::new(8, theme, Ink::Plain, escape_str(time)));
    }
    if let Some(seconds) = system.uptime_s {
        pieces.push(Piece::new(3, theme, Ink::Plain, format!("up {}", uptime(seconds))));
    }
    if let Some(users) = system.users {
        let s = if users == 1 { "" } else { "s" };
        pieces.push(Piece::new(2, theme, Ink::Plain, format!("{users} user{s}")));
    }
    if let Some([one, five, fifteen]) = system.load {
        let text = format!("load {one:.2} {five:.2} {fifteen:.2}");
        pieces.push(Piece::new(5, theme, Ink::Plain, text));
    }
    pieces
}

fn uptime(seconds: f64) -> String {
    let minutes = seconds.max(0.0) as u64 / 60;
    let (days, hours, minutes) = (minutes / 1440, minutes / 60 % 24, minutes % 60);
    match days {
        0 => format!("{hours}:{minutes:02}"),
        _ => format!("{days} d {hours:02}:{minutes:02}"),
    }
}

/// Text before the cost of looking.
const COST: &str = "cost ";

/// The cost of looking, in per cent of one CPU.
fn cost_text(frame: &Frame) -> String {
    let length = frame.length_ns();
    if length == 0 {
        return "-".into();
    }
    let percent = |ns: u64| ns as f64 * 100.0 / length as f64;
    let cost = frame.cost;
    match (cost.bpf_ns, frame.provenance.source) {
        (Some(bpf), _) => format!("{:.2} %", percent(cost.user_ns + bpf)),
        (None, SourceKind::Ledger) => format!("{:.2} % + bpf -", percent(cost.user_ns)),
        (None, _) => format!("{:.2} %", percent(cost.user_ns)),
    }
}

/// Gap between two pieces of the status line.
pub(super) const STATUS_GAP: &str = " · ";
/// The key that shows a reason without room.
const WHY: &str = "?: why";
/// Least width of a reason.
const LEAST_REASON: usize = 24;

/// The source, the length of the window and its exactness, as far as there is room; exactness comes
/// first. The help page lists the events behind it.
pub(super) fn status_line(app: &App, frame: &Frame, theme: Theme, room: usize) -> Line<'static> {
    let mut line = pack(status(app, frame, theme), STATUS_GAP, room);
    // The reason for sampling gets the rest of the line, and may be cut.
    let samples = !frame.provenance.source.keeps_books();
    let left = room.saturating_sub(line.width() + STATUS_GAP.width());
    if let Some(why) = frame.provenance.reason.as_ref().filter(|_| samples) {
        let why = harmless(why);
        if left >= why.width().min(LEAST_REASON) {
            line.push_span(format!("{STATUS_GAP}{}", cut(&why, left)));
        } else if left >= WHY.width() {
            line.push_span(format!("{STATUS_GAP}{WHY}"));
        }
    }
    line
}

/// The pieces of the status line, without the reason for sampling.
pub(super) fn status(app: &App, frame: &Frame, theme: Theme) -> Vec<Piece> {
    let samples = !frame.provenance.source.keeps_books();
    let failure = app.failure.iter().map(|why| {
        let text = format!("no new window: {}", harmless(why));
        Piece::new(9, theme, Ink::Alarm, text)
    });
    let mut pieces: Vec<Piece> = failure.collect();
    let mut add = |rank, ink, text: String| pieces.push(Piece::new(rank, theme, ink, text));
    let source = frame.provenance.source.name();
    add(4, Ink::Plain, if samples { format!("{source} ~ samples") } else { source.into() });
    if !frame.is_since_boot() {
        add(3, Ink::Plain, format!("window {} s", seconds(frame.length_ns())));
    }
    let calm = samples || frame.exact;
    add(8, if calm { Ink::Strong } else { Ink::Alarm }, audit::grade(frame));
    if frame.split_is_sampled() {
        add(2, Ink::Plain, "us/sy ~ sampled".into());
    }
    match frame.provenance.degraded.map(degraded::missing) {
        Some(None) => {}
        Some(Some(missing)) => {
            add(7, Ink::Alarm, format!("no {missing}"));
            add(6, Ink::Plain, degraded::REASON.into());
        }
        None => add(2, Ink::Plain, "missing detail unknown".into()),
    }
    pieces
}

/// The rank of ticks that are always shown.
const MATTERS: u8 = 20;
/// Added to the rank of ticks that are not 0: without them the rest does not add up.
const NOT_ZERO: u8 = 10;

/// The kernel's own tick counts, as top shows them; they are sampled, hence the `~`.
fn ticks(frame: &Frame, theme: Theme) -> Vec<Piece> {
    const NAMES: [(&str, Ink, u8); 8] = [
        ("us", Ink::User, MATTERS),
        ("sy", Ink::System, MATTERS),
        ("ni", Ink::User, 3),
        ("id", Ink::Idle, MATTERS),
        ("wa", Ink::Sleep, 4),
        ("hi", Ink::Irq, 1),
        ("si", Ink::Irq, 2),
        ("st", Ink::Steal, 5),
    ];
    let Some(ticks) = frame.ticks.filter(|t| t.total() > 0) else {
        return vec![Piece::new(
            MATTERS,
            theme,
            Ink::Dim,
            "~us - sy - ni - id - wa - hi - si - st -",
        )];
    };
    let tenths = round_to_sum(&ticks.in_top_order().map(i128::from), 1000);
    NAMES
        .iter()
        .zip(tenths)
        .enumerate()
        .map(|(i, (&(name, ink, rank), n))| {
            let figure = format!("{:>2}.{}", n / 10, n % 10);
            let ink = if n == 0 { Ink::Dim } else { ink };
            let rank = if n == 0 || rank == MATTERS { rank } else { rank + NOT_ZERO };
            let mark = Piece::new(rank, theme, Ink::Plain, if i == 0 { "~" } else { "" });
            mark.and(theme, Ink::Plain, name).and(theme, Ink::Plain, " ").and(theme, ink, figure)
        })
        .collect()
}

fn tasks(app: &App, frame: &Frame, theme: Theme) -> Vec<Piece> {
    let (name, c) = match app.shows_threads() {
        true => ("Threads", frame.tasks),
        false => ("Tasks", frame.processes),
    };
    let count = |rank, n: u32, what: &str| {
        let ink = if n == 0 { Ink::Dim } else { Ink::Strong };
        Piece::new(rank, theme, ink, thousands(n.into())).and(theme, Ink::Plain, format!(" {what}"))
    };
    let total = Piece::new(9, theme, Ink::Plain, format!("{name} "))
        .and(theme, Ink::Strong, thousands(c.total.into()))
        .and(theme, Ink::Plain, ":");
    let mut pieces = vec![total, count(8, c.running, "running"), count(6, c.sleeping, "sleeping")];
    if c.blocked > 0 {
        pieces.push(count(7, c.blocked, "blocked"));
    }
    pieces.push(count(3, c.stopped, "stopped"));
    pieces.push(count(2, c.zombie, "zombie"));
    let born = frame.born.map(|n| format!("· +{} born", thousands(n)));
    let died = frame.died.map(|n| format!("{} exited", thousands(n)));
    let flow: Vec<String> = born.into_iter().chain(died).collect();
    if !flow.is_empty() {
        pieces.push(Piece::new(5, theme, Ink::Plain, flow.join(", ")));
    }
    pieces
}

/// The memory, with the pressure if there is room; or pressure and disk I/O in its place.
fn beside(app: &App, frame: &Frame, theme: Theme) -> Vec<Piece> {
    if app.shows_pressure {
        return pressure::line(app, frame, theme);
    }
    let mut pieces = memory(frame, theme);
    pieces.extend(pressure::pressure(frame, theme, [2, 1]));
    pieces
}

fn memory(frame: &Frame, theme: Theme) -> Vec<Piece> {
    let Some(m) = frame.system.memory else {
        return vec![Piece::new(9, theme, Ink::Dim, "Mem -")];
    };
    let part = |rank, bytes, what: &str| {
        Piece::new(rank, theme, Ink::Strong, long_size(bytes)).and(
            theme,
            Ink::Plain,
            format!(" {what}"),
        )
    };
    let total = |rank, name: &str, bytes| {
        Piece::new(rank, theme, Ink::Plain, format!("{name} "))
            .and(theme, Ink::Strong, long_size(bytes))
            .and(theme, Ink::Plain, ":")
    };
    let mut pieces = vec![
        total(9, "Mem", m.total),
        part(8, m.free, "free"),
        part(7, m.used(), "used"),
        part(5, m.cache, "cache"),
        part(4, m.available, "avail"),
    ];
    if m.swap_total == 0 {
        pieces.push(Piece::new(6, theme, Ink::Plain, "· no swap"));
    } else {
        pieces.push(total(6, "· Swap", m.swap_total));
        pieces.push(part(6, m.swap_free, "free"));
        pieces.push(part(3, m.swap_total.saturating_sub(m.swap_free), "used"));
    }
    pieces
}
