//! `exactop export parquet`: writes a directory of files, here or on a server that takes PUT.

use super::complain_of;
use crate::commands::record::listing::counted;
use crate::failure::Failure;
use crate::options::of_recording::{self, PlaceArgs, TimeArgs};
use crate::options::time::{self, now};
use crate::output;
use crate::rights::{self, ExtraAccess, Origin, Role};
use clap::Args;
use exactop_export::clickhouse::{Address, Login, Patience};
use exactop_export::{Files, Objects, Replacing};
use exactop_files::Directory;
use exactop_model::text::escape::harmless;
use exactop_recording::Recording;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Options of `exactop export parquet`.
#[derive(Debug, Args)]
pub struct ParquetArgs {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    part: TimeArgs,
    /// Write to this directory, made if missing, or to https://HOST/DIR on a server that takes PUT
    #[arg(short, long, visible_alias = "to", value_name = "DIR|URL")]
    output: PathBuf,
    /// Replace files of a day even if they have windows that this export lacks
    #[arg(long)]
    replace: bool,
    /// For a URL: read NAME:PASSWORD from this file, which no other user may be able to read
    #[arg(long, value_name = "FILE")]
    login: Option<PathBuf>,
    /// For a URL: trust the certificates (PEM) in this file [default: the system's]
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// For a URL: retry an unreachable server for this time [default: 5m]
    #[arg(long, value_name = "TIME", value_parser = time::stretch)]
    patience: Option<Duration>,
}

/// Where the files go.
enum Target<'a> {
    Here(&'a Path, Directory),
    There(Box<Objects>, u16),
}

impl ParquetArgs {
    /// Makes the directory; for a URL it reads all files that the connection needs.
    fn target(&self) -> Result<Target<'_>, Failure> {
        let Some(url) = self.output.to_str().filter(|text| text.contains("://")) else {
            let of_url = [
                ("--login", self.login.is_some()),
                ("--ca", self.ca.is_some()),
                ("--patience", self.patience.is_some()),
            ];
            if let Some((option, _)) = of_url.iter().find(|(_, given)| *given) {
                return Err(Failure::usage(format!(
                    "{option} needs a URL, and --output is a directory: leave {option} out"
                )));
            }
            let into = Directory::open_or_make(&self.output).map_err(Failure::failed)?;
            return Ok(Target::Here(&self.output, into));
        };
        if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Err(Failure::usage(format!(
                "--output {}: cannot send files by this protocol: give a directory, which 'rclone' and \
                 'aws s3 sync' copy to other stores, or https://HOST/DIR",
                harmless(url)
            )));
        }
        let address = Address::read(url).map_err(Failure::usage)?;
        let login = self.login.as_deref().map(Login::read).transpose().map_err(Failure::failed)?;
        let usual = Patience::default();
        let patience = Patience { all: self.patience.unwrap_or(usual.all), ..usual };
        let objects = Objects::new(&address, login.as_ref(), self.ca.as_deref(), patience);
        Ok(Target::There(Box::new(objects.map_err(Failure::failed)?), address.port()))
    }
}

/// Exports.
///
/// # Errors
/// Windows cannot be read, written or sent, or the time range holds none.
pub fn run(typed: &ParquetArgs) -> Result<(), Failure> {
    let (path, time) = (typed.place.path()?, typed.part.time.as_deref());
    let now = now();
    of_recording::check(time)?;
    let mut target = typed.target()?;
    let (written, connects) = match &target {
        Target::Here(path, _) => (vec![*path], Vec::new()),
        Target::There(_, port) => (Vec::new(), vec![*port]),
    };
    let beside = ExtraAccess {
        readable: &[&path],
        written: &written,
        connects: &connects,
        ..ExtraAccess::default()
    };
    rights::reduce_beside(Role::Export, Origin::None, &beside);
    let recording = Recording::open(&path).map_err(Failure::failed)?;
    let (recording, when) = of_recording::part(time, &now, recording)?;
    complain_of(&recording);
    let files: &mut dyn Files = match &mut target {
        Target::Here(_, into) => &mut &*into,
        Target::There(objects, _) => &mut **objects,
    };
    let exported = match typed.replace {
        true => exactop_export::export(recording, when, &mut Replacing(files)),
        false => exactop_export::export(recording, when, files),
    };
    let exported = exported.map_err(Failure::failed)?;
    if exported.windows == 0 {
        return Err(of_recording::no_window(time));
    }
    let (windows, days) = (counted(exported.windows, "window"), counted(exported.days, "day"));
    output::print(format!("{windows} of {days}, {} bytes\n", exported.bytes))
}
