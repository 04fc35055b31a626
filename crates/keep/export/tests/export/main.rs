//! What is exported is what was recorded (what is sent to ClickHouse: tests/clickhouse).

mod sums;
mod waiting;
