//! The balance as a page.

use super::{Balance, Host, Stretches};
use crate::by::brief;
use crate::sums::{measured_in_part, pct, seconds, Sums};
use crate::Clock;
use exactop_report::plot::page::{Block, Document};

/// Makes the page; lists at most `most` hosts with findings.
pub fn page(balance: &Balance, most: usize, clock: Clock) -> Document {
    let mut blocks = vec![Block::Paragraph("", head(balance, clock)), accounts(&balance.sums)];
    blocks.push(Block::List(sums(balance)));
    let unwell: Vec<&Host> = balance.hosts.iter().filter(|host| !host.is_well()).collect();
    for host in unwell.iter().take(most) {
        blocks.push(Block::Heading(3, shown(&host.name)));
        blocks.push(Block::List(findings(host, clock)));
    }
    if unwell.len() > most {
        let others =
            format!("... and on {} more (--rows N shows more, --json all)", unwell.len() - most);
        blocks.push(Block::Paragraph("", others));
    }
    blocks.extend(unread(balance, most));
    blocks.extend(later(balance, most).map(|text| Block::Paragraph("", text)));
    blocks.push(Block::Paragraph("", verdict(balance, unwell.len())));
    Document(blocks)
}

/// Hosts whose clock may be ahead.
fn later(balance: &Balance, most: usize) -> Option<String> {
    let later: Vec<&Host> = balance.hosts.iter().filter(|host| host.later_ns.is_some()).collect();
    let names: Vec<String> = later.iter().take(most).map(|host| shown(&host.name)).collect();
    let others = if later.len() > most { ", ..." } else { "" };
    let why = "exported after the others, or with a clock that is ahead (no finding)";
    let hosts = counted(later.len() as u64, "host");
    (!later.is_empty())
        .then(|| format!("Later than most, {hosts}: {}{others}: {why}.", names.join(", ")))
}

fn verdict(balance: &Balance, unwell: usize) -> String {
    if balance.holds() {
        return "The balance holds.".into();
    }
    let hosts = counted(balance.hosts.len() as u64, "host");
    let unread = match balance.unread.len() as u64 {
        0 => String::new(),
        n => format!("; {} cannot be read", counted(n, "path")),
    };
    format!("The balance does not hold: findings on {unwell} of {hosts}{unread}.")
}

/// Files that could not be read.
fn unread(balance: &Balance, most: usize) -> Vec<Block> {
    let all = balance.unread.len();
    if all == 0 {
        return Vec::new();
    }
    let mut lines: Vec<String> =
        balance.unread.iter().take(most).map(|unread| unread.error.clone()).collect();
    if all > most {
        lines.push(format!("... and {} more (--rows N shows more, --json all)", all - most));
    }
    vec![Block::Heading(3, "Not read, and in none of these figures".into()), Block::List(lines)]
}

fn shown(name: &str) -> String {
    if name.is_empty() {
        "(no name)".into()
    } else {
        name.into()
    }
}

pub(crate) fn counted(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn head(balance: &Balance, clock: Clock) -> String {
    let (hosts, boots) =
        (balance.present_hosts().count() as u64, balance.hosts.iter().map(|host| host.boots).sum());
    let begins =
        balance.hosts.iter().filter(|host| host.windows > 0).map(|host| host.first_ns).min();
    let time = begins.zip(balance.ends_ns);
    let time = time.map_or(String::new(), |(from, to)| {
        format!(", from {} to {}", clock(from.into()), clock(to.into()))
    });
    format!(
        "{}, {}, {}{time}",
        counted(hosts, "host"),
        counted(boots, "boot"),
        counted(balance.windows(), "window")
    )
}

/// Sums of all rows, to the nanosecond.
fn accounts(sums: &Sums) -> Block {
    let line = |name: &str, ns: Option<i128>| {
        let known =
            |text: fn(i128, u128) -> String| ns.map_or("-".into(), |ns| text(ns, sums.capacity_ns));
        vec![name.into(), known(|ns, _| ns.to_string()), known(pct)]
    };
    let mut lines: Vec<Vec<String>> =
        sums.accounts().into_iter().map(|(name, ns)| line(name, ns)).collect();
    lines.push(line("all accounts", Some(sums.accounts_ns())));
    lines.push(line("CPUs x time", Some(sums.cpus_x_time_ns as i128)));
    lines.push(line("tasks + exited", Some(sums.named_ns() as i128)));
    lines.push(line("all charges", Some(sums.charged_ns as i128)));
    Block::Table(["account", "ns", "%"].map(String::from).to_vec(), lines)
}

/// Sums that must be equal, and totals of windows.
fn sums(balance: &Balance) -> Vec<String> {
    let Balance { sums, quality, .. } = balance;
    let all = |of: fn(&Host) -> u64| balance.hosts.iter().map(of).sum::<u64>();
    let apart = |what: &str, a: i128, b: i128, windows: u64| match (a == b, windows) {
        (true, 0) => format!("{what}: equal"),
        (true, n) => format!("{what}: equal in all, but not in {}", counted(n, "window")),
        (false, n) => format!("{what}: {} ns apart, in {}", a.abs_diff(b), counted(n, "window")),
    };
    let charged = (sums.charged_ns as i128, sums.named_ns() as i128);
    let uneven = all(|host| host.uneven + host.stray);
    let doubled = match all(|host| host.doubled) {
        0 => "every window once".into(),
        n => counted(n, "duplicate row"),
    };
    let mut lines = vec![
        apart("accounts = CPUs x time", sums.accounts_ns(), sums.cpus_x_time_ns as i128, quality.open),
        apart("charges = tasks + exited", charged.0, charged.1, uneven),
        doubled,
        format!(
            "windows with a residual: {}; with missed switches: {}; without that witness: {}; not exact: {}",
            quality.residual, quality.missed, quality.without_witness, quality.inexact
        ),
    ];
    lines.extend(measured_in_part(&[sums]));
    lines
}

/// Findings of a host, one per line.
pub(super) fn findings(host: &Host, clock: Clock) -> Vec<String> {
    let mut lines = Vec::new();
    if host.doubled > 0 {
        let other = match host.different {
            0 => String::new(),
            n => format!(", {n} of them with other figures"),
        };
        let time = seconds(host.doubled_ns);
        lines.push(format!(
            "{}{other}: {time} of CPU time too much",
            counted(host.doubled, "duplicate row")
        ));
    }
    lines.extend(stretches("overlapping windows", &host.overlaps, clock));
    lines.extend(stretches("time without windows", &host.gaps, clock));
    let boots: Vec<&str> = host.boots_at_once.iter().map(|boot| brief(boot)).collect();
    let two = format!(
        "two boots at once, {} (two machines of one name, or a clock set back before a boot)",
        boots.join(" and ")
    );
    lines.extend(stretches(&two, &host.at_once, clock));
    lines.extend(of_starts(host, clock));
    lines.extend(figures(host));
    lines.extend(of_clocks(host, clock));
    lines
}

/// Time without windows around a boot, in which the machine may have been off.
fn of_starts(host: &Host, clock: Clock) -> Option<String> {
    let first = host.first_starts.first()?;
    let which =
        if host.starts > 1 { format!("{} times, first ", host.starts) } else { String::new() };
    Some(format!(
        "no windows around a boot: {which}{} from {}, the last {} of it after the boot (the machine was off, or its last \
         windows are lost)",
        seconds(first.length_ns),
        clock(first.from_ns),
        seconds(first.since_start_ns)
    ))
}

/// Figures that do not match.
fn figures(host: &Host) -> impl Iterator<Item = String> {
    let quality = &host.quality;
    let lines = [
        (quality.open, "accounts that are not CPUs x time".to_string()),
        (host.uneven, format!("charges that are not tasks + exited, {} ns apart", host.uneven_ns)),
        (
            host.stray,
            "charges and no accounts (an export that was interrupted: the next one sends them)"
                .into(),
        ),
        (quality.residual, format!("a residual, {} ns together", quality.residual_ns)),
        (quality.missed, format!("missed switches, {} together", quality.missed_switches)),
    ];
    let lines = lines.into_iter().filter(|(windows, _)| *windows > 0);
    lines.map(|(windows, what)| format!("{} with {what}", counted(windows, "window")))
}

fn of_clocks(host: &Host, clock: Clock) -> Vec<String> {
    let mut lines = Vec::new();
    let jump = host.first_jumps.first().filter(|_| host.jumps > 0);
    if let Some(jump) = jump {
        let sign = if jump.by_ns < 0 { "-" } else { "+" };
        let by = seconds(jump.by_ns.unsigned_abs());
        let to = clock(jump.to_ns);
        lines.push(format!(
            "wall clock jumped {}: by {sign}{by} at {to} (it was set, or the machine slept)",
            times(host.jumps)
        ));
    }
    if let Some(ns) = host.ahead_ns {
        let last = clock(host.last_ns.into());
        lines.push(format!(
            "clock ahead by {}: its last window ends at {last}",
            seconds(ns.unsigned_abs())
        ));
    }
    if let Some(last) = host.absent_ns {
        let last = clock(last.into());
        lines.push(format!("no window in this time: the last before it ends at {last}"));
    }
    if let Some(ns) = host.silent_ns {
        let last = clock(host.last_ns.into());
        let long = seconds(ns.unsigned_abs());
        lines.push(format!("silent for {long}, since {last} (or its clock is behind)"));
    }
    lines
}

fn times(n: u64) -> String {
    match n {
        1 => "once".into(),
        n => format!("{n} times, first"),
    }
}

fn stretches(what: &str, of: &Stretches, clock: Clock) -> Option<String> {
    let first = of.first.first()?;
    let (all, at) = (seconds(of.length_ns), clock(first.from_ns));
    Some(match of.count {
        1 => format!("{what}: {all} from {at}"),
        n => format!(
            "{what}: {n} times, {all} together, the first {} from {at}",
            seconds(first.length_ns)
        ),
    })
}
