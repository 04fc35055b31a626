-- Hosts whose figures say less than all: a residual or a missed switch, windows that are not exact, no window of late,
-- another source than the ledger, interrupts or steal that are not told apart. A host that was never there is not here.
-- Parameters: since, until (UTC), silent_s (seconds without a window up to until that are silence).
WITH told AS
(
    SELECT
        host,
        count(*) AS windows,
        :until_ns DIV 1000000000 - max(end_ns) DIV 1000000000 AS silent_for_s,
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
)
SELECT * FROM told
WHERE silent_for_s > :silent_s OR residual_windows > 0 OR missed > 0 OR without_witness > 0 OR inexact > 0
    OR not_by_ledger > 0 OR irq_untold > 0 OR steal_untold > 0
ORDER BY residual_windows DESC, inexact DESC, silent_for_s DESC, host
