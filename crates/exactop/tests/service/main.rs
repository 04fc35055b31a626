//! `exactop daemon` as a whole: who reads its socket and its page, what it keeps, how it ends.
#![cfg(feature = "bpf")]

mod browsed;
mod daemon;
mod ends;
mod exported;
mod groups;
#[path = "../helpers/mod.rs"]
mod helpers;
mod inside;
mod live;
mod looking;
mod metrics;
mod page;
mod readers;
mod rights;
mod scraped;
#[path = "../live/screen.rs"]
mod screen;
mod secured;
mod settings;
mod soak;
#[path = "../../../fleet/tests/stand_in/mod.rs"]
mod stand_in;
