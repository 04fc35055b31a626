//! `exactop daemon` as a whole: readers of its socket and its page, its recording, its end.
#![cfg(feature = "bpf")]

mod asked;
mod browsed;
mod collected;
#[path = "../../../show/metrics/tests/collector/running.rs"]
mod collector;
mod daemon;
mod degraded;
mod ends;
mod exported;
#[path = "../../../keep/export/tests/clickhouse/fake.rs"]
#[allow(dead_code)] // These tests do not read all that it remembers.
mod fake;
mod filed;
mod groups;
#[path = "../helpers/mod.rs"]
mod helpers;
mod inside;
mod live;
mod looking;
mod memory;
mod metrics;
mod movers;
mod named;
mod page;
mod probed;
#[path = "../../../fleet/tests/fleet/puts.rs"]
mod puts;
mod readers;
#[path = "../../../show/metrics/tests/pages/receiver.rs"]
#[allow(dead_code)] // These tests do not read the heads.
mod receiver;
mod rights;
mod runs;
mod scraped;
#[path = "../live/screen.rs"]
mod screen;
mod secured;
mod settings;
mod sized;
mod soak;
#[path = "../../../fleet/tests/fleet/stand_in.rs"]
mod stand_in;
mod starved;
mod users;
