//! The page of a time range, as one file and over HTTP. It takes windows of a recording or of a
//! session and returns a self-contained page, or serves it live to browsers. Only the command may
//! depend on it.
//!
//! [`page`] makes the page of recorded time or of one window. The other modules serve it to
//! browsers of this machine, or of other machines with a token.
//!
//! `door` decides which requests are allowed. `answer` answers them: the page at `/`, windows at
//! `/events` as they come, and at `/look` the reports of programs on one process while a page looks
//! at it. `hub` keeps the last windows and sends each to all readers; `looks` knows which pages
//! look at which process. No client can block the server. Requests must arrive within seconds. The
//! numbers of connections and readers are bounded. The server disconnects a reader that does not
//! read.
#![forbid(unsafe_code)]

mod answer;
mod door;
mod hub;
mod looks;
pub mod page;
mod server;

pub use door::Door;
pub use hub::Hub;
pub use looks::{Look, Looks};
pub use server::{Content, Server, WebError};
