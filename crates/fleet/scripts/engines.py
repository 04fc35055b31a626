"""Run the ten queries of fleet/ on three engines with the same simulated fleet. Their results must be equal, and the
sums must equal CPUs x time, to the nanosecond.

    engines.py DIRECTORY [ENGINE]...      DIRECTORY/books is the output of 'exactop-fleet-sim books'
    engines.py DIRECTORY inserts          measure an insert into ClickHouse's engine, one for each of those files

ClickHouse's engine (chdb) inserts the Parquet files into the tables of crates/fleet/schema.sql. DuckDB and Spark (a
standalone master with two workers, each a separate process) read the files in place. The engines run one after the other,
each in its own process; results stay in DIRECTORY/ENGINE.json. Each statement is printed before it runs, then its wall
time, and the CPU time of the engine's processes, which does not depend on other load. EXACTOP_FLEET_GB limits an engine's
memory (2), EXACTOP_FLEET_LIMIT_S the wall time of a statement (1800). Exit status 1 if a statement takes too long, two
results differ, or a sum is wrong.
"""

import contextlib
import datetime
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

FLEET = pathlib.Path(__file__).resolve().parent.parent
ENGINES = ("clickhouse", "duckdb", "spark")
GB = int(os.environ.get("EXACTOP_FLEET_GB", "2"))
LIMIT_S = int(os.environ.get("EXACTOP_FLEET_LIMIT_S", "1800"))


def given(made):
    """Parameters of the queries: the fleet's time and an hour more on each side, because clocks differ."""

    def instant(text, hours=0):
        told = datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) + datetime.timedelta(hours=hours)
        return told.strftime("%Y-%m-%d %H:%M:%S")

    def whole(text, hours):
        return instant(text, hours)[:14] + "00:00"

    until = whole(made["ends"], 2)
    # A host is silent without a window in the fleet's last minute.
    ends, until_s = (datetime.datetime.fromisoformat(told) for told in (instant(made["ends"]), until))
    silent = int((until_s - ends).total_seconds()) + 60
    return {
        "since": whole(made["begins"], -1), "until": until, "rolled_out": instant(made["rolled_out"]),
        "changed": made["changed"], "host": made["hosts"][0]["host"], "most": "5", "silent_s": str(silent),
        "least_queued": "0.05", "least_locked": "0.005", "times": "1",
    }


# Team of a namespace, or of a unit without a namespace.
TEAMS = (("shop", "sellers"), ("postgresql.service", "keepers"))


SENT = ("blame", "charges", "accounts")
TABLES = SENT + tuple(f"{name}_{span}" for span in ("1m", "1h") for name in SENT)


def text(value):
    return None if value is None else repr(value) if isinstance(value, float) else str(value)


@contextlib.contextmanager
def timed(what, cpu_s=time.process_time):
    """Print a step, then its time. The alarm ends a step after LIMIT_S; main reports it."""
    print(f"  {what}".ljust(34), end="", flush=True)
    took, begun, used = {}, time.monotonic(), cpu_s()
    signal.alarm(LIMIT_S)
    yield took
    signal.alarm(0)
    took |= {"seconds": time.monotonic() - begun, "cpu_seconds": cpu_s() - used}
    rows = f"{took['rows_said']} rows" if "rows_said" in took else ""
    print(f"{took['seconds']:10.2f} s{took['cpu_seconds']:10.2f} s of CPU{rows:>20}", flush=True)


def asked(name, ask):
    with timed(name) as took:
        titles, rows = ask()
        took["rows_said"] = len(rows)
    return {"query": name, "titles": titles, "rows": rows, "seconds": took["seconds"], "cpu_seconds": took["cpu_seconds"]}


def largest_gb():
    """Peak memory of this process, GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


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

    sizes = {}
    for name in SENT:
        with timed(f"count {name}") as took:
            took["rows_said"] = base.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
        size = sum(file.stat().st_size for file in (directory / "books").glob(f"**/{name}.parquet"))
        sizes[f"{name}.parquet"] = {"rows": took["rows_said"], "bytes": size}
    answers = [asked(path.stem, lambda path=path: ask(path)) for path in questions("duckdb")]
    return {"version": f"DuckDB {engine.__version__}", "answers": answers, "tables": sizes, "largest_gb": largest_gb()}


class Store:
    """ClickHouse's engine with new, empty tables of the schema."""

    def __init__(self, directory):
        from chdb import session as chdb

        self.path = directory / "store"
        shutil.rmtree(self.path, ignore_errors=True)
        self.base = chdb.Session(str(self.path))
        schema = [line for line in (FLEET / "schema.sql").read_text().splitlines() if not line.lstrip().startswith("--")]
        for statement in "\n".join(schema).split(";"):
            if statement.strip():
                self.base.query(statement)
        self.base.query("USE exactop")
        self.base.query(f"SET max_memory_usage = {GB * 10**9}, max_insert_threads = 1")
        self.version = f"ClickHouse {self.rows('SELECT version()')[1][0][0]} (chdb)"

    def rows(self, sql):
        """Return titles and rows."""
        told = self.base.query(sql, "JSONCompactStringsEachRowWithNames").bytes().decode()
        lines = [json.loads(line) for line in told.splitlines()]
        return lines[0], [[None if cell == "ᴺᵁᴸᴸ" else cell for cell in line] for line in lines[1:]]

    def insert(self, table, files, token=None):
        """Insert Parquet files into a table."""
        named = self.rows(f"SELECT name FROM system.columns WHERE database = 'exactop' AND table = '{table}' "
                          "AND name != 'received' ORDER BY position")[1]
        columns = ", ".join(row[0] for row in named)
        token = f" SETTINGS insert_deduplication_token = '{token}'" if token else ""
        self.base.query(f"INSERT INTO {table} ({columns}){token} SELECT {columns} FROM file('{files}', Parquet)")

    def parts(self, table):
        """Return rows, bytes and parts of a table, and bytes of its projections."""
        told = self.rows("SELECT sum(rows), sum(data_compressed_bytes), count(), sum(bytes_on_disk) FROM system.parts "
                         f"WHERE database = 'exactop' AND table = '{table}' AND active")[1][0]
        return [int(cell or 0) for cell in told]

    def close(self):
        """Close it; it stays in DIRECTORY/store for dashboards.py until the next run."""
        self.base.close()


# An export's query before it sends (crates/keep/export, clickhouse/stock.rs). Without a projection it reads a part of every group.
STOCK = ("SELECT t1_ns, t1_ns FROM charges WHERE host = '{host}' AND boot_id = '{boot}' AND t1_ns > {after} "
         "AND t1_ns - length_ns < {until} GROUP BY t1_ns")


def stock(store):
    """Rows read to list a host's windows of the last ten minutes, with and without the projection; the largest of five
    hosts."""
    hosts = store.rows("SELECT host, any(boot_id), max(t1_ns) FROM accounts GROUP BY host ORDER BY cityHash64(host) LIMIT 5")[1]
    with_it, without = [], []
    for host, boot, last in hosts:
        sql = STOCK.format(host=host, boot=boot, after=int(last) - 600 * 10**9, until=last)
        with_it.append(store.base.query(sql + " SETTINGS force_optimize_projection = 1", "TSV").storage_rows_read())
        without.append(store.base.query(sql + " SETTINGS optimize_use_projections = 0", "TSV").storage_rows_read())
    return max(with_it), max(without)


def inserts(directory, parameters):
    """Measure inserts: one for each host's file, with its token, as hosts send them."""
    store = Store(directory)
    for table in SENT:
        files = sorted((directory / "books").glob(f"**/{table}.parquet"))
        with timed(f"{len(files)} inserts, {table}") as took:
            for at, file in enumerate(files):
                store.insert(table, file, f"{table}:{at}")
            took["rows_said"] = store.parts(table)[0]
        print(f"  {took['rows_said'] / len(files):.0f} rows each, {1000 * took['cpu_seconds'] / len(files):.1f} ms of CPU each, merges included"
              f"; parts now: {', '.join(f'{name} {store.parts(name)[2]}' for name in TABLES)}", flush=True)
    version = store.version
    store.close()
    return {"version": version, "answers": [], "largest_gb": largest_gb()}


def clickhouse(directory, parameters):
    store, loaded = Store(directory), {}
    for table in SENT:
        with timed(f"insert {table}") as loaded[table]:
            store.insert(table, directory / "books" / "**" / f"{table}.parquet")
            loaded[table]["rows_said"] = store.parts(table)[0]
    sizes = {}
    for table in TABLES:
        with timed(f"optimize {table}") as took:
            store.base.query(f"OPTIMIZE TABLE {table} FINAL")
            rows, size, _, on_disk = store.parts(table)
            took["rows_said"] = rows
        sizes[table] = {"rows": rows, "bytes": size, "on_disk": on_disk} | loaded.get(table, {})
    with timed("what an export asks"):
        read = stock(store)
    store.base.query("INSERT INTO teams VALUES " + ", ".join(map(str, TEAMS)))
    for name, value in parameters.items():
        store.base.query(f"SET param_{name} = '{value}'")
    answers = [asked(path.stem, lambda path=path: store.rows(path.read_text())) for path in questions("queries")]
    version = store.version
    store.close()
    return {"version": version, "answers": answers, "tables": sizes, "largest_gb": largest_gb(), "stock_rows": read}


def used_s(sessions):
    """CPU time of all processes of these sessions, and of their reaped children."""
    ticks = 0
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text(errors="replace").rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15])) if int(fields[3]) in sessions else 0
    return ticks / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def cluster(directory):
    """Start a standalone master and two workers with a CPU each. Return its URL and a function that starts another process.
    Each process is its own session, by which it is killed."""
    import pyspark

    home = pathlib.Path(pyspark.__file__).parent
    # Local addresses only: other machines cannot connect, and no name is resolved.
    around = os.environ | {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "512m",
                           "PYSPARK_PYTHON": sys.executable, "SPARK_NO_DAEMONIZE": "1"}
    log = directory / "spark-log"
    shutil.rmtree(log, ignore_errors=True)
    log.mkdir()
    begun = []

    def start(name, *words, stdout=None):
        with open(log / name, "wb") as out:
            begun.append(subprocess.Popen(words, stdout=stdout or out, stderr=out, env=around, cwd=log, start_new_session=True))
        return begun[-1]

    def told(name, pattern):
        for _ in range(1200):
            found = re.search(pattern, (log / name).read_text(errors="replace"))
            if found:
                return found[0]
            if begun[-1].poll() is not None:
                break
            time.sleep(0.1)
        sys.exit(f"fleet-engines: Spark's {name} did not come up:\n{(log / name).read_text(errors='replace')[-3000:]}")

    def cpu_s():
        return used_s({child.pid for child in begun})

    deploy = "org.apache.spark.deploy"
    java = home / "bin" / "spark-class"
    try:
        start("master", java, f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        master = told("master", r"spark://127\.0\.0\.1:\d+")
        for name in ("worker-1", "worker-2"):
            start(name, java, f"{deploy}.worker.Worker", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0", "--cores", "1",
                  "--memory", f"{GB * 512 + 512}m", "--work-dir", str(log / name) + ".work", master)
        for name in ("worker-1", "worker-2"):
            told(name, r"Successfully registered with master")
        yield master, start, cpu_s
    finally:
        for child in begun:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def spark(directory, parameters):
    # The alarm interrupts Python's waits here, and ends the cluster.
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(-signal.SIGALRM % 256))
    settings = {
        "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": f"{GB * 512}m", "spark.driver.memory": "1g", "spark.cores.max": "2",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0", "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
        "spark.sql.shuffle.partitions": "4", "spark.local.dir": str(directory / "spark-log"),
    }
    with cluster(directory) as (master, start, cpu_s):
        words = [sys.executable, FLEET / "spark" / "run.py", "--master", master, "--books", directory / "books", "--json"]
        teams = directory / "spark-log" / "teams"
        teams.write_text("".join(f"{name}\t{team}\n" for name, team in TEAMS))
        words += ["--teams", teams, "--since", parameters["since"], "--until", parameters["until"]]
        words += [word for pair in settings.items() for word in ("--conf", "=".join(pair))]
        words += [f"{name}={value}" for name, value in parameters.items() if name not in ("since", "until")]
        driver = start("driver", *words, stdout=subprocess.PIPE)

        def line():
            for told in driver.stdout:
                if told.startswith(b"{"):
                    return json.loads(told)
            log = (directory / "spark-log" / "driver").read_text(errors="replace")
            sys.exit(f"\nfleet-engines: run.py ended with {driver.wait()}:\n{log[-3000:]}")

        with timed("open", cpu_s):
            head = line()
        answers = []
        for path in questions("spark"):
            with timed(path.stem, cpu_s) as took:
                answers.append(line())
                took["rows_said"] = len(answers[-1]["rows"])
            answers[-1]["cpu_seconds"] = took["cpu_seconds"]
    if head["workers"] != 2:
        sys.exit(f"fleet-engines: Spark worked with {head['workers']} workers, not with 2")
    return {"version": f"Spark {head['version']}", "answers": answers}


def same(a, b):
    """Compare whole numbers and words exactly, other numbers as doubles."""
    if a == b:
        return True
    if a is None or b is None or (re.fullmatch(r"-?\d+", a) and re.fullmatch(r"-?\d+", b)):
        return False
    with contextlib.suppress(ValueError):
        x, y = float(a), float(b)
        return abs(x - y) <= 1e-9 * max(abs(x), abs(y), 1e-3)
    return False


def differs(first, second):
    """Return the first difference of two results; None if they are equal."""
    if len(first) != len(second):
        return f"{len(first)} and {len(second)} rows"
    for at, (a, b) in enumerate(zip(first, second)):
        if len(a) != len(b) or not all(map(same, a, b)):
            return f"row {at}: {a} and {b}"
    return None


def held(answers, made):
    """List sums that differ from the simulated ones or from each other."""
    rows = {answer["query"]: answer["rows"] for answer in answers}

    def column(name, at):
        return sum(int(row[at]) for row in rows[name] if row[at] is not None)

    everyone = made["hosts"]
    total = sum(int(host["capacity_ns"]) for host in everyone)
    used = int(rows["balance"][0][4])
    waited = sum(int(host["waited_ns"]) for host in everyone)
    pairs = {
        "hosts": (int(rows["balance"][0][0]), len(everyone)),
        "windows": (int(rows["balance"][0][1]), sum(host["rows"] for host in everyone)),
        "CPUs x time": (int(rows["balance"][0][2]), total),
        "accounts": (int(rows["balance"][0][3]), total),
        "charges": (int(rows["balance"][0][5]), used),
        "cost": (column("cost", 3), total),
        "host_books": (column("host_books", 1), int(everyone[0]["capacity_ns"])),
        "top_groups": (column("top_groups", 5), used),
        "top_over_time": (column("top_over_time", 5), used),
        "waiting_by_namespace": (column("waiting_by_namespace", 2), used),
        "waits": (column("waiting_by_namespace", 3) + column("waiting_by_namespace", 4), waited),
        "noisy_neighbours": (column("noisy_neighbours", 6), waited),
    }
    empty = [f"{name}: no rows" for name in rows if not rows[name]]
    return empty + [f"{what}: {a}, not {b}" for what, (a, b) in pairs.items() if a != b]


def table(told):
    """Print wall and CPU time of each query."""
    names = list(told)
    print("query".ljust(24) + "rows".rjust(8) + "".join(name.rjust(20) for name in names))
    for at, answer in enumerate(told[names[0]]["answers"]):
        of = [told[name]["answers"][at] for name in names]
        took = "".join(f"{one['seconds']:.2f} s ({one['cpu_seconds']:.2f})".rjust(20) for one in of)
        print(answer["query"].ljust(24) + str(len(answer["rows"])).rjust(8) + took)
    print("(in brackets: seconds of CPU)")


def sizes(told):
    """Print rows, bytes per row, and the speed of inserts."""
    for name, size in told.get("tables", {}).items():
        took = ""
        if "seconds" in size:
            took = f"; {size['rows'] / size['seconds']:.0f} rows/s, {size['rows'] / size['cpu_seconds']:.0f} for each second of CPU"
        disk = f" ({size['on_disk'] / max(size['rows'], 1):.1f} B on the disk)" if "on_disk" in size else ""
        print(f"  {name}: {size['rows']} rows, {size['bytes'] / max(size['rows'], 1):.1f} B each{disk}{took}")
    if "stock_rows" in told:
        with_it, without = told["stock_rows"]
        print(f"  listing a host's windows reads {with_it} rows of charges; without the projection {without}")
    if "largest_gb" in told:
        print(f"  at most {told['largest_gb']:.1f} GiB of memory")


def inside(name, directory, made):
    """Run an engine in its own process."""
    print(f"{name}, {GB} GB", flush=True)
    code = subprocess.run([sys.executable, __file__, directory, "--inside", name]).returncode
    if code in (-signal.SIGALRM, -signal.SIGALRM % 256):
        sys.exit(f"\nfleet-engines: {name} took longer than {LIMIT_S} s: raise EXACTOP_FLEET_LIMIT_S")
    if code != 0:
        sys.exit(f"\nfleet-engines: {name} ended with {code}")
    told = json.loads((directory / f"{name}.json").read_text())
    print(f"{told['version']}")
    sizes(told)
    return told, [f"{name}: {what}" for what in (held(told["answers"], made) if told["answers"] else [])]


def main():
    directory = pathlib.Path(sys.argv[1]).resolve()
    made = json.loads((directory / "books" / "simulated.json").read_text())
    if sys.argv[2:3] == ["--inside"]:
        done = globals()[sys.argv[3]](directory, given(made))
        (directory / f"{sys.argv[3]}.json").write_text(json.dumps(done))
        return
    chosen, told, wrong = sys.argv[2:] or ENGINES, {}, []
    for name in chosen:
        told[name], lacking = inside(name, directory, made)
        wrong += lacking
    told.pop("inserts", None)
    if not told:
        return
    chosen = list(told)
    first = told[chosen[0]]["answers"]
    for name in chosen[1:]:
        for a, b in zip(first, told[name]["answers"], strict=True):
            apart = "another question" if a["query"] != b["query"] else differs(a["rows"], b["rows"])
            wrong += [f"{a['query']}: {chosen[0]} and {name}: {apart}"] if apart else []
    table(told)
    if wrong:
        sys.exit("fleet-engines: " + "\n".join(wrong))
    print(f"{len(first)} queries, {' = '.join(chosen)}: equal, and equal to CPUs x time, to the nanosecond.")


if __name__ == "__main__":
    main()
