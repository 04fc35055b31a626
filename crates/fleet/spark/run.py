"""Run the queries of this directory with Spark on the books of many machines (Parquet).

    spark-submit crates/fleet/spark/run.py --books DIR --since TIME --until TIME [--query NAME]... [NAME=VALUE]...
    crates/fleet/spark/run.py --master spark://HOST:7077 --books s3a://books/ ...      with pyspark installed

DIR holds accounts.parquet, charges.parquet and blame.parquet, or accounts-*.parquet and so on, at any depth. TIME is UTC:
'2026-11-23 00:00:00'. The first lines of a query list its other parameters. Results are printed tab-separated, null as
\\N, with a comment before each. --json prints an object per line: the query, its titles, its rows as texts, and its
seconds.

Sums are DECIMAL(38, 0): Spark's sum of BIGINT wraps or fails. Unsigned columns of 64 bits are DECIMAL(20, 0) there.
"""

import argparse
import calendar
import json
import pathlib
import sys
import time

from pyspark.sql import SparkSession

HERE = pathlib.Path(__file__).resolve().parent
INSTANTS, WHOLE, PARTS = ("since", "until", "rolled_out"), ("most", "silent_s"), ("least_queued", "least_locked", "times")
GIVEN = {"most": 20, "silent_s": 300, "least_queued": 4.0, "least_locked": 20.0, "times": 4.0}


def options():
    parser = argparse.ArgumentParser(description="Questions of fleet/spark.", epilog="See the file's first lines.")
    parser.add_argument("--books", required=True, metavar="DIR", help="directory of Parquet exports, at any depth")
    parser.add_argument("--query", action="append", default=[], metavar="NAME", help="run this query (repeatable; default: all)")
    parser.add_argument("--since", required=True, metavar="TIME")
    parser.add_argument("--until", required=True, metavar="TIME")
    parser.add_argument("--master", metavar="URL", help="URL of the cluster (default: spark-submit's)")
    parser.add_argument("--teams", metavar="FILE", help="file with name and team of each namespace or unit, tab-separated")
    parser.add_argument("--conf", action="append", default=[], metavar="NAME=VALUE", help="set an option of Spark")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("given", nargs="*", metavar="NAME=VALUE", help="most=20 host=web-1 changed=-next$ rolled_out=TIME ...")
    return parser.parse_args()


def instant_ns(text):
    return calendar.timegm(time.strptime(text, "%Y-%m-%d %H:%M:%S")) * 1_000_000_000


def parameters(asked):
    """Parameters of queries, by name and type."""
    texts = dict(pair.split("=", 1) for pair in asked.given) | {"since": asked.since, "until": asked.until}
    given = dict(GIVEN)
    for name, text in texts.items():
        if name in INSTANTS:
            given[name + "_ns"] = instant_ns(text)
        else:
            given[name] = int(text) if name in WHOLE else float(text) if name in PARTS else text
    return given


def session(asked):
    builder = SparkSession.builder.appName("exactop-fleet")
    if asked.master:
        builder = builder.master(asked.master)
    # Set before the session starts, so that it holds on the cluster, too. A window's end is in whole nanoseconds.
    builder = builder.config("spark.sql.legacy.parquet.nanosAsLong", "true")
    for setting in asked.conf:
        builder = builder.config(*setting.split("=", 1))
    return builder.getOrCreate()


def tables(spark, asked):
    """Create the views of the queries: accounts, charges, blame, teams."""
    for name in ("accounts", "charges", "blame"):
        files = spark.read.option("recursiveFileLookup", "true").option("pathGlobFilter", f"{{{name},{name}-*}}.parquet")
        files.parquet(asked.books).withColumnRenamed("window_end", "end_ns").createOrReplaceTempView(name)
    teams = []
    if asked.teams:
        lines = pathlib.Path(asked.teams).read_text().splitlines()
        teams = [tuple(line.split("\t", 1)) for line in lines if "\t" in line]
    spark.createDataFrame(teams, "name STRING, team STRING").createOrReplaceTempView("teams")


def text(value):
    return None if value is None else repr(value) if isinstance(value, float) else str(value)


def cell(value):
    shown = "\\N" if value is None else value
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown)


def ask(spark, name, given):
    sql = (HERE / f"{name}.sql").read_text()
    lacking = [word for word in ("host", "changed", "rolled_out") if f":{word}" in sql and word not in given and word + "_ns" not in given]
    if lacking:
        return None, lacking
    begun = time.monotonic()
    answer = spark.sql(sql, {name: value for name, value in given.items() if f":{name}" in sql})
    rows = [[text(value) for value in row] for row in answer.collect()]
    return {"query": name, "titles": answer.columns, "rows": rows, "seconds": time.monotonic() - begun}, []


def main():
    asked = options()
    given = parameters(asked)
    names = asked.query or sorted(path.stem for path in HERE.glob("*.sql"))
    spark = session(asked)
    begun = time.monotonic()
    tables(spark, asked)
    if asked.json:
        # The driver counts as an executor.
        workers = len(spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()) - 1
        head = {"version": spark.version, "workers": workers, "seconds": time.monotonic() - begun}
        print(json.dumps(head), flush=True)
    for name in names:
        answer, lacking = ask(spark, name, given)
        if answer is None:
            if asked.query:
                sys.exit(f"run.py: {name}: say {', '.join(f'{word}=...' for word in lacking)}")
            print(f"run.py: {name} is skipped: it needs {', '.join(lacking)}", file=sys.stderr)
        elif asked.json:
            print(json.dumps(answer), flush=True)
        else:
            print(f"-- {name}: {answer['seconds']:.1f} s")
            for row in [answer["titles"]] + answer["rows"]:
                print("\t".join(cell(value) for value in row), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
