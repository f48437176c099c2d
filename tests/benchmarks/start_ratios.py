"""Cold starts: a function's first answer, and an authorizer's, against that of a bare Flask
application that inserts a row."""

import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from queuelog_core.identity import Role
from queuelog_core.stores.sqlite import SqliteStore
from tests.benchmarks.measuring import Ratio, compare
from tests.functions.events import http_event
from tests.support.factories import producer
from tests.support.http import ROOT
from tests.support.servers import environment, make_key

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
AUTHORIZER = """
import json, os, sys
from functions.authorize import producer
answer = producer(json.loads(sys.argv[1]), None)
assert answer["isAuthorized"] is True, answer
os._exit(0)
"""
CALL = """
import json, os, sys
answer = handler(json.loads(sys.argv[1]), None)
assert answer["statusCode"] == 201, answer
os._exit(0)
"""


def measure(folder: Path) -> list[Ratio]:
    """Milliseconds from the start of a process to its first answer, with which it ends at once."""
    SqliteStore(folder / "queuelog.db").close()
    make = 'import sqlite3; sqlite3.connect("bare.db").execute("CREATE TABLE jobs (payload)")'
    subprocess.run([sys.executable, "-c", make], cwd=folder, check=True)
    asked = {"identitySource": [make_key(folder, "shop", Role.PRODUCER)]}
    bare = partial(_milliseconds, folder, THEIRS + CALL, EVENT)
    return [
        compare(
            "first answer of a function / bare Flask + serverless_wsgi + INSERT",
            partial(_milliseconds, folder, OURS + CALL, EVENT),
            bare,
            at_most=1.25,
            unit="ms",
        ),
        compare(
            "first answer of an authorizer / the same",
            partial(_milliseconds, folder, AUTHORIZER, asked),
            bare,
            at_most=0.4,
            unit="ms",
        ),
    ]


def _milliseconds(folder: Path, script: str, event: Any) -> float:
    settings = environment(
        QUEUELOG_STORE=f"sqlite:///{folder}/queuelog.db",
        QUEUELOG_KEYS=f"file:{folder}/.queuelog/keys.json",
        PYTHONPATH=str(ROOT),
        # As in a package that holds byte code: the first run, which is not measured, makes it.
        PYTHONPYCACHEPREFIX=str(folder / "byte-code"),
        PYTHONDONTWRITEBYTECODE="",
    )
    command = [sys.executable, "-c", script, json.dumps(event)]
    started = time.perf_counter()
    subprocess.run(command, cwd=folder, env=settings, check=True, stderr=subprocess.DEVNULL)
    return (time.perf_counter() - started) * 1000
