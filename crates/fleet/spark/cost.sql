-- Cost by team and unit in CPU-hours, from sums by hour. The table teams (name, team) maps a namespace, or a unit
-- without a namespace, to its team; without an entry the team is (none). Unused time has its own rows, so all rows
-- sum up to the fleet's CPUs x time. Interrupts or steal that no window measures are null: other rows have their time.
-- Parameters: since, until (UTC, whole hours).
WITH teams_once AS (SELECT name, min(team) AS team FROM teams GROUP BY name),
used AS
(
    SELECT namespace, unit, sum(CAST(run_ns AS DECIMAL(38, 0))) AS ns
    FROM charges
    WHERE end_ns >= :since_ns AND end_ns < :until_ns
    GROUP BY namespace, unit
),
named AS
(
    SELECT
        coalesce(nullif(t.team, ''), '(none)') AS of_team, u.namespace AS of_namespace, u.unit AS of_unit, sum(u.ns) AS ns
    FROM used AS u
    LEFT JOIN teams_once AS t ON t.name = if(u.namespace = '', u.unit, u.namespace)
    GROUP BY 1, 2, 3
),
sums AS
(
    SELECT
        sum(CAST(idle_ns AS DECIMAL(38, 0))) AS idle,
        sum(CAST(irq_ns AS DECIMAL(38, 0))) AS irq,
        sum(CAST(offline_ns AS DECIMAL(38, 0))) AS offline,
        sum(CAST(residual_ns AS DECIMAL(38, 0))) AS residual,
        sum(CAST(steal_ns AS DECIMAL(38, 0))) AS steal,
        sum(CAST(unnamed_ns AS DECIMAL(38, 0))) AS unnamed
    FROM accounts
    WHERE end_ns >= :since_ns AND end_ns < :until_ns
    HAVING count(*) > 0
),
parts AS
(
    SELECT stack(6, '(idle)', idle, '(irq)', irq, '(offline)', offline, '(residual)', residual, '(steal)', steal,
        '(unnamed)', unnamed) AS (account, part)
    FROM sums
),
all_rows AS
(
    SELECT * FROM named
    UNION ALL
    SELECT '(nobody)', '', account, part FROM parts
)
SELECT *, CAST(ns AS DOUBLE) / 3.6e12D AS cpu_hours FROM all_rows ORDER BY ns DESC, of_team, of_namespace, of_unit
