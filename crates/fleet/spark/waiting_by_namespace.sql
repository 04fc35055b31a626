-- Starved and throttled, by namespace and container: what was wanted of the CPUs and not had. starved_pct: of what ran or
-- waited for a CPU, the part that waited, where hosts tell that wait. throttled_pct: of that and what a quota stopped, the
-- part that it stopped, where hosts tell both. untold counts rows of hosts that do not; a per cent of none is null.
-- Parameters: since, until (UTC).
WITH sums AS
(
    SELECT
        namespace, container,
        sum(CAST(run_ns AS DECIMAL(38, 0))) AS ran,
        sum(CAST(lat_ns AS DECIMAL(38, 0))) AS starved,
        sum(CAST(throttle_ns AS DECIMAL(38, 0))) AS throttled,
        count(*) FILTER (WHERE lat_ns IS NULL OR throttle_ns IS NULL) AS untold,
        -- The same rows above the line and below it.
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
