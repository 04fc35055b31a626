-- The tables of Parquet exports, below one directory: exactop export parquet --to /srv/books/HOST on each host, or what daemons
-- write there as windows close (accounts-HOST_BOOT_FIRST.parquet).
--
--     duckdb -c "SET VARIABLE books = '/srv/books'; SET VARIABLE since = '2026-11-22 00:00:00';
--         SET VARIABLE until = '2026-11-23 00:00:00'; SET VARIABLE most = 20;
--         .read crates/fleet/duckdb/tables.sql
--         .read crates/fleet/duckdb/top_groups.sql"
--
-- end_ns is a window's end, ns since the epoch. asked is the time of which a question is.

CREATE OR REPLACE VIEW accounts AS
SELECT *, epoch_ns(window_end) AS end_ns
FROM read_parquet(getvariable('books') || '/**/accounts[.-]*parquet', hive_partitioning = false);

CREATE OR REPLACE VIEW charges AS
SELECT *, epoch_ns(window_end) AS end_ns
FROM read_parquet(getvariable('books') || '/**/charges[.-]*parquet', hive_partitioning = false);

-- Whose a namespace is, or a unit where there is no namespace: filled by whoever knows.
CREATE TABLE IF NOT EXISTS teams (name VARCHAR, team VARCHAR);

CREATE OR REPLACE VIEW asked AS
SELECT epoch_ns(getvariable('since')::TIMESTAMP) AS since_ns, epoch_ns(getvariable('until')::TIMESTAMP) AS until_ns;
