//! Random histories of a made-up machine, scraped at random times: invariants of every page.

#[path = "../../../../ledger/model/tests/model/histories/events.rs"]
mod events;
#[path = "../../../../ledger/model/tests/model/histories/exits.rs"]
#[allow(dead_code)] // Of the made-up machine's own tests.
mod exits;
#[path = "../../../../ledger/model/tests/model/histories/machine.rs"]
#[allow(dead_code)] // Of the made-up machine's own tests.
mod machine;

mod page;
mod scraped;
