"""Make and check Grafana's dashboards of many machines (fleet/dashboards), from the queries of fleet/queries and the
recording rules of deploy/prometheus and fleet/prometheus.

    dashboards.py write             write both files
    dashboards.py check [DIRECTORY] check that both files are current and valid for Grafana's published models; with the
                                    store of engines.py in DIRECTORY, check that every panel gets rows

Needs grafana-foundation-sdk (the models) and, for a store, chdb.
"""

import datetime
import enum
import json
import pathlib
import re
import sys
import types
import typing

FLEET = pathlib.Path(__file__).resolve().parent.parent
CLICKHOUSE, PROMETHEUS = "grafana-clickhouse-datasource", "prometheus"

# Parameters of the queries: the dashboard's time, its variables, or a number.
GIVEN = {
    "since": "$__fromTime", "until": "$__toTime", "host": "${host:sqlstring}", "most": "${most}", "silent_s": "300",
    "least_queued": "4", "least_locked": "20", "times": "4", "changed": "${changed:sqlstring}",
    # Empty: the middle of the dashboard's time.
    "rolled_out": "if(${rolled_out:sqlstring} = '', toDateTime(intDiv(toUnixTimestamp($__fromTime) + "
                  "toUnixTimestamp($__toTime), 2), 'UTC'), parseDateTimeBestEffortOrZero(${rolled_out:sqlstring}, 'UTC'))",
}
# Queries over whole minutes or hours.
WHOLE = {"cost": "toStartOfHour", "noisy_neighbours": "toStartOfMinute", "top_over_time": "toStartOfMinute"}


def question(name):
    """SQL of a query file, with Grafana's variables for its parameters."""
    lines = (FLEET / "queries" / f"{name}.sql").read_text().splitlines()
    sql = "\n".join(line for line in lines if not line.lstrip().startswith("--"))

    def value(found):
        told = GIVEN[found[1]]
        whole = WHOLE.get(name)
        return f"{whole}(toTimeZone({told}, 'UTC'))" if whole and found[1] in ("since", "until") else told

    return re.sub(r"\{(\w+):[^}]*\}", value, sql)


def of(name, columns, more=""):
    """Select columns of a query's rows."""
    return f"SELECT\n    {columns}\nFROM\n(\n{question(name)}\n){more}"


# CPUs by account and minute; only for a graph, so it is not a query file.
ACCOUNTS = """SELECT minute AS time, account, toFloat64(sum(part)) / 6e10 AS cpus
FROM accounts_1m
ARRAY JOIN
    ['tasks', 'exited', 'unnamed', 'irq', 'steal', 'idle', 'offline', 'residual'] AS account,
    [toInt128(tasks_ns), if(exited_windows = 0, NULL, toInt128(exited_ns)), toInt128(unnamed_ns),
        if(irq_windows = 0, NULL, toInt128(irq_ns)), if(steal_windows = 0, NULL, toInt128(steal_ns)), toInt128(idle_ns),
        toInt128(offline_ns), residual_ns] AS part
WHERE minute >= toStartOfMinute($__fromTime) AND minute < toStartOfMinute($__toTime)
GROUP BY time, account
ORDER BY time, account"""

# Colour of a figure from a value on; the first colour is for all values below.
FINE, ANY, DIFFERS = ("green",), ("green", ("red", 1e-9)), ("red", ("green", -1e-6), ("red", 1e-6))
THERE = ("red", ("green", 1))
WHOLE_CPU = ("green", ("yellow", 1))


def from_on(warns, alarms=None):
    return ("green", ("yellow", warns), *([("red", alarms)] if alarms else []))


# Units of table columns by name; other columns are counts.
COLUMNS = [
    (r"%", "percent"), (r"CPU-hours", "suffix: CPU h"), (r", ns$", "ns"), (r", s$|^seconds$", "s"),
    (r"^CPUs more|^from$|^to$", "suffix: CPUs"),
]
# Columns with limits; the others have no colour.
LIMITS = {
    "accounts apart, ns": DIFFERS, "charges apart, ns": DIFFERS, "starved %": from_on(25, 50), "throttled %": from_on(10, 25),
    "silent, s": from_on(120, 300), "with residual": ANY, "missed switches": ANY, "inexact": from_on(1),
    "not by the ledger": from_on(1), "waiting": from_on(4), "on locks": from_on(20), "% of the fleet": from_on(10, 25),
    "% of all waits": from_on(10, 25),
    # A whole CPU for a day; CPUs of a host; half of all CPUs.
    "CPU-hours": from_on(24), "CPUs more, a host": from_on(0.1, 1), "%": from_on(50),
}

# Kind, title, description, size in 24ths and rows, query, unit, colours.
CLICKHOUSE_PANELS = [
    ("table", "Balance", "CPUs x time minus all accounts, and tasks + exited minus all charges. Both must be 0.", (24, 3), of(
        "balance", "hosts, windows, toFloat64(cpus_x_time) / 3.6e12 AS `CPU-hours`, toFloat64(used_ns) / 3.6e12 AS `used CPU-hours`,\n"
        "    toFloat64(toInt256(cpus_x_time) - accounts_ns) AS `accounts apart, ns`,\n"
        "    toFloat64(toInt256(used_ns) - charged_ns) AS `charges apart, ns`"), "short", FINE),
    ("timeseries", "CPU time by account", "All accounts sum up to the CPUs of the fleet.", (12, 9), ACCOUNTS, "suffix: CPUs", WHOLE_CPU),
    ("timeseries", "CPU time by group", "The largest groups over the whole time, and all others; the sum is the used time.", (12, 9), of(
        "top_over_time", "toDateTime(second, 'UTC') AS time, concat(of_namespace, ' ', of_container, ' ', of_unit, ' ', of_command) AS group,\n"
        "    toFloat64(ns) / 6e10 AS cpus", "\nORDER BY time, group"), "suffix: CPUs", WHOLE_CPU),
    ("table", "Largest groups", "By namespace, unit and command; the last row is all others.", (12, 9), of(
        "top_groups", "rank, of_namespace AS namespace, of_unit AS unit, of_command AS command, on_hosts AS hosts,\n"
        "    toFloat64(ns) / 3.6e12 AS `CPU-hours`, pct_of_fleet AS `% of the fleet`", "\nORDER BY rank"), "short", FINE),
    ("table", "Cost by team", "CPU-hours of whole hours, by the table teams. All rows sum up to CPUs x time.", (12, 9), of(
        "cost", "of_team AS team, of_namespace AS namespace, of_unit AS unit, cpu_hours AS `CPU-hours`",
        "\nORDER BY cpu_hours DESC, team, namespace, unit"), "short", FINE),
    ("table", "Starved and throttled", "Share of demand that waited for a CPU, or that a quota stopped.", (12, 9), of(
        "waiting_by_namespace", "namespace, container, toFloat64(ran) / 3.6e12 AS `CPU-hours`, starved_pct AS `starved %`,\n"
        "    throttled_pct AS `throttled %`, untold"), "short", FINE),
    ("table", "The herd", "Groups with many threads that wait for a CPU, few that run, and more that wait for locks.", (12, 9), of(
        "herd", "of_namespace AS namespace, of_unit AS unit, of_command AS command, on_host AS host, running, waiting,\n"
        "    on_locks AS `on locks`"), "short", FINE),
    ("table", "Noisy neighbours", "Groups that kept others off the CPU, steal and interrupts; and the group that waited for each "
     "most. The last row is all other waits.", (12, 9), of(
         "noisy_neighbours", "rank, of_kind AS kind, of_namespace AS namespace, of_unit AS unit, of_command AS command, on_hosts AS hosts,\n"
         "    toFloat64(ns) / 1e9 AS `others waited, s`, pct_of_waits AS `% of all waits`, most_namespace AS `most: namespace`,\n"
         "    most_unit AS `most: unit`, most_command AS `most: command`", "\nORDER BY rank"), "short", FINE),
    ("table", "Hosts in doubt", "Hosts with a residual, missed switches, no recent window, or a source with fewer figures.", (12, 9), of(
        "doubtful_hosts", "host, windows, silent_for_s AS `silent, s`, residual_windows AS `with residual`,\n"
        "    toFloat64(missed) AS `missed switches`, inexact, not_by_ledger AS `not by the ledger`, irq_untold AS `no irq`,\n"
        "    steal_untold AS `no steal`, waits_untold AS `no waits`"), "short", FINE),
    ("table", "Groups that grew since a rollout", "Change on hosts that match 'changed' since 'rolled out' (UTC; empty: the middle of the "
     "time shown), minus the change on the other hosts; 95 % confidence intervals over hosts.", (24, 9), of(
         "rollout", "of_namespace AS namespace, of_container AS container, of_unit AS unit, of_command AS command, verdict, more_cpus AS `CPUs more, a host`, from_cpus AS `from`,\n"
         "    to_cpus AS `to`, hosts, others"), "short", FINE),
    ("table", "Books of ${host}", "CPU time of the host by account.", (24, 9), of(
        "host_books", "account, toFloat64(ns) / 1e9 AS seconds, pct AS `%`"), "short", FINE),
]

WANTED = "group:exactop_cpu:rate5m"
PROMETHEUS_PANELS = [
    ("stat", "Hosts", "Scraped hosts.", (4, 5), "fleet:exactop_hosts:count", "short", THERE),
    ("stat", "CPUs", "CPUs of the scraped hosts.", (4, 5), "fleet:exactop_cpus:sum", "short", THERE),
    ("stat", "Residual", "CPUs x time minus all accounts, without signs, since the start of each daemon. Must be 0.", (5, 5),
     "fleet:exactop_residual_seconds:sum", "s", ANY),
    ("stat", "Groups minus tasks + exited", "Must be 0, apart from rounding.", (5, 5),
     'sum(fleet_group:exactop_cpu_seconds:sum) - sum(fleet:exactop_cpu_seconds:sum{account=~"tasks|exited"})', "s", DIFFERS),
    ("stat", "Hosts in doubt", "Hosts with inexact windows or a changed residual in the last hour.", (6, 5),
     "count((increase(exactop_inexact_windows_total[1h]) > 0) or (changes(exactop_residual_seconds[1h]) > 0)) or vector(0)", "short", from_on(1)),
    ("timeseries", "CPU time by account", "All accounts sum up to the CPUs of the fleet.", (12, 9),
     ("fleet:exactop_cpu:rate5m", "{{account}}"), "suffix: CPUs", WHOLE_CPU),
    ("timeseries", "CPU time by group", "The largest groups.", (12, 9),
     ("topk(${most}, fleet_group:exactop_cpu:rate5m)", "{{namespace}} {{unit}} {{command}}"), "suffix: CPUs", WHOLE_CPU),
    ("timeseries", "Threads that wait for a CPU", "Threads in run queues, by group.", (12, 9),
     ('topk(${most}, fleet_group_wait:exactop_wait:rate5m{wait="runqueue"})', "{{namespace}} {{unit}} {{command}}"), "suffix: threads", from_on(4)),
    ("timeseries", "Throttled threads", "Threads stopped by a quota, by group.", (12, 9),
     ('topk(${most}, fleet_group_wait:exactop_wait:rate5m{wait="throttled"})', "{{namespace}} {{unit}} {{command}}"), "suffix: threads", from_on(1)),
    ("timeseries", "Threads that wait for locks", "Threads at user-level locks, by group.", (12, 9),
     ('topk(${most}, fleet_group_wait:exactop_wait:rate5m{wait="lock"})', "{{namespace}} {{unit}} {{command}}"), "suffix: threads", from_on(20)),
    ("timeseries", "Hosts with the most steal", "Share of CPU time that the hypervisor took.", (12, 9),
     ('topk(${most}, account:exactop_cpu:share_rate5m{account="steal"})', "{{instance}}"), "percentunit", from_on(0.01, 0.05)),
    ("timeseries", "${instance}: accounts", "All accounts sum up to the CPUs of the host.", (12, 9),
     ('account:exactop_cpu:rate5m{instance=~"${instance:regex}"}', "{{account}}"), "suffix: CPUs", WHOLE_CPU),
    ("timeseries", "${instance}: groups", "The largest groups of the host.", (12, 9),
     (f'topk(${{most}}, {WANTED}{{instance=~"${{instance:regex}}"}})', "{{namespace}} {{pod}} {{unit}} {{command}}"), "suffix: CPUs", WHOLE_CPU),
    ("timeseries", "Delay of the store", "Time since the end of the last window in the store, by host.", (12, 9),
     ("topk(${most}, exactop_export_behind_seconds)", "{{instance}}"), "s", from_on(900, 1800)),
    ("timeseries", "Windows lost before sending", "Time of windows that logs removed before the store had them, in 5 minutes.", (12, 9),
     ("sum(increase(exactop_export_lost_seconds_total[5m])) or vector(0)", "lost"), "s", ANY),
]


def thresholds(colours):
    base, *steps = colours
    steps = [{"color": base, "value": None}, *({"color": colour, "value": value} for colour, value in steps)]
    return {"mode": "absolute", "steps": steps}


def columns(query):
    """Units and limits of a table's columns. A column's name is the text after the last AS of its cell, or the cell."""
    cells = re.split(r",\s*(?![^(]*\))", re.sub(r"`([^`]*)`", lambda name: "`" + name[1].replace(",", "\0") + "`",
                                                query.split("FROM\n(")[0].split("SELECT", 1)[1]))
    found = []
    for cell in cells:
        name = cell.split(" AS ")[-1].strip().strip("`").replace("\0", ",")
        properties = [{"id": "unit", "value": unit} for pattern, unit in COLUMNS if re.search(pattern, name)][:1]
        if name in LIMITS:
            properties += [{"id": "thresholds", "value": thresholds(LIMITS[name])},
                           {"id": "custom.cellOptions", "value": {"type": "color-text"}}]
        if properties:
            found.append({"matcher": {"id": "byName", "options": name}, "properties": properties})
    return found


def panel(kind, number, source, told, place):
    shape, title, says, size, query, unit, colours = told
    target = {"refId": "A", "datasource": {"type": kind, "uid": "${datasource}"}}
    if kind == CLICKHOUSE:
        over_time = shape == "timeseries"
        target |= {"editorType": "sql", "rawSql": query, "format": 0 if over_time else 1,
                   "queryType": "timeseries" if over_time else "table", "pluginVersion": "4.0.0"}
    else:
        expr, legend = query if isinstance(query, tuple) else (query, "")
        target |= {"expr": expr, "legendFormat": legend, "editorMode": "code", "instant": shape == "stat", "range": shape != "stat"}
    defaults = {"unit": unit, "thresholds": thresholds(colours)}
    options = {
        "table": {"showHeader": True},
        "stat": {"reduceOptions": {"calcs": ["lastNotNull"], "values": False}},
        "timeseries": {"legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
                       "tooltip": {"mode": "multi", "sort": "desc"}},
    }[shape]
    if shape == "timeseries":
        defaults["custom"] = {"fillOpacity": 40, "lineWidth": 1, "stacking": {"mode": "normal", "group": "A"}}
        # Draw a limit as a line.
        defaults["custom"]["thresholdsStyle"] = {"mode": "off" if colours == WHOLE_CPU else "dashed"}
    x, y = place
    return {
        "id": number, "type": shape, "title": title, "description": says,
        "datasource": {"type": kind, "uid": "${datasource}"}, "gridPos": {"x": x, "y": y, "w": size[0], "h": size[1]},
        "fieldConfig": {"defaults": defaults, "overrides": columns(query) if shape == "table" else []}, "options": options, "targets": [target],
    }


def variable(kind, name, label, query, **more):
    return {"type": kind, "name": name, "label": label, "query": query, "hide": 0, "skipUrlSync": False} | more


def variables(kind):
    typed = {
        "datasource": variable("datasource", "datasource", "Source", kind, refresh=1),
        "most": variable("custom", "most", "Rows", "5,10,20,50", current={"text": "10", "value": "10", "selected": True},
                         options=[{"text": n, "value": n, "selected": n == "10"} for n in ("5", "10", "20", "50")]),
    }
    source = {"type": kind, "uid": "${datasource}"}
    if kind == PROMETHEUS:
        asked = {"query": "label_values(exactop_cpus, instance)", "refId": "instances"}
        return [*typed.values(), variable("query", "instance", "Host", asked, datasource=source, refresh=2, sort=1)]
    hosts = ("SELECT DISTINCT host FROM accounts_1h WHERE hour >= toStartOfHour($__fromTime) AND hour <= $__toTime "
             "ORDER BY host")
    return [
        *typed.values(), variable("query", "host", "Host", hosts, datasource=source, refresh=2, sort=1),
        variable("textbox", "changed", "Changed", "-next$"), variable("textbox", "rolled_out", "Rolled out", ""),
    ]


def dashboard(kind, uid, title, told):
    panels, x, y, high = [], 0, 0, 0
    for number, one in enumerate(told, 1):
        wide, rows = one[3]
        if x + wide > 24:
            x, y, high = 0, y + high, 0
        panels.append(panel(kind, number, title, one, (x, y)))
        x, high = x + wide, max(high, rows)
    return {
        "uid": uid, "title": title, "description": "CPU time of many machines (exactop, docs/how-to/fleet.md).",
        "tags": ["exactop"], "timezone": "utc", "editable": True, "graphTooltip": 1, "schemaVersion": 38, "version": 1,
        "refresh": "1m", "time": {"from": "now-6h", "to": "now"}, "templating": {"list": variables(kind)},
        "annotations": {"list": []}, "links": [], "panels": panels,
    }


MADE = {
    "clickhouse.json": (CLICKHOUSE, "exactop-fleet-clickhouse", "exactop: the fleet's books", CLICKHOUSE_PANELS),
    "prometheus.json": (PROMETHEUS, "exactop-fleet-prometheus", "exactop: the fleet", PROMETHEUS_PANELS),
}


def text(name):
    return json.dumps(dashboard(*MADE[name]), indent=1, ensure_ascii=False) + "\n"


# Check against Grafana's models. They accept values unchecked, and drop fields that they do not know.


def lost(given, kept, path):
    """List values of one object that the other lacks."""
    if isinstance(given, dict) and isinstance(kept, dict):
        return [found for key in given for found in (
            lost(given[key], kept[key], f"{path}.{key}") if key in kept else [f"{path}.{key}: unknown field"])]
    if isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        return [found for at, (a, b) in enumerate(zip(given, kept)) for found in lost(a, b, f"{path}[{at}]")]
    return [] if given == kept else [f"{path}: {given!r} became {kept!r}"]


def plain(value):
    from grafana_foundation_sdk.cog.encoder import JSONEncoder

    return json.loads(JSONEncoder().encode(value))


def fits(value, hint, path):
    """List values that do not fit their model."""
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if hint in (typing.Any, object) or isinstance(hint, typing.TypeVar):
        return []
    if origin in (typing.Union, types.UnionType):
        tries = [fits(value, one, path) for one in inside]
        return min(tries, key=len)
    if origin is typing.Literal:
        return [] if value in inside else [f"{path}: {value!r}, not one of {inside}"]
    if origin is list:
        if not isinstance(value, list):
            return [f"{path}: not a list"]
        return [found for at, one in enumerate(value) for found in fits(one, inside[0], f"{path}[{at}]")]
    if origin is dict:
        return [] if isinstance(value, dict) else [f"{path}: not an object"]
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        known = [one.value for one in hint]
        return [] if value in known else [f"{path}: {value!r}, not one of {known}"]
    if hint in (int, float):
        right = isinstance(value, (int, float) if hint is float else int) and not isinstance(value, bool)
        return [] if right else [f"{path}: {value!r} is not a number"]
    if hint in (str, bool, type(None)):
        return [] if isinstance(value, hint) else [f"{path}: {value!r} is not {hint.__name__}"]
    return modelled(value, hint, path)


def modelled(value, model, path):
    """Do the same for a class of the models; a plain object is parsed by the class first."""
    found = []
    if isinstance(value, dict):
        if not hasattr(model, "from_json"):
            return [f"{path}: an object"]
        made = model.from_json(value)
        found, value = lost(value, plain(made), path), made
    if not hasattr(value, "to_json"):
        return [f"{path}: {value!r} is not {model.__name__}"]
    kind = type(value)
    hints = typing.get_type_hints(kind, vars(sys.modules[kind.__module__])) if "data" not in vars(value) else {}
    for name, hint in hints.items():
        if (held := getattr(value, name, None)) is not None:
            found += fits(held, hint, f"{path}.{name}")
    return found


def panels_fit(told, path):
    """Check options and custom fields, which have a model for each kind of panel."""
    from grafana_foundation_sdk.models import stat, table, timeseries

    theirs = {"stat": stat, "table": table, "timeseries": timeseries}[told["type"]]
    found = modelled(told["options"], theirs.Options, f"{path}.options")
    custom = told["fieldConfig"]["defaults"].get("custom")
    return found + (modelled(custom, theirs.FieldConfig, f"{path}.custom") if custom else [])


def valid(told):
    from grafana_foundation_sdk.cog.plugins import register_default_plugins
    from grafana_foundation_sdk.models.dashboard import Dashboard

    register_default_plugins()
    found = modelled(told, Dashboard, "dashboard")
    for at, one in enumerate(told["panels"]):
        found += panels_fit(one, f"panels[{at}]")
        place = one["gridPos"]
        if not found and place["x"] + place["w"] > 24:
            found.append(f"panels[{at}] is too wide")
    numbers = [one["id"] for one in told["panels"]]
    return found + (["two panels of one id"] if len(set(numbers)) != len(numbers) else [])


# Fill in a query like Grafana: macros of the plugin, then variables.


def filled(sql, values, begins, ends):
    for name, at in (("$__fromTime", begins), ("$__toTime", ends)):
        sql = sql.replace(name, f"toDateTime({at})")
    for name, value in values.items():
        sql = sql.replace(f"${{{name}:sqlstring}}", "'" + value.replace("'", "''") + "'").replace(f"${{{name}}}", value)
    return sql


def answered(directory):
    """Run every panel's query on the store; list panels without rows and unknown variables."""
    from chdb import session as chdb

    made = json.loads((directory / "books" / "simulated.json").read_text())

    def second(told, hours):
        return int(datetime.datetime.fromisoformat(told.replace("Z", "+00:00")).timestamp()) // 3600 * 3600 + hours * 3600

    begins, ends = second(made["begins"], -1), second(made["ends"], 2)
    values = {"host": made["hosts"][0]["host"], "most": "5", "changed": made["changed"],
              "rolled_out": made["rolled_out"].replace("T", " ").replace("Z", "")}
    base, wrong = chdb.Session(str(directory / "store")), []
    base.query("USE exactop")

    def rows(sql):
        told = base.query(sql, "JSONCompactEachRow").bytes().decode()
        return [json.loads(line) for line in told.splitlines()]

    told = json.loads((FLEET / "dashboards" / "clickhouse.json").read_text())
    for one in told["panels"]:
        sql = filled(one["targets"][0]["rawSql"], values, begins, ends)
        if "$" in sql.replace(values["changed"], ""):
            wrong.append(f"{one['title']}: {re.search(r'[$].{0,20}', sql)[0]} is unknown")
        answer = rows(sql)
        print(f"  {one['title']}: {len(answer)} rows")
        # No herd if fewer than 4 threads queue or fewer than 20 wait for locks.
        if not answer and one["title"] != "The herd":
            wrong.append(f"{one['title']}: no rows")
        if one["title"] == "Balance" and answer[0][-2:] != [0, 0]:
            wrong.append(f"accounts and charges are apart: {answer[0]}")
    # An empty value means the middle; that need not have rows.
    rows(filled(told["panels"][-2]["targets"][0]["rawSql"], values | {"rolled_out": ""}, begins, ends))
    hosts = next(one for one in told["templating"]["list"] if one["name"] == "host")
    if len(rows(filled(hosts["query"], values, begins, ends))) != len(made["hosts"]):
        wrong.append("the list of hosts is wrong")
    # CPUs by account and minute sum up to CPUs x time.
    by_minute = sum(row[2] for row in rows(filled(ACCOUNTS, values, begins, ends))) * 6e10
    capacity = sum(int(host["capacity_ns"]) for host in made["hosts"])
    if abs(by_minute - capacity) > 1e-9 * capacity:
        wrong.append(f"accounts over time: {by_minute}, not {capacity}")
    base.close()
    return wrong


def main():
    word, *more = sys.argv[1:] or ["check"]
    if word == "write":
        for name in MADE:
            (FLEET / "dashboards" / name).write_text(text(name))
        return
    wrong = []
    for name in MADE:
        file = FLEET / "dashboards" / name
        if file.read_text() != text(name):
            wrong.append(f"{name} is not current: run dashboards.py write")
        wrong += [f"{name}: {found}" for found in valid(json.loads(file.read_text()))]
    wrong += answered(pathlib.Path(more[0]).resolve()) if more else []
    if wrong:
        sys.exit("fleet-dashboards: " + "\n".join(wrong))
    print("Both dashboards are valid" + (", and every ClickHouse panel has rows." if more else "."))


if __name__ == "__main__":
    main()
