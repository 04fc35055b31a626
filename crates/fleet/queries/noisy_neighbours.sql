-- Noisy neighbours: who kept others off the CPU, over all hosts, by namespace, unit and command; and the group that
-- waited for each most. steal and interrupts are neighbours without a name. The last row is all other waits: behind
-- smaller neighbours, own threads, the own quota, CPUs that woke up. So the rows sum up to all waits that ended.
-- Parameters: since, until (UTC, whole minutes), most (rows).
WITH pairs AS
(
    SELECT
        host, namespace, unit, command, kind, culprit_namespace, culprit_unit, culprit_command,
        kind IN ('group', 'kernel', 'steal', 'interrupts')
            AND NOT (namespace = culprit_namespace AND unit = culprit_unit AND command = culprit_command) AS is_noisy,
        sum(ns) AS waited
    FROM blame_1m
    WHERE minute >= {since:DateTime('UTC')} AND minute < {until:DateTime('UTC')}
    GROUP BY host, namespace, unit, command, kind, culprit_namespace, culprit_unit, culprit_command
),
noisy AS
(
    SELECT
        host, namespace, unit, command, waited,
        if(is_noisy, kind, '') AS by_kind, if(is_noisy, culprit_namespace, '') AS by_namespace,
        if(is_noisy, culprit_unit, '') AS by_unit, if(is_noisy, culprit_command, '') AS by_command
    FROM pairs
),
culprits AS
(
    SELECT by_kind, by_namespace, by_unit, by_command, uniqExact(host) AS hosts, sum(waited) AS behind
    FROM noisy
    GROUP BY by_kind, by_namespace, by_unit, by_command
),
ranked AS
(
    SELECT
        *,
        row_number() OVER (ORDER BY if(by_kind = '', 1, 0), behind DESC, by_kind, by_namespace, by_unit, by_command) AS place
    FROM culprits
),
victims AS
(
    SELECT by_kind, by_namespace, by_unit, by_command, namespace, unit, command, sum(waited) AS most_behind
    FROM noisy
    GROUP BY by_kind, by_namespace, by_unit, by_command, namespace, unit, command
),
placed_victims AS
(
    SELECT
        *,
        row_number() OVER (PARTITION BY by_kind, by_namespace, by_unit, by_command
            ORDER BY most_behind DESC, namespace, unit, command) AS victim_place
    FROM victims
),
fleet AS
(
    SELECT sum(waited) AS all_waits FROM noisy
),
placed AS
(
    SELECT
        r.by_kind AS by_kind, r.by_namespace AS by_namespace, r.by_unit AS by_unit, r.by_command AS by_command,
        r.hosts AS hosts, r.behind AS behind, v.namespace AS namespace, v.unit AS unit, v.command AS command,
        v.most_behind AS most_behind, f.all_waits AS all_waits,
        r.by_kind != '' AND r.place <= {most:UInt64} AS is_own,
        if(r.by_kind != '' AND r.place <= {most:UInt64}, r.place, {most:UInt64} + 1) AS rank
    FROM ranked AS r
    INNER JOIN placed_victims AS v ON r.by_kind = v.by_kind AND r.by_namespace = v.by_namespace
        AND r.by_unit = v.by_unit AND r.by_command = v.by_command
    CROSS JOIN fleet AS f
    WHERE v.victim_place = 1
)
SELECT
    rank,
    if(is_own, any(by_kind), '(all others)') AS of_kind,
    if(is_own, any(by_namespace), '(all others)') AS of_namespace,
    if(is_own, any(by_unit), '(all others)') AS of_unit,
    if(is_own, any(by_command), '(all others)') AS of_command,
    if(is_own, toNullable(any(hosts)), NULL) AS on_hosts,
    sum(behind) AS ns,
    100 * toFloat64(sum(behind)) / toFloat64(any(all_waits)) AS pct_of_waits,
    if(is_own, any(namespace), NULL) AS most_namespace,
    if(is_own, any(unit), NULL) AS most_unit,
    if(is_own, any(command), NULL) AS most_command,
    if(is_own, any(most_behind), NULL) AS most_ns
FROM placed
GROUP BY rank, is_own
ORDER BY rank
