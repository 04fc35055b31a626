-- Starved and throttled, by namespace and container: what was wanted of the CPUs and not had. Of all that wanted a CPU
-- (ran, waited for one, or had used up a quota) so much waited. untold counts rows of hosts that tell no waits.
-- Parameters: since, until (UTC).
SELECT
    namespace, container,
    sum(toUInt128(run_ns)) AS ran,
    sum(toUInt128(lat_ns)) AS starved,
    sum(toUInt128(throttle_ns)) AS throttled,
    countIf(isNull(lat_ns) OR isNull(throttle_ns)) AS untold,
    sumIf(toUInt128(run_ns) + lat_ns + throttle_ns, isNotNull(lat_ns) AND isNotNull(throttle_ns)) AS wanted,
    if(wanted = 0, NULL, 100 * toFloat64(starved) / toFloat64(wanted)) AS starved_pct,
    if(wanted = 0, NULL, 100 * toFloat64(throttled) / toFloat64(wanted)) AS throttled_pct
FROM charges
WHERE window_end > {since:DateTime('UTC')} AND window_end <= {until:DateTime('UTC')}
GROUP BY namespace, container
ORDER BY ifNull(starved, 0) + ifNull(throttled, 0) DESC, namespace, container
