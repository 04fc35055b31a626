-- Thundering herds by service: groups of which many threads wait for a CPU, few run, and more wait for locks. They
-- wake many threads for the work of a few. Figures are mean numbers of threads while the host had windows. As in the
-- alert of deploy/prometheus: 4 times as many threads queue as run (times), at least least_queued queue, and at least
-- least_locked wait for locks.
-- Parameters: since, until (UTC), least_queued, least_locked, times (threads, threads, ratio).
WITH hosts AS
(
    SELECT host, sum(toUInt128(length_ns)) AS length FROM accounts
    WHERE window_end > {since:DateTime('UTC')} AND window_end <= {until:DateTime('UTC')}
    GROUP BY host
),
groups AS
(
    SELECT
        host, namespace, unit, command,
        sum(toUInt128(run_ns)) AS ran, sum(toUInt128(lat_ns)) AS queued, sum(toUInt128(lock_ns)) AS locked
    FROM charges
    WHERE window_end > {since:DateTime('UTC')} AND window_end <= {until:DateTime('UTC')}
    GROUP BY host, namespace, unit, command
)
SELECT
    g.namespace AS of_namespace, g.unit AS of_unit, g.command AS of_command, g.host AS on_host,
    toFloat64(g.ran) / toFloat64(h.length) AS running,
    toFloat64(g.queued) / toFloat64(h.length) AS waiting,
    toFloat64(g.locked) / toFloat64(h.length) AS on_locks
FROM groups AS g
INNER JOIN hosts AS h ON h.host = g.host
WHERE waiting > {least_queued:Float64} AND waiting > {times:Float64} * running AND on_locks > {least_locked:Float64}
ORDER BY waiting DESC, of_namespace, of_unit, of_command, on_host
