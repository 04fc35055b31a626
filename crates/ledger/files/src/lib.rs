//! Files that another user could point elsewhere: read, written and started in one safe way. It
//! takes a path and gives bytes, a written file, or a program of the system. It uses no other
//! crate, and every crate that touches such files may depend on it.
//!
//! exactop often runs as root in directories where other users may write. Such a user can put a
//! link, a FIFO or a device in place of a file. That must not decide which file root overwrites,
//! where root blocks, or how much it reads. So:
//! - A path is walked component by component, and only trusted links are followed ([`Directory`]).
//! - A file is written under a random name in its directory and then renamed ([`replace`],
//!   [`Directory::replace`]), or written through an open descriptor that cannot be redirected
//!   ([`Output`]).
//! - Only a regular file of limited length is read ([`read`], [`read_configuration`],
//!   [`zone::local`]).
//! - Only a program of the system is started ([`programs`]).

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
pub use error::{FileError, FileKind};
pub use nesting::too_deep;
pub use output::{Await, Output};
pub use read::{read, read_configuration, CONFIGURATION};
