-- Starved and throttled time by namespace and container. starved_pct: the share of waiting in running and waiting for
-- a CPU, over hosts that measure this wait. throttled_pct: the share that a quota stopped in running, waiting and
-- stopped time, over hosts that measure both. untold: number of rows without these figures. A percentage without rows
-- is null.
-- Variables: since, until (UTC).
WITH sums AS
(
    SELECT
        namespace, container,
        sum(run_ns::HUGEINT) AS ran,
        sum(lat_ns::HUGEINT) AS starved,
        sum(throttle_ns::HUGEINT) AS throttled,
        count(*) FILTER (lat_ns IS NULL OR throttle_ns IS NULL) AS untold,
        -- Numerator and denominator must come from the same rows.
        sum(run_ns::HUGEINT + lat_ns) AS wanted,
        sum(throttle_ns::HUGEINT) FILTER (lat_ns IS NOT NULL) AS stopped,
        sum(run_ns::HUGEINT + lat_ns + throttle_ns) AS wanted_more
    FROM charges, asked
    WHERE end_ns > since_ns AND end_ns <= until_ns
    GROUP BY namespace, container
)
SELECT
    namespace, container, ran, starved, throttled, untold,
    100 * starved::DOUBLE / nullif(wanted, 0)::DOUBLE AS starved_pct,
    100 * stopped::DOUBLE / nullif(wanted_more, 0)::DOUBLE AS throttled_pct
FROM sums
ORDER BY coalesce(starved, 0) + coalesce(throttled, 0) DESC, namespace, container
