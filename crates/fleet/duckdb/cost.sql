-- Cost by team and unit in CPU-hours, from sums by hour. The table teams (name, team) maps a namespace, or a unit
-- without a namespace, to its team; without an entry the team is (none). Unused time has its own rows, so all rows
-- sum up to the fleet's CPUs x time. Interrupts or steal that no window measures are null: other rows have their time.
-- Variables: since, until (UTC, whole hours).
WITH teams_once AS (SELECT name, min(team) AS team FROM teams GROUP BY name),
named AS
(
    SELECT
        coalesce(nullif(t.team, ''), '(none)') AS of_team, c.namespace AS of_namespace, c.unit AS of_unit,
        sum(c.run_ns::HUGEINT) AS ns
    FROM asked, charges AS c
    LEFT JOIN teams_once AS t ON t.name = if(c.namespace = '', c.unit, c.namespace)
    WHERE c.end_ns >= since_ns AND c.end_ns < until_ns
    GROUP BY 1, 2, 3
),
parts AS
(
    SELECT
        unnest(['(idle)', '(irq)', '(offline)', '(residual)', '(steal)', '(unnamed)']) AS account,
        unnest([idle_ns::HUGEINT, irq_ns, offline_ns, residual_ns, steal_ns, unnamed_ns]) AS part
    FROM accounts, asked
    WHERE end_ns >= since_ns AND end_ns < until_ns
),
all_rows AS
(
    SELECT * FROM named
    UNION ALL
    SELECT '(nobody)', '', account, sum(part) FROM parts GROUP BY account
)
SELECT *, ns::DOUBLE / 3.6e12 AS cpu_hours FROM all_rows ORDER BY ns DESC, 1, 2, 3
