//! A recording into ClickHouse: what is sent, and how often (`sending`, to a server of this test); and what
//! is in the tables afterwards (`engine`: ClickHouse's own engine, with the tables of crates/fleet/schema.sql); and what is
//! asked of it, there and of Parquet (`queries`). And files to a server that takes those (`objects`).

mod engine;
mod fake;
mod made;
mod objects;
mod queries;
mod schema;
mod sending;
mod tls;
