-- The largest groups by namespace, unit and command, over all hosts. The last row is all others, so the rows sum up
-- to the used time. ~other is the time of groups that hosts do not export by name.
-- Parameters: since, until (UTC), most (rows).
WITH of_hosts AS
(
    SELECT
        namespace, unit, command, host,
        sum(CAST(run_ns AS DECIMAL(38, 0))) AS cpu_ns,
        sum(CAST(exited_processes AS DECIMAL(38, 0))) AS exited
    FROM charges
    WHERE end_ns > :since_ns AND end_ns <= :until_ns
    GROUP BY namespace, unit, command, host
),
groups AS
(
    SELECT namespace, unit, command, count(*) AS hosts, sum(cpu_ns) AS cpu_ns, sum(exited) AS exited
    FROM of_hosts
    GROUP BY namespace, unit, command
),
ranked AS
(
    SELECT *, row_number() OVER (ORDER BY cpu_ns DESC, namespace, unit, command) AS place FROM groups
),
fleet AS
(
    SELECT sum(CAST(capacity_ns AS DECIMAL(38, 0))) AS capacity FROM accounts
    WHERE end_ns > :since_ns AND end_ns <= :until_ns
),
placed AS
(
    SELECT *, least(place, :most + 1) AS rank, place <= :most AS own FROM ranked CROSS JOIN fleet
)
SELECT
    rank,
    if(own, any_value(namespace), '(all others)') AS of_namespace,
    if(own, any_value(unit), '(all others)') AS of_unit,
    if(own, any_value(command), '(all others)') AS of_command,
    -- A host may have several of the other groups.
    if(own, any_value(hosts), NULL) AS on_hosts,
    sum(cpu_ns) AS ns,
    sum(exited) AS exited_processes,
    100 * CAST(sum(cpu_ns) AS DOUBLE) / CAST(any_value(capacity) AS DOUBLE) AS pct_of_fleet
FROM placed
GROUP BY rank, own
ORDER BY rank
