//! BPF programs that are attached only while a view shows their figures, so that they cost nothing
//! otherwise.

mod attached;
pub mod births;
pub mod moves;
pub mod owed;
pub mod switches;
pub mod switchlog;
pub mod syscalls;
pub mod waits;
pub mod wakeups;

pub use attached::Room;

use crate::error::SourceError;
use exactop_model::on_demand::{Choice, Listed, Programs, Subject, SubjectWindow};
use exactop_model::subjects;

/// The programs of one subject; dropping this detaches them.
pub trait Counts: Sized + 'static {
    /// Their window.
    type Window: Listed;
    /// The command or view that needs them, for doctor.
    const NEEDED_BY: &'static str;

    /// Attaches them for a reader's choice and begins the first window.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`] with the reason and what to do.
    fn open(choice: &Choice) -> Result<Self, SourceError>;

    /// Checks if the kernel accepts them; attaches nothing.
    ///
    /// # Errors
    /// As with [`Counts::open`].
    fn try_to_load() -> Result<(), SourceError>;

    /// Start of the open window, CLOCK_MONOTONIC ns.
    fn began_ns(&self) -> u64;

    /// Ends the window and begins the next.
    fn window(&mut self) -> Result<Self::Window, SourceError>;
}

struct OfSubject<C>(C);

impl<C: Counts> Programs for OfSubject<C> {
    fn began_ns(&self) -> u64 {
        self.0.began_ns()
    }

    fn window(&mut self) -> Result<SubjectWindow, String> {
        self.0.window().map(Into::into).map_err(|error| error.to_string())
    }
}

/// Boxes the programs of a subject.
pub fn boxed(programs: impl Counts) -> Box<dyn Programs> {
    Box::new(OfSubject(programs))
}

/// An object: name, what needs it, and a check if the kernel accepts it.
pub(crate) type Object = (&'static str, &'static str, fn() -> Result<(), SourceError>);

macro_rules! list {
    ($($file:ident $Name:ident $Window:ident;)+) => {
        /// Attaches the programs of a subject.
        ///
        /// # Errors
        /// As with [`Counts::open`].
        pub fn open(subject: Subject, choice: &Choice) -> Result<Box<dyn Programs>, SourceError> {
            match subject {
                $(Subject::$Name => $file::$Name::open(choice).map(boxed)),+
            }
        }

        pub(crate) const OBJECTS: &[Object] = &[$(
            (stringify!($file), $file::$Name::NEEDED_BY, $file::$Name::try_to_load)
        ),+];
    };
}

subjects!(list);
