//! The page of one process: where its time went, what exited below it, where it ran, its threads.

use super::states::{self, Parts};
use super::table::{bar_heading, heading, put_bar};
use super::text::{cell, cut, cut_to_part, pack, put, Piece};
use super::theme::{Ink, Theme};
use super::view::View;
use crate::app::process::{ProcessPage, Shows};
use crate::app::ran_on::{cpu_shares, CpuShare};
use crate::app::App;
use crate::layout::{bar_width, place, Screen, Widths};
use exactop_model::columns::sort::SortBy;
use exactop_model::columns::Context;
use exactop_model::on_demand::moves::MoveWindow;
use exactop_model::on_demand::waits::{Latency, WaitRow, WaitWindow};
use exactop_model::text::escape::{escape, escape_str, harmless};
use exactop_model::words;
use exactop_model::words::books::round_to_sum;
use exactop_model::words::units::{self, cpu_time, percent, size, thousands};
use exactop_model::{columns, Column, ColumnId, Counter, Frame, Missing, Row, SourceKind, Value};
use ratatui_core::buffer::Buffer;
use ratatui_core::text::{Line, Span};
use std::borrow::Cow;
use unicode_width::UnicodeWidthStr;

pub(super) fn draw(
    app: &App,
    frame: &Frame,
    page: &ProcessPage,
    screen: &Screen,
    theme: Theme,
    buf: &mut Buffer,
) {
    let room = usize::from(buf.area.width);
    let Some(row) = page.row(frame) else {
        let what = match page.exited {
            true => "has exited",
            false => "has no figures in this window: it was idle",
        };
        let text = format!("process {} {what} (Esc goes back)", page.key.tgid);
        return put(buf, 0, screen.heading_y, u16::MAX, &Line::raw(text));
    };
    let view = View { app, frame, page, row, theme, room, end_y: screen.end_y() };
    let head = [view.title_line(), view.command()];
    match page.shows {
        Shows::Overview => {}
        Shows::Calls => {
            view.put_lines(&head, screen.heading_y, buf);
            return super::calls::draw(&view, screen.heading_y + 2, buf);
        }
        Shows::Environment | Shows::Files => {
            let Some(part) = page.shows.part() else { return };
            view.put_lines(&head, screen.heading_y, buf);
            return super::holdings::draw(&view, part, screen.heading_y + 2, buf);
        }
    }
    let threads_need = (1 + page.thread_rows(frame).len()).min(4);
    let most = usize::from(screen.body_rows + 1).saturating_sub(threads_need);
    let lines: Vec<Line> = head.into_iter().chain(view.lines()).take(most).collect();
    view.put_lines(&lines, screen.heading_y, buf);
    view.threads(screen.heading_y + lines.len() as u16, buf);
}

impl View<'_> {
    fn lines(&self) -> Vec<Line<'static>> {
        let mut lines = self.time();
        lines.extend(self.first_reading());
        lines.push(self.cpu());
        lines.extend(self.runs_on());
        lines.push(self.events());
        lines.extend(self.exited());
        lines.extend(self.waits());
        lines.extend(self.kept_off());
        lines.extend(self.moves());
        lines
    }

    /// Who had the CPU while it waited.
    fn kept_off(&self) -> Option<Line<'static>> {
        let of = |behind| self.piece(5, Ink::Plain, words::findings::behind(behind));
        let pieces: Vec<Piece> = self.frame.kept_off.iter().map(of).collect();
        (!pieces.is_empty()).then(|| self.named("kept off", pieces, "  "))
    }

    fn put_lines(&self, lines: &[Line], y: u16, buf: &mut Buffer) {
        for (y, line) in (y..).zip(lines) {
            put(buf, 0, y, u16::MAX, line);
        }
    }

    fn piece(&self, rank: u8, ink: Ink, text: impl Into<Cow<'static, str>>) -> Piece {
        Piece::new(rank, self.theme, ink, text)
    }

    /// A line with its name in front.
    fn named(&self, name: &str, pieces: Vec<Piece>, gap: &'static str) -> Line<'static> {
        const NAME: usize = 9;
        let mut line = pack(pieces, gap, self.room.saturating_sub(NAME));
        line.spans.insert(0, Span::styled(cell(name, NAME, true), self.theme.style(Ink::Dim)));
        line
    }

    fn title_line(&self) -> Line<'static> {
        let row = self.row;
        let detail = &row.detail;
        let name = format!("{} ({})", row.ident.comm, row.key.tgid);
        let mut pieces = vec![self.piece(9, Ink::Strong, name)];
        if row.ident.kthread {
            pieces.push(self.piece(9, Ink::Plain, "kernel thread"));
        }
        if let Ok(user) = &detail.user {
            pieces.push(self.piece(8, Ink::Plain, escape_str(user)));
        }
        if let Ok(cgroup) = &detail.cgroup {
            pieces.push(self.piece(4, Ink::Plain, cut(&escape(cgroup), self.room / 2)));
        }
        let threads = self.threads_known();
        let s = if threads == 1 { "" } else { "s" };
        pieces.push(self.piece(7, Ink::Plain, format!("{threads} thread{s}")));
        pieces.push(self.piece(5, Ink::Plain, format!("parent {}", row.ident.ppid)));
        pieces.push(self.piece(3, Ink::Plain, format!("nice {}", row.ident.nice)));
        if let Ok(res) = detail.res {
            pieces.push(self.piece(4, Ink::Plain, format!("resident {}", size(res))));
        }
        if let Ok(ns) = detail.time_ns {
            pieces.push(self.piece(4, Ink::Plain, format!("CPU time {}", cpu_time(ns))));
        }
        pack(pieces, "  ", self.room)
    }

    /// The number of threads. The row may be one thread's, if the process was idle.
    fn threads_known(&self) -> u32 {
        let rows = self.page.thread_rows(self.frame).len() as u32;
        self.row.threads.unwrap_or(1).max(rows)
    }

    fn command(&self) -> Line<'static> {
        let text = cut(&columns::command(self.row, true), self.room.saturating_sub(9));
        self.named("command", vec![self.piece(9, Ink::Plain, text)], "")
    }

    /// The microstates of all its threads together, in per cent of their lives in the window.
    fn time(&self) -> Vec<Line<'static>> {
        let Some((delta, life_ns)) = self.page.sums(self.frame).filter(|(_, life)| *life > 0)
        else {
            return vec![self.named("time", vec![self.piece(9, Ink::Plain, "-")], "")];
        };
        let parts = states::parts(self.row, &delta);
        let texts = self.state_figures(&parts, life_ns);
        let whole = match self.threads_known() {
            1 => "% of its life in the window",
            _ => "% of its threads' lives in the window",
        };
        let whole = self.piece(1, Ink::Dim, whole);
        let figures = self.named("time", texts.into_iter().chain([whole]).collect(), "  ");
        let mut picture = self.named("", Vec::new(), "");
        let width = self.room.saturating_sub(9).min(100);
        picture.spans.extend(states::picture(&parts, life_ns, width, self.theme));
        vec![figures, picture]
    }

    /// Figures such as `USR 12.0`, or `~USR 12.0` if sampled. A narrow screen leaves out states
    /// without time first, then small ones.
    fn state_figures(&self, parts: &Parts, life_ns: u64) -> Vec<Piece> {
        let sampled = self.row.exact_split_ns().is_none() && !self.row.ident.kthread;
        let figure = |&(mark, ns): &(states::Mark, Option<u64>)| {
            let text = ns.map(|ns| percent(ns as f64 * 100.0 / life_ns as f64));
            let rank = match ns {
                None | Some(0) => 3,
                Some(ns) if ns < life_ns / 10 => 7,
                Some(_) => 8,
            };
            let ink = if rank == 3 { Ink::Dim } else { mark.ink };
            let tilde = if sampled && matches!(mark.name, "USR" | "SYS") { "~" } else { "" };
            let name = self.piece(rank, Ink::Plain, format!("{tilde}{} ", mark.name));
            name.and(self.theme, ink, text.unwrap_or("-".into()))
        };
        parts.iter().map(figure).collect()
    }

    fn share_text(&self, ns: Option<u64>) -> String {
        let context = self.app.context();
        let cpus = if context.of_machine { u64::from(context.cpus) } else { 1 };
        let value = Value::share(ns, context.window_ns * cpus, Missing::Source);
        units::cell(&value, exactop_model::columns::Unit::Pct)
    }

    /// Two shares and their sum, rounded so that they add up.
    fn sum_text(&self, own: Option<u64>, children: Option<u64>) -> [String; 3] {
        let (Some(own), Some(children)) = (own, children) else {
            return [self.share_text(own), "-".into(), "-".into()];
        };
        let context = self.app.context();
        let cpus = if context.of_machine { u64::from(context.cpus) } else { 1 };
        let whole = i128::from(context.window_ns) * i128::from(cpus);
        let parts = [i128::from(own), i128::from(children)];
        let total = (parts.iter().sum::<i128>() * 1000 + whole / 2).checked_div(whole);
        let Some(total) = total.map(|total| total as i64) else {
            return ["-"; 3].map(String::from);
        };
        let rounded = round_to_sum(&parts, total);
        [rounded[0], rounded[1], total].map(|n| format!("{}.{}", n / 10, n % 10))
    }

    fn cpu(&self) -> Line<'static> {
        let delta = self.page.sums(self.frame).map(|(delta, _)| delta);
        let own = delta.and_then(|d| d.get(Counter::RunNs));
        let children = self.row.children.and_then(|c| c.get(Counter::RunNs));
        let [own, children, both] = self.sum_text(own, children);
        let mut pieces =
            vec![self.piece(9, Ink::Strong, own).and(self.theme, Ink::Plain, " % own")];
        let sum = self.piece(8, Ink::Plain, format!("+ {children} % exited children = "));
        pieces.push(sum.and(self.theme, Ink::Strong, format!("{both} %")));
        if let Some(steal) = delta.and_then(|d| d.get(Counter::StealNs)) {
            let text = format!("· stolen {} %", self.share_text(Some(steal)));
            pieces.push(self.piece(5, Ink::Plain, text));
        }
        self.named("CPU", pieces, " ")
    }

    /// The CPUs on which the process ran, the most used first. They are known from the window after
    /// the page was opened; until then those of an earlier opening stay.
    fn runs_on(&self) -> Option<Line<'static>> {
        // A recording may hold those of another process.
        if self.frame.watch.is_some_and(|watched| watched != self.row.key.tgid) {
            return None;
        }
        let (mut all, mut age) = (cpu_shares(self.frame), None);
        if let Some(ran) = self.app.ran_on(self.page.key).filter(|_| all.is_empty()) {
            (all, age) = (ran.cpus.clone(), self.old(ran.t1_ns));
        }
        let total: u64 = all.iter().map(|share| share.ns).sum();
        if all.is_empty() {
            let sees = self.frame.provenance.source == SourceKind::Ledger;
            let wait = self.piece(9, Ink::Dim, self.why_not_yet());
            return sees.then(|| self.named("ran on", vec![wait], ""));
        }
        all.retain(|share| share.ns > 0);
        all.sort_by_key(|share| std::cmp::Reverse(share.ns));
        let mut pieces: Vec<Piece> = all
            .iter()
            .zip((0..200u8).rev())
            .map(|(&CpuShare { cpu, ns, dispatches }, rank)| {
                let share = percent(ns as f64 * 100.0 / total as f64);
                let times = dispatches.map(|n| format!(" ({} times)", thousands(n)));
                let text = format!("cpu{cpu} {share} %{}", times.unwrap_or_default());
                self.piece(rank, Ink::Plain, text)
            })
            .collect();
        if pieces.is_empty() {
            pieces.push(self.piece(9, Ink::Dim, "no CPU: it did not run in this window"));
        }
        pieces.extend(age.map(|age| self.piece(0, Ink::Dim, age)));
        Some(self.named("ran on", pieces, "  "))
    }

    fn events(&self) -> Line<'static> {
        let delta = self.page.sums(self.frame).map(|(delta, _)| delta);
        let seconds = self.frame.length_ns() as f64 / 1e9;
        let count = |c| delta.and_then(|d| d.get(c));
        let text = |c| count(c).map_or("-".into(), thousands);
        let rate = match count(Counter::Migrations) {
            Some(n) if seconds > 0.0 => format!("{:.1}/s", n as f64 / seconds),
            _ => "-".into(),
        };
        let pieces = vec![
            self.piece(9, Ink::Plain, format!("migrations {rate}")),
            self.piece(8, Ink::Plain, format!("switches {} voluntary", text(Counter::Vcx))),
            self.piece(8, Ink::Plain, format!("{} involuntary", text(Counter::Icx))),
            self.piece(6, Ink::Plain, format!("wake-ups {}", text(Counter::Wakeups))),
            self.piece(5, Ink::Plain, format!("dispatches {}", text(Counter::Dispatches))),
        ];
        self.named("events", pieces, "  ")
    }

    /// The causes of its moves to other CPUs, if any.
    fn moves(&self) -> Option<Line<'static>> {
        let room = self.room.saturating_sub(9);
        let (ink, text) = match self.frame.subjects.get::<MoveWindow>()? {
            Ok(moves) => (Ink::Plain, words::moves::by_cause(moves)?),
            // If programs are missing, the waits already show the reason.
            Err(_) if self.frame.subjects.get::<WaitWindow>().is_none_or(|told| told.is_err()) => {
                return None
            }
            Err(why) => (Ink::Dim, format!("unknown: {}", harmless(why))),
        };
        Some(self.named("moved by", vec![self.piece(9, ink, cut_to_part(&text, room))], ""))
    }

    /// Why figures that are measured for the open page are missing. Nothing adds them to a window
    /// that is over.
    fn why_not_yet(&self) -> &'static str {
        match self.app.past.is_some() {
            true => "unknown: measured only while displayed",
            false => "shown from the next window on",
        }
    }

    /// The note that a sampling source has no figures yet, because those of a process and of its
    /// threads are separate.
    fn first_reading(&self) -> Option<Line<'static>> {
        let samples = !self.frame.provenance.source.keeps_books();
        let is_first = samples && self.row.delta.get(Counter::RunNs).is_none();
        let text = format!("figures of the threads: {}", self.why_not_yet());
        let text = cut(&text, self.room.saturating_sub(9));
        is_first.then(|| self.named("threads", vec![self.piece(9, Ink::Dim, text)], ""))
    }

    /// Its waits, the tasks that had the CPU meanwhile unless the blame book has named them, and the
    /// tasks that woke it; empty lines are left out.
    fn waits(&self) -> Vec<Line<'static>> {
        let waits = match self.frame.subjects.get::<WaitWindow>() {
            Some(Ok(waits)) => waits,
            Some(Err(why)) => {
                let text = cut(&format!("unknown: {}", harmless(why)), self.room.saturating_sub(9));
                return vec![self.named("waits in", vec![self.piece(9, Ink::Dim, text)], "")];
            }
            None if !self.frame.provenance.source.keeps_books() => {
                let why = "unknown: only the ledger records waits (run as root, or with a daemon)";
                let text = cut(why, self.room.saturating_sub(9));
                return vec![self.named("waits in", vec![self.piece(9, Ink::Dim, text)], "")];
            }
            None => return Vec::new(),
        };
        let rows = waits.by_process();
        let Some(row) = rows.iter().find(|r| r.who.tgid == self.page.key.tgid) else {
            return Vec::new();
        };
        let seconds = waits.seconds() * row.threads.max(1) as f64;
        let ran_then = words::waits::shares(&row.ran_instead, true);
        let mut texts = vec![
            ("figures", self.age(waits.t1_ns)),
            ("waits in", words::waits::sleeps(row, seconds)),
            ("threads", words::waits::by_thread(waits, row.who.tgid)),
        ];
        texts.extend(self.queued(row, seconds));
        texts.push(("ran then", ran_then.filter(|_| self.frame.kept_off.is_empty())));
        texts.push(("woken by", words::waits::shares(&row.woken_by, false)));
        let line = |(name, text): (&str, Option<String>)| {
            let text = cut_to_part(&text?, self.room.saturating_sub(9));
            Some(self.named(name, vec![self.piece(9, Ink::Plain, text)], ""))
        };
        texts.into_iter().filter_map(line).collect()
    }

    /// Its waits for a CPU by their beginning, in two lines if one has no room for both.
    fn queued(&self, row: &WaitRow, seconds: f64) -> Vec<(&'static str, Option<String>)> {
        let queue = |after: &str, latency: &Latency| {
            let waited = latency.count > 0;
            waited.then(|| format!("{after} {}", words::waits::queue(latency, seconds)))
        };
        let queues =
            [queue("after wake-up", &row.woken), queue("after preemption", &row.preempted)];
        let queues: Vec<String> = queues.into_iter().flatten().collect();
        let both = queues.join(" · ");
        match both.width() <= self.room.saturating_sub(9) {
            true => vec![("queued", Some(both).filter(|both| !both.is_empty()))],
            false => ["queued", ""].into_iter().zip(queues.into_iter().map(Some)).collect(),
        }
    }

    fn exited(&self) -> Option<Line<'static>> {
        let groups = self.page.exited(self.frame);
        let threads = self.row.exited_tasks;
        let mut pieces: Vec<Piece> = Vec::new();
        for (group, rank) in groups.iter().zip((1..200u8).rev()) {
            let n = group.exited_processes.max(1);
            let share = self.share_text(group.delta.get(Counter::RunNs));
            let text = format!("{} × {} {share} %", group.ident.comm, thousands(n));
            pieces.push(self.piece(rank, Ink::Plain, text));
        }
        if threads > 0 {
            let text = format!("{} threads of its own", thousands(threads));
            pieces.push(self.piece(0, Ink::Plain, text));
        }
        (!pieces.is_empty()).then(|| self.named("exited", pieces, " · "))
    }

    fn threads(&self, y: u16, buf: &mut Buffer) {
        let rows = self.page.thread_rows(self.frame);
        let cpu = ColumnId::CpuPct.column();
        let context = self.app.context();
        let columns: Vec<_> = self.app.page_columns().collect();
        let room = usize::from(self.end_y.saturating_sub(y + 1)).max(1);
        let top = self.app.first_line(self.page.top, rows.len(), room);
        let shown: Vec<&Row> = rows.iter().skip(top).take(room).copied().collect();
        let mut widths = Widths::default();
        let texts: Vec<Vec<String>> = shown
            .iter()
            .map(|row| {
                let tenths = states::tenths(row);
                columns.iter().map(|c| thread_figure(row, c, &context, &tenths)).collect()
            })
            .collect();
        for text in &texts {
            for (column, text) in columns.iter().zip(text) {
                widths.grow(column, text.width());
            }
        }
        let bar = bar_width(&columns, &widths, buf.area.width, 12);
        let width = buf.area.width - bar.map_or(0, |bar| bar + 1);
        let placed = place(&columns, &widths, cpu, 0, width, 12);
        heading(&placed, SortBy::column(cpu), self.theme, y, buf);
        if let Some(width) = bar {
            bar_heading(width, self.theme, y, buf);
        }
        for ((y, text), row) in (y + 1..self.end_y).zip(&texts).zip(&shown) {
            if let Some(width) = bar {
                put_bar(row, width, self.theme, y, buf);
            }
            for p in &placed {
                let Some(at) = columns.iter().position(|c| *c == p.column) else { continue };
                let text = cell(&text[at], usize::from(p.width), p.column.left_aligned());
                let nothing = matches!(text.trim(), "0.0" | "0" | "-");
                let ink = if nothing { Ink::Dim } else { Ink::from_column(p.column) };
                put(buf, p.x, y, p.width, &Line::styled(text, self.theme.style(ink)));
            }
        }
    }
}

/// A thread's cell; shares of its own time are rounded together, so that they add up.
fn thread_figure(
    row: &Row,
    column: &Column,
    context: &Context,
    tenths: &[(ColumnId, i64)],
) -> String {
    match tenths.iter().find(|(id, _)| *id == column.id) {
        Some((_, n)) => format!("{}.{}", n / 10, n % 10),
        None => units::cell(&(column.value)(row, context), column.unit),
    }
}
