//! Delivery of a host's windows to the tables: in time, late, twice or never.

use crate::machine::Machine;
use crate::plan::{Host, Plan};
use anyhow::Result;
use exactop_export::{FleetTables, WindowSource};
use exactop_files::Directory;
use exactop_model::{Book, Window};
use exactop_recording::Span;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// 60 s in ns.
const MINUTE: u64 = 60_000_000_000;

/// Counts of a host's delivered windows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Rows of accounts.
    pub rows: u64,
    /// Windows that have a row.
    pub windows: u64,
    pub late: u64,
    pub lost: u64,
    pub last_is_lost: bool,
    /// Gaps between delivered windows of a boot.
    pub gaps: u64,
    pub gaps_ns: u64,
    pub boots: u64,
    /// CPUs x time of all rows, ns.
    pub capacity_ns: u128,
    /// Waits for a CPU and for quotas of all rows, ns.
    pub waited_ns: u128,
    pub bytes: u64,
}

/// Delivery of a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    InTime,
    Late,
    Twice,
    Lost,
}

impl Fate {
    fn drawn(plan: &Plan, draw: &mut StdRng) -> Fate {
        let at: f64 = draw.random_range(0.0..100.0);
        match at {
            at if at < plan.lost => Fate::Lost,
            at if at < plan.lost + plan.doubled => Fate::Twice,
            at if at < plan.lost + plan.doubled + plan.late => Fate::Late,
            _ => Fate::InTime,
        }
    }
}

/// Tables of each delivery. All but the first go to a directory below the host's.
#[derive(Default)]
struct Deliveries {
    in_time: Option<FleetTables>,
    late: Option<FleetTables>,
    again: Option<FleetTables>,
}

/// Simulates a host and writes its tables.
pub fn host(plan: &Plan, host: &Host, into: &Directory) -> Result<Delivered> {
    let mut draw = StdRng::seed_from_u64(host.seed ^ 0x5851_f42d_4c95_7f2d);
    let fates: Vec<Fate> =
        (0..=plan.windows / plan.batch).map(|_| Fate::drawn(plan, &mut draw)).collect();
    let (mut out, mut told) = (Deliveries::default(), Delivered::default());
    for (number, life) in lives(plan, host).into_iter().enumerate() {
        let mut boot = Boot::new(plan, host, number as u64, life.0);
        for n in life.0..life.1 {
            let fate = fates[(n / plan.batch) as usize];
            boot.window(n, fate, &mut out, &mut told)?;
        }
        told.boots += u64::from(boot.reach_ns.is_some());
    }
    let below = into.within(&host.name)?;
    for (name, tables) in
        [(None, out.in_time), (Some("late"), out.late), (Some("again"), out.again)]
    {
        let Some(tables) = tables else { continue };
        let exported = match name {
            Some(name) => tables.write(&below.within(name)?)?,
            None => tables.write(&below)?,
        };
        told.bytes += exported.bytes;
    }
    Ok(told)
}

/// First window of each boot, and the one after its last.
fn lives(plan: &Plan, host: &Host) -> Vec<(u64, u64)> {
    let end = host.dead_at.unwrap_or(plan.windows).min(plan.windows);
    match host.away {
        Some((after, long)) => vec![(0, after.min(end)), ((after + long).min(end), end)],
        None => vec![(0, end)],
    }
}

/// A running boot.
pub struct Boot<'a> {
    plan: &'a Plan,
    host: &'a Host,
    id: String,
    machine: Machine,
    /// As of the last window's end.
    pub book: Book,
    offset_ns: i64,
    /// End of the last delivered window, CLOCK_MONOTONIC ns.
    reach_ns: Option<u64>,
}

impl<'a> Boot<'a> {
    /// Boot number `number`, observed from window `from` on.
    pub fn new(plan: &'a Plan, host: &'a Host, number: u64, from: u64) -> Boot<'a> {
        // The first boot began long ago; the next begins a minute before its first window.
        let t0_ns = if number == 0 { host.uptime_ns } else { MINUTE };
        let begins = plan.begin_ns
            + i128::from(from * plan.window_ns + host.phase_ns)
            + i128::from(host.skew_ns);
        let mut machine = Machine::new(host, number, t0_ns, plan.window_ns);
        let mut book = Book::new();
        book.advance(machine.snapshot(0.0));
        Boot {
            plan,
            host,
            id: format!("{:016x}-{number}", host.seed),
            machine,
            book,
            offset_ns: (begins - i128::from(t0_ns)) as i64,
            reach_ns: None,
        }
    }

    /// Wall clock minus CLOCK_MONOTONIC, ns.
    pub fn wall_offset_ns(&self) -> i64 {
        self.offset_ns
    }

    /// Simulates window `n`.
    pub fn advance(&mut self, n: u64) -> Option<Window> {
        let is_slower = self.host.rolled_out && n + 1 >= self.plan.windows / 2;
        let now = self.machine.snapshot(if is_slower { self.plan.slower } else { 0.0 });
        self.book.advance(now)
    }

    /// Writes the last window.
    pub fn put(&self, window: &Window, tables: &mut FleetTables) -> Result<()> {
        let (t0_ns, t1_ns) = (window.t0_ns, window.t1_ns);
        let span = Span { t0_ns, t1_ns, wall_offset_ns: self.offset_ns };
        Ok(tables.put(
            &self.host.name,
            &self.id,
            &WindowSource { window, span, book: &self.book },
        )?)
    }

    fn window(
        &mut self,
        n: u64,
        fate: Fate,
        out: &mut Deliveries,
        told: &mut Delivered,
    ) -> Result<()> {
        let Some(window) = self.advance(n) else { return Ok(()) };
        told.last_is_lost = fate == Fate::Lost;
        let to = match fate {
            Fate::Lost => {
                told.lost += 1;
                return Ok(());
            }
            Fate::InTime => vec![&mut out.in_time],
            Fate::Late => vec![&mut out.late],
            Fate::Twice => vec![&mut out.in_time, &mut out.again],
        };
        told.late += u64::from(fate == Fate::Late);
        for tables in to {
            self.put(&window, tables.get_or_insert_default())?;
            told.rows += 1;
            told.capacity_ns += u128::from(self.host.cpus) * u128::from(window.length_ns());
            let waits = window.blame.iter().flat_map(|blame| blame.waits.values());
            told.waited_ns += waits.map(|waits| waits.lat_ns as u128).sum::<u128>();
        }
        told.windows += 1;
        if let Some(reach_ns) = self.reach_ns.filter(|&reach_ns| reach_ns < window.t0_ns) {
            told.gaps += 1;
            told.gaps_ns += window.t0_ns - reach_ns;
        }
        self.reach_ns = Some(window.t1_ns);
        Ok(())
    }
}
