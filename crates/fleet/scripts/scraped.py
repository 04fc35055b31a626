"""Scrape a simulated fleet's pages of metrics with Prometheus and VictoriaMetrics. The recording rules of
fleet/prometheus must give the sums of the same hosts' books.

    scraped.py SIMULATOR DIRECTORY [HOSTS]

'SIMULATOR pages' serves the real page of each host, stops after the last window, and writes the same windows as Parquet
to DIRECTORY/books. Prometheus evaluates the rules itself; vmalert does it for VictoriaMetrics (Debian's packages). Every panel
of crates/fleet/dashboards/prometheus.json is queried on both. Exit status 1 if a sum differs from the books.
"""

import contextlib
import json
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import duckdb

ROOT = pathlib.Path(__file__).resolve().parents[3]
RULES = [ROOT / "deploy" / "prometheus" / "rules.yml", ROOT / "crates" / "fleet" / "prometheus" / "rules.yml"]
# Panels without data here, because no host exports to a store.
MAY_BE_EMPTY = {"Delay of the store"}
# Longest wait, s; and most queries of a sum, one every 10 s.
PATIENCE, ATTEMPTS = 900, 12


def port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


# Running processes and their logs.
CHILDREN = []


def until(what, holds):
    for _ in range(PATIENCE * 2):
        with contextlib.suppress(OSError):
            if holds():
                return
        for child, log in CHILDREN:
            if child.poll() is not None:
                sys.exit(f"fleet-scraped: {child.args[0]} ended:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.5)
    sys.exit(f"fleet-scraped: waited {PATIENCE} s for {what}")


@contextlib.contextmanager
def running(log, *words, **more):
    """Run a process; end it on exit."""
    with open(log, "wb") as out:
        child = subprocess.Popen([str(word) for word in words], stdout=out, stderr=out, **more)
    CHILDREN.append((child, log))
    try:
        yield
    finally:
        CHILDREN.remove((child, log))
        if child.stdin:
            child.stdin.close()
        child.terminate()
        child.wait()


class Store:
    """A store that answers PromQL."""

    def __init__(self, name, at):
        self.name, self.url = name, f"http://127.0.0.1:{at}"

    def get(self, path, **words):
        with urllib.request.urlopen(f"{self.url}{path}?{urllib.parse.urlencode(words)}", timeout=60) as answer:
            return answer.read()

    def ask(self, expr):
        """Return labels and value of each series."""
        told = json.loads(self.get("/api/v1/query", query=expr))
        if told["status"] != "success":
            sys.exit(f"fleet-scraped: {self.name}: {expr}: {told}")
        rows = told["data"]["result"]
        if told["data"]["resultType"] == "scalar":
            return [({}, float(rows[1]))]
        return [(row["metric"], float(row["value"][1])) for row in rows]


def configured(directory, with_rules):
    scrape = {
        "job_name": "exactop", "scrape_interval": "10s", "scrape_timeout": "10s",
        "file_sd_configs": [{"files": [str(directory / "targets.json")]}],
    }
    # JSON is valid YAML.
    told = {"scrape_configs": [scrape]}
    if with_rules:
        told |= {"global": {"evaluation_interval": "10s"}, "rule_files": [str(file) for file in RULES]}
    name = directory / ("prometheus.yml" if with_rules else "victoria.yml")
    name.write_text(json.dumps(told))
    return name


@contextlib.contextmanager
def stores(directory):
    """Run both stores, scraping."""
    a, b, c = port(), port(), port()
    with contextlib.ExitStack() as stack:
        stack.enter_context(running(
            directory / "prometheus.log", "prometheus", f"--config.file={configured(directory, True)}",
            f"--storage.tsdb.path={directory / 'tsdb'}", f"--web.listen-address=127.0.0.1:{a}"))
        stack.enter_context(running(
            directory / "victoria.log", "victoria-metrics", f"-promscrape.config={configured(directory, False)}",
            f"-storageDataPath={directory / 'victoria'}", f"-httpListenAddr=127.0.0.1:{b}", "-search.latencyOffset=0s",
            "-search.disableCache"))
        prometheus, victoria = Store("Prometheus", a), Store("VictoriaMetrics", b)
        until("VictoriaMetrics", lambda: victoria.get("/health"))
        until("Prometheus", lambda: prometheus.get("/-/ready"))
        stack.enter_context(running(
            directory / "vmalert.log", "vmalert", *(f"-rule={file}" for file in RULES), f"-datasource.url={victoria.url}",
            f"-remoteWrite.url={victoria.url}", "-evaluationInterval=10s", f"-httpListenAddr=127.0.0.1:{c}"))
        yield prometheus, victoria


def books(directory):
    """Return the books' sums of the same windows, in nanoseconds."""
    base = duckdb.connect()
    for table in ("accounts", "charges"):
        base.execute(f"CREATE VIEW {table} AS FROM read_parquet('{directory / 'books'}/**/{table}.parquet')")
    words = ("tasks", "exited", "unnamed", "irq", "steal", "idle", "offline")
    sums = ", ".join(f"sum({word}_ns)" for word in words)
    accounts = dict(zip(words, base.execute(f"SELECT {sums} FROM accounts").fetchone()))
    hosts = {row[0]: dict(zip(words, row[1:])) for row in base.execute(f"SELECT host, {sums} FROM accounts GROUP BY host").fetchall()}
    capacity, cpus, charged, residual = base.execute(
        "SELECT (SELECT sum(capacity_ns) FROM accounts), (SELECT sum(cpus) FROM (SELECT DISTINCT host, cpus FROM accounts)), "
        "(SELECT sum(run_ns) FROM charges), (SELECT sum(abs(residual_ns)) FROM accounts)").fetchone()
    return {"accounts": accounts, "hosts": hosts, "capacity": capacity, "cpus": cpus, "charged": charged, "residual": residual}


def sums(store, made):
    """Pairs: name, ns in the store, ns in the books."""
    def by(expr, label):
        return {labels[label]: value * 1e9 for labels, value in store.ask(expr)}

    def one(expr):
        return sum(value for _, value in store.ask(expr))

    accounts = by("fleet:exactop_cpu_seconds:sum", "account")
    pairs = [(f"fleet, {word}", accounts[word], ns) for word, ns in made["accounts"].items()]
    pairs += [
        ("fleet, all accounts", sum(accounts.values()), made["capacity"]),
        ("fleet, groups", one("fleet_group:exactop_cpu_seconds:sum") * 1e9, made["charged"]),
        ("fleet, residual", one("fleet:exactop_residual_seconds:sum") * 1e9, made["residual"]),
    ]
    for host, told in made["hosts"].items():
        held = by(f'exactop_cpu_seconds_total{{host="{host}"}}', "account")
        pairs += [(f"{host}, {word}", held[word], ns) for word, ns in told.items()]
    counts = [("hosts", one("fleet:exactop_hosts:count"), len(made["hosts"])), ("CPUs", one("fleet:exactop_cpus:sum"), made["cpus"])]
    return pairs, counts


def held(store, made):
    """List differences. Prometheus stores doubles: a sum of a fleet this large is right to the nanosecond. VictoriaMetrics
    stores decimals with some 12 digits."""
    pairs, counts = sums(store, made)
    most = (lambda ns: 0.5) if store.name == "Prometheus" else (lambda ns: max(0.5, ns * 1e-11))
    far, ns = max(abs(a - b) / max(b, 1) for _, a, b in pairs), max(abs(a - b) for _, a, b in pairs)
    wrong = [f"{store.name}: {what}: {a!r}, not {b}" for what, a, b in pairs if abs(a - b) > most(b)]
    wrong += [f"{store.name}: {what}: {a}, not {b}" for what, a, b in counts if a != b]
    if not wrong:
        print(f"{store.name}: {len(pairs)} sums of {counts[0][1]:.0f} hosts, at most {ns:.3f} ns and {far:.1e} of a sum from the books'")
    return wrong


def settled(store, made):
    """Do the same after rules were evaluated on the last scrape of all hosts. After a late scrape a host is missing until the
    next one; real differences stay."""
    for _ in range(ATTEMPTS):
        wrong, begun = None, time.monotonic()
        while wrong is None:
            if time.monotonic() - begun > PATIENCE:
                return [f"{store.name}: a host is missing"]
            time.sleep(10)
            with contextlib.suppress(KeyError):
                wrong = held(store, made)
        if not wrong:
            break
    return wrong


def panels(store):
    """List panels without rows."""
    told = json.loads((ROOT / "crates" / "fleet" / "dashboards" / "prometheus.json").read_text())
    instance = store.ask("exactop_cpus")[0][0]["instance"]
    wrong = []
    for panel in told["panels"]:
        expr = panel["targets"][0]["expr"].replace("${most}", "10").replace("${instance:regex}", instance)
        rows = store.ask(expr)
        if "$" in expr or not rows and panel["title"] not in MAY_BE_EMPTY:
            wrong.append(f"{store.name}: {panel['title']}: {len(rows)} rows of {expr}")
    print(f"{store.name}: {len(told['panels'])} panels asked")
    return wrong


def main():
    # On SIGTERM, end the started processes, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    simulator, directory = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    hosts = sys.argv[3] if len(sys.argv) > 3 else "200"
    shutil.rmtree(directory, ignore_errors=True)
    begun = time.monotonic()
    with contextlib.ExitStack() as stack:
        # Its log goes beside its output, whose directory must be empty.
        log = directory.with_name(directory.name + ".log")
        log.parent.mkdir(parents=True, exist_ok=True)
        stack.enter_context(running(
            log, simulator, "pages", "--hosts", hosts, "--windows", "20", "--every", "1000", "-o", directory,
            stdin=subprocess.PIPE))
        until("the hosts", (directory / "targets.json").exists)
        both = stack.enter_context(stores(directory))
        until("the last window", (directory / "counted.json").exists)
        ends = {host["host"]: host["boundary_ns"] for host in json.loads((directory / "counted.json").read_text())["hosts"]}
        made, wrong = books(directory), []
        for store in both:
            def scraped(store=store):
                told = {labels["host"]: value for labels, value in store.ask("exactop_boundary_seconds")}
                return all(abs(told.get(host, 0) * 1e9 - ns) < 1e6 for host, ns in ends.items())

            until(f"{store.name}'s last scrape", scraped)
        for store in both:
            wrong += settled(store, made) + panels(store)
    if wrong:
        sys.exit("fleet-scraped: " + "\n".join(wrong[:20]))
    print(f"Of {len(ends)} hosts both stores have the sums of the books ({time.monotonic() - begun:.0f} s).")


if __name__ == "__main__":
    main()
