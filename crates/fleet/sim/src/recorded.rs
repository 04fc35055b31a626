//! A mix from a recording: services as shares of all CPUs' time.

use crate::service::Service;
use anyhow::{ensure, Context, Result};
use exactop_model::ledger::named::Named;
use exactop_model::owner::{labelled, BookNames, Grouping, Labels, Usage};
use exactop_recording::{Recording, TimeRange, Windows};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most groups per host; the others' time is idle there.
const MOST: usize = 80;
/// Most waiting time, per mille of run time: threads that wait all the time are not part of a mix.
const LONGEST_WAIT: u128 = 20_000;

/// Services of a recording, and the name of their hosts.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub name: String,
    pub services: Vec<Service>,
}

/// Reads recordings.
pub fn all(paths: &[PathBuf]) -> Result<Vec<Arc<Recorded>>> {
    let read = |path: &PathBuf| {
        let read = Recorded::read(path).with_context(|| path.display().to_string());
        read.map(Arc::new)
    };
    paths.iter().map(read).collect()
}

impl Recorded {
    fn read(path: &Path) -> Result<Recorded> {
        let mut windows = Windows::from_recording(Recording::open(path)?, TimeRange::default())?;
        let (mut sums, mut capacity_ns) = (BTreeMap::<Labels, Usage>::new(), 0u128);
        while windows.advance()? {
            let replay = windows.replay();
            let (Some(window), book) = (replay.window(), replay.book()) else { continue };
            capacity_ns += window.cpus.len() as u128 * u128::from(window.length_ns());
            for (labels, usage) in labelled(window, book, &Grouping::LABELS[..5], &BookNames(book))
            {
                sums.entry(labels).or_default().add(&usage);
            }
        }
        ensure!(capacity_ns > 0, "no windows");
        let mut all: Vec<_> = sums.into_iter().filter(|(_, charge)| charge.run_ns > 0).collect();
        all.sort_by_key(|(_, charge)| std::cmp::Reverse(charge.run_ns));
        all.truncate(MOST);
        let services = all.iter().map(|(labels, charge)| service(labels, charge, capacity_ns));
        Ok(Recorded { name: name(path), services: services.collect() })
    }
}

/// A group as a share of all CPUs x time.
fn service(labels: &Labels, charge: &Usage, capacity_ns: u128) -> Service {
    let label = |at: usize| labels.0.get(at).cloned().flatten();
    let named = Named {
        namespace: label(0),
        pod: label(1),
        container: label(2),
        unit: label(3),
        ..Named::default()
    };
    let part = |of: u128, whole: u128| u32::try_from(of / whole.max(1)).unwrap_or(u32::MAX);
    let wait = |ns: u128| part((ns * 1000).min(charge.run_ns * LONGEST_WAIT), charge.run_ns);
    Service {
        command: label(4).unwrap_or_default(),
        named,
        share: part(charge.run_ns * 10_000, capacity_ns).max(1),
        waits: charge.waits_ns.map(wait),
        // Exits in 10 s on each CPU; 0 if there are few.
        exits: part(charge.exited * 10_000_000_000, capacity_ns),
        is_new: false,
    }
}

/// Name from the file or directory, reduced to the characters of a host name.
fn name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let name: String =
        stem.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(32).collect();
    if name.is_empty() {
        "recorded".into()
    } else {
        name
    }
}
