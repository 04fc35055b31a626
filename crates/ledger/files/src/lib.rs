//! Files that another user could point elsewhere: read, written and started in one safe way. It takes a path and
//! gives bytes, a written file, or a program of the system. It uses no other crate, and every crate that touches
//! such files may depend on it.
//!
//! exactop often runs as root in directories where others may write. Whoever can put a link, a
//! FIFO or a device where a file is expected must not decide what root overwrites, where it waits,
//! or how much it reads. So every path is walked component by component and only trusted links are
//! followed ([`Directory`]); what is written comes under a random name into that directory and is
//! renamed ([`replace`], [`Directory::replace`]), or goes where it cannot be pointed elsewhere any
//! more ([`Output`]); what is read is a regular file of bounded length ([`read`],
//! [`read_configuration`], [`zone::local`]); what is started is a program of the system ([`programs`]).

mod directory;
mod error;
mod nesting;
mod output;
mod path;
pub mod programs;
mod read;
mod temporary;
pub mod zone;

pub use directory::{replace, Directory};
pub use error::{FileError, Kind};
pub use nesting::too_deep;
pub use output::{Await, Output};
pub use read::{read, read_configuration, CONFIGURATION};
