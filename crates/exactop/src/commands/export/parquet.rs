//! `exactop export parquet`: a directory of files.

use super::{complain_of, nothing};
use crate::commands::record::{directory, listing::counted};
use crate::commands::stretch;
use crate::failure::Failure;
use crate::options::time::now;
use crate::output;
use crate::rights::{self, Beside, Origin, Role};
use clap::Args;
use exactop_files::Directory;
use exactop_recording::Recording;
use std::path::PathBuf;

/// What to export.
#[derive(Debug, Args)]
pub struct ParquetArgs {
    /// A directory or a file [default: where 'exactop record' records]
    #[arg(value_name = "DIR|FILE")]
    path: Option<PathBuf>,
    /// Which stretch: '03:05+15m' [default: all of it]
    #[arg(short, long, value_name = "FROM+LENGTH")]
    time: Option<String>,
    /// Where to; made if it is not there
    #[arg(short, long, visible_alias = "to", value_name = "DIR")]
    output: PathBuf,
}

/// Exports.
///
/// # Errors
/// What cannot be read or written, and where there is nothing.
pub fn run(typed: &ParquetArgs) -> Result<(), Failure> {
    let path = directory(typed.path.as_ref())?;
    let now = now();
    stretch::check(typed.time.as_deref(), &now)?;
    let into = Directory::open_or_make(&typed.output).map_err(Failure::failed)?;
    let beside = Beside { readable: &[&path], written: &[&typed.output], ..Beside::default() };
    rights::reduce_beside(Role::Export, Origin::None, &beside);
    let recording = Recording::open(&path).map_err(Failure::failed)?;
    let when = stretch::of(typed.time.as_deref(), &now, &recording)?;
    complain_of(&recording);
    let exported = exactop_export::export(recording, when, &into).map_err(Failure::failed)?;
    if exported.windows == 0 {
        return Err(nothing());
    }
    let (windows, days) = (counted(exported.windows, "window"), counted(exported.days, "day"));
    output::print(format!("{windows} of {days}, {} bytes\n", exported.bytes))
}
