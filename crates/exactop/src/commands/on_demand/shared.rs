//! Windows of programs of our own, or of those of a daemon, which are attached once for all who look.

use super::windows::Opened;
use crate::failure::Failure;
use crate::options::looking::Places;
use crate::options::pace::Pace;
use exactop_model::on_demand::Looked;
use exactop_service::ask::{Look, What};
use exactop_service::Looker;
use exactop_sources::SourceError;
use std::path::Path;

/// Whose programs tell.
pub enum Windows<S> {
    Own(S),
    Daemon(Box<Looker>),
}

/// A question for these processes, one window after the other.
pub fn look(what: What, pace: Pace, pids: &[u32]) -> Look {
    Look { interval_ns: Some(pace.interval_ns()), pids: pids.into(), ..Look::at(what) }
}

impl<S> Windows<S> {
    /// The first of these places that can be opened.
    ///
    /// # Errors
    /// Why the last that was tried cannot.
    pub fn open(
        places: Places,
        ask: Look,
        own: impl FnOnce() -> Result<S, SourceError>,
    ) -> Result<Opened<Windows<S>>, Failure> {
        let on = |socket: &Path| {
            let looker = Looker::connect(socket, env!("CARGO_PKG_VERSION"), ask);
            let looker = looker.map_err(Failure::failed)?;
            Ok(Opened::on_socket(Windows::Daemon(Box::new(looker))))
        };
        let own = || own().map(|own| Opened::own(Windows::Own(own))).map_err(Failure::failed);
        places.open(on, own)
    }

    /// Ends a window.
    ///
    /// # Errors
    /// What the kernel or the daemon says.
    pub fn next<W>(
        &mut self,
        own: impl FnOnce(&mut S) -> Result<W, SourceError>,
        of: impl FnOnce(Looked) -> Option<W>,
    ) -> Result<W, String> {
        match self {
            Windows::Own(source) => own(source).map_err(|error| error.to_string()),
            Windows::Daemon(looker) => {
                let looked = looker.window().map_err(|error| error.to_string())?;
                of(looked).ok_or_else(|| "the daemon answers what was not asked for".into())
            }
        }
    }
}
