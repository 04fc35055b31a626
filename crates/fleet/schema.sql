-- The books of many machines in ClickHouse (tested with the engine of 26.9): clickhouse-client --multiquery < crates/fleet/schema.sql
--
-- accounts: the balance of the CPUs' time, a row for each window of each host. charges: the largest groups of each
-- window, and ~other. blame: which groups kept which off the CPU. 'exactop export clickhouse' fills them; see
-- docs/how-to/fleet.md.
--
-- Raw windows are kept for 7 days, sums by minute for 90 days, by hour for 2 years. In the raw tables a sum of
-- UInt64 wraps silently (10,000 hosts of 64 CPUs use 2^64 ns in 8 hours): write sum(toUInt128(run_ns)).
-- In the other tables every sum is UInt128, and so is a sum of those.
--
-- The store recognizes a repeated batch by its token (insert_deduplication_token), as long as the token is among the
-- last non_replicated_deduplication_window tokens of its table. 100,000 tokens are ten minutes of 10,000 hosts that send
-- every minute. No token is forgotten while the store is away, because it adds none. A host retries within three minutes
-- (a request of 120 s and a pause of 60 s). A host that comes later, up to the 7 days of its log, first asks the tables
-- which windows they have; it does not depend on tokens. With ReplicatedMergeTree set replicated_deduplication_window
-- and replicated_deduplication_window_seconds instead.

CREATE DATABASE IF NOT EXISTS exactop;

CREATE TABLE IF NOT EXISTS exactop.accounts
(
    -- End of the window by the host's wall clock, and by CLOCK_MONOTONIC (the window's number within its boot).
    window_end DateTime64(9, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
    t1_ns UInt64 CODEC(DoubleDelta, ZSTD(1)),
    length_ns UInt64 CODEC(T64, ZSTD(1)),
    host LowCardinality(String),
    boot_id LowCardinality(String),
    cpus UInt64 CODEC(T64, ZSTD(1)),
    -- cpus x length_ns; tasks_ns to residual_ns sum up to it.
    capacity_ns UInt64 CODEC(T64, ZSTD(1)),
    tasks_ns UInt64 CODEC(T64, ZSTD(1)),
    -- Null: the host's source sees no exits; the time is in unnamed_ns.
    exited_ns Nullable(UInt64) CODEC(T64, ZSTD(1)),
    unnamed_ns UInt64 CODEC(T64, ZSTD(1)),
    -- Null: not measured separately; the time counts for the task that it interrupted.
    irq_ns Nullable(UInt64) CODEC(T64, ZSTD(1)),
    steal_ns Nullable(UInt64) CODEC(T64, ZSTD(1)),
    idle_ns UInt64 CODEC(T64, ZSTD(1)),
    offline_ns UInt64 CODEC(T64, ZSTD(1)),
    residual_ns Int64 CODEC(T64, ZSTD(1)),
    -- True if the window is exact or repaired.
    exact Bool,
    source LowCardinality(String),
    -- Switches that the kernel counted but did not show; null if the kernel has no such count.
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
    -- Empty: the group has none. ~other: all groups without their own row. ~unknown: not read.
    namespace LowCardinality(String),
    pod LowCardinality(String),
    container LowCardinality(String),
    unit LowCardinality(String),
    command LowCardinality(String),
    -- The rows of a window sum up to tasks_ns + exited_ns of its accounts.
    run_ns UInt64 CODEC(T64, ZSTD(1)),
    -- Null: the host's source does not measure it.
    lat_ns Nullable(UInt64) CODEC(T64, ZSTD(1)),
    throttle_ns Nullable(UInt64) CODEC(T64, ZSTD(1)),
    lock_ns Nullable(UInt64) CODEC(T64, ZSTD(1)),
    block_ns Nullable(UInt64) CODEC(T64, ZSTD(1)),
    exited_processes Nullable(UInt64) CODEC(T64, ZSTD(1)),
    -- The windows of a host, which each export asks for before it sends. Without it the query reads a part of every group.
    PROJECTION windows (SELECT host, boot_id, t1_ns, length_ns GROUP BY host, boot_id, t1_ns, length_ns)
)
ENGINE = MergeTree
PARTITION BY toYYYYMMDD(window_end)
ORDER BY (unit, command, host, window_end)
TTL toDateTime(window_end) + INTERVAL 7 DAY
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1, lightweight_mutation_projection_mode = 'rebuild';

CREATE TABLE IF NOT EXISTS exactop.blame
(
    window_end DateTime64(9, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
    t1_ns UInt64 CODEC(DoubleDelta, ZSTD(1)),
    length_ns UInt64 CODEC(T64, ZSTD(1)),
    host LowCardinality(String),
    boot_id LowCardinality(String),
    -- The group that waited for a CPU, as in charges.
    namespace LowCardinality(String),
    pod LowCardinality(String),
    container LowCardinality(String),
    unit LowCardinality(String),
    command LowCardinality(String),
    -- own: the group itself had the CPU; group, kernel: another one; else no task. See docs/reference/json.md.
    kind LowCardinality(String),
    -- The group that had the CPU meanwhile; empty if no task had it.
    culprit_namespace LowCardinality(String),
    culprit_pod LowCardinality(String),
    culprit_container LowCardinality(String),
    culprit_unit LowCardinality(String),
    culprit_command LowCardinality(String),
    -- The rows of a window sum up to all waits that ended in it.
    ns UInt64 CODEC(T64, ZSTD(1)),
    times UInt64 CODEC(T64, ZSTD(1)),
    -- As in charges.
    PROJECTION windows (SELECT host, boot_id, t1_ns, length_ns GROUP BY host, boot_id, t1_ns, length_ns)
)
ENGINE = MergeTree
PARTITION BY toYYYYMMDD(window_end)
ORDER BY (culprit_unit, culprit_command, host, window_end)
TTL toDateTime(window_end) + INTERVAL 7 DAY
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1, lightweight_mutation_projection_mode = 'rebuild';

-- Sums by minute and by hour. A window belongs to the minute and the hour in which it ends. A *_windows column counts the
-- windows that have a figure which is null in others.

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
    exited_windows UInt64 CODEC(T64, ZSTD(1)),
    unnamed_ns UInt128 CODEC(ZSTD(1)),
    irq_ns UInt128 CODEC(ZSTD(1)),
    irq_windows UInt64 CODEC(T64, ZSTD(1)),
    steal_ns UInt128 CODEC(ZSTD(1)),
    steal_windows UInt64 CODEC(T64, ZSTD(1)),
    idle_ns UInt128 CODEC(ZSTD(1)),
    offline_ns UInt128 CODEC(ZSTD(1)),
    residual_ns Int128 CODEC(ZSTD(1)),
    -- Sum without signs, so that two residuals do not cancel.
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
    sum(toUInt128(ifNull(a.exited_ns, 0))) AS exited_ns,
    count(a.exited_ns) AS exited_windows,
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
    -- Windows with all four waits.
    waits_windows UInt64 CODEC(T64, ZSTD(1)),
    exited_processes UInt64 CODEC(T64, ZSTD(1)),
    exited_windows UInt64 CODEC(T64, ZSTD(1))
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
    sum(ifNull(c.exited_processes, 0)) AS exited_processes,
    count(c.exited_processes) AS exited_windows
FROM exactop.charges AS c
GROUP BY minute, host, namespace, pod, container, unit, command;

CREATE TABLE IF NOT EXISTS exactop.blame_1m
(
    minute DateTime('UTC') CODEC(DoubleDelta, ZSTD(1)),
    host LowCardinality(String),
    namespace LowCardinality(String),
    pod LowCardinality(String),
    container LowCardinality(String),
    unit LowCardinality(String),
    command LowCardinality(String),
    kind LowCardinality(String),
    culprit_namespace LowCardinality(String),
    culprit_pod LowCardinality(String),
    culprit_container LowCardinality(String),
    culprit_unit LowCardinality(String),
    culprit_command LowCardinality(String),
    ns UInt128 CODEC(ZSTD(1)),
    times UInt64 CODEC(T64, ZSTD(1))
)
ENGINE = SummingMergeTree
PARTITION BY toYYYYMMDD(minute)
ORDER BY (culprit_unit, culprit_command, host, minute, kind, culprit_namespace, culprit_pod, culprit_container, namespace, pod, container, unit, command)
TTL minute + INTERVAL 90 DAY
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS exactop.blame_to_1m TO exactop.blame_1m AS
SELECT
    toStartOfMinute(toDateTime(window_end, 'UTC')) AS minute,
    host, namespace, pod, container, unit, command, kind,
    culprit_namespace, culprit_pod, culprit_container, culprit_unit, culprit_command,
    sum(toUInt128(b.ns)) AS ns,
    sum(b.times) AS times
FROM exactop.blame AS b
GROUP BY minute, host, namespace, pod, container, unit, command, kind,
    culprit_namespace, culprit_pod, culprit_container, culprit_unit, culprit_command;

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
    exited_windows UInt64 CODEC(T64, ZSTD(1)),
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
    sum(toUInt128(ifNull(a.exited_ns, 0))) AS exited_ns,
    count(a.exited_ns) AS exited_windows,
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
    exited_processes UInt64 CODEC(T64, ZSTD(1)),
    exited_windows UInt64 CODEC(T64, ZSTD(1))
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
    sum(ifNull(c.exited_processes, 0)) AS exited_processes,
    count(c.exited_processes) AS exited_windows
FROM exactop.charges AS c
GROUP BY hour, host, namespace, pod, container, unit, command;

CREATE TABLE IF NOT EXISTS exactop.blame_1h
(
    hour DateTime('UTC') CODEC(DoubleDelta, ZSTD(1)),
    host LowCardinality(String),
    namespace LowCardinality(String),
    pod LowCardinality(String),
    container LowCardinality(String),
    unit LowCardinality(String),
    command LowCardinality(String),
    kind LowCardinality(String),
    culprit_namespace LowCardinality(String),
    culprit_pod LowCardinality(String),
    culprit_container LowCardinality(String),
    culprit_unit LowCardinality(String),
    culprit_command LowCardinality(String),
    ns UInt128 CODEC(ZSTD(1)),
    times UInt64 CODEC(T64, ZSTD(1))
)
ENGINE = SummingMergeTree
PARTITION BY toYYYYMM(hour)
ORDER BY (culprit_unit, culprit_command, host, hour, kind, culprit_namespace, culprit_pod, culprit_container, namespace, pod, container, unit, command)
TTL hour + INTERVAL 2 YEAR
SETTINGS non_replicated_deduplication_window = 100000, ttl_only_drop_parts = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS exactop.blame_to_1h TO exactop.blame_1h AS
SELECT
    toStartOfHour(toDateTime(window_end, 'UTC')) AS hour,
    host, namespace, pod, container, unit, command, kind,
    culprit_namespace, culprit_pod, culprit_container, culprit_unit, culprit_command,
    sum(toUInt128(b.ns)) AS ns,
    sum(b.times) AS times
FROM exactop.blame AS b
GROUP BY hour, host, namespace, pod, container, unit, command, kind,
    culprit_namespace, culprit_pod, culprit_container, culprit_unit, culprit_command;

-- The team of a namespace, or of a unit without a namespace. No host knows it: fill the table yourself (queries/cost.sql).
CREATE TABLE IF NOT EXISTS exactop.teams (name String, team String) ENGINE = MergeTree ORDER BY name;
