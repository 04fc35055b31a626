"""Show a simulated fleet's books in an embedded engine (DuckDB): the balance, the queries of fleet/duckdb, a report.

    demo.py EXACTOP DIRECTORY [--open]    DIRECTORY/books is the output of 'exactop-fleet-sim books'

--open opens the report on a desktop.

Exit status 1 if the simulated sums, DuckDB's sums and those of 'exactop fleet check' differ by a nanosecond.
"""

import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import duckdb

EXACTOP, DIRECTORY = sys.argv[1], pathlib.Path(sys.argv[2])
BOOKS = DIRECTORY / "books"
QUESTIONS = pathlib.Path(__file__).resolve().parent.parent / "duckdb"
# Rows shown of a result, and characters of a cell.
SHOWN, WIDE = 10, 28


def exactop(*words, codes=(0,)):
    done = subprocess.run([EXACTOP, "fleet", *words], stdout=subprocess.PIPE, text=True)
    if done.returncode not in codes:
        sys.exit(f"fleet-demo: exactop fleet {words[0]} ended with {done.returncode}")
    return done.stdout


def instant(text, hours=0):
    told = datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) + datetime.timedelta(hours=hours)
    return told.strftime("%Y-%m-%d %H:%M:%S")


def cell(value):
    text = f"{value:.6g}" if isinstance(value, float) else "-" if value is None else str(value)
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= WIDE else text[: WIDE - 1] + "…"


def table(titles, rows):
    lines = [titles] + [[cell(value) for value in row] for row in rows[:SHOWN]]
    widths = [max(len(line[at]) for line in lines) for at in range(len(titles))]
    for line in lines:
        print("  " + "  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip())
    if len(rows) > SHOWN:
        print(f"  ({len(rows) - SHOWN} more rows)")


def ask(engine, name):
    text = (QUESTIONS / f"{name}.sql").read_text()
    begun = time.monotonic()
    answer = engine.execute(text)
    titles, rows = [column[0] for column in answer.description], answer.fetchall()
    print(f"\n{name}: {text.splitlines()[0].lstrip('- ')}  ({(time.monotonic() - begun) * 1000:.0f} ms)")
    table(titles, rows)
    return titles, rows


def show(page):
    """Open a page on a desktop; elsewhere only its name is printed."""
    opener = shutil.which("xdg-open")
    if opener and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        subprocess.Popen([opener, page], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def main():
    made = json.loads((BOOKS / "simulated.json").read_text())
    print(exactop("check", "--from", str(BOOKS), "--rows", "5", codes=(0, 3)), end="")
    balance = json.loads(exactop("check", "--from", str(BOOKS), "--json", codes=(0, 3)))
    engine = duckdb.connect()
    host = made["hosts"][0]["host"]
    # An hour more on each side: clocks differ, and all windows must be in the range.
    given = {
        "books": str(BOOKS), "since": instant(made["begins"], -1), "until": instant(made["ends"], 1),
        "rolled_out": instant(made["rolled_out"]), "changed": made["changed"], "host": host, "most": "5",
        "silent_s": "3900", "least_queued": "0.1", "least_locked": "0.01", "times": "1",
    }
    for name, value in given.items():
        engine.execute(f"SET VARIABLE {name} = '" + value.replace("'", "''") + "'")
    engine.execute((QUESTIONS / "tables.sql").read_text())
    begun = time.monotonic()
    for name in ("accounts", "charges", "blame"):
        engine.execute(f"CREATE TABLE loaded_{name} AS FROM {name}")
        engine.execute(f"CREATE OR REPLACE VIEW {name} AS FROM loaded_{name}")
    rows = engine.execute("SELECT count(*) FROM charges").fetchone()[0]
    print(f"\nDuckDB {duckdb.__version__}: {rows} rows of charges loaded in {time.monotonic() - begun:.1f} s")
    names = sorted(path.stem for path in QUESTIONS.glob("*.sql") if path.stem != "tables")
    answers = {name: ask(engine, name) for name in names}
    titles, rows = answers["balance"]
    told, sums = dict(zip(titles, rows[0])), balance["sums"]
    held = [
        ("hosts", told["hosts"], len(balance["hosts"])),
        ("rows", told["windows"], sums["rows"]),
        ("CPUs x time", told["cpus_x_time"], int(sums["cpus_x_time_ns"])),
        ("accounts", told["accounts_ns"], int(sums["accounts_ns"])),
        ("tasks + exited", told["used_ns"], int(sums["tasks_ns"]) + int(sums["exited_ns"] or 0)),
        ("charges", told["charged_ns"], int(sums["charges_ns"])),
    ]
    # Add the simulated sums and errors.
    everyone = made["hosts"]
    held += [
        ("rows made", sums["rows"], sum(host["rows"] for host in everyone)),
        ("rows made twice", sum(host["doubled_rows"] for host in balance["hosts"]), sum(host["doubled_rows"] for host in everyone)),
        ("gaps made", sum(host["gaps"]["count"] for host in balance["hosts"]), sum(host["gaps"] for host in everyone)),
        ("CPUs x time made", sums["cpus_x_time_ns"], sum(int(host["capacity_ns"]) for host in everyone)),
        ("waits made", sum(row[6] for row in answers["noisy_neighbours"][1]), sum(int(host["waited_ns"]) for host in everyone)),
    ]
    apart = [what for what, a, b in held if int(a) != b]
    report = DIRECTORY / "report.html"
    exactop("report", "--from", str(BOOKS), "--by", "unit", "--format", "html", "-o", str(report))
    print(f"\nThe report: {report.resolve()}")
    if apart:
        sys.exit(f"fleet-demo: different sums: {', '.join(apart)}")
    print("The simulated sums, DuckDB's sums and those of 'exactop fleet check' are equal, to the nanosecond.")
    if sys.argv[3:] == ["--open"]:
        show(report.resolve())


main()
