-- The books of many machines in ClickHouse (tested with the engine of 26.9): clickhouse-client --multiquery < crates/fleet/schema.sql
--
-- accounts: where the CPUs' time went, a row for each window of each host. charges: who used it, the largest
-- groups of each window and ~other. 'exactop export clickhouse' fills both; docs/how-to/fleet.md says what holds.
--
-- Raw windows are kept for 7 days, sums by minute for 90 days, by hour for 2 years. In the raw tables a sum of
-- UInt64 wraps without a word (10,000 hosts of 64 CPUs use 2^64 ns in 8 hours): write sum(toUInt128(run_ns)).
-- In the others every sum is UInt128 already, and so is a sum of them.
--
-- A batch that comes twice is known by its token (insert_deduplication_token) as long as it is among the last
-- non_replicated_deduplication_window ones of its table: 100,000, which are ten minutes of 10,000 hosts that send every
-- minute, and no less however long the store was away: nothing is added then. A host asks again within three minutes (one
-- request, 120 s, and a pause, 60 s). Whoever comes later, up to the bound of its log (7 days), is told by the tables which windows
-- are there: tokens are not what makes a week's spool come out once. With ReplicatedMergeTree and replicas the same is said
-- by replicated_deduplication_window and replicated_deduplication_window_seconds.

CREATE DATABASE IF NOT EXISTS exactop;

CREATE TABLE IF NOT EXISTS exactop.accounts
(
    -- The window's end: by the host's wall clock, and by CLOCK_MONOTONIC, its number within a boot.
    window_end DateTime64(9, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
    t1_ns UInt64 CODEC(DoubleDelta, ZSTD(1)),
    length_ns UInt64 CODEC(T64, ZSTD(1)),
    host LowCardinality(String),
    boot_id LowCardinality(String),
    cpus UInt64 CODEC(T64, ZSTD(1)),
    -- cpus x length_ns; tasks_ns to residual_ns sum up to it.
    capacity_ns UInt64 CODEC(T64, ZSTD(1)),
    tasks_ns UInt64 CODEC(T64, ZSTD(1)),
    exited_ns UInt64 CODEC(T64, ZSTD(1)),
    unnamed_ns UInt64 CODEC(T64, ZSTD(1)),
    -- Null: not told apart, but part of whom it hit.
    irq_ns Nullable(UInt64) CODEC(T64, ZSTD(1)),
    steal_ns Nullable(UInt64) CODEC(T64, ZSTD(1)),
    idle_ns UInt64 CODEC(T64, ZSTD(1)),
    offline_ns UInt64 CODEC(T64, ZSTD(1)),
    residual_ns Int64 CODEC(T64, ZSTD(1)),
    exact Bool,
    source LowCardinality(String),
    -- Switches that the kernel counted and did not show; null without that witness.
    missed_switches Nullable(UInt64) CODEC(T64, ZSTD(1)),
    inexact_events UInt64 CODEC(T64, ZSTD(1)),
    -- By the store's clock.
    received DateTime('UTC') DEFAULT now('UTC') CODEC(DoubleDelta, ZSTD(1))
)
ENGINE = MergeTree
PARTITION BY toYYYYMMDD(window_end)
ORDER BY (host, boot_id, t1_ns)
TTL toDateTime(window_end) + INTERVAL 7 DAY
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1;

CREATE TABLE IF NOT EXISTS exactop.charges
(
    window_end DateTime64(9, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
    t1_ns UInt64 CODEC(DoubleDelta, ZSTD(1)),
    length_ns UInt64 CODEC(T64, ZSTD(1)),
    host LowCardinality(String),
    boot_id LowCardinality(String),
    -- Empty: in no such thing. ~other: all groups without a row of their own. ~unknown: not read.
    namespace LowCardinality(String),
    pod LowCardinality(String),
    container LowCardinality(String),
    unit LowCardinality(String),
    command LowCardinality(String),
    -- Those of a window sum up to tasks_ns + exited_ns of its accounts.
    run_ns UInt64 CODEC(T64, ZSTD(1)),
    -- Null: the host's source does not tell it.
    lat_ns Nullable(UInt64) CODEC(T64, ZSTD(1)),
    throttle_ns Nullable(UInt64) CODEC(T64, ZSTD(1)),
    lock_ns Nullable(UInt64) CODEC(T64, ZSTD(1)),
    block_ns Nullable(UInt64) CODEC(T64, ZSTD(1)),
    exited_processes UInt64 CODEC(T64, ZSTD(1)),
    -- Which windows of a host are there, as each export asks before it sends. Without it that reads a part of every group.
    PROJECTION windows (SELECT host, boot_id, t1_ns, length_ns GROUP BY host, boot_id, t1_ns, length_ns)
)
ENGINE = MergeTree
PARTITION BY toYYYYMMDD(window_end)
ORDER BY (unit, command, host, window_end)
TTL toDateTime(window_end) + INTERVAL 7 DAY
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1, lightweight_mutation_projection_mode = 'rebuild';

-- Sums by minute and by hour. A window is of the minute and the hour in which it ends. The *_windows columns say how
-- many windows told a figure that others may not tell.

CREATE TABLE IF NOT EXISTS exactop.accounts_1m
(
    minute DateTime('UTC') CODEC(DoubleDelta, ZSTD(1)),
    host LowCardinality(String),
    boot_id LowCardinality(String),
    windows UInt64 CODEC(T64, ZSTD(1)),
    length_ns UInt128 CODEC(ZSTD(1)),
    capacity_ns UInt128 CODEC(ZSTD(1)),
    tasks_ns UInt128 CODEC(ZSTD(1)),
    exited_ns UInt128 CODEC(ZSTD(1)),
    unnamed_ns UInt128 CODEC(ZSTD(1)),
    irq_ns UInt128 CODEC(ZSTD(1)),
    irq_windows UInt64 CODEC(T64, ZSTD(1)),
    steal_ns UInt128 CODEC(ZSTD(1)),
    steal_windows UInt64 CODEC(T64, ZSTD(1)),
    idle_ns UInt128 CODEC(ZSTD(1)),
    offline_ns UInt128 CODEC(ZSTD(1)),
    residual_ns Int128 CODEC(ZSTD(1)),
    -- Without their signs, so that two do not hide each other.
    residuals_ns UInt128 CODEC(ZSTD(1)),
    inexact_windows UInt64 CODEC(T64, ZSTD(1)),
    missed_switches UInt64 CODEC(T64, ZSTD(1)),
    witness_windows UInt64 CODEC(T64, ZSTD(1)),
    inexact_events UInt64 CODEC(T64, ZSTD(1))
)
ENGINE = SummingMergeTree
PARTITION BY toYYYYMMDD(minute)
ORDER BY (host, boot_id, minute)
TTL minute + INTERVAL 90 DAY
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS exactop.accounts_to_1m TO exactop.accounts_1m AS
SELECT
    toStartOfMinute(toDateTime(window_end, 'UTC')) AS minute, host, boot_id,
    count() AS windows,
    sum(toUInt128(a.length_ns)) AS length_ns,
    sum(toUInt128(a.capacity_ns)) AS capacity_ns,
    sum(toUInt128(a.tasks_ns)) AS tasks_ns,
    sum(toUInt128(a.exited_ns)) AS exited_ns,
    sum(toUInt128(a.unnamed_ns)) AS unnamed_ns,
    sum(toUInt128(ifNull(a.irq_ns, 0))) AS irq_ns,
    count(a.irq_ns) AS irq_windows,
    sum(toUInt128(ifNull(a.steal_ns, 0))) AS steal_ns,
    count(a.steal_ns) AS steal_windows,
    sum(toUInt128(a.idle_ns)) AS idle_ns,
    sum(toUInt128(a.offline_ns)) AS offline_ns,
    sum(toInt128(a.residual_ns)) AS residual_ns,
    sum(toUInt128(abs(a.residual_ns))) AS residuals_ns,
    countIf(NOT a.exact) AS inexact_windows,
    sum(ifNull(a.missed_switches, 0)) AS missed_switches,
    count(a.missed_switches) AS witness_windows,
    sum(a.inexact_events) AS inexact_events
FROM exactop.accounts AS a
GROUP BY minute, host, boot_id;

CREATE TABLE IF NOT EXISTS exactop.charges_1m
(
    minute DateTime('UTC') CODEC(DoubleDelta, ZSTD(1)),
    host LowCardinality(String),
    namespace LowCardinality(String),
    pod LowCardinality(String),
    container LowCardinality(String),
    unit LowCardinality(String),
    command LowCardinality(String),
    windows UInt64 CODEC(T64, ZSTD(1)),
    run_ns UInt128 CODEC(ZSTD(1)),
    lat_ns UInt128 CODEC(ZSTD(1)),
    throttle_ns UInt128 CODEC(ZSTD(1)),
    lock_ns UInt128 CODEC(ZSTD(1)),
    block_ns UInt128 CODEC(ZSTD(1)),
    -- Of which the four waits were told.
    waits_windows UInt64 CODEC(T64, ZSTD(1)),
    exited_processes UInt64 CODEC(T64, ZSTD(1))
)
ENGINE = SummingMergeTree
PARTITION BY toYYYYMMDD(minute)
ORDER BY (unit, command, host, minute, namespace, pod, container)
TTL minute + INTERVAL 90 DAY
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS exactop.charges_to_1m TO exactop.charges_1m AS
SELECT
    toStartOfMinute(toDateTime(window_end, 'UTC')) AS minute,
    host, namespace, pod, container, unit, command,
    count() AS windows,
    sum(toUInt128(c.run_ns)) AS run_ns,
    sum(toUInt128(ifNull(c.lat_ns, 0))) AS lat_ns,
    sum(toUInt128(ifNull(c.throttle_ns, 0))) AS throttle_ns,
    sum(toUInt128(ifNull(c.lock_ns, 0))) AS lock_ns,
    sum(toUInt128(ifNull(c.block_ns, 0))) AS block_ns,
    countIf(isNotNull(c.lat_ns) AND isNotNull(c.throttle_ns) AND isNotNull(c.lock_ns)
        AND isNotNull(c.block_ns)) AS waits_windows,
    sum(c.exited_processes) AS exited_processes
FROM exactop.charges AS c
GROUP BY minute, host, namespace, pod, container, unit, command;

CREATE TABLE IF NOT EXISTS exactop.accounts_1h
(
    hour DateTime('UTC') CODEC(DoubleDelta, ZSTD(1)),
    host LowCardinality(String),
    boot_id LowCardinality(String),
    windows UInt64 CODEC(T64, ZSTD(1)),
    length_ns UInt128 CODEC(ZSTD(1)),
    capacity_ns UInt128 CODEC(ZSTD(1)),
    tasks_ns UInt128 CODEC(ZSTD(1)),
    exited_ns UInt128 CODEC(ZSTD(1)),
    unnamed_ns UInt128 CODEC(ZSTD(1)),
    irq_ns UInt128 CODEC(ZSTD(1)),
    irq_windows UInt64 CODEC(T64, ZSTD(1)),
    steal_ns UInt128 CODEC(ZSTD(1)),
    steal_windows UInt64 CODEC(T64, ZSTD(1)),
    idle_ns UInt128 CODEC(ZSTD(1)),
    offline_ns UInt128 CODEC(ZSTD(1)),
    residual_ns Int128 CODEC(ZSTD(1)),
    residuals_ns UInt128 CODEC(ZSTD(1)),
    inexact_windows UInt64 CODEC(T64, ZSTD(1)),
    missed_switches UInt64 CODEC(T64, ZSTD(1)),
    witness_windows UInt64 CODEC(T64, ZSTD(1)),
    inexact_events UInt64 CODEC(T64, ZSTD(1))
)
ENGINE = SummingMergeTree
PARTITION BY toYYYYMM(hour)
ORDER BY (host, boot_id, hour)
TTL hour + INTERVAL 2 YEAR
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS exactop.accounts_to_1h TO exactop.accounts_1h AS
SELECT
    toStartOfHour(toDateTime(window_end, 'UTC')) AS hour, host, boot_id,
    count() AS windows,
    sum(toUInt128(a.length_ns)) AS length_ns,
    sum(toUInt128(a.capacity_ns)) AS capacity_ns,
    sum(toUInt128(a.tasks_ns)) AS tasks_ns,
    sum(toUInt128(a.exited_ns)) AS exited_ns,
    sum(toUInt128(a.unnamed_ns)) AS unnamed_ns,
    sum(toUInt128(ifNull(a.irq_ns, 0))) AS irq_ns,
    count(a.irq_ns) AS irq_windows,
    sum(toUInt128(ifNull(a.steal_ns, 0))) AS steal_ns,
    count(a.steal_ns) AS steal_windows,
    sum(toUInt128(a.idle_ns)) AS idle_ns,
    sum(toUInt128(a.offline_ns)) AS offline_ns,
    sum(toInt128(a.residual_ns)) AS residual_ns,
    sum(toUInt128(abs(a.residual_ns))) AS residuals_ns,
    countIf(NOT a.exact) AS inexact_windows,
    sum(ifNull(a.missed_switches, 0)) AS missed_switches,
    count(a.missed_switches) AS witness_windows,
    sum(a.inexact_events) AS inexact_events
FROM exactop.accounts AS a
GROUP BY hour, host, boot_id;

CREATE TABLE IF NOT EXISTS exactop.charges_1h
(
    hour DateTime('UTC') CODEC(DoubleDelta, ZSTD(1)),
    host LowCardinality(String),
    namespace LowCardinality(String),
    pod LowCardinality(String),
    container LowCardinality(String),
    unit LowCardinality(String),
    command LowCardinality(String),
    windows UInt64 CODEC(T64, ZSTD(1)),
    run_ns UInt128 CODEC(ZSTD(1)),
    lat_ns UInt128 CODEC(ZSTD(1)),
    throttle_ns UInt128 CODEC(ZSTD(1)),
    lock_ns UInt128 CODEC(ZSTD(1)),
    block_ns UInt128 CODEC(ZSTD(1)),
    waits_windows UInt64 CODEC(T64, ZSTD(1)),
    exited_processes UInt64 CODEC(T64, ZSTD(1))
)
ENGINE = SummingMergeTree
PARTITION BY toYYYYMM(hour)
ORDER BY (unit, command, host, hour, namespace, pod, container)
TTL hour + INTERVAL 2 YEAR
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS exactop.charges_to_1h TO exactop.charges_1h AS
SELECT
    toStartOfHour(toDateTime(window_end, 'UTC')) AS hour,
    host, namespace, pod, container, unit, command,
    count() AS windows,
    sum(toUInt128(c.run_ns)) AS run_ns,
    sum(toUInt128(ifNull(c.lat_ns, 0))) AS lat_ns,
    sum(toUInt128(ifNull(c.throttle_ns, 0))) AS throttle_ns,
    sum(toUInt128(ifNull(c.lock_ns, 0))) AS lock_ns,
    sum(toUInt128(ifNull(c.block_ns, 0))) AS block_ns,
    countIf(isNotNull(c.lat_ns) AND isNotNull(c.throttle_ns) AND isNotNull(c.lock_ns)
        AND isNotNull(c.block_ns)) AS waits_windows,
    sum(c.exited_processes) AS exited_processes
FROM exactop.charges AS c
GROUP BY hour, host, namespace, pod, container, unit, command;

-- Whose a namespace is, or a unit where there is no namespace. No host knows: filled by whoever does (queries/cost.sql).
CREATE TABLE IF NOT EXISTS exactop.teams (name String, team String) ENGINE = MergeTree ORDER BY name;
