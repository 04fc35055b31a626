-- The books of a host: accounts of all its CPUs between two instants. The rows sum up to cpus x time. An account with
-- ns null is not measured separately: its time counts for the task that it interrupted, that of exited as unnamed.
-- Parameters: host, since, until (UTC).
WITH books AS
(
    SELECT
        sum(CAST(capacity_ns AS DECIMAL(38, 0))) AS capacity,
        sum(CAST(tasks_ns AS DECIMAL(38, 0))) AS tasks,
        sum(CAST(exited_ns AS DECIMAL(38, 0))) AS exited,
        sum(CAST(unnamed_ns AS DECIMAL(38, 0))) AS unnamed,
        sum(CAST(irq_ns AS DECIMAL(38, 0))) AS irq,
        sum(CAST(steal_ns AS DECIMAL(38, 0))) AS steal,
        sum(CAST(idle_ns AS DECIMAL(38, 0))) AS idle,
        sum(CAST(offline_ns AS DECIMAL(38, 0))) AS offline,
        sum(CAST(residual_ns AS DECIMAL(38, 0))) AS residual
    FROM accounts
    WHERE host = :host AND end_ns > :since_ns AND end_ns <= :until_ns
),
rows AS
(
    SELECT
        stack(8, 'tasks', tasks, 'exited', exited, 'unnamed', unnamed, 'irq', irq, 'steal', steal, 'idle', idle,
            'offline', offline, 'residual', residual) AS (account, ns),
        capacity
    FROM books
)
SELECT account, ns, 100 * CAST(ns AS DOUBLE) / CAST(nullif(capacity, 0) AS DOUBLE) AS pct
FROM rows
ORDER BY account
