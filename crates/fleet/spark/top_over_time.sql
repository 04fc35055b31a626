-- The largest groups by namespace, container, unit and command, minute by minute. The selected groups are the largest
-- over the whole time; all others are one group, so the rows of a minute sum up to the used time.
-- Parameters: since, until (UTC, whole minutes), most (groups).
WITH minutes AS
(
    SELECT
        end_ns DIV 60000000000 * 60 AS second, namespace,
        container, unit, command,
        sum(CAST(run_ns AS DECIMAL(38, 0))) AS run_ns
    FROM charges
    WHERE end_ns >= :since_ns AND end_ns < :until_ns
    GROUP BY 1, 2, 3, 4, 5
),
ranked AS
(
    SELECT
        namespace, container, unit, command,
        row_number() OVER (ORDER BY sum(run_ns) DESC, namespace, container, unit, command) AS place
    FROM minutes
    GROUP BY namespace, container, unit, command
),
placed AS
(
    SELECT second, run_ns, namespace, container, unit, command, place <= :most AS own
    FROM minutes JOIN ranked USING (namespace, container, unit, command)
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
