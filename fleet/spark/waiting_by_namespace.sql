-- Starved and throttled, by namespace and container: what was wanted of the CPUs and not had. Of all that wanted a CPU
-- (ran, waited for one, or had used up a quota) so much waited. untold counts rows of hosts that tell no waits.
-- Parameters: since, until (UTC).
WITH sums AS
(
    SELECT
        namespace, container,
        sum(CAST(run_ns AS DECIMAL(38, 0))) AS ran,
        sum(CAST(lat_ns AS DECIMAL(38, 0))) AS starved,
        sum(CAST(throttle_ns AS DECIMAL(38, 0))) AS throttled,
        count(*) FILTER (WHERE lat_ns IS NULL OR throttle_ns IS NULL) AS untold,
        coalesce(sum(CAST(run_ns + lat_ns + throttle_ns AS DECIMAL(38, 0))), 0) AS wanted
    FROM charges
    WHERE end_ns > :since_ns AND end_ns <= :until_ns
    GROUP BY namespace, container
)
SELECT
    *,
    100 * CAST(starved AS DOUBLE) / CAST(nullif(wanted, 0) AS DOUBLE) AS starved_pct,
    100 * CAST(throttled AS DOUBLE) / CAST(nullif(wanted, 0) AS DOUBLE) AS throttled_pct
FROM sums
ORDER BY coalesce(starved, 0) + coalesce(throttled, 0) DESC, namespace, container
