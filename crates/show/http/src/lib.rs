//! What every HTTP server of this workspace has: the names by which it may be asked ([`Hosts`]), and a thread that takes
//! connections ([`Server`]). It takes an address, names from the settings and what answers a request, and gives a
//! server that ends when it is dropped. Every crate with a server may depend on it.
#![forbid(unsafe_code)]

mod guests;
mod hosts;
mod server;

pub use guests::Guest;
pub use hosts::{parse, split, Hosts};
pub use server::{connection, Server, CONNECTION};
