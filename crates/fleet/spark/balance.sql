-- The balance of a fleet: the sums of all accounts, of all charges, and of CPUs x time. The accounts equal CPUs x
-- time; the charges equal tasks + exited.
-- Parameters: since, until (UTC).
WITH books AS
(
    SELECT
        count(DISTINCT host) AS hosts,
        count(*) AS windows,
        sum(CAST(cpus AS DECIMAL(18, 0)) * length_ns) AS cpus_x_time,
        sum(CAST(tasks_ns + coalesce(exited_ns, 0) + unnamed_ns + coalesce(irq_ns, 0) + coalesce(steal_ns, 0) + idle_ns
            + offline_ns + residual_ns AS DECIMAL(38, 0))) AS accounts_ns,
        sum(CAST(tasks_ns + coalesce(exited_ns, 0) AS DECIMAL(38, 0))) AS used_ns
    FROM accounts
    WHERE end_ns > :since_ns AND end_ns <= :until_ns
)
SELECT
    *,
    (SELECT sum(CAST(run_ns AS DECIMAL(38, 0))) FROM charges
     WHERE end_ns > :since_ns AND end_ns <= :until_ns) AS charged_ns
FROM books
