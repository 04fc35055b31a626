-- Noisy neighbours: hosts and minutes in which the hypervisor took at least least_pct of the CPUs' time, most first;
-- and the largest group of that minute, with its wait for a CPU. Hosts without a figure of steal are in
-- doubtful_hosts.sql.
-- Variables: since, until (UTC, whole minutes), most (rows), least_pct (of CPUs x time).
WITH stolen AS
(
    SELECT
        end_ns // 60000000000 * 60 AS second, host,
        sum(steal_ns::HUGEINT) AS steal, sum(capacity_ns::HUGEINT) AS capacity
    FROM accounts, asked
    WHERE end_ns >= since_ns AND end_ns < until_ns
    GROUP BY 1, 2
    HAVING steal > 0 AND 100 * steal::DOUBLE / capacity::DOUBLE >= getvariable('least_pct')::DOUBLE
    ORDER BY steal DESC, 1, 2
    LIMIT (SELECT getvariable('most')::BIGINT)
),
groups AS
(
    SELECT
        end_ns // 60000000000 * 60 AS second, host, namespace, container, unit, command,
        sum(run_ns::HUGEINT) AS ran, coalesce(sum(lat_ns::HUGEINT), 0) AS waited
    FROM charges, asked
    WHERE end_ns >= since_ns AND end_ns < until_ns
        -- Only these hosts and minutes: the groups of all of them are most of the table.
        AND (end_ns // 60000000000 * 60, host) IN (SELECT (second, host) FROM stolen)
    GROUP BY 1, 2, 3, 4, 5, 6
),
largest AS
(
    SELECT *, row_number() OVER (PARTITION BY second, host ORDER BY ran DESC, namespace, container, unit, command) AS place
    FROM groups
)
SELECT
    s.second, s.host AS on_host, s.steal AS steal_ns, 100 * s.steal::DOUBLE / s.capacity::DOUBLE AS steal_pct,
    l.namespace AS of_namespace, l.container AS of_container, l.unit AS of_unit, l.command AS of_command,
    l.ran AS ran_ns, l.waited AS waited_ns
FROM stolen AS s
INNER JOIN largest AS l ON l.second = s.second AND l.host = s.host
WHERE l.place = 1
ORDER BY steal_ns DESC, s.second, on_host
