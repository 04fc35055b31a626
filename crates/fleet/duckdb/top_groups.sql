-- The largest groups by namespace, unit and command, over all hosts. The last row is all others, so the rows sum up
-- to the used time. ~other is the time of groups that hosts do not export by name.
-- Variables: since, until (UTC), most (rows).
WITH groups AS
(
    SELECT
        namespace, unit, command,
        count(DISTINCT host) AS hosts,
        sum(run_ns::HUGEINT) AS cpu_ns,
        sum(exited_processes::HUGEINT) AS exited
    FROM charges, asked
    WHERE end_ns > since_ns AND end_ns <= until_ns
    GROUP BY namespace, unit, command
),
ranked AS
(
    SELECT *, row_number() OVER (ORDER BY cpu_ns DESC, namespace, unit, command) AS place FROM groups
),
fleet AS
(
    SELECT sum(capacity_ns::HUGEINT) AS capacity FROM accounts, asked WHERE end_ns > since_ns AND end_ns <= until_ns
),
placed AS
(
    SELECT *, least(place, getvariable('most')::BIGINT + 1) AS rank, place <= getvariable('most')::BIGINT AS own
    FROM ranked, fleet
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
    100 * sum(cpu_ns)::DOUBLE / any_value(capacity)::DOUBLE AS pct_of_fleet
FROM placed
GROUP BY rank, own
ORDER BY rank
