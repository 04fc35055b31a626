//! Safe reading, writing and starting of files in directories where other users can write. It takes
//! a path and gives bytes, a written file, or a program of the system. It uses no other crate, and
//! every crate that touches such files may depend on it.
//!
//! exactop often runs as root in directories where other users can write. Such a user can put a
//! link, a FIFO or a device in place of a file. This must not make root overwrite another file,
//! block, or read without limit. So:
//! - exactop opens a path component by component, and follows only trusted links ([`Directory`]).
//! - It writes a file under a random name in its directory and then renames it ([`replace`],
//!   [`Directory::replace`]), or writes through an open descriptor that cannot be redirected
//!   ([`Output`]).
//! - It reads only regular files, up to a limit ([`read`], [`read_configuration`],
//!   [`zone::local`]).
//! - It starts only programs of the system ([`programs`]).

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
