-- Cost by team and unit in CPU-hours, from sums by hour. The table teams (name, team) maps a namespace, or a unit
-- without a namespace, to its team; without an entry the team is (none). Unused time has its own rows, so all rows
-- sum up to the fleet's CPUs x time. Interrupts or steal that no window measures are null: other rows have their time.
-- Parameters: since, until (UTC, whole hours).
WITH teams_once AS (SELECT name, min(team) AS team FROM teams GROUP BY name)
SELECT * FROM
(
SELECT
    -- Independent of join_use_nulls for a namespace without a team.
    ifNull(nullIf(t.team, ''), '(none)') AS of_team,
    c.namespace AS of_namespace,
    c.unit AS of_unit,
    sum(toInt128(c.run_ns)) AS ns,
    toFloat64(ns) / 3.6e12 AS cpu_hours
FROM charges_1h AS c
LEFT JOIN teams_once AS t ON t.name = if(c.namespace = '', c.unit, c.namespace)
WHERE c.hour >= {since:DateTime('UTC')} AND c.hour < {until:DateTime('UTC')}
GROUP BY of_team, of_namespace, of_unit
UNION ALL
SELECT '(nobody)', '', account, sum(toInt128(part)) AS ns, toFloat64(ns) / 3.6e12
FROM accounts_1h
ARRAY JOIN
    ['(idle)', '(irq)', '(offline)', '(residual)', '(steal)', '(unnamed)'] AS account,
    [toInt128(idle_ns), if(irq_windows = 0, NULL, toInt128(irq_ns)), toInt128(offline_ns), residual_ns,
        if(steal_windows = 0, NULL, toInt128(steal_ns)), toInt128(unnamed_ns)] AS part
WHERE hour >= {since:DateTime('UTC')} AND hour < {until:DateTime('UTC')}
GROUP BY account
)
ORDER BY ns DESC, of_team, of_namespace, of_unit
