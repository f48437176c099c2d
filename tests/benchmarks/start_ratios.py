"""A function's first answer against a bare Flask application that inserts a row: cold starts."""

import json
import subprocess
import sys
import time
from pathlib import Path

from queuelog_core.stores.sqlite import SqliteStore
from tests.benchmarks.measuring import Ratio, compare
from tests.functions.events import http_event
from tests.support.factories import producer
from tests.support.http import ROOT
from tests.support.servers import environment

EVENT = http_event("POST", "/jobs", producer(), '{"type": "email", "payload": {}}')
OURS = """
from functions.enqueue import handler
"""
THEIRS = """
import sqlite3
import serverless_wsgi
from flask import Flask, request
app = Flask("bare")
connection = sqlite3.connect("bare.db", isolation_level=None)
@app.post("/jobs")
def answer():
    with connection:
        connection.execute("INSERT INTO jobs (payload) VALUES (?)", (request.get_data(),))
    return {"ok": True}, 201
def handler(event, context):
    return serverless_wsgi.handle_request(app, event, context)
"""
CALL = """
import json, os, sys
answer = handler(json.loads(sys.argv[1]), None)
assert answer["statusCode"] == 201, answer
os._exit(0)
"""


def measure(folder: Path) -> Ratio:
    """Milliseconds from the start of a process to its first answer, with which it ends at once."""
    SqliteStore(folder / "queuelog.db").close()
    make = 'import sqlite3; sqlite3.connect("bare.db").execute("CREATE TABLE jobs (payload)")'
    subprocess.run([sys.executable, "-c", make], cwd=folder, check=True)
    return compare(
        "first answer of a function / bare Flask + serverless_wsgi + INSERT",
        lambda: _milliseconds(folder, OURS + CALL),
        lambda: _milliseconds(folder, THEIRS + CALL),
        at_most=1.25,
        unit="ms",
    )


def _milliseconds(folder: Path, script: str) -> float:
    settings = environment(
        QUEUELOG_STORE=f"sqlite:///{folder}/queuelog.db",
        PYTHONPATH=str(ROOT),
        # As in a package that holds byte code: the first run, which is not measured, makes it.
        PYTHONPYCACHEPREFIX=str(folder / "byte-code"),
        PYTHONDONTWRITEBYTECODE="",
    )
    command = [sys.executable, "-c", script, json.dumps(EVENT)]
    started = time.perf_counter()
    subprocess.run(command, cwd=folder, env=settings, check=True, stderr=subprocess.DEVNULL)
    return (time.perf_counter() - started) * 1000
