-- The books of a host: accounts of all its CPUs between two instants. The rows sum up to cpus x time. An account with
-- ns null is not measured separately: its time counts for the task that it interrupted, that of exited as unnamed.
-- Variables: host, since, until (UTC).
WITH books AS
(
    SELECT
        sum(capacity_ns) AS capacity,
        sum(tasks_ns)::HUGEINT AS tasks,
        sum(exited_ns)::HUGEINT AS exited,
        sum(unnamed_ns)::HUGEINT AS unnamed,
        sum(irq_ns)::HUGEINT AS irq,
        sum(steal_ns)::HUGEINT AS steal,
        sum(idle_ns)::HUGEINT AS idle,
        sum(offline_ns)::HUGEINT AS offline,
        sum(residual_ns)::HUGEINT AS residual
    FROM accounts, asked
    WHERE host = getvariable('host') AND end_ns > since_ns AND end_ns <= until_ns
),
rows AS
(
    SELECT
        unnest(['tasks', 'exited', 'unnamed', 'irq', 'steal', 'idle', 'offline', 'residual']) AS account,
        unnest([tasks, exited, unnamed, irq, steal, idle, offline, residual]) AS ns,
        capacity
    FROM books
)
SELECT account, ns, 100 * ns::DOUBLE / nullif(capacity, 0)::DOUBLE AS pct
FROM rows
ORDER BY account
