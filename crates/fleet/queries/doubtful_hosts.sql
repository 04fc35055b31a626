-- Hosts with incomplete figures: a residual, missed switches, inexact windows, no recent window, another source than
-- the ledger, interrupts or steal that are not measured separately, or charges without waits (waits_untold: number of
-- rows). A host without a window in this time has windows 0 if the tables still hold an earlier one.
-- Parameters: since, until (UTC), silent_s (seconds without a window up to until that are silence).
WITH untold AS
(
    SELECT host, countIf(isNull(lat_ns) OR isNull(throttle_ns) OR isNull(lock_ns) OR isNull(block_ns)) AS waits
    FROM charges
    WHERE window_end > {since:DateTime('UTC')} AND window_end <= {until:DateTime('UTC')}
    GROUP BY host
),
told AS
(
    SELECT
        host,
        count() AS windows,
        max(window_end) AS last,
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
),
all_hosts AS
(
    SELECT t.*, ifNull(u.waits, 0) AS waits_untold
    FROM told AS t LEFT JOIN untold AS u ON u.host = t.host
    UNION ALL
    SELECT
        host, 0 AS windows, max(window_end) AS last, 0 AS residual_windows, toInt128(0) AS residual, NULL AS missed,
        0 AS without_witness, 0 AS inexact, toUInt128(0) AS events, 0 AS not_by_ledger, 0 AS irq_untold,
        0 AS steal_untold, 0 AS waits_untold
    FROM accounts
    WHERE window_end <= {since:DateTime('UTC')} AND host NOT IN
        (SELECT host FROM accounts WHERE window_end > {since:DateTime('UTC')} AND window_end <= {until:DateTime('UTC')})
    GROUP BY host
)
SELECT
    host, windows,
    toInt64(toUnixTimestamp({until:DateTime('UTC')})) - intDiv(toUnixTimestamp64Nano(last), 1000000000) AS silent_for_s,
    residual_windows, residual, missed, without_witness, inexact, events, not_by_ledger, irq_untold, steal_untold,
    waits_untold
FROM all_hosts
WHERE silent_for_s > {silent_s:Int64} OR residual_windows > 0 OR missed > 0 OR without_witness > 0 OR inexact > 0
    OR not_by_ledger > 0 OR irq_untold > 0 OR steal_untold > 0 OR waits_untold > 0
ORDER BY residual_windows DESC, inexact DESC, silent_for_s DESC, host
