//! Compares the windows of a host with each other.

use super::tolerance::ns;
use super::{AccountsRow, Boot, HostRows, Quality};
use crate::sums::Sums;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Most findings of a kind that are listed; the others are only counted.
const MOST_LISTED: usize = 16;
/// Most difference of the wall clock between two windows, ns, plus 1/[`SLEW`] of the time between
/// them: NTP slews at most 500 ppm.
const STEP_NS: i128 = 1_000_000_000;
const SLEW: i128 = 2000;

/// A range of time by the host's wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Beginning, ns since the epoch.
    pub from_ns: i128,
    /// Length by CLOCK_MONOTONIC, ns.
    pub length_ns: u128,
}

/// Ranges of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stretches {
    /// Number of ranges.
    pub count: u64,
    /// Total length, ns.
    pub length_ns: u128,
    /// The first ranges.
    pub first: Vec<Stretch>,
}

impl Stretches {
    fn add(&mut self, from_ns: i128, length_ns: u128) {
        self.count += 1;
        self.length_ns += length_ns;
        if self.first.len() < MOST_LISTED {
            self.first.push(Stretch { from_ns, length_ns });
        }
    }
}

/// A boot with a long time without windows around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// End of the last window before it, ns since the epoch.
    pub from_ns: i128,
    /// Time from there to the first window after it, by the wall clock, ns.
    pub length_ns: u128,
    /// Part of that time after the boot, by CLOCK_MONOTONIC, ns.
    pub since_start_ns: u128,
}

/// A wall clock that advanced differently from CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jump {
    /// Instant of the jump, ns since the epoch.
    pub to_ns: i128,
    /// Size, ns; negative if the clock went back.
    pub by_ns: i128,
}

/// A host and its findings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Name in the tables; empty if the recording did not name its host.
    pub name: String,
    /// Boots with windows.
    pub boots: u64,
    /// Distinct windows.
    pub windows: u64,
    /// Sums of all rows.
    pub sums: Sums,
    /// Quality of all rows.
    pub quality: Quality,
    /// Beginning of its first window, by its wall clock, ns since the epoch.
    pub first_ns: i64,
    /// End of its last window, by its wall clock, ns since the epoch.
    pub last_ns: i64,
    /// Duplicate rows.
    pub doubled: u64,
    /// Duplicate rows with other figures.
    pub different: u64,
    /// CPUs x time of the duplicate rows, ns.
    pub doubled_ns: u128,
    /// Overlaps of different windows of a boot.
    pub overlaps: Stretches,
    /// Gaps between windows of a boot.
    pub gaps: Stretches,
    /// Time in which two of its boots have windows.
    pub at_once: Stretches,
    /// Those boots: of two machines with one name, or before and after a clock set back.
    pub boots_at_once: Vec<String>,
    /// Boots with more time without windows around them than the tolerance for silence. The machine
    /// may have been off, or its last windows may be lost.
    pub starts: u64,
    /// The first such boots.
    pub first_starts: Vec<Start>,
    /// Number of jumps of its wall clock.
    pub jumps: u64,
    /// The first jumps.
    pub first_jumps: Vec<Jump>,
    /// Windows whose charges are not tasks + exited.
    pub uneven: u64,
    /// Total difference, ns.
    pub uneven_ns: u128,
    /// Windows with charges but without a row of accounts.
    pub stray: u64,
    /// The host has no window in the time; this is the end of its last window before, ns since the
    /// epoch.
    pub absent_ns: Option<i64>,
    /// How long after now its last window ends, ns.
    pub ahead_ns: Option<i128>,
    /// How long after the fleet's end its last window ends, ns: it was exported later, or its clock
    /// is ahead. This is not a finding.
    pub later_ns: Option<i128>,
    /// How long before the fleet's end its last window ends, ns.
    pub silent_ns: Option<i128>,
}

impl Host {
    pub(super) fn from_rows(gathered: HostRows, silent: Duration) -> Host {
        let HostRows { name, sums, boots, before } = gathered;
        let mut host = Host { name, sums, ..Host::default() };
        let mut spans = Vec::new();
        let mut is_new = false;
        for (id, mut boot) in boots {
            host.charges(&mut boot);
            host.once(&mut boot.windows);
            boot.windows.iter().for_each(|seen| host.quality.add(&seen.quality));
            let before = before.as_ref().filter(|(of, _)| *of == id).map(|(_, seen)| seen);
            host.order(before, &boot.windows);
            let span = Span::from_windows(&boot.windows, before.is_some());
            spans.extend(span.map(|span| (span, id)));
            host.windows += boot.windows.len() as u64;
            is_new |= !boot.new.is_empty();
        }
        host.boots = spans.len() as u64;
        spans.sort_unstable();
        host.at_once(&spans);
        let spans: Vec<Span> = spans.into_iter().map(|(span, _)| span).collect();
        let last_before = before.map(|(_, seen)| seen.end_ns);
        host.starts(&spans, last_before.map(i128::from), ns(silent));
        host.absent_ns = last_before.filter(|_| spans.is_empty() && !is_new);
        host
    }

    /// True if there is no finding.
    pub fn is_well(&self) -> bool {
        let counts = [
            self.doubled,
            self.overlaps.count,
            self.gaps.count,
            self.at_once.count,
            self.starts,
            self.jumps,
            self.uneven,
            self.stray,
            self.quality.open,
            self.quality.residual,
            self.quality.missed,
        ];
        let instants = [self.ahead_ns, self.silent_ns, self.absent_ns.map(i128::from)];
        counts == [0; 11] && instants == [None; 3]
    }

    /// Compares charges with accounts; duplicates must be in both.
    fn charges(&mut self, boot: &mut Boot) {
        let mut named: BTreeMap<u64, u128> = BTreeMap::new();
        for seen in &boot.windows {
            *named.entry(seen.t1_ns).or_default() += seen.named_ns;
        }
        boot.merge();
        let new: BTreeSet<u64> = boot.new.iter().copied().collect();
        let charged = boot.charged.iter().copied();
        let charged: BTreeMap<u64, u128> =
            charged.filter(|(t1_ns, _)| !new.contains(t1_ns)).collect();
        named.retain(|t1_ns, _| !new.contains(t1_ns));
        self.sums.charged_ns += charged.values().sum::<u128>();
        self.stray += charged.keys().filter(|t1_ns| !named.contains_key(t1_ns)).count() as u64;
        for (t1_ns, named) in named {
            let apart = named.abs_diff(charged.get(&t1_ns).copied().unwrap_or(0));
            self.uneven += u64::from(apart > 0);
            self.uneven_ns += apart;
        }
    }

    /// Removes duplicates and sorts windows by time.
    fn once(&mut self, windows: &mut Vec<AccountsRow>) {
        windows.sort_by_key(|seen| (t0_ns(seen), seen.t1_ns));
        windows.dedup_by(|again, first| {
            let same = (again.t1_ns, again.length_ns) == (first.t1_ns, first.length_ns);
            if same {
                self.doubled += 1;
                self.different += u64::from(again.hash != first.hash);
                self.doubled_ns += u128::from(again.capacity_ns);
                first.quality.join(&again.quality);
            }
            same
        });
    }

    /// Finds gaps and overlaps, also between the last window before the time and the first in it.
    fn order(&mut self, before: Option<&AccountsRow>, windows: &[AccountsRow]) {
        let mut reach = before;
        for seen in windows {
            if let Some(before) = reach {
                let (t0, reached) = (t0_ns(seen), u128::from(before.t1_ns));
                match t0 > reached {
                    true => self.gaps.add(before.end_ns.into(), t0 - reached),
                    false if t0 < reached => {
                        let both = reached.min(seen.t1_ns.into()) - t0;
                        self.overlaps.add(begins_ns(seen), both);
                    }
                    false => {}
                }
                self.clock(before, seen);
            }
            if reach.is_none_or(|before| before.t1_ns < seen.t1_ns) {
                reach = Some(seen);
            }
        }
        let begins = windows.iter().map(|seen| i64::try_from(begins_ns(seen)).unwrap_or(i64::MIN));
        let ends = windows.iter().map(|seen| seen.end_ns);
        let known = self.windows > 0;
        let (first, last) = (self.first_ns, self.last_ns);
        self.first_ns = begins.chain(known.then_some(first)).min().unwrap_or(first);
        self.last_ns = ends.chain(known.then_some(last)).max().unwrap_or(last);
    }

    /// Finds jumps: without a clock set or a suspend, both clocks advance by the same time.
    fn clock(&mut self, before: &AccountsRow, after: &AccountsRow) {
        let wall = i128::from(after.end_ns) - i128::from(before.end_ns);
        let monotonic = i128::from(after.t1_ns) - i128::from(before.t1_ns);
        let by_ns = wall - monotonic;
        if by_ns.abs() > STEP_NS + monotonic.abs() / SLEW {
            self.jumps += 1;
            if self.first_jumps.len() < MOST_LISTED {
                self.first_jumps.push(Jump { to_ns: after.end_ns.into(), by_ns });
            }
        }
    }

    /// Finds boots that overlap: a boot begins after the one before has ended.
    fn at_once(&mut self, spans: &[(Span, String)]) {
        let mut reach: Option<(i128, &String)> = None;
        for (Span { begins, ends, .. }, boot) in spans {
            if let Some((reach, other)) = reach.filter(|(reach, _)| *begins < reach - STEP_NS) {
                self.at_once.add(*begins, (*ends.min(&reach) - begins).unsigned_abs());
                for boot in [other, boot] {
                    if !self.boots_at_once.contains(boot) {
                        self.boots_at_once.push(boot.clone());
                    }
                }
            }
            if reach.is_none_or(|(reach, _)| reach < *ends) {
                reach = Some((*ends, boot));
            }
        }
    }

    /// Finds boots with a long time without windows. Only the wall clock continues across a boot.
    fn starts(&mut self, spans: &[Span], last_before: Option<i128>, silent_ns: i128) {
        let mut reach = last_before;
        for span in spans {
            let is_start = reach.is_some() && !(span.goes_on && reach == last_before);
            let from = reach.filter(|from| is_start && span.begins - from > silent_ns);
            if let Some(from_ns) = from {
                self.starts += 1;
                let length_ns = (span.begins - from_ns).unsigned_abs();
                let since_start_ns = span.t0_ns.min(length_ns);
                if self.first_starts.len() < MOST_LISTED {
                    self.first_starts.push(Start { from_ns, length_ns, since_start_ns });
                }
            }
            reach = Some(reach.map_or(span.ends, |reach| reach.max(span.ends)));
        }
    }
}

/// The windows of a boot, by the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Span {
    begins: i128,
    ends: i128,
    /// Beginning of the first, CLOCK_MONOTONIC ns.
    t0_ns: u128,
    /// The last window before the time is of the same boot.
    goes_on: bool,
}

impl Span {
    fn from_windows(windows: &[AccountsRow], goes_on: bool) -> Option<Span> {
        let begins = windows.iter().map(begins_ns).min()?;
        let ends = windows.iter().map(|seen| i128::from(seen.end_ns)).max()?;
        let t0_ns = windows.iter().map(t0_ns).min()?;
        Some(Span { begins, ends, t0_ns, goes_on })
    }
}

/// Beginning by CLOCK_MONOTONIC, ns; 0 for a forged length that reaches before the boot.
fn t0_ns(seen: &AccountsRow) -> u128 {
    u128::from(seen.t1_ns.saturating_sub(seen.length_ns))
}

fn begins_ns(seen: &AccountsRow) -> i128 {
    i128::from(seen.end_ns) - i128::from(seen.length_ns)
}
