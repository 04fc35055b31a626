//! Windows from programs of our own, or from a daemon's, which it attaches once for all readers.

use super::windows::{Forms, Opened, WindowArgs};
use crate::failure::Failure;
use crate::options::looking::Places;
use crate::options::pace::{Pace, Typed};
use crate::options::resolved::are_there;
use exactop_model::on_demand::{Programs, Subject, SubjectWindow};
use exactop_service::ask::Look;
use exactop_service::Looker;
use exactop_sources::{on_demand, SourceError};
use exactop_views::on_demand as views;
use std::path::Path;

/// Opens the first of these places that can be opened.
///
/// # Errors
/// The reason why the last place cannot be opened.
pub fn open(
    places: Places,
    ask: Look,
    own: impl FnOnce() -> Result<Box<dyn Programs>, SourceError>,
) -> Result<Opened<Box<dyn Programs>>, Failure> {
    let on = |socket: &Path| {
        let looker = Looker::connect(socket, env!("CARGO_PKG_VERSION"), ask);
        let looker: Box<dyn Programs> = Box::new(looker.map_err(Failure::failed)?);
        Ok(Opened::on_socket(looker))
    };
    places.open(on, || own().map(Opened::own).map_err(Failure::failed))
}

/// A subject's windows and how a command prints them.
pub struct Show<'a> {
    pub look: &'a WindowArgs,
    pub pace: Pace,
    pub ask: Look,
    /// One row per thread instead of per process, if the subject has the choice.
    pub threads: bool,
}

impl Show<'_> {
    /// Windows of the processes on the command line.
    ///
    /// # Errors
    /// The interval or the count is wrong.
    pub fn new(subject: Subject, look: &WindowArgs, typed: Typed) -> Result<Show<'_>, Failure> {
        let pace = look.pace(typed)?;
        let (interval_ns, pids) = (Some(pace.interval_ns()), look.pid.clone());
        let ask = Look { interval_ns, pids, ..Look::at(subject) };
        Ok(Show { look, pace, ask, threads: false })
    }

    /// Prints windows.
    ///
    /// # Errors
    /// The failure, or the signal that ended the command.
    pub fn run(&self) -> Result<(), Failure> {
        let own = || on_demand::open(self.ask.what, &self.ask.choice());
        self.run_with(self.look.looking.places()?, own, |_| ())
    }

    /// Prints windows from these places and programs; `see` also gets each window.
    ///
    /// # Errors
    /// The failure, or the signal that ended the command.
    pub fn run_with(
        &self,
        places: Places,
        own: impl FnOnce() -> Result<Box<dyn Programs>, SourceError>,
        mut see: impl FnMut(&SubjectWindow),
    ) -> Result<(), Failure> {
        are_there(None, &self.ask.pids)?;
        let next = |programs: &mut Box<dyn Programs>| {
            let window = programs.window()?;
            see(&window);
            Ok::<_, String>(window)
        };
        let open = || open(places, self.ask.clone(), own);
        self.written(|forms| self.look.show(self.pace, open, next, forms))
    }

    /// Calls `with` with the output formats.
    pub fn written<T>(&self, with: impl FnOnce(&Forms<SubjectWindow>) -> T) -> T {
        with(&Forms {
            text: &|window, sheet| views::text(window, self.threads, sheet),
            json: &|window| views::json(window, self.threads),
            csv_header: &|| views::csv_header(self.ask.what),
            csv: &|window| views::csv(window, self.threads),
        })
    }
}
