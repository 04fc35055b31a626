//! BPF programs that are attached only while someone looks: nobody else pays for them.

mod attached;
pub mod births;
pub mod moves;
pub mod switches;
pub mod switchlog;
pub mod syscalls;
pub mod waits;
pub mod wakeups;

pub use attached::Room;

use crate::error::SourceError;
use exactop_model::on_demand::{Choice, Listed, Programs, Subject, SubjectWindow};
use exactop_model::subjects;

/// The programs of one subject, attached as long as this lives.
pub trait Counts: Sized + 'static {
    /// What they tell.
    type Window: Listed;
    /// What cannot be had without them.
    const NEEDED_BY: &'static str;

    /// Attaches them for what a reader wants; the first window begins.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`] with the reason and what would help.
    fn open(choice: &Choice) -> Result<Self, SourceError>;

    /// Asks the kernel whether it takes them; nothing is attached.
    ///
    /// # Errors
    /// As with [`Counts::open`].
    fn try_to_load() -> Result<(), SourceError>;

    /// When the window began that goes on, CLOCK_MONOTONIC ns.
    fn began_ns(&self) -> u64;

    /// Ends the window; the next begins.
    ///
    /// # Errors
    /// What the kernel says.
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

/// Programs of any subject.
pub fn boxed(programs: impl Counts) -> Box<dyn Programs> {
    Box::new(OfSubject(programs))
}

/// An object: its name, what cannot be had without it, and how to load it.
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

        /// The objects of all subjects.
        pub(crate) const OBJECTS: &[Object] = &[$(
            (stringify!($file), $file::$Name::NEEDED_BY, $file::$Name::try_to_load)
        ),+];
    };
}

subjects!(list);
