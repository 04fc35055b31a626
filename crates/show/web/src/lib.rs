//! The page of a stretch of time, as one file and over HTTP. It takes windows of a recording or of a session and
//! gives a page that needs nothing beside itself, or serves it live to browsers. The command alone may depend on
//! it.
//!
//! [`page`] makes the page of recorded time or of one window. The other modules serve it to browsers of this
//! machine, or of others that were told a token.
//!
//! `door` decides who may come in, by what a request says (pure); `answer` answers: the page at `/`, windows at
//! `/events` as they come, what programs tell of one process at `/look` while somebody does, and nothing else; `hub`
//! keeps the last windows and hands each to all who read, `looks` knows who looks at which process.
//! Nobody can hold it: requests have seconds to arrive, connections and readers a number, and who does not
//! read what comes is let go.
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
