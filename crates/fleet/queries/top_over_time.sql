-- The largest groups by namespace, container, unit and command, minute by minute. The selected groups are the largest
-- over the whole time; all others are one group, so the rows of a minute sum up to the used time.
-- Parameters: since, until (UTC, whole minutes), most (groups).
WITH minutes AS
(
    SELECT
        minute, namespace, container, unit, command,
        sum(c.run_ns) AS run_ns
    FROM charges_1m AS c
    WHERE minute >= {since:DateTime('UTC')} AND minute < {until:DateTime('UTC')}
    GROUP BY minute, namespace, container, unit, command
),
largest AS
(
    SELECT namespace, container, unit, command FROM minutes
    GROUP BY namespace, container, unit, command
    ORDER BY sum(run_ns) DESC, namespace, container, unit, command
    LIMIT {most:UInt64}
),
placed AS
(
    SELECT
        toUnixTimestamp(minute) AS second, run_ns, namespace, container, unit, command,
        (namespace, container, unit, command) IN largest AS own
    FROM minutes
)
SELECT
    second,
    if(own, namespace, '(all others)') AS of_namespace,
    if(own, container, '(all others)') AS of_container,
    if(own, unit, '(all others)') AS of_unit,
    if(own, command, '(all others)') AS of_command,
    sum(run_ns) AS ns
FROM placed
GROUP BY 1, 2, 3, 4, 5
ORDER BY second, ns DESC, of_namespace, of_container, of_unit, of_command
