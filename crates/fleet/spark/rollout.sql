-- Groups (namespace, container, unit, command) that use more CPU since a rollout. The figure is a group's CPUs per
-- host after the rollout less those before: the mean over the changed hosts, less the same mean over all other hosts
-- if there are at least two. So changes on all hosts, such as the time of day, cancel. The confidence interval is
-- over hosts, 95 % for all groups together (Bonferroni, Welch; quantile of the t distribution by Abramowitz and
-- Stegun 26.2.23 and 26.7.5, good from some 5 hosts on). A host must have windows before and after. A group without a
-- row on a host was small there and is in its ~other. First the groups that certainly grew, most first.
-- Parameters: since, rolled_out, until (UTC), changed (a regular expression of hosts).
WITH
lengths AS
(
    SELECT
        host,
        host RLIKE :changed AS has,
        sum(CAST(length_ns AS DECIMAL(38, 0))) FILTER (WHERE end_ns <= :rolled_out_ns) AS before,
        sum(CAST(length_ns AS DECIMAL(38, 0))) FILTER (WHERE end_ns > :rolled_out_ns) AS after
    FROM accounts
    WHERE end_ns > :since_ns AND end_ns <= :until_ns
    GROUP BY host
    HAVING before > 0 AND after > 0
),
used AS
(
    SELECT
        host, namespace, container, unit, command,
        coalesce(sum(CAST(run_ns AS DECIMAL(38, 0))) FILTER (WHERE end_ns <= :rolled_out_ns), 0) AS before,
        coalesce(sum(CAST(run_ns AS DECIMAL(38, 0))) FILTER (WHERE end_ns > :rolled_out_ns), 0) AS after
    FROM charges
    WHERE end_ns > :since_ns AND end_ns <= :until_ns
    GROUP BY host, namespace, container, unit, command
),
-- A host without a row of a group counts as 0 before and after.
counts AS (SELECT count(*) FILTER (WHERE has) AS n1, count(*) FILTER (WHERE NOT has) AS n0 FROM lengths),
changes AS
(
    SELECT
        u.namespace AS of_namespace, u.container AS of_container, u.unit AS of_unit, u.command AS of_command, l.has AS has,
        CAST(u.after AS DOUBLE) / CAST(l.after AS DOUBLE) - CAST(u.before AS DOUBLE) / CAST(l.before AS DOUBLE) AS change
    FROM used AS u
    INNER JOIN lengths AS l ON l.host = u.host
),
sums AS
(
    SELECT
        of_namespace, of_container, of_unit, of_command,
        any_value(n1) AS n1, if(any_value(n0) < 2, 0, any_value(n0)) AS n0,
        coalesce(sum(change) FILTER (WHERE has), 0D) AS s1, coalesce(sum(change * change) FILTER (WHERE has), 0D) AS r1,
        coalesce(sum(change) FILTER (WHERE NOT has), 0D) AS s0,
        coalesce(sum(change * change) FILTER (WHERE NOT has), 0D) AS r0
    FROM changes CROSS JOIN counts
    GROUP BY of_namespace, of_container, of_unit, of_command
),
moments AS
(
    SELECT
        of_namespace, of_container, of_unit, of_command, n1, n0,
        s1 / n1 AS m1, (r1 - n1 * (s1 / n1) * (s1 / n1)) / (n1 - 1) / n1 AS e1,
        if(n0 = 0, 0D, s0 / n0) AS m0, if(n0 = 0, 0D, (r0 - n0 * (s0 / n0) * (s0 / n0)) / (n0 - 1) / n0) AS e0
    FROM sums
    WHERE n1 >= 2
),
roots AS
(
    SELECT *, sqrt(-2 * ln(0.025D / count(*) OVER ())) AS q, greatest(e1, 0D) + greatest(e0, 0D) AS e FROM moments
),
quantiles AS
(
    SELECT
        *,
        q - (2.515517D + 0.802853D * q + 0.010328D * q * q)
            / (1 + 1.432788D * q + 0.189269D * q * q + 0.001308D * q * q * q) AS z,
        if(e = 0, 1e9D, e * e / (e1 * e1 / (n1 - 1) + if(n0 = 0, 0D, e0 * e0 / (n0 - 1)))) AS df
    FROM roots
),
intervals AS
(
    SELECT
        of_namespace, of_container, of_unit, of_command, n1 AS hosts, n0 AS others,
        m1 - m0 AS more_cpus,
        (z + (z * z * z + z) / (4 * df)
            + (5 * z * z * z * z * z + 16 * z * z * z + 3 * z) / (96 * df * df)) * sqrt(e) AS half
    FROM quantiles
),
verdicts AS
(
    SELECT
        *, more_cpus - half AS from_cpus, more_cpus + half AS to_cpus,
        CASE WHEN more_cpus - half > 1e-9D THEN 'grew' WHEN more_cpus + half < -1e-9D THEN 'shrank'
            ELSE 'nothing certain' END AS verdict
    FROM intervals
)
SELECT * FROM verdicts
ORDER BY verdict = 'grew' DESC, verdict = 'shrank' DESC, round(abs(more_cpus), 9) DESC,
    of_namespace, of_container, of_unit, of_command
