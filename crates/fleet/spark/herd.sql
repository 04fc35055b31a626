-- Thundering herds by service: groups of which many threads wait for a CPU, few run, and more wait for locks. They
-- wake many threads for the work of a few. Figures are mean numbers of threads while the host had windows. As in the
-- alert of deploy/prometheus: 4 times as many threads queue as run (times), at least least_queued queue, and at least
-- least_locked wait for locks.
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
