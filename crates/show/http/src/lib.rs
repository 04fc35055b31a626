//! Common parts of this workspace's HTTP servers: the host names to which they answer ([`Hosts`]),
//! and a thread that takes connections ([`Server`]). It takes an address, names from the settings
//! and a function that answers requests, and returns a server that ends when it is dropped. Every
//! crate with a server may depend on it.
#![forbid(unsafe_code)]

mod guests;
mod hosts;
mod server;

pub use guests::Guest;
pub use hosts::{parse, split, Hosts};
pub use server::{connection, Server, CONNECTION};
