"""Run the queries of fleet/ on hand-made books with known results: hosts with incomplete figures, silent hosts, two
services with one command, teams without a name.

    planted.py DIRECTORY [ENGINE]...      clickhouse, duckdb, spark; default: all

Exit status 1 if an engine gives another result.
"""

import contextlib
import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("engines", HERE / "engines.py")
engines = importlib.util.module_from_spec(spec)
spec.loader.exec_module(engines)

# Recent: ClickHouse's tables delete windows after a week.
BEGIN_S = int(time.time()) // 3600 * 3600 - 3 * 3600
SECOND, MINUTES, ROLLED_OUT = 10**9, 20, 10
SLICE = "kubepods-burstable.slice"


def instant(minute):
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(BEGIN_S + 60 * minute))


GIVEN = {"since": instant(0), "until": instant(60), "rolled_out": instant(ROLLED_OUT), "changed": "^a-", "most": "2",
         "silent_s": "2500"}
# The hour before has one window, without interrupts.
BEFORE = {"since": instant(-60), "until": instant(0)}
# pay has a team without a name, which counts as none.
TEAMS = (("shop", "sellers"), ("pay", ""))
ACCOUNTS = {
    "window_end": "BIGINT", "t1_ns": "UBIGINT", "length_ns": "UBIGINT", "host": "VARCHAR", "boot_id": "VARCHAR",
    "cpus": "UBIGINT", "capacity_ns": "UBIGINT", "tasks_ns": "UBIGINT", "exited_ns": "UBIGINT", "unnamed_ns": "UBIGINT",
    "irq_ns": "UBIGINT", "steal_ns": "UBIGINT", "idle_ns": "UBIGINT", "offline_ns": "UBIGINT", "residual_ns": "BIGINT",
    "exact": "BOOLEAN", "source": "VARCHAR", "missed_switches": "UBIGINT", "inexact_events": "UBIGINT",
}
CHARGES = {
    "window_end": "BIGINT", "t1_ns": "UBIGINT", "length_ns": "UBIGINT", "host": "VARCHAR", "boot_id": "VARCHAR",
    "namespace": "VARCHAR", "pod": "VARCHAR", "container": "VARCHAR", "unit": "VARCHAR", "command": "VARCHAR",
    "run_ns": "UBIGINT", "lat_ns": "UBIGINT", "throttle_ns": "UBIGINT", "lock_ns": "UBIGINT", "block_ns": "UBIGINT",
    "exited_processes": "UBIGINT",
}


PARTS = ("namespace", "pod", "container", "unit", "command")
BLAME = {
    "window_end": "BIGINT", "t1_ns": "UBIGINT", "length_ns": "UBIGINT", "host": "VARCHAR", "boot_id": "VARCHAR",
} | {name: "VARCHAR" for name in (*PARTS, "kind", *(f"culprit_{part}" for part in PARTS))} | {"ns": "UBIGINT", "times": "UBIGINT"}
SHOP, PAY, REDIS = (("shop", "cart", SLICE, "java"), ("pay", "book", SLICE, "java"), ("", "~unnamed", "docker.service", "redis"))


def pair(victim, kind, culprit, ns):
    def names(prefix, of):
        return dict(zip((f"{prefix}{part}" for part in PARTS), (of[0], "", *of[1:]) if of else ("",) * 5))

    return names("", victim) | {"kind": kind} | names("culprit_", culprit) | {"ns": ns, "times": 1}


def pairs(host, minute):
    """Books of two hosts. On a-0, redis keeps both java off the CPU, and shop's java another pod of its own."""
    if host == "a-0":
        return [pair(SHOP, "group", REDIS, 3 * SECOND), pair(PAY, "group", REDIS, SECOND), pair(SHOP, "group", SHOP, 7 * SECOND),
                pair(PAY, "own", PAY, 5 * SECOND), pair(REDIS, "throttled", None, SECOND)]
    if (host, minute) == ("b-7", 5):
        return [pair(REDIS, "steal", None, 6 * SECOND), pair(PAY, "group", REDIS, 2**63), pair(REDIS, "group", SHOP, SECOND),
                pair(SHOP, "kernel", ("", "", "", "kworker (each CPU's)"), 2)]
    return []


def group(names, run, lat=2 * SECOND, throttle=SECOND, lock=0, exited_processes=0):
    return dict(zip(("namespace", "container", "unit", "command"), names)) | {
        "pod": "", "run_ns": run, "lat_ns": lat, "throttle_ns": throttle, "lock_ns": lock, "block_ns": 0,
        "exited_processes": exited_processes}


def window(host, minute, groups, steal=0, **other):
    """Add a row of accounts and its charges: a minute of two CPUs."""
    of = {"window_end": (BEGIN_S + 60 * minute) * SECOND, "t1_ns": (10_000 + 60 * minute) * SECOND, "length_ns": 60 * SECOND,
          "host": host, "boot_id": "boot"}
    used = sum(one["run_ns"] for one in groups)
    row = of | {"cpus": 2, "capacity_ns": 120 * SECOND, "tasks_ns": used, "exited_ns": 0, "unnamed_ns": 0, "irq_ns": 0,
                "steal_ns": steal, "idle_ns": 120 * SECOND - used - steal, "offline_ns": 0, "residual_ns": 0, "exact": True,
                "source": "ledger", "missed_switches": 0, "inexact_events": 0} | other
    return row, [of | one for one in groups]


def windows():
    """Make six hosts with a rollout and six without; one with fewer figures, one without locks, one silent for long."""
    for at in range(12):
        is_new = at < 6
        host = f"{'a' if is_new else 'b'}-{at}"
        for minute in range(1, MINUTES + 1):
            is_after = is_new and minute > ROLLED_OUT
            # The sum of both services' java stays equal. No two hosts are equal.
            more, own = 6 * SECOND * is_after, at * (minute % 3) * 10_000_000
            yield window(host, minute, [
                group(("shop", "cart", SLICE, "java"), 10 * SECOND + more + own),
                group(("pay", "book", SLICE, "java"), 16 * SECOND - more + own),
                group(("", "~unnamed", "docker.service", "redis"), 20 * SECOND + 3 * SECOND * is_after + own),
            ], steal=6 * SECOND if (host, minute) == ("b-7", 5) else 0)
    for minute in range(1, MINUTES + 1):
        yield window("poor", minute, [
            group(("shop", "cart", SLICE, "java"), 10 * SECOND, 40 * SECOND, None),
            group(("only", "", SLICE, "java"), 10 * SECOND, 40 * SECOND, None),
            group(("mute", "", SLICE, "java"), 10 * SECOND, None, None, None),
        ], source="procfs")
        yield window("unlocked", minute, [group(("", "", "ssh.service", "sshd"), SECOND, lock=None)])
    yield window("gone", -15, [group(("", "", "ssh.service", "sshd"), SECOND, exited_processes=None)], source="procfs",
                 exited_ns=None, irq_ns=None)


def write(directory):
    """Write all rows as Parquet."""
    import duckdb

    books = directory / "books" / "host"
    shutil.rmtree(directory / "books", ignore_errors=True)
    books.mkdir(parents=True)
    accounts, charges, blame = [], [], []
    for row, groups in windows():
        accounts.append(row)
        charges += groups
        minute = (row["window_end"] // SECOND - BEGIN_S) // 60
        blame += [{name: row[name] for name in ("window_end", "t1_ns", "length_ns", "host", "boot_id")} | one
                  for one in pairs(row["host"], minute)]
    for name, columns, rows in (("accounts", ACCOUNTS, accounts), ("charges", CHARGES, charges), ("blame", BLAME, blame)):
        told = books / f"{name}.json"
        told.write_text("\n".join(json.dumps(row) for row in rows))
        kinds = ", ".join(f"{column}: '{kind}'" for column, kind in columns.items())
        duckdb.sql(f"COPY (SELECT * REPLACE (make_timestamp_ns(window_end) AS window_end) FROM read_json('{told}', "
                   f"columns = {{{kinds}}})) TO '{books / name}.parquet' (FORMAT parquet)")
        told.unlink()
    return charges


def asked_clickhouse(directory, names, given):
    with contextlib.closing(engines.Store(directory)) as store:
        for table in engines.SENT:
            store.insert(table, directory / "books" / "**" / f"{table}.parquet")
        store.base.query("INSERT INTO teams VALUES " + ", ".join(map(str, TEAMS)))
        for name, value in given.items():
            store.base.query(f"SET param_{name} = '{value}'")

        def all_of():
            return {name: store.rows((engines.FLEET / "queries" / f"{name}.sql").read_text()) for name in names}

        told = all_of()
        # Also with a user profile's setting.
        store.base.query("SET join_use_nulls = 1")
        for name, answer in all_of().items():
            if apart := engines.differs(told[name][1], answer[1]):
                sys.exit(f"fleet-planted: {name} with join_use_nulls: {apart}")
        return told


def asked_duckdb(directory, names, given):
    import duckdb

    base = duckdb.connect()
    for name, value in (given | {"books": str(directory / "books")}).items():
        base.execute(f"SET VARIABLE {name} = '{value}'")
    base.execute((engines.FLEET / "duckdb" / "tables.sql").read_text())
    base.executemany("INSERT INTO teams VALUES (?, ?)", TEAMS)
    told = {}
    for name in names:
        answer = base.execute((engines.FLEET / "duckdb" / f"{name}.sql").read_text())
        titles = [column[0] for column in answer.description]
        told[name] = titles, [[engines.text(value) for value in row] for row in answer.fetchall()]
    return told


def asked_spark(directory, names, given):
    teams = directory / "teams"
    teams.write_text("".join(f"{name}\t{team}\n" for name, team in TEAMS))
    words = [sys.executable, engines.FLEET / "spark" / "run.py", "--master", "local[1]", "--books", directory / "books", "--json",
             "--teams", teams, "--since", given["since"], "--until", given["until"]]
    for setting in ("spark.ui.enabled=false", "spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1",
                    "spark.sql.shuffle.partitions=1"):
        words += ["--conf", setting]
    words += [word for name in names for word in ("--query", name)]
    words += [f"{name}={value}" for name, value in given.items() if name not in ("since", "until")]
    with open(directory / "spark-log", "wb") as log:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=log, cwd=directory)
    if done.returncode != 0:
        said = (directory / "spark-log").read_text(errors="replace")[-3000:]
        sys.exit(f"fleet-planted: run.py ended with {done.returncode}:\n{said}")
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")][1:]
    return {answer["query"]: (answer["titles"], answer["rows"]) for answer in answers}


def near(text, value):
    return text is None if value is None else text is not None and abs(float(text) - value) < 1e-6 * max(1, abs(value))


def within(charges):
    """Rows within the queried time."""
    return [one for one in charges if one["t1_ns"] > 10_000 * SECOND]


def waiting(rows, charges):
    """Percentages use only the rows that have both figures."""
    for row in rows:
        names = row["namespace"], row["container"]
        of = [one for one in within(charges) if (one["namespace"], one["container"]) == names]
        told = [one for one in of if one["lat_ns"] is not None]
        both = [one for one in told if one["throttle_ns"] is not None]
        starved, wanted = (sum(one[name] for one in told for name in names) for names in (["lat_ns"], ["run_ns", "lat_ns"]))
        stopped, all_of_it = (sum(one[name] for one in both for name in names)
                              for names in (["throttle_ns"], ["run_ns", "lat_ns", "throttle_ns"]))
        yield near(row["starved_pct"], 100 * starved / wanted if told else None), row
        yield near(row["throttled_pct"], 100 * stopped / all_of_it if both else None), row
        yield int(row["untold"]) == len(of) - len(both), row
    by_name = {row["namespace"]: row for row in rows}
    yield near(by_name["only"]["starved_pct"], 80.0) and by_name["only"]["throttled_pct"] is None, by_name["only"]
    yield by_name["mute"]["starved_pct"] is None, by_name["mute"]


def doubtful(rows):
    """A host without a window is silent since its last one; a host with fewer figures is listed with them."""
    told = {row["host"]: [int(row[name]) for name in ("windows", "silent_for_s", "not_by_ledger", "waits_untold")] for row in rows}
    yield told == {"gone": [0, 4500, 0, 0], "poor": [20, 2400, 20, 60], "unlocked": [20, 2400, 0, 20]}, told


def names_of(row):
    return tuple(row[f"of_{name}"] for name in ("namespace", "container", "unit", "command"))


def rollout(rows):
    """One service's java has grown, the other's has shrunk."""
    told = {names_of(row): row for row in rows}
    for names, verdict, more in ((("shop", "cart", SLICE, "java"), "grew", 0.1), (("pay", "book", SLICE, "java"), "shrank", -0.1),
                                 (("", "~unnamed", "docker.service", "redis"), "grew", 0.05)):
        row = told.get(names)
        yield row is not None and (row["verdict"], row["hosts"], row["others"]) == (verdict, "6", "8"), (names, row)
        # Differences between hosts are small.
        yield row is not None and abs(float(row["more_cpus"]) - more) < 0.005, (names, row)
    yield names_of(rows[0])[0] == "shop", rows[0]


def over_time(rows, charges):
    """The two largest are redis and pay's java, each over all hosts."""
    named = {names_of(row) for row in rows}
    yield named == {("", "~unnamed", "docker.service", "redis"), ("pay", "book", SLICE, "java"), ("(all others)",) * 4}, named
    used = sum(one["run_ns"] for one in within(charges))
    yield sum(int(row["ns"]) for row in rows) == used, used


def noisy(rows):
    """redis is the worst on two hosts, then steal. A pod of the same group is no neighbour. Sums exceed 64 bits."""
    told = [[row[name] for name in ("of_kind", "of_unit", "of_command", "on_hosts", "ns", "most_namespace", "most_ns")] for row in rows]
    behind = 2**63 + MINUTES * 4 * SECOND
    rest = SECOND + 2 + MINUTES * 13 * SECOND
    yield told == [
        ["group", "docker.service", "redis", "2", str(behind), "pay", str(2**63 + MINUTES * SECOND)],
        ["steal", "", "", "1", str(6 * SECOND), "", str(6 * SECOND)],
        ["(all others)", "(all others)", "(all others)", None, str(rest), None, None],
    ], told
    everything = behind + 6 * SECOND + rest
    yield all(near(row["pct_of_waits"], 100 * int(row["ns"]) / everything) for row in rows), rows


def cost(rows):
    teams = {(row["of_team"], row["of_namespace"]) for row in rows if row["of_team"] != "(nobody)"}
    yield teams == {("sellers", "shop"), ("(none)", "pay"), ("(none)", ""), ("(none)", "only"), ("(none)", "mute")}, teams


def unmeasured(rows):
    """In an hour without measured interrupts they are unknown."""
    told = {row["of_unit"]: row["ns"] for row in rows if row["of_team"] == "(nobody)"}
    known = {name: None if ns is None else int(ns) for name, ns in told.items()}
    yield known == {"(idle)": 119 * SECOND, "(irq)": None, "(offline)": 0, "(residual)": 0, "(steal)": 0, "(unnamed)": 0}, told


def wrong(told, earlier, charges):
    def rows(name, of=told):
        titles, lines = of[name]
        return [dict(zip(titles, line)) for line in lines]

    held = {
        "waiting_by_namespace": waiting(rows("waiting_by_namespace"), charges), "doubtful_hosts": doubtful(rows("doubtful_hosts")),
        "rollout": rollout(rows("rollout")), "top_over_time": over_time(rows("top_over_time"), charges),
        "noisy_neighbours": noisy(rows("noisy_neighbours")), "cost": cost(rows("cost")),
        "cost of the hour before": unmeasured(rows("cost", earlier)),
    }
    return [f"{name}: {seen}" for name, all_of in held.items() for is_so, seen in all_of if not is_so]


def main():
    directory = pathlib.Path(sys.argv[1]).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    charges, found = write(directory), []
    names = ("waiting_by_namespace", "doubtful_hosts", "rollout", "top_over_time", "noisy_neighbours", "cost")
    for engine in sys.argv[2:] or engines.ENGINES:
        begun, ask = time.monotonic(), globals()[f"asked_{engine}"]
        told, earlier = ask(directory, names, GIVEN), ask(directory, ("cost",), GIVEN | BEFORE)
        found += [f"{engine}: {what}" for what in wrong(told, earlier, charges)]
        print(f"{engine}: {len(names) + 1} queries in {time.monotonic() - begun:.1f} s", flush=True)
    if found:
        sys.exit("fleet-planted: " + "\n".join(found))
    print("All engines give the known results of the hand-made books.")


if __name__ == "__main__":
    main()
