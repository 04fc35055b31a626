//! Common parts of the HTTP servers: the host names that they accept ([`Hosts`]), and a thread that
//! takes connections ([`Server`]). It takes an address, names from the settings and a function that
//! answers requests. It returns a server that ends when it is dropped. Every crate with a server
//! may depend on it.
#![forbid(unsafe_code)]

mod guests;
mod hosts;
mod server;

pub use guests::Guest;
pub use hosts::{parse, split, Hosts};
pub use server::{connection, Server, CONNECTION};
