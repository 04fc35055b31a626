-- The largest groups by namespace, unit and command, over all hosts. The last row is all others, so the rows sum up
-- to the used time. ~other is the time of groups that hosts do not export by name.
-- Parameters: since, until (UTC), most (rows).
WITH groups AS
(
    SELECT
        namespace, unit, command,
        uniqExact(host) AS hosts,
        sum(toUInt128(run_ns)) AS cpu_ns,
        sum(toUInt128(exited_processes)) AS exited
    FROM charges
    WHERE window_end > {since:DateTime('UTC')} AND window_end <= {until:DateTime('UTC')}
    GROUP BY namespace, unit, command
),
ranked AS
(
    SELECT *, row_number() OVER (ORDER BY cpu_ns DESC, namespace, unit, command) AS place FROM groups
),
fleet AS
(
    SELECT sum(toUInt128(capacity_ns)) AS capacity FROM accounts
    WHERE window_end > {since:DateTime('UTC')} AND window_end <= {until:DateTime('UTC')}
)
SELECT
    least(place, {most:UInt64} + 1) AS rank,
    if(rank <= {most:UInt64}, any(namespace), '(all others)') AS of_namespace,
    if(rank <= {most:UInt64}, any(unit), '(all others)') AS of_unit,
    if(rank <= {most:UInt64}, any(command), '(all others)') AS of_command,
    -- A host may have several of the other groups.
    if(rank <= {most:UInt64}, toNullable(any(hosts)), NULL) AS on_hosts,
    sum(cpu_ns) AS ns,
    sum(exited) AS exited_processes,
    100 * toFloat64(ns) / toFloat64(any(capacity)) AS pct_of_fleet
FROM ranked CROSS JOIN fleet
GROUP BY rank
ORDER BY rank
