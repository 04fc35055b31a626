//! `exactop diff`: shows where the difference between two recorded time ranges went.
//!
//! `recordings` compares recordings of one or two machines, `fleets` the books of many machines.
//! The files at the named places decide which one runs.

mod fleets;
mod how;
mod recordings;

use crate::failure::Failure;
use crate::options::of_recording::{self, directory};
use crate::options::time::now;
use crate::rights::{self, ExtraAccess, Origin, Role};
use clap::Args;
use fleets::{ManyArgs, SideLocation};
use how::How;
pub use recordings::open;
use std::path::{Path, PathBuf};

/// The notes at the end of `--help`.
pub const NOTES: &str = "\
A time range holds the windows that end in it. The changes of all rows and of unnamed time sum to the
change of busy time, to the nanosecond. If both ranges have the same capacity, the sum of idle, steal
and interrupts changes by the opposite amount. A difference is beyond noise if it meets three conditions. The windows of the
two sides differ more than a random redistribution explains, over all rows together in 99 of 100 cases. It is at
least 0.2 % of a CPU (--least). It is at least 3 % of the row (--least-of-row). A time of day is the last one
before the recording ends.

With the books of many machines, hosts are compared instead of windows: each host with itself if both sides have the
same hosts, else one side with the other (docs/how-to/fleet.md).";

/// Options of `exactop diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// Compare these recordings [default: that of 'exactop record'] or books of many machines; one
    /// path is both sides
    #[arg(value_name = "DIR|FILE|URL", num_args = 0..=2)]
    paths: Vec<PathBuf>,
    /// Compare two time ranges of this recording: the same as the argument
    #[arg(long, value_name = "DIR|FILE", conflicts_with = "paths")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    many: ManyArgs,
}

/// Compares two time ranges.
///
/// # Errors
/// A file cannot be read, or the time range holds no window.
pub fn run(typed: &DiffArgs) -> Result<(), Failure> {
    let now = now();
    let DiffArgs { how, many, .. } = typed;
    let (in_a, in_b) = (how.a.as_deref(), how.b.as_deref());
    [in_a, in_b].into_iter().try_for_each(of_recording::check)?;
    if typed.paths.len() < 2 && (in_a.is_none() || in_b.is_none()) {
        let why = "give two recordings, or two time ranges of one: -a '02:00+10m' -b '03:10+10m'";
        return Err(Failure::usage(why));
    }
    let first = directory(typed.dir.as_ref().or(typed.paths.first()))?;
    let second = typed.paths.get(1);
    let place = |path| many.place(path);
    let (of_a, of_b) = (place(&first)?, second.map(|path| place(path)).transpose()?);
    let places = || [Some(&of_a), of_b.as_ref()].into_iter().flatten();
    let readable: Vec<&Path> = places().filter_map(SideLocation::path).collect();
    let connects: Vec<u16> = places().filter_map(SideLocation::port).collect();
    if connects.is_empty() {
        many.no_store()?;
    }
    let beside = ExtraAccess { readable: &readable, connects: &connects, ..ExtraAccess::default() };
    rights::reduce_beside(Role::Text, Origin::None, &beside);
    let (in_a, in_b) = (of_a.books()?, of_b.map(SideLocation::books).transpose()?);
    match (in_a, in_b) {
        (None, None | Some(None)) => {
            many.nothing()?;
            recordings::run(how, &first, second.unwrap_or(&first), &now)
        }
        (Some(a), None) => fleets::run(how, many, &*a, None, &now),
        (Some(a), Some(Some(b))) => fleets::run(how, many, &*a, Some(&*b), &now),
        (a, _) => {
            // A path without anything at it is no recording either.
            let recording = if a.is_none() { Some(&first) } else { second };
            recording.map(|path| recordings::open(path)).transpose()?;
            let (one, many) = if a.is_none() { ("first", "second") } else { ("second", "first") };
            Err(Failure::usage(format!(
                "the {many} has the books of many machines and the {one} those of one: give two of one kind"
            )))
        }
    }
}
