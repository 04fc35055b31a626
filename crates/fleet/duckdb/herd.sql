-- Thundering herds by service: groups of which many threads wait for a CPU, few run, and more wait for locks. They
-- wake many threads for the work of a few. Figures are mean numbers of threads while the host had windows. As in the
-- alert of deploy/prometheus: 4 times as many threads queue as run (times), at least least_queued queue, and at least
-- least_locked wait for locks.
-- Variables: since, until (UTC), least_queued, least_locked, times (threads, threads, ratio).
WITH hosts AS
(
    SELECT host, sum(length_ns::HUGEINT) AS length FROM accounts, asked
    WHERE end_ns > since_ns AND end_ns <= until_ns
    GROUP BY host
),
groups AS
(
    SELECT
        host, namespace, unit, command,
        sum(run_ns::HUGEINT) AS ran, sum(lat_ns::HUGEINT) AS queued, sum(lock_ns::HUGEINT) AS locked
    FROM charges, asked
    WHERE end_ns > since_ns AND end_ns <= until_ns
    GROUP BY host, namespace, unit, command
),
threads AS
(
    SELECT
        namespace AS of_namespace, unit AS of_unit, command AS of_command, host AS on_host,
        ran::DOUBLE / length::DOUBLE AS running,
        queued::DOUBLE / length::DOUBLE AS waiting,
        locked::DOUBLE / length::DOUBLE AS on_locks
    FROM groups JOIN hosts USING (host)
)
SELECT * FROM threads
WHERE waiting > getvariable('least_queued')::DOUBLE AND waiting > getvariable('times')::DOUBLE * running
    AND on_locks > getvariable('least_locked')::DOUBLE
ORDER BY waiting DESC, of_namespace, of_unit, of_command, on_host
