//! The plan: hosts and their errors, drawn once from the seed.

use crate::mixes::Mix;
use crate::options::{begins, Args, BATCH_S};
use crate::recorded::{self, Recorded};
use anyhow::{ensure, Result};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use std::sync::Arc;

const SECOND: u64 = 1_000_000_000;

/// A fleet.
pub struct Plan {
    /// Earliest beginning of a first window, ns since the epoch; the latest is a window later.
    pub begin_ns: i128,
    /// Windows of a host without errors.
    pub windows: u64,
    pub window_ns: u64,
    /// Windows per batch.
    pub batch: u64,
    /// Per cent of batches delivered twice.
    pub doubled: f64,
    pub late: f64,
    pub lost: f64,
    /// Additional CPU use of the agent after the rollout, per cent.
    pub slower: f64,
    pub hosts: Vec<Host>,
}

#[derive(Clone)]
pub struct Host {
    pub name: String,
    pub mix: Mix,
    pub cpus: u32,
    /// Seed of its figures.
    pub seed: u64,
    /// CLOCK_MONOTONIC at the beginning of the simulation, ns.
    pub uptime_ns: u64,
    /// Beginning of its first window after the beginning of the simulation, ns.
    pub phase_ns: u64,
    /// Error of its wall clock, ns ahead.
    pub skew_ns: i64,
    /// Number of windows after which it ends.
    pub dead_at: Option<u64>,
    /// Reboot: number of windows before it, and number of windows without the host.
    pub away: Option<(u64, u64)>,
    pub rolled_out: bool,
}

impl Plan {
    pub fn from_args(args: &Args) -> Result<Plan> {
        ensure!((1..=BATCH_S).contains(&args.window), "--window: 1 to {BATCH_S} s");
        let window_ns = args.window * SECOND;
        let windows = (args.hours * 3600.0 / args.window as f64).round() as u64;
        ensure!((1..=10_000_000).contains(&windows), "--hours: a window is {} s", args.window);
        for pct in [args.doubled, args.late, args.lost] {
            ensure!((0.0..=100.0).contains(&pct), "{pct} %: write 0 to 100");
        }
        let sum = args.doubled + args.late + args.lost;
        ensure!(sum <= 100.0, "--doubled, --late and --lost sum to {sum} %: write 100 or less");
        let marked = u64::from(args.skewed) + u64::from(args.dead) + u64::from(args.restarted);
        ensure!(
            marked <= u64::from(args.hosts),
            "--skewed, --dead and --restarted mark {marked} hosts of {}: raise --hosts",
            args.hosts
        );
        let mut draw = StdRng::seed_from_u64(args.seed);
        let (share, slower) = args.regression.unwrap_or((0.0, 0.0));
        let recorded = recorded::all(&args.mix_from)?;
        let mut hosts: Vec<Host> =
            (0..args.hosts).map(|n| Host::drawn(n, window_ns, &mut draw, &recorded)).collect();
        let mut order: Vec<usize> = (0..hosts.len()).collect();
        order.shuffle(&mut draw);
        let changed = (share / 100.0 * hosts.len() as f64).round() as usize;
        for &at in order.iter().take(changed) {
            hosts[at].rolled_out = true;
            hosts[at].name += "-next";
        }
        order.shuffle(&mut draw);
        let mut order = order.into_iter();
        for at in order.by_ref().take(args.skewed as usize) {
            let off = draw.random_range(120..1800) * SECOND as i64;
            hosts[at].skew_ns = if draw.random_bool(0.5) { off } else { -off };
        }
        for at in order.by_ref().take(args.dead as usize) {
            hosts[at].dead_at = Some(draw.random_range(windows / 2..windows.max(2)).max(1));
        }
        for at in order.by_ref().take(args.restarted as usize) {
            let (after, long) = (draw.random_range(1..windows.max(2)), draw.random_range(2..12));
            hosts[at].away = Some((after, long));
        }
        let begin_ns = begins(args).as_nanosecond();
        let batch = BATCH_S / args.window;
        let (doubled, late, lost) = (args.doubled, args.late, args.lost);
        Ok(Plan { begin_ns, windows, window_ns, batch, doubled, late, lost, slower, hosts })
    }
}

impl Host {
    fn drawn(n: u32, window_ns: u64, draw: &mut StdRng, recorded: &[Arc<Recorded>]) -> Host {
        let mix = Mix::drawn(draw, recorded);
        Host {
            name: format!("{}-{n:05}", mix.name()),
            mix,
            cpus: [4, 4, 8, 8, 16, 64][draw.random_range(0..6)],
            seed: draw.random(),
            uptime_ns: draw.random_range(3600..8_640_000) * SECOND,
            phase_ns: draw.random_range(0..window_ns),
            skew_ns: 0,
            dead_at: None,
            away: None,
            rolled_out: false,
        }
    }
}
