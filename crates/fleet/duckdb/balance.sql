-- The balance of a fleet: the sums of all accounts, of all charges, and of CPUs x time. The accounts equal CPUs x
-- time; the charges equal tasks + exited.
-- Variables: since, until (UTC).
SELECT
    count(DISTINCT host) AS hosts,
    count(*) AS windows,
    sum(cpus::HUGEINT * length_ns) AS cpus_x_time,
    sum(tasks_ns::HUGEINT + coalesce(exited_ns, 0) + unnamed_ns + coalesce(irq_ns, 0) + coalesce(steal_ns, 0) + idle_ns
        + offline_ns + residual_ns) AS accounts_ns,
    sum(tasks_ns::HUGEINT + coalesce(exited_ns, 0)) AS used_ns,
    (SELECT sum(run_ns::HUGEINT) FROM charges, asked WHERE end_ns > since_ns AND end_ns <= until_ns) AS charged_ns
FROM accounts, asked
WHERE end_ns > since_ns AND end_ns <= until_ns
