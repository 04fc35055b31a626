"""ClickHouse's HTTP port with ClickHouse's engine behind it (chdb), on a database on disk. Requests run as on a
server. A POST to /fail sets how the next INSERTs fail.

    server.py DIRECTORY SCHEMA      print the port and serve until stdin ends
"""

import http.server
import os
import sys
import tempfile
import threading
import urllib.parse

from chdb import session as chdb

DIRECTORY, SCHEMA = sys.argv[1:3]
ENGINE = chdb.Session(DIRECTORY)
# Parameters of a request that are not settings of the query.
OURS = {"query", "database", "wait_end_of_query"}
# Failures of the next INSERTs: "lose:accounts" runs it and closes the connection, "refuse:accounts" does not run it,
# "double:charges" runs it twice.
FAILS = []


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def ask(sql):
    return ENGINE.query(sql, "TSV").bytes()


def insert(sql, settings, body):
    """Run INSERT INTO table (columns) FORMAT Parquet, with the rows in a file."""
    into, form = sql.rsplit(" FORMAT ", 1)
    with tempfile.NamedTemporaryFile(suffix=".parquet", dir=DIRECTORY) as file:
        file.write(body)
        file.flush()
        with_settings = ", ".join(f"{name} = {quoted(value)}" for name, value in settings)
        ask(f"{into} FROM INFILE {quoted(file.name)} SETTINGS {with_settings} FORMAT {form}")


def carry_out(given, body):
    ask(f"USE {given.get('database', 'default')}")
    settings = [(name, value) for name, value in given.items() if name not in OURS and not name.startswith("param_")]
    if "query" in given:
        return insert(given["query"], settings, body) or b""
    for name, value in given.items():
        # Like a server, the engine reads the value as tab-separated.
        if name.startswith("param_"):
            ask(f"SET {name} = {quoted(value)}")
    sql = body.decode()
    form = sql.rsplit(" FORMAT ", 1)
    return ENGINE.query(form[0], form[1] if len(form) > 1 else "TSV").bytes()


class Port(http.server.BaseHTTPRequestHandler):
    # One request per connection: the engine runs them one by one.
    protocol_version = "HTTP/1.0"

    def do_POST(self):
        url = urllib.parse.urlsplit(self.path)
        given = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if url.path == "/fail":
            FAILS[:] = body.decode().split()
            return self.answer(200, b"")
        deed = None
        if given.get("query", "").startswith("INSERT"):
            table = given["query"].split()[2]
            if FAILS and FAILS[0].endswith(":" + table):
                deed = FAILS.pop(0).split(":")[0]
        try:
            if deed == "refuse":
                return self.answer(400, b"Code: 1. DB::Exception: refused by the test", 1)
            out = carry_out(given, body)
            if deed == "double":
                carry_out(given, body)
            if deed == "lose":
                return None
            self.answer(200, out)
        except Exception as error:  # any error of the engine
            text = str(error)
            code = text.split("Code: ", 1)[1].split(".", 1)[0] if "Code: " in text else "1001"
            self.answer(500, text.encode(), code)

    def answer(self, status, body, code=None):
        self.send_response(status)
        if code is not None:
            self.send_header("X-ClickHouse-Exception-Code", str(code))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def statements(text):
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("--")]
    return [sql for sql in "\n".join(lines).split(";") if sql.strip()]


for statement in statements(open(SCHEMA).read()):
    ask(statement)
server = http.server.HTTPServer(("127.0.0.1", 0), Port)
print(server.server_address[1], flush=True)
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
server.serve_forever()
