-- Noisy neighbours: hosts and minutes in which the hypervisor took at least least_pct of the CPUs' time, most first;
-- and the largest group of that minute, with its wait for a CPU. Hosts without a figure of steal are in
-- doubtful_hosts.sql.
-- Parameters: since, until (UTC, whole minutes), most (rows), least_pct (of CPUs x time).
WITH stolen AS
(
    SELECT minute, host, sum(steal_ns) AS steal, sum(capacity_ns) AS capacity
    FROM accounts_1m
    WHERE minute >= {since:DateTime('UTC')} AND minute < {until:DateTime('UTC')} AND steal_windows > 0
    GROUP BY minute, host
    HAVING steal > 0 AND 100 * toFloat64(steal) / toFloat64(capacity) >= {least_pct:Float64}
    ORDER BY steal DESC, minute, host
    LIMIT {most:UInt64}
),
groups AS
(
    SELECT minute, host, namespace, container, unit, command, sum(run_ns) AS ran, sum(lat_ns) AS waited
    FROM charges_1m
    WHERE minute >= {since:DateTime('UTC')} AND minute < {until:DateTime('UTC')}
        -- Only these hosts and minutes: the groups of all of them are most of the table.
        AND (minute, host) IN (SELECT minute, host FROM stolen)
    GROUP BY minute, host, namespace, container, unit, command
),
largest AS
(
    SELECT *, row_number() OVER (PARTITION BY minute, host ORDER BY ran DESC, namespace, container, unit, command) AS place
    FROM groups
)
SELECT
    toUnixTimestamp(s.minute) AS second, s.host AS on_host, s.steal AS steal_ns,
    100 * toFloat64(s.steal) / toFloat64(s.capacity) AS steal_pct,
    l.namespace AS of_namespace, l.container AS of_container, l.unit AS of_unit, l.command AS of_command,
    l.ran AS ran_ns, l.waited AS waited_ns
FROM stolen AS s
INNER JOIN largest AS l ON l.minute = s.minute AND l.host = s.host
WHERE l.place = 1
ORDER BY steal_ns DESC, second, on_host
