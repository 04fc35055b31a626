"""The ten questions of fleet/, asked of three engines about the same simulated fleet: their answers are equal, and
what sums up to CPUs x time does so, to the nanosecond.

    fleet-engines.py DIRECTORY [ENGINE]...      DIRECTORY/books is what 'cargo xtask fleet-sim' made

ClickHouse's engine (chdb) takes the Parquet into the tables of fleet/schema.sql; DuckDB and Spark (a standalone master
with two workers, each a process of its own) read it where it is. One engine after the other, each in a process of its
own; what each told stays in DIRECTORY/ENGINE.json. Ends with 1 where two differ or a sum is not what was made.
"""

import contextlib
import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

FLEET = pathlib.Path(__file__).resolve().parent.parent / "fleet"
ENGINES = ("clickhouse", "duckdb", "spark")
# Memory of an engine, GB: EXACTOP_FLEET_GB.
GB = int(os.environ.get("EXACTOP_FLEET_GB", "2"))


def given(made):
    """What questions are given: all of the fleet's time, and an hour more on each side, since clocks are off."""

    def instant(text, hours=0):
        told = datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) + datetime.timedelta(hours=hours)
        return told.strftime("%Y-%m-%d %H:%M:%S")

    def whole(text, hours):
        return instant(text, hours)[:14] + "00:00"

    until = whole(made["ends"], 2)
    # Silent is who has none in the last minute of the fleet.
    ends, until_s = (datetime.datetime.fromisoformat(told) for told in (instant(made["ends"]), until))
    silent = int((until_s - ends).total_seconds()) + 60
    return {
        "since": whole(made["begins"], -1), "until": until, "rolled_out": instant(made["rolled_out"]),
        "changed": made["changed"], "host": made["hosts"][0]["host"], "most": "5", "silent_s": str(silent),
        "least_pct": "1", "least_queued": "0.05", "least_locked": "0.005", "times": "1",
    }


# Whose a namespace is, or a unit where there is none.
TEAMS = (("shop", "sellers"), ("postgresql.service", "keepers"))


def text(value):
    return None if value is None else repr(value) if isinstance(value, float) else str(value)


def asked(name, ask):
    begun = time.monotonic()
    titles, rows = ask()
    return {"query": name, "titles": titles, "rows": rows, "seconds": time.monotonic() - begun}


def questions(of):
    return sorted(path for path in (FLEET / of).glob("*.sql") if path.stem != "tables")


def duckdb(directory, parameters):
    import duckdb as engine

    base = engine.connect()
    base.execute(f"SET memory_limit = '{GB}GB'")
    base.execute(f"SET temp_directory = '{directory / 'duckdb-spill'}'")
    for name, value in (parameters | {"books": str(directory / "books")}).items():
        base.execute(f"SET VARIABLE {name} = '" + value.replace("'", "''") + "'")
    base.execute((FLEET / "duckdb" / "tables.sql").read_text())
    base.executemany("INSERT INTO teams VALUES (?, ?)", TEAMS)

    def ask(path):
        answer = base.execute(path.read_text())
        return [column[0] for column in answer.description], [[text(value) for value in row] for row in answer.fetchall()]

    answers = [asked(path.stem, lambda path=path: ask(path)) for path in questions("duckdb")]
    return {"version": f"DuckDB {engine.__version__}", "answers": answers}


def clickhouse(directory, parameters):
    from chdb import session as chdb

    store = directory / "store"
    shutil.rmtree(store, ignore_errors=True)
    base = chdb.Session(str(store))
    schema = [line for line in (FLEET / "schema.sql").read_text().splitlines() if not line.lstrip().startswith("--")]
    for statement in "\n".join(schema).split(";"):
        if statement.strip():
            base.query(statement)
    base.query("USE exactop")
    base.query(f"SET max_memory_usage = {GB * 10**9}, max_insert_threads = 1")

    def rows(sql):
        told = base.query(sql, "JSONCompactStringsEachRowWithNames").bytes().decode()
        lines = [json.loads(line) for line in told.splitlines()]
        return lines[0], [[None if cell == "ᴺᵁᴸᴸ" else cell for cell in line] for line in lines[1:]]

    loaded = {}
    for table in ("charges", "accounts"):
        columns = [row[0] for row in rows(f"SELECT name FROM system.columns WHERE database = 'exactop' AND table = '{table}' "
                                          "AND name != 'received' ORDER BY position")[1]]
        files = str(directory / "books" / "**" / f"{table}.parquet")
        begun = time.monotonic()
        base.query(f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(columns)} FROM file('{files}', Parquet)")
        loaded[table] = time.monotonic() - begun
    sizes = {}
    for table in ("charges", "accounts", "charges_1m", "accounts_1m", "charges_1h", "accounts_1h"):
        base.query(f"OPTIMIZE TABLE {table} FINAL")
        told = rows("SELECT sum(rows), sum(data_compressed_bytes) FROM system.parts "
                    f"WHERE database = 'exactop' AND table = '{table}' AND active")[1][0]
        sizes[table] = {"rows": int(told[0]), "bytes": int(told[1]), "seconds": loaded.get(table)}
    base.query("INSERT INTO teams VALUES " + ", ".join(map(str, TEAMS)))
    for name, value in parameters.items():
        base.query(f"SET param_{name} = '{value}'")
    answers = [asked(path.stem, lambda path=path: rows(path.read_text())) for path in questions("queries")]
    version = rows("SELECT version()")[1][0][0]
    base.close()
    return {"version": f"ClickHouse {version} (chdb)", "answers": answers, "tables": sizes}


@contextlib.contextmanager
def cluster(directory):
    """A standalone master and two workers of a CPU each; ended by their process groups. Its URL."""
    import pyspark

    home = pathlib.Path(pyspark.__file__).parent
    # Nothing here is anybody else's business; and names of this machine need no resolver.
    around = os.environ | {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "512m",
                           "PYSPARK_PYTHON": sys.executable, "SPARK_NO_DAEMONIZE": "1"}
    log = directory / "spark-log"
    shutil.rmtree(log, ignore_errors=True)
    log.mkdir()
    begun = []

    def start(name, *words):
        with open(log / name, "wb") as out:
            begun.append(subprocess.Popen([home / "bin" / "spark-class", *words], stdout=out, stderr=out, env=around,
                                          cwd=log, start_new_session=True))

    def told(name, pattern):
        for _ in range(1200):
            found = re.search(pattern, (log / name).read_text(errors="replace"))
            if found:
                return found[0]
            if begun[-1].poll() is not None:
                break
            time.sleep(0.1)
        sys.exit(f"fleet-engines: Spark's {name} did not come up:\n{(log / name).read_text(errors='replace')[-3000:]}")

    deploy = "org.apache.spark.deploy"
    try:
        start("master", f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        master = told("master", r"spark://127\.0\.0\.1:\d+")
        for name in ("worker-1", "worker-2"):
            start(name, f"{deploy}.worker.Worker", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0", "--cores", "1",
                  "--memory", f"{GB * 512 + 512}m", "--work-dir", str(log / name) + ".work", master)
        for name in ("worker-1", "worker-2"):
            told(name, r"Successfully registered with master")
        yield master, around
    finally:
        for child in begun:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def spark(directory, parameters):
    with cluster(directory) as (master, around):
        settings = {
            "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.memory": f"{GB * 512}m", "spark.driver.memory": "1g", "spark.cores.max": "2",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0", "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
            "spark.sql.shuffle.partitions": "4", "spark.local.dir": str(directory / "spark-log"),
        }
        words = [sys.executable, FLEET / "spark" / "run.py", "--master", master, "--books", directory / "books", "--json"]
        teams = directory / "spark-log" / "teams"
        teams.write_text("".join(f"{name}\t{team}\n" for name, team in TEAMS))
        words += ["--teams", teams, "--since", parameters["since"], "--until", parameters["until"]]
        words += [word for pair in settings.items() for word in ("--conf", "=".join(pair))]
        words += [f"{name}={value}" for name, value in parameters.items() if name not in ("since", "until")]
        with open(directory / "spark-log" / "driver", "wb") as log:
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=log, env=around)
        if done.returncode != 0:
            log = (directory / "spark-log" / "driver").read_text(errors="replace")
            sys.exit(f"fleet-engines: run.py ended with {done.returncode}:\n{log[-3000:]}")
    lines = [json.loads(line) for line in done.stdout.decode().splitlines() if line.startswith("{")]
    head, answers = lines[0], lines[1:]
    if head["workers"] != 2:
        sys.exit(f"fleet-engines: Spark worked with {head['workers']} workers, not with 2")
    return {"version": f"Spark {head['version']}", "answers": answers, "opened": head["seconds"]}


def same(a, b):
    """Whole numbers and words are equal; others as far as doubles are."""
    if a == b:
        return True
    if a is None or b is None or (re.fullmatch(r"-?\d+", a) and re.fullmatch(r"-?\d+", b)):
        return False
    with contextlib.suppress(ValueError):
        x, y = float(a), float(b)
        return abs(x - y) <= 1e-9 * max(abs(x), abs(y), 1e-3)
    return False


def differs(first, second):
    """Where two answers differ first; None: they are equal."""
    if len(first) != len(second):
        return f"{len(first)} and {len(second)} rows"
    for at, (a, b) in enumerate(zip(first, second)):
        if len(a) != len(b) or not all(map(same, a, b)):
            return f"row {at}: {a} and {b}"
    return None


def held(answers, made):
    """Sums that are not what was made, or each other."""
    rows = {answer["query"]: answer["rows"] for answer in answers}

    def column(name, at):
        return sum(int(row[at]) for row in rows[name] if row[at] is not None)

    everyone = made["hosts"]
    total = sum(int(host["capacity_ns"]) for host in everyone)
    used = int(rows["balance"][0][4])
    pairs = {
        "hosts": (int(rows["balance"][0][0]), len(everyone)),
        "windows": (int(rows["balance"][0][1]), sum(host["rows"] for host in everyone)),
        "CPUs x time": (int(rows["balance"][0][2]), total),
        "accounts": (int(rows["balance"][0][3]), total),
        "charges": (int(rows["balance"][0][5]), used),
        "cost": (column("cost", 3), total),
        "host_books": (column("host_books", 1), int(everyone[0]["capacity_ns"])),
        "top_groups": (column("top_groups", 5), used),
        "top_over_time": (column("top_over_time", 3), used),
        "waiting_by_namespace": (column("waiting_by_namespace", 2), used),
    }
    empty = [f"{name}: no rows" for name in rows if not rows[name]]
    return empty + [f"{what}: {a}, not {b}" for what, (a, b) in pairs.items() if a != b]


def table(told):
    names = list(told)
    print("  " + "question".ljust(22) + "rows".rjust(8) + "".join(name.rjust(14) for name in names))
    for at, answer in enumerate(told[names[0]]["answers"]):
        took = "".join(f"{told[name]['answers'][at]['seconds']:.2f} s".rjust(14) for name in names)
        print("  " + answer["query"].ljust(22) + str(len(answer["rows"])).rjust(8) + took)


def main():
    directory = pathlib.Path(sys.argv[1]).resolve()
    made = json.loads((directory / "books" / "simulated.json").read_text())
    if sys.argv[2:3] == ["--inside"]:
        done = globals()[sys.argv[3]](directory, given(made))
        (directory / f"{sys.argv[3]}.json").write_text(json.dumps(done))
        return
    chosen, told, wrong = sys.argv[2:] or ENGINES, {}, []
    for name in chosen:
        words = [sys.executable, __file__, directory, "--inside", name]
        if subprocess.run(words).returncode != 0:
            sys.exit(f"fleet-engines: {name} failed")
        told[name] = json.loads((directory / f"{name}.json").read_text())
        print(f"{told[name]['version']}")
        wrong += [f"{name}: {what}" for what in held(told[name]["answers"], made)]
        for table_name, size in told[name].get("tables", {}).items():
            took = f", loaded in {size['seconds']:.1f} s" if size["seconds"] else ""
            print(f"  {table_name}: {size['rows']} rows, {size['bytes'] / max(size['rows'], 1):.1f} B each{took}")
    first = told[chosen[0]]["answers"]
    for name in chosen[1:]:
        for a, b in zip(first, told[name]["answers"], strict=True):
            apart = "another question" if a["query"] != b["query"] else differs(a["rows"], b["rows"])
            wrong += [f"{a['query']}: {chosen[0]} and {name}: {apart}"] if apart else []
    table(told)
    if wrong:
        sys.exit("fleet-engines: " + "\n".join(wrong))
    print(f"{len(first)} questions, {' = '.join(chosen)}: equal, and equal to CPUs x time, to the nanosecond.")


if __name__ == "__main__":
    main()
