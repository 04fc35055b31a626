-- The balance of a fleet: the sums of all accounts, of all charges, and of CPUs x time. The accounts equal CPUs x
-- time; the charges equal tasks + exited.
-- Parameters: since, until (UTC).
SELECT
    (SELECT uniqExact(host) FROM accounts
     WHERE window_end > {since:DateTime('UTC')} AND window_end <= {until:DateTime('UTC')}) AS hosts,
    (SELECT count() FROM accounts
     WHERE window_end > {since:DateTime('UTC')} AND window_end <= {until:DateTime('UTC')}) AS windows,
    (SELECT sum(toUInt128(cpus) * length_ns) FROM accounts
     WHERE window_end > {since:DateTime('UTC')} AND window_end <= {until:DateTime('UTC')}) AS cpus_x_time,
    (SELECT sum(toInt128(tasks_ns) + ifNull(exited_ns, 0) + unnamed_ns + ifNull(irq_ns, 0) + ifNull(steal_ns, 0) + idle_ns
        + offline_ns + residual_ns) FROM accounts
     WHERE window_end > {since:DateTime('UTC')} AND window_end <= {until:DateTime('UTC')}) AS accounts_ns,
    (SELECT sum(toUInt128(tasks_ns) + ifNull(exited_ns, 0)) FROM accounts
     WHERE window_end > {since:DateTime('UTC')} AND window_end <= {until:DateTime('UTC')}) AS used_ns,
    (SELECT sum(toUInt128(run_ns)) FROM charges
     WHERE window_end > {since:DateTime('UTC')} AND window_end <= {until:DateTime('UTC')}) AS charged_ns
