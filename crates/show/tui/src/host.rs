//! What the live view asks of the program around it, and how it ends.

use crate::app::target::Limit;
use crate::app::target::{Deed, Target};
use crate::settings::Settings;
use exactop_model::frame::holdings::{Holdings, Wanted};
use exactop_model::TaskKey;

/// The things a view must not do by itself. Every error is one line for a person.
pub trait Host {
    /// Who has a number now, for this deed.
    ///
    /// # Errors
    /// Nobody has.
    fn identify(&mut self, pid: u32, deed: Deed) -> Result<Target, String>;

    /// Whether the process of a task has exited.
    fn has_exited(&mut self, task: TaskKey) -> bool;

    /// What a process holds: of the one that is meant or of none.
    ///
    /// # Errors
    /// Why it is not told.
    fn look_into(&mut self, wanted: Wanted) -> Result<Holdings, String>;

    /// Sends a signal to a process: to the one that is meant or to none.
    ///
    /// # Errors
    /// Why it could not be sent; [`Target::gone`] where it is not there any more.
    fn signal(&mut self, target: &Target, signal: i32) -> Result<(), String>;

    /// Sets the nice value of a process, or of a thread in the threads view: of the one that is
    /// meant or of none.
    ///
    /// # Errors
    /// Why it could not be set; [`Target::gone`] where it is not there any more.
    fn renice(&mut self, target: &Target, nice: i32) -> Result<(), String>;

    /// Sets what a control group may use; says what was before and what is now.
    ///
    /// # Errors
    /// Why it could not be set.
    fn limit(&mut self, limit: &Limit) -> Result<String, String>;

    /// Keeps the settings for the next start; says where.
    ///
    /// # Errors
    /// Why they could not be kept.
    fn save(&mut self, settings: &Settings) -> Result<String, String>;

    /// The id of a user name.
    fn user_id(&mut self, name: &str) -> Option<u32>;

    /// A time as a person writes it, ns since the epoch. A time of day is the last one before
    /// `end_wall_ns`, where the recording ends.
    ///
    /// # Errors
    /// What cannot be read, and what to write.
    fn point_in_time(&mut self, text: &str, end_wall_ns: i128) -> Result<i128, String>;

    /// A time for a person, by the local clock.
    fn local_time(&mut self, wall_ns: i128) -> String;
}

/// Why the live view ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitReason {
    /// The person asked for it.
    Quit,
    /// A signal did; the terminal was restored before.
    Signal(i32),
    /// The terminal went away.
    TerminalGone,
}

/// Why it could not run.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// There is no terminal to draw on.
    #[error("{0} is not a terminal: use batch mode (-b)")]
    NotATerminal(&'static str),
    /// `TERM` names a terminal that cannot move its cursor.
    #[error("TERM={0:?} cannot show a full screen: set TERM, or use batch mode (-b)")]
    DumbTerminal(String),
    /// The settings cannot be used.
    #[error("{0}")]
    Settings(String),
    /// The terminal failed.
    #[error("terminal: {0}")]
    Terminal(#[from] std::io::Error),
    /// The source failed before there was anything to show.
    #[error("{0}")]
    Feed(String),
}
