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
        match(host, {changed:String}) AS has,
        sumIf(toUInt128(length_ns), window_end <= {rolled_out:DateTime('UTC')}) AS before,
        sumIf(toUInt128(length_ns), window_end > {rolled_out:DateTime('UTC')}) AS after
    FROM accounts
    WHERE window_end > {since:DateTime('UTC')} AND window_end <= {until:DateTime('UTC')}
    GROUP BY host
    HAVING before > 0 AND after > 0
),
used AS
(
    SELECT
        host, namespace, container, unit, command,
        sumIf(toUInt128(run_ns), window_end <= {rolled_out:DateTime('UTC')}) AS before,
        sumIf(toUInt128(run_ns), window_end > {rolled_out:DateTime('UTC')}) AS after
    FROM charges
    WHERE window_end > {since:DateTime('UTC')} AND window_end <= {until:DateTime('UTC')}
    GROUP BY host, namespace, container, unit, command
),
-- A host without a row of a group counts as 0 before and after.
counts AS (SELECT countIf(has) AS n1, countIf(NOT has) AS n0 FROM lengths),
changes AS
(
    SELECT
        u.namespace AS of_namespace, u.container AS of_container, u.unit AS of_unit, u.command AS of_command, l.has AS has,
        toFloat64(u.after) / toFloat64(l.after) - toFloat64(u.before) / toFloat64(l.before) AS change
    FROM used AS u
    INNER JOIN lengths AS l ON l.host = u.host
),
moments AS
(
    SELECT
        of_namespace, of_container, of_unit, of_command,
        any(counts.n1) AS n1, if(any(counts.n0) < 2, 0, any(counts.n0)) AS n0,
        sumIf(change, has) / n1 AS m1,
        (sumIf(change * change, has) - n1 * m1 * m1) / (n1 - 1) / n1 AS e1,
        if(n0 = 0, 0, sumIf(change, NOT has) / n0) AS m0,
        if(n0 = 0, 0, (sumIf(change * change, NOT has) - n0 * m0 * m0) / (n0 - 1) / n0) AS e0
    FROM changes CROSS JOIN counts
    GROUP BY of_namespace, of_container, of_unit, of_command
    HAVING n1 >= 2
),
quantiles AS
(
    SELECT
        *,
        sqrt(-2 * log(0.025 / count() OVER ())) AS q,
        q - (2.515517 + 0.802853 * q + 0.010328 * q * q)
            / (1 + 1.432788 * q + 0.189269 * q * q + 0.001308 * q * q * q) AS z,
        greatest(e1, 0) + greatest(e0, 0) AS e,
        if(e = 0, 1e9, e * e / (e1 * e1 / (n1 - 1) + if(n0 = 0, 0, e0 * e0 / (n0 - 1)))) AS df
    FROM moments
)
SELECT
    of_namespace, of_container, of_unit, of_command, n1 AS hosts, n0 AS others,
    m1 - m0 AS more_cpus,
    (z + (z * z * z + z) / (4 * df)
        + (5 * z * z * z * z * z + 16 * z * z * z + 3 * z) / (96 * df * df)) * sqrt(e) AS half,
    more_cpus - half AS from_cpus,
    more_cpus + half AS to_cpus,
    multiIf(from_cpus > 1e-9, 'grew', to_cpus < -1e-9, 'shrank', 'nothing certain') AS verdict
FROM quantiles
ORDER BY verdict = 'grew' DESC, verdict = 'shrank' DESC, round(abs(more_cpus), 9) DESC,
    of_namespace, of_container, of_unit, of_command
