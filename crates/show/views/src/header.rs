//! The summary above the table: top's lines where top has them, and the books.

use crate::plan::Page;
use exactop_model::ledger::system::{Memory, StatTicks, System};
use exactop_model::ledger::window::Census;
use exactop_model::words::audit;
use exactop_model::words::books::BooksText;
use exactop_model::words::degraded;
use exactop_model::words::plural::counted;
use exactop_model::{Frame, Quality};

/// All lines of the summary. `each_cpu`: one `%CpuN` line per CPU instead of one for all.
pub fn lines(page: &Page, each_cpu: bool) -> Vec<String> {
    let frame = &page.frame;
    let mut lines = vec![machine(&frame.system), window(frame)];
    lines.extend(books(frame));
    lines.extend(reason(frame));
    lines.extend(missing(frame));
    lines.extend(errors(frame));
    lines.push(tasks(page));
    lines.extend(cpus(frame, each_cpu));
    lines.extend(frame.system.memory.iter().flat_map(memory));
    lines
}

fn machine(system: &System) -> String {
    let time = system.local_time.as_deref().unwrap_or("-");
    let up = system.uptime_s.map_or("-".into(), uptime);
    let users = system.users.map_or("- users".into(), |n| counted(u64::from(n), "user"));
    let load = match system.load {
        Some([one, five, fifteen]) => format!("{one:.2}, {five:.2}, {fifteen:.2}"),
        None => "-".into(),
    };
    format!("exactop - {time} up {up},  {users},  load average: {load}")
}

/// The uptime as uptime(1) writes it: `105 days, 14:53`, `14:53`, `7 min`.
fn uptime(seconds: f64) -> String {
    let minutes = seconds as u64 / 60;
    let (days, hours, minutes) = (minutes / 1440, minutes / 60 % 24, minutes % 60);
    let of_day =
        if hours == 0 { format!("{minutes} min") } else { format!("{hours:2}:{minutes:02}") };
    match days {
        0 => of_day,
        days => format!("{}, {of_day}", counted(days, "day")),
    }
}

fn window(frame: &Frame) -> String {
    let seconds = frame.length_ns() as f64 / 1e9;
    let source = frame.provenance.source.name();
    let grade = audit::state(frame).unwrap_or_else(|| match frame.died {
        Some(_) => "sampled by ticks, exits by their records".into(),
        None => "sampled by ticks, blind to what exits".into(),
    });
    let split = if frame.split_is_sampled() { "; us/sy ~ sampled" } else { "" };
    format!("Window {seconds:.3} s, {source}, {grade}{split}; cost of looking {}", cost(frame))
}

fn cost(frame: &Frame) -> String {
    let total = frame.cost.user_ns + frame.cost.bpf_ns.unwrap_or(0);
    let length = frame.length_ns();
    if length == 0 {
        return "-".into();
    }
    // Without a calibrated BPF cost, the ledger's figure is a lower bound.
    let ledger = frame.cost.bpf_events.is_some();
    let bound = if ledger && frame.cost.bpf_ns.is_none() { "> " } else { "" };
    format!("{bound}{:.2} % of a CPU", total as f64 * 100.0 / length as f64)
}

fn books(frame: &Frame) -> Option<String> {
    Some(BooksText::new(frame, false)?.line())
}

fn reason(frame: &Frame) -> Option<String> {
    let reason = frame.provenance.reason.as_ref()?;
    Some(format!("Source: {}", exactop_model::text::escape::harmless(reason)))
}

fn missing(frame: &Frame) -> Option<String> {
    degraded::line(frame.provenance.degraded)
}

fn errors(frame: &Frame) -> Option<String> {
    let mut found: Vec<String> = audit::events(frame).collect();
    if frame.books.residual_ns != 0 {
        found.push(format!("residual {} ns", frame.books.residual_ns));
    }
    (!found.is_empty()).then(|| format!("Events: {}", found.join(", ")))
}

fn tasks(page: &Page) -> String {
    let frame = &page.frame;
    let (label, census) =
        if page.threads { ("Threads", frame.tasks) } else { ("Tasks", frame.processes) };
    let Census { total, running, sleeping, blocked, stopped, zombie } = census;
    let figure = |n: Option<u64>| n.map_or("-".into(), |n| n.to_string());
    format!(
        "{label}: {total:3} total, {running:3} running, {sleeping:3} sleep, {blocked:3} d-sleep, \
         {stopped:3} stopped, {zombie:3} zombie; {} born, {} exited",
        figure(frame.born),
        figure(frame.died)
    )
}

fn cpus(frame: &Frame, each: bool) -> Vec<String> {
    if !each {
        return vec![cpu_line("%Cpu(s):", frame.ticks)];
    }
    let line = |cpu: &exactop_model::CpuRow| {
        cpu_line(&format!("%Cpu{:<3}:", cpu.account.time.cpu), cpu.ticks)
    };
    frame.cpus.iter().map(line).collect()
}

/// The kernel's own tick counts, as top shows them.
fn cpu_line(label: &str, ticks: Option<StatTicks>) -> String {
    const NAMES: [&str; 8] = ["us", "sy", "ni", "id", "wa", "hi", "si", "st"];
    let percent = ticks.and_then(|t| t.percent());
    let figure = |i: usize| percent.map_or("   -".into(), |p| format!("{:4.1}", p[i]));
    let parts: Vec<String> =
        NAMES.iter().enumerate().map(|(i, name)| format!("{} {name}", figure(i))).collect();
    format!("{label} {}", parts.join(", "))
}

fn memory(memory: &Memory) -> [String; 2] {
    let mib = |bytes: u64| format!("{:8.1}", bytes as f64 / 1_048_576.0);
    [
        format!(
            "MiB Mem : {} total, {} free, {} used, {} buff/cache",
            mib(memory.total),
            mib(memory.free),
            mib(memory.used()),
            mib(memory.cache)
        ),
        format!(
            "MiB Swap: {} total, {} free, {} used. {} avail Mem",
            mib(memory.swap_total),
            mib(memory.swap_free),
            mib(memory.swap_total.saturating_sub(memory.swap_free)),
            mib(memory.available)
        ),
    ]
}

/// The quality of a figure in output for programs.
pub(crate) fn quality(quality: Quality) -> &'static str {
    match quality {
        Quality::Exact => "exact",
        Quality::Sampled => "sampled",
        Quality::Missing => "missing",
    }
}
