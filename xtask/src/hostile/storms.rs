//! Storms: windows must close during each of them.

use super::watched::{count_windows, watch};
use super::Line;
use anyhow::Result;
use exactop_workloads::workloads::{
    AutoReaped, Crowd, CrowdOf, ExecThreads, ExitingThreads, ForkStorm, PipePingPong, SignalStorm,
    Sleepers, StopContinue,
};
use std::any::Any;
use std::path::Path;
use std::time::Duration;

const WINDOWS: usize = 6;

/// A storm that lasts while its value lives.
type Storm = fn() -> Result<Box<dyn Any>, exactop_workloads::Error>;

const STORMS: &[(&str, Storm)] = &[
    ("a fork storm", || Ok(Box::new(ForkStorm::start(4)?))),
    ("children that nobody reaps by hand", || {
        Ok(Box::new(AutoReaped::start(4, Duration::from_micros(100))?))
    }),
    ("threads that exit", || Ok(Box::new(ExitingThreads::start(4)?))),
    ("threads that exec", || Ok(Box::new(ExecThreads::start(4)?))),
    ("a signal storm", || Ok(Box::new(SignalStorm::start(8)?))),
    ("stopping and continuing", || Ok(Box::new(StopContinue::start(16)?))),
    ("switches over pipes", || Ok(Box::new(PipePingPong::start(8)?))),
    ("3000 sleepers", || Ok(Box::new(Sleepers::start(3_000)?))),
    ("20000 living children of a plain user", || {
        Ok(Box::new(Crowd::start(CrowdOf::Living, 20_000)?))
    }),
    ("20000 names of a plain user", || Ok(Box::new(Crowd::start(CrowdOf::Names, 20_000)?))),
];

/// Runs every storm, a line of the table each.
pub fn all(exactop: &Path) -> Result<Vec<Line>> {
    STORMS.iter().map(|(name, start)| one(exactop, name, *start)).collect()
}

fn one(exactop: &Path, name: &str, start: Storm) -> Result<Line> {
    let mut line = Line::new(format!("{name}: windows that close"));
    // Half of the storm exists before exactop starts, half comes while it runs.
    let before = watch(exactop, WINDOWS)?;
    let storm = start()?;
    let during = watch(exactop, WINDOWS)?;
    let mut exact = 0;
    for child in [before, during] {
        exact += count_windows(child, WINDOWS, &mut line)?;
    }
    drop(storm);
    line.notes.push(format!("{exact} of {} exact", line.tried));
    Ok(line)
}
