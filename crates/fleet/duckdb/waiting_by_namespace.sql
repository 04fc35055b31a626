-- Starved and throttled, by namespace and container: what was wanted of the CPUs and not had. starved_pct: of what ran or
-- waited for a CPU, the part that waited, where hosts tell that wait. throttled_pct: of that and what a quota stopped, the
-- part that it stopped, where hosts tell both. untold counts rows of hosts that do not; a per cent of none is null.
-- Variables: since, until (UTC).
WITH sums AS
(
    SELECT
        namespace, container,
        sum(run_ns::HUGEINT) AS ran,
        sum(lat_ns::HUGEINT) AS starved,
        sum(throttle_ns::HUGEINT) AS throttled,
        count(*) FILTER (lat_ns IS NULL OR throttle_ns IS NULL) AS untold,
        -- The same rows above the line and below it.
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
