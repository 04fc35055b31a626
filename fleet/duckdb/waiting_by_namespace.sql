-- Starved and throttled, by namespace and container: what was wanted of the CPUs and not had. Of all that wanted a CPU
-- (ran, waited for one, or had used up a quota) so much waited. untold counts rows of hosts that tell no waits.
-- Variables: since, until (UTC).
WITH sums AS
(
    SELECT
        namespace, container,
        sum(run_ns::HUGEINT) AS ran,
        sum(lat_ns::HUGEINT) AS starved,
        sum(throttle_ns::HUGEINT) AS throttled,
        count(*) FILTER (lat_ns IS NULL OR throttle_ns IS NULL) AS untold,
        coalesce(sum(run_ns::HUGEINT + lat_ns + throttle_ns), 0) AS wanted
    FROM charges, asked
    WHERE end_ns > since_ns AND end_ns <= until_ns
    GROUP BY namespace, container
)
SELECT
    *,
    100 * starved::DOUBLE / nullif(wanted, 0)::DOUBLE AS starved_pct,
    100 * throttled::DOUBLE / nullif(wanted, 0)::DOUBLE AS throttled_pct
FROM sums
ORDER BY coalesce(starved, 0) + coalesce(throttled, 0) DESC, namespace, container
