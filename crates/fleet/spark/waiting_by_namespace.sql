-- Starved and throttled time by namespace and container. starved_pct: the share of waiting in running and waiting for
-- a CPU, over hosts that measure this wait. throttled_pct: the share that a quota stopped in running, waiting and
-- stopped time, over hosts that measure both. untold: number of rows without these figures. A percentage without rows
-- is null.
-- Parameters: since, until (UTC).
WITH sums AS
(
    SELECT
        namespace, container,
        sum(CAST(run_ns AS DECIMAL(38, 0))) AS ran,
        sum(CAST(lat_ns AS DECIMAL(38, 0))) AS starved,
        sum(CAST(throttle_ns AS DECIMAL(38, 0))) AS throttled,
        count(*) FILTER (WHERE lat_ns IS NULL OR throttle_ns IS NULL) AS untold,
        -- Numerator and denominator must come from the same rows.
        sum(CAST(run_ns + lat_ns AS DECIMAL(38, 0))) AS wanted,
        sum(CAST(throttle_ns AS DECIMAL(38, 0))) FILTER (WHERE lat_ns IS NOT NULL) AS stopped,
        sum(CAST(run_ns + lat_ns + throttle_ns AS DECIMAL(38, 0))) AS wanted_more
    FROM charges
    WHERE end_ns > :since_ns AND end_ns <= :until_ns
    GROUP BY namespace, container
)
SELECT
    namespace, container, ran, starved, throttled, untold,
    100 * CAST(starved AS DOUBLE) / CAST(nullif(wanted, 0) AS DOUBLE) AS starved_pct,
    100 * CAST(stopped AS DOUBLE) / CAST(nullif(wanted_more, 0) AS DOUBLE) AS throttled_pct
FROM sums
ORDER BY coalesce(starved, 0) + coalesce(throttled, 0) DESC, namespace, container
