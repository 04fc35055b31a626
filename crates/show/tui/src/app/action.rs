//! What must be done outside of the view's state, which is pure.

use super::target::{Deed, Limit, Target};
use exactop_model::feed::timeline::Travel;

/// What the loop must do after an event.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub enum Action {
    Draw,
    /// Arrange the window closed last once more (another view of it), then draw.
    Rearrange,
    /// Close the window, once the keys that are there already are done: they were pressed at what
    /// the screen shows now.
    Refresh,
    /// Draw everything anew.
    Repaint,
    /// The machine is asked for something, or changed.
    Host(HostAction),
    /// Another window is shown, or rows are shown against one.
    Window(WindowAction),
    /// Stop until a shell brings the program back.
    Suspend,
    /// Leave.
    Quit,
}

/// What the host does.
#[derive(Clone, Debug, PartialEq)]
pub enum HostAction {
    /// Send a signal.
    Signal {
        /// To this process.
        target: Target,
        /// Its number.
        signal: i32,
    },
    /// Set a nice value.
    Renice {
        /// Of this process or thread.
        target: Target,
        /// -20..19.
        nice: i32,
    },
    /// Send a signal to all of these.
    SignalAll(Vec<Target>, i32),
    /// Give all of these a nice value.
    ReniceAll(Vec<Target>, i32),
    /// Find out who has this number; the answer goes to [`super::App::identified`].
    Identify {
        /// What is to be done to it.
        deed: Deed,
        /// The number that was typed.
        pid: u32,
    },
    /// Find out a user's id; the answer goes to [`super::App::set_user`]. Without `!`.
    LookUpUser(String),
    /// Set what a control group may use.
    SetGroup(Limit),
    /// Keep the settings.
    Save,
}

/// What the feed does.
#[derive(Clone, Debug, PartialEq)]
pub enum WindowAction {
    /// Go to another window of the recording.
    Travel(Travel),
    /// Go to a time as a person writes it.
    GoTo(String),
    /// Mark the window closed last: the frame of [`super::App::ask`] goes to [`super::App::mark`].
    Mark,
    /// Join the recording's windows to such of this length, ns, or not.
    Join(Option<u64>),
    /// Go back to the windows that are over.
    LookBack,
    /// Come back to the window that is open.
    LookOn,
}
