"""Run a query of fleet/duckdb on Parquet files; print its rows, tab-separated.

    ask.py TABLES QUERY NAME=VALUE...
"""

import sys

import duckdb

tables, question, *given = sys.argv[1:]
engine = duckdb.connect()
for name, value in (pair.split("=", 1) for pair in given):
    engine.execute("SET VARIABLE " + name + " = '" + value.replace("'", "''") + "'")
engine.execute(open(tables).read())
engine.execute("INSERT INTO teams VALUES ('shop', 'sellers')")
for row in engine.execute(open(question).read()).fetchall():
    print("\t".join("\\N" if value is None else str(value) for value in row))
