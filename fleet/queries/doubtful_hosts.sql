-- Hosts whose figures say less than all: a residual or a missed switch, windows that are not exact, no window of late,
-- another source than the ledger, interrupts or steal that are not told apart. A host that was never there is not here.
-- Parameters: since, until (UTC), silent_s (seconds without a window up to until that are silence).
SELECT
    host,
    count() AS windows,
    toInt64(toUnixTimestamp({until:DateTime('UTC')})) - intDiv(toUnixTimestamp64Nano(max(window_end)), 1000000000) AS silent_for_s,
    countIf(residual_ns != 0) AS residual_windows,
    sum(toInt128(residual_ns)) AS residual,
    sum(toUInt128(missed_switches)) AS missed,
    countIf(isNull(missed_switches)) AS without_witness,
    countIf(NOT exact) AS inexact,
    sum(toUInt128(a.inexact_events)) AS events,
    countIf(source != 'ledger') AS not_by_ledger,
    countIf(isNull(irq_ns)) AS irq_untold,
    countIf(isNull(steal_ns)) AS steal_untold
FROM accounts AS a
WHERE window_end > {since:DateTime('UTC')} AND window_end <= {until:DateTime('UTC')}
GROUP BY host
HAVING silent_for_s > {silent_s:Int64} OR residual_windows > 0 OR missed > 0 OR without_witness > 0 OR inexact > 0
    OR not_by_ledger > 0 OR irq_untold > 0 OR steal_untold > 0
ORDER BY residual_windows DESC, inexact DESC, silent_for_s DESC, host
