"""Test crates/fleet/duckdb/rollout.sql on simulated fleets with a rollout on 5 % of the hosts. Without a change (A/A) it
must find nothing in 95 of 100 fleets. With a planted change it must find it in its first row, within its interval.

    rollouts.py SIMULATOR DIRECTORY RUNS PLANTED HOSTS [PCT_SLOWER]

Simulates RUNS fleets of HOSTS hosts without a change, and PLANTED fleets in which agent.service uses 20 % (PCT_SLOWER) more
in the second half. Each fleet is half an hour of one-minute windows. All begin at the same instant, so a seed always makes
the same fleet and the same result. One fleet per CPU runs at a time. Exit status 1 if the test fails.
"""

import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import duckdb

QUESTIONS = pathlib.Path(__file__).resolve().parent.parent / "duckdb"
PLANTED = ("agent.service", "agent")
# First seed of the fleets with a planted change; those of A/A are smaller.
SEEDS = 1000


def simulated(simulator, directory, seed, hosts, slower):
    """Simulate a fleet's books."""
    words = ["--hosts", hosts, "--hours", 0.5, "--window", 60, "--seed", seed, "--begin", "2026-01-01T00:00:00Z",
             "--regression", f"5,{slower}", "-o", directory]
    subprocess.run([simulator, "books", *map(str, words)], check=True, stdout=subprocess.DEVNULL)
    return json.loads((directory / "simulated.json").read_text())


def asked(directory, made):
    """Return the query's rows, by their titles."""
    given = {"books": str(directory), "since": "2025-12-31 00:00:00", "until": "2026-01-02 00:00:00",
             "rolled_out": made["rolled_out"].replace("T", " ").replace("Z", ""), "changed": made["changed"]}
    with duckdb.connect() as base:
        base.execute("SET threads = 1")
        for name, value in given.items():
            base.execute(f"SET VARIABLE {name} = '" + value.replace("'", "''") + "'")
        base.execute((QUESTIONS / "tables.sql").read_text())
        answer = base.execute((QUESTIONS / "rollout.sql").read_text())
        titles = [column[0] for column in answer.description]
        return [dict(zip(titles, row)) for row in answer.fetchall()]


def rollout(simulator, directory, seed, hosts, slower):
    """Return the rows for one fleet, and remove its books."""
    books = directory / str(seed)
    shutil.rmtree(books, ignore_errors=True)
    try:
        return seed, asked(books, simulated(simulator, books, seed, hosts, slower))
    finally:
        shutil.rmtree(books, ignore_errors=True)


def said(row):
    """Format a row."""
    return (f"{row['of_unit'] or '-'} {row['of_command']}: {row['verdict']}, {row['more_cpus']:+.4f} CPUs a host, "
            f"{row['from_cpus']:+.4f} to {row['to_cpus']:+.4f}, on {row['hosts']} hosts, not {row['others']}")


def main():
    simulator, directory = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    runs, planted, hosts = map(int, sys.argv[3:6])
    slower = sys.argv[6] if len(sys.argv) > 6 else "20"
    directory.mkdir(parents=True, exist_ok=True)
    begun, found, missed, wide = time.monotonic(), 0, 0, []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        def all_of(seeds, slower):
            return pool.map(lambda seed: rollout(simulator, directory, seed, hosts, slower), seeds)

        for seed, rows in all_of(range(1, 1 + runs), 0):
            certain = [row for row in rows if row["verdict"] != "nothing certain"]
            # Without rows the query found nothing because it had no data.
            found += bool(certain) or not rows
            print(f"A/A, seed {seed}, {len(rows)} groups: {said(certain[0]) if certain else 'nothing certain'}", flush=True)
        for seed, rows in all_of(range(SEEDS + 1, SEEDS + 1 + planted), slower):
            first = rows[0]
            missed += (first["of_unit"], first["of_command"], first["verdict"]) != (*PLANTED, "grew")
            wide.append((first["more_cpus"], first["from_cpus"], first["to_cpus"]))
            print(f"{slower} % planted, seed {seed}: {said(first)}", flush=True)
    print(f"A/A on 5 % of {hosts} hosts: nothing found in {runs - found} of {runs}")
    if wide:
        more, low, high = sorted(wide)[len(wide) // 2]
        print(f"{slower} % more planted: grew and first row in {planted - missed} of {planted}; the median is {more:.4f} CPUs "
              f"a host, {low:.4f} to {high:.4f} ({time.monotonic() - begun:.0f} s)")
    # The intervals allow 1 of 20, or a part of 20.
    if found > -(-runs // 20) or missed:
        sys.exit(f"fleet-rollouts: {found} of {runs} A/A fleets showed a change, {missed} of {planted} planted changes were not found")


if __name__ == "__main__":
    main()
