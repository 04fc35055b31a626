-- The largest groups by unit and command, minute by minute: those that are the largest over all of the time, and all
-- the others as one, so that the rows of a minute sum up to what was used in it.
-- Parameters: since, until (UTC, whole minutes), most (groups).
WITH largest AS
(
    SELECT unit, command FROM charges_1m
    WHERE minute >= {since:DateTime('UTC')} AND minute < {until:DateTime('UTC')}
    GROUP BY unit, command
    ORDER BY sum(run_ns) DESC, unit, command
    LIMIT {most:UInt64}
)
SELECT
    toUnixTimestamp(minute) AS second,
    if((unit, command) IN largest, unit, '(all others)') AS of_unit,
    if((unit, command) IN largest, command, '(all others)') AS of_command,
    sum(run_ns) AS ns
FROM charges_1m
WHERE minute >= {since:DateTime('UTC')} AND minute < {until:DateTime('UTC')}
GROUP BY second, of_unit, of_command
ORDER BY second, ns DESC, of_unit, of_command
