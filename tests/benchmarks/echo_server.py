"""A Flask application that echoes JSON, behind waitress as `queuelog serve` sets it up."""

import sys
from typing import Any

from flask import Flask, request
from waitress.server import create_server

from queuelog_core.serve import THREADS

app = Flask("echo")


@app.post("/jobs")
def echo() -> Any:
    return request.get_json(), 201


@app.get("/health")
def health() -> Any:
    return {"status": "ok"}


def main() -> None:
    server: Any = create_server(
        app, host="127.0.0.1", port=0, threads=THREADS, asyncore_use_poll=True, ident="echo"
    )
    sys.stdout.write(f"serves http://127.0.0.1:{server.effective_port}\n")
    sys.stdout.flush()
    server.run()


if __name__ == "__main__":
    main()
