-- Hosts with incomplete figures: a residual, missed switches, inexact windows, no recent window, another source than
-- the ledger, interrupts or steal that are not measured separately, or charges without waits (waits_untold: number of
-- rows). A host without a window in this time has windows 0 if the tables still hold an earlier one.
-- Parameters: since, until (UTC), silent_s (seconds without a window up to until that are silence).
WITH untold AS
(
    SELECT
        host,
        count(*) FILTER (WHERE lat_ns IS NULL OR throttle_ns IS NULL OR lock_ns IS NULL OR block_ns IS NULL) AS waits
    FROM charges
    WHERE end_ns > :since_ns AND end_ns <= :until_ns
    GROUP BY host
),
told AS
(
    SELECT
        host,
        count(*) AS windows,
        max(end_ns) AS last_ns,
        count(*) FILTER (WHERE residual_ns <> 0) AS residual_windows,
        sum(CAST(residual_ns AS DECIMAL(38, 0))) AS residual,
        sum(CAST(missed_switches AS DECIMAL(38, 0))) AS missed,
        count(*) FILTER (WHERE missed_switches IS NULL) AS without_witness,
        count(*) FILTER (WHERE NOT exact) AS inexact,
        sum(CAST(inexact_events AS DECIMAL(38, 0))) AS events,
        count(*) FILTER (WHERE source <> 'ledger') AS not_by_ledger,
        count(*) FILTER (WHERE irq_ns IS NULL) AS irq_untold,
        count(*) FILTER (WHERE steal_ns IS NULL) AS steal_untold
    FROM accounts
    WHERE end_ns > :since_ns AND end_ns <= :until_ns
    GROUP BY host
),
gone AS
(
    SELECT host, max(end_ns) AS last_ns
    FROM (SELECT host, end_ns FROM accounts WHERE end_ns <= :since_ns) AS earlier LEFT ANTI JOIN told USING (host)
    GROUP BY host
),
all_hosts AS
(
    SELECT told.*, coalesce(waits, 0) AS waits_untold FROM told LEFT JOIN untold USING (host)
    UNION ALL
    SELECT host, 0, last_ns, 0, 0, NULL, 0, 0, 0, 0, 0, 0, 0 FROM gone
),
silences AS
(
    SELECT
        host, windows, :until_ns DIV 1000000000 - last_ns DIV 1000000000 AS silent_for_s, residual_windows, residual,
        missed, without_witness, inexact, events, not_by_ledger, irq_untold, steal_untold, waits_untold
    FROM all_hosts
)
SELECT * FROM silences
WHERE silent_for_s > :silent_s OR residual_windows > 0 OR missed > 0 OR without_witness > 0 OR inexact > 0
    OR not_by_ledger > 0 OR irq_untold > 0 OR steal_untold > 0 OR waits_untold > 0
ORDER BY residual_windows DESC, inexact DESC, silent_for_s DESC, host
