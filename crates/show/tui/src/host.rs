//! The interface to the program around the live view, and the reasons for the view's end.

use crate::app::placement::Placement;
use crate::app::target::Limit;
use crate::app::target::{ProcessAction, Target};
use crate::settings::Settings;
use exactop_model::frame::holdings::{Holdings, HoldingsRequest};
use exactop_model::TaskKey;

/// Work that a view must not do itself. Every error is one line for a person.
pub trait Host {
    /// The process or thread that has a number now, for this action.
    ///
    /// # Errors
    /// No task has the number.
    fn identify(&mut self, pid: u32, deed: ProcessAction) -> Result<Target, String>;

    /// True if the process of a task has exited.
    fn has_exited(&mut self, task: TaskKey) -> bool;

    /// Reads the holdings of exactly this process.
    ///
    /// # Errors
    /// The holdings cannot be read; the text is the reason.
    fn look_into(&mut self, wanted: HoldingsRequest) -> Result<Holdings, String>;

    /// Sends a signal to exactly this process.
    ///
    /// # Errors
    /// The signal could not be sent; [`Target::gone`] if the process has exited.
    fn signal(&mut self, target: &Target, signal: i32) -> Result<(), String>;

    /// Sets the nice value of exactly this process, or thread in the threads view.
    ///
    /// # Errors
    /// The value could not be set; [`Target::gone`] if the task has exited.
    fn renice(&mut self, target: &Target, nice: i32) -> Result<(), String>;

    /// Sets the CPUs of exactly this process, in all its threads, or moves it to a group.
    ///
    /// # Errors
    /// The kernel refused; [`Target::gone`] if the process has exited.
    fn place(&mut self, target: &Target, placement: &Placement) -> Result<(), String>;

    /// Sets a limit of a control group. Returns the values before and after.
    ///
    /// # Errors
    /// The limit could not be set.
    fn limit(&mut self, limit: &Limit) -> Result<String, String>;

    /// Saves the settings for the next start. Returns the path.
    ///
    /// # Errors
    /// The settings could not be saved.
    fn save(&mut self, settings: &Settings) -> Result<String, String>;

    /// The id of a user name.
    fn user_id(&mut self, name: &str) -> Option<u32>;

    /// Parses a time as a person writes it; ns since the epoch. A time of day is the last one
    /// before `end_wall_ns`, the recording's end.
    ///
    /// # Errors
    /// The text cannot be parsed; the error says what to write.
    fn point_in_time(&mut self, text: &str, end_wall_ns: i128) -> Result<i128, String>;

    /// A time as text, by the local clock.
    fn local_time(&mut self, wall_ns: i128) -> String;
}

/// Why the live view ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitReason {
    /// The user quit.
    Quit,
    /// A signal ended it; the terminal is restored.
    Signal(i32),
    /// The terminal hung up.
    TerminalGone,
}

/// Why the live view could not run.
#[derive(Debug, thiserror::Error)]
pub enum TuiError {
    /// There is no terminal to draw on.
    #[error("{0} is not a terminal: use batch mode (-b)")]
    NotATerminal(&'static str),
    /// `TERM` names a terminal that cannot move its cursor.
    #[error("TERM={0:?} cannot show a full screen: set TERM, or use batch mode (-b)")]
    DumbTerminal(String),
    /// A setting is invalid.
    #[error("{0}")]
    Settings(String),
    /// The terminal failed.
    #[error("cannot use the terminal: {0}")]
    Terminal(#[from] std::io::Error),
    /// The source failed before the first frame.
    #[error("{0}")]
    Feed(String),
}
