-- Hosts whose figures say less than all: a residual or a missed switch, windows that are not exact, no window of late,
-- another source than the ledger, interrupts or steal that are not told apart. A host that was never there is not here.
-- Variables: since, until (UTC), silent_s (seconds without a window up to until that are silence).
SELECT
    host,
    count(*) AS windows,
    any_value(until_ns) // 1000000000 - max(end_ns) // 1000000000 AS silent_for_s,
    count(*) FILTER (residual_ns <> 0) AS residual_windows,
    sum(residual_ns::HUGEINT) AS residual,
    sum(missed_switches::HUGEINT) AS missed,
    count(*) FILTER (missed_switches IS NULL) AS without_witness,
    count(*) FILTER (NOT exact) AS inexact,
    sum(inexact_events::HUGEINT) AS events,
    count(*) FILTER (source <> 'ledger') AS not_by_ledger,
    count(*) FILTER (irq_ns IS NULL) AS irq_untold,
    count(*) FILTER (steal_ns IS NULL) AS steal_untold
FROM accounts, asked
WHERE end_ns > since_ns AND end_ns <= until_ns
GROUP BY host
HAVING silent_for_s > getvariable('silent_s')::BIGINT OR residual_windows > 0 OR missed > 0 OR without_witness > 0
    OR inexact > 0 OR not_by_ledger > 0 OR irq_untold > 0 OR steal_untold > 0
ORDER BY residual_windows DESC, inexact DESC, silent_for_s DESC, host
