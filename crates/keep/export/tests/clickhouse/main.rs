//! Sends a recording to ClickHouse. `sending` checks requests and retries against a scripted
//! server. `engine` checks the resulting tables of crates/fleet/schema.sql in ClickHouse's own
//! engine. `queries` runs the shipped queries there and on Parquet. `objects` sends files to a
//! scripted server.

mod engine;
mod fake;
mod made;
mod objects;
mod queries;
mod schema;
mod sending;
mod tls;
