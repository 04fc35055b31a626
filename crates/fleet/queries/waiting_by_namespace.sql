-- Starved and throttled time by namespace and container. starved_pct: the share of waiting in running and waiting for
-- a CPU, over hosts that measure this wait. throttled_pct: the share that a quota stopped in running, waiting and
-- stopped time, over hosts that measure both. untold: number of rows without these figures. A percentage without rows
-- is null.
-- Parameters: since, until (UTC).
WITH sums AS
(
    SELECT
        namespace, container,
        sum(toUInt128(run_ns)) AS ran,
        sum(toUInt128(lat_ns)) AS starved,
        sum(toUInt128(throttle_ns)) AS throttled,
        countIf(isNull(lat_ns) OR isNull(throttle_ns)) AS untold,
        -- Numerator and denominator must come from the same rows.
        sum(toUInt128(run_ns) + lat_ns) AS wanted,
        sumIf(toUInt128(throttle_ns), isNotNull(lat_ns)) AS stopped,
        sum(toUInt128(run_ns) + lat_ns + throttle_ns) AS wanted_more
    FROM charges
    WHERE window_end > {since:DateTime('UTC')} AND window_end <= {until:DateTime('UTC')}
    GROUP BY namespace, container
)
SELECT
    namespace, container, ran, starved, throttled, untold,
    100 * toFloat64(starved) / toFloat64(nullIf(wanted, 0)) AS starved_pct,
    100 * toFloat64(stopped) / toFloat64(nullIf(wanted_more, 0)) AS throttled_pct
FROM sums
ORDER BY ifNull(starved, 0) + ifNull(throttled, 0) DESC, namespace, container
