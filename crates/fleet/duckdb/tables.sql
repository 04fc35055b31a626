-- Tables over Parquet exports below one directory: of 'exactop export parquet --to /srv/books/HOST' on each host, or of daemons
-- that write there as windows close (accounts-HOST_BOOT_FIRST.parquet).
--
--     duckdb -c "SET VARIABLE books = '/srv/books'; SET VARIABLE since = '2026-11-22 00:00:00';
--         SET VARIABLE until = '2026-11-23 00:00:00'; SET VARIABLE most = 20;
--         .read crates/fleet/duckdb/tables.sql
--         .read crates/fleet/duckdb/top_groups.sql"
--
-- end_ns is a window's end, ns since the epoch. The view asked holds the time of the query.

CREATE OR REPLACE VIEW accounts AS
SELECT *, epoch_ns(window_end) AS end_ns
FROM read_parquet(getvariable('books') || '/**/accounts[.-]*parquet', hive_partitioning = false);

CREATE OR REPLACE VIEW charges AS
SELECT *, epoch_ns(window_end) AS end_ns
FROM read_parquet(getvariable('books') || '/**/charges[.-]*parquet', hive_partitioning = false);

CREATE OR REPLACE VIEW blame AS
SELECT *, epoch_ns(window_end) AS end_ns
FROM read_parquet(getvariable('books') || '/**/blame[.-]*parquet', hive_partitioning = false);

-- The team of a namespace, or of a unit without a namespace. No host knows it: fill the table yourself.
CREATE TABLE IF NOT EXISTS teams (name VARCHAR, team VARCHAR);

CREATE OR REPLACE VIEW asked AS
SELECT epoch_ns(getvariable('since')::TIMESTAMP) AS since_ns, epoch_ns(getvariable('until')::TIMESTAMP) AS until_ns;
