//! The export equals the recording (for ClickHouse see tests/clickhouse).

mod blamed;
mod sums;
mod waiting;
