//! The export equals the recording (for ClickHouse see tests/clickhouse).

mod sums;
mod waiting;
