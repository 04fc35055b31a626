-- The books of a host: accounts of all its CPUs between two instants. The rows sum up to cpus x time. An account with
-- ns null is not measured separately: its time counts for the task that it interrupted, that of exited as unnamed.
-- Parameters: host, since, until (UTC).
WITH books AS
(
    SELECT
        sum(toUInt128(capacity_ns)) AS capacity,
        sum(toInt128(tasks_ns)) AS tasks,
        sum(toInt128(exited_ns)) AS exited,
        sum(toInt128(unnamed_ns)) AS unnamed,
        sum(toInt128(irq_ns)) AS irq,
        sum(toInt128(steal_ns)) AS steal,
        sum(toInt128(idle_ns)) AS idle,
        sum(toInt128(offline_ns)) AS offline,
        sum(toInt128(residual_ns)) AS residual
    FROM accounts
    WHERE host = {host:String} AND window_end > {since:DateTime('UTC')} AND window_end <= {until:DateTime('UTC')}
)
SELECT account, ns, if(capacity = 0, NULL, 100 * toFloat64(ns) / toFloat64(capacity)) AS pct
FROM books
ARRAY JOIN
    ['tasks', 'exited', 'unnamed', 'irq', 'steal', 'idle', 'offline', 'residual'] AS account,
    [toNullable(tasks), exited, unnamed, irq, steal, idle, offline, residual] AS ns
ORDER BY account
