-- The herd, by service: groups of which many threads want a CPU, few run, and more wait for locks: a crowd that is woken
-- for the work of a few. Figures are threads, as a mean over the time in which the host had windows. As the alert of
-- deploy/prometheus has it: 4 times as many queue as run, at least least_queued of them, and locks hold least_locked.
-- Parameters: since, until (UTC), least_queued, least_locked, times (threads, threads, ratio).
WITH hosts AS
(
    SELECT host, sum(CAST(length_ns AS DECIMAL(38, 0))) AS length FROM accounts
    WHERE end_ns > :since_ns AND end_ns <= :until_ns
    GROUP BY host
),
groups AS
(
    SELECT
        host, namespace, unit, command,
        sum(CAST(run_ns AS DECIMAL(38, 0))) AS ran,
        sum(CAST(lat_ns AS DECIMAL(38, 0))) AS queued,
        sum(CAST(lock_ns AS DECIMAL(38, 0))) AS locked
    FROM charges
    WHERE end_ns > :since_ns AND end_ns <= :until_ns
    GROUP BY host, namespace, unit, command
),
threads AS
(
    SELECT
        namespace AS of_namespace, unit AS of_unit, command AS of_command, host AS on_host,
        CAST(ran AS DOUBLE) / CAST(length AS DOUBLE) AS running,
        CAST(queued AS DOUBLE) / CAST(length AS DOUBLE) AS waiting,
        CAST(locked AS DOUBLE) / CAST(length AS DOUBLE) AS on_locks
    FROM groups JOIN hosts USING (host)
)
SELECT * FROM threads
WHERE waiting > :least_queued AND waiting > :times * running AND on_locks > :least_locked
ORDER BY waiting DESC, of_namespace, of_unit, of_command, on_host
