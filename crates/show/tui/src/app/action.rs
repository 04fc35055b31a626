//! Actions that the view requests from its loop; the view's state itself does no I/O.

use super::placement::Placement;
use super::target::{Limit, ProcessAction, Target};
use exactop_model::feed::timeline::Travel;

/// What the loop must do after an event.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub enum Action {
    Draw,
    /// Arrange the last closed window again, for another view of it, then draw.
    Rearrange,
    /// Close the window after all waiting keys are handled: the user pressed them for the rows on
    /// the screen now.
    Refresh,
    /// Draw the whole screen again.
    Repaint,
    /// Ask the machine for something, or change it.
    Host(HostAction),
    /// Show another window, or compare rows with one.
    Window(WindowAction),
    /// Stop until a shell continues the program.
    Suspend,
    /// Leave.
    Quit,
}

/// An action of the host.
#[derive(Clone, Debug, PartialEq)]
pub enum HostAction {
    /// Send a signal.
    Signal {
        /// The process.
        target: Target,
        /// The signal's number.
        signal: i32,
    },
    /// Set a nice value.
    Renice {
        /// The process or thread.
        target: Target,
        /// The nice value, -20..19.
        nice: i32,
    },
    /// Send a signal to all of these.
    SignalAll(Vec<Target>, i32),
    /// Set the nice value of all of these.
    ReniceAll(Vec<Target>, i32),
    /// Set the CPUs of all of these, or move them to a group.
    Place(Vec<Target>, Placement),
    /// Look up the process with this number; the answer goes to [`super::App::identified`].
    Identify {
        /// The action that follows.
        deed: ProcessAction,
        /// The number that the user typed.
        pid: u32,
    },
    /// Look up a user's id; the answer goes to [`super::App::set_user`]. The name is without `!`.
    LookUpUser(String),
    /// Set a limit of a control group.
    SetGroup(Limit),
    /// Save the settings.
    Save,
}

/// An action of the feed.
#[derive(Clone, Debug, PartialEq)]
pub enum WindowAction {
    /// Go to another window of the recording.
    Travel(Travel),
    /// Go to a time, written as a person writes it.
    GoTo(String),
    /// Mark the last closed window: the frame of [`super::App::ask`] goes to [`super::App::mark`].
    Mark,
    /// Merge the recording's windows into windows of this length, ns; `None`: do not merge.
    Join(Option<u64>),
    /// Go this number of windows back from the newest one.
    LookBack(usize),
    /// Return to the open window.
    LookOn,
}
