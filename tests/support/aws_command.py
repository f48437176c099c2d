"""A stand-in for the AWS CLI, which the tests do not install: it reads a command line by botocore's
model of the service, as the real one does, and calls an emulator."""

import base64
import json
import socketserver
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

GENERAL_OPTIONS = ("--cli-binary-format", "--cli-read-timeout")
_TICK_SECONDS = 0.02
# Without site-packages it starts at once; a document may call it thirty times.
_COMMAND = """#!{python} -IS
import json, socket, sys
with socket.create_connection(("127.0.0.1", {port})) as connection, connection.makefile("rw") as it:
    it.write(json.dumps(sys.argv[1:]) + "\\n")
    it.flush()
    complaint = json.loads(it.readline())
sys.exit(complaint)
"""


@contextmanager
def aws_command(folder: Path, client: Callable[[str], Any]) -> Iterator[Path]:
    """A folder for PATH with `aws` in it. `client` makes a boto3 client of a service; files that a
    command names lie in `folder`."""
    with _Commands(("127.0.0.1", 0), _Command) as commands:
        commands.folder, commands.client = folder, client
        threading.Thread(target=commands.serve_forever, args=(_TICK_SECONDS,), daemon=True).start()
        command = folder / "bin" / "aws"
        command.parent.mkdir()
        port = commands.server_address[1]
        command.write_text(_COMMAND.format(python=sys.executable, port=port), "utf-8")
        command.chmod(0o700)
        yield command.parent
        commands.shutdown()


def run(words: list[str], folder: Path, client: Callable[[str], Any]) -> None:
    """One command, without the word `aws`. Raises ValueError, KeyError or botocore's own errors for
    what the AWS CLI would refuse."""
    from botocore import xform_name

    service, name, *rest = words
    caller = client(service)
    try:
        waiter = caller.get_waiter(rest.pop(0).replace("-", "_")) if name == "wait" else None
        operation = waiter.config.operation if waiter else _operation(caller, name)
        model = caller.meta.service_model.operation_model(operation)
        options, files = _options_and_files(rest)
        general = {name: options.pop(name) for name in GENERAL_OPTIONS if name in options}
        members = model.input_shape.members.items()
        known = {f"--{xform_name(member, '-')}": (member, shape) for member, shape in members}
        asked = {
            known[option][0]: _value(known[option][1], text, general)
            for option, text in options.items()
        }
        if len(files) != model.has_streaming_output:
            raise ValueError(f"{files} are not the files to write")
        reply = waiter.wait(**asked) if waiter else getattr(caller, xform_name(operation))(**asked)
        for path in files:
            stream = reply[model.output_shape.serialization["payload"]]
            (folder / path).write_bytes(stream.read())
    finally:
        caller.close()


def _operation(caller: Any, name: str) -> str:
    operation: str = caller.meta.method_to_api_mapping[name.replace("-", "_")]
    return operation


def _options_and_files(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """An option without a value is a switch."""
    options, files = {}, []
    left = list(words)
    while left:
        word = left.pop(0)
        if word.startswith("--"):
            options[word] = left.pop(0) if left and not left[0].startswith("--") else "true"
        else:
            files.append(word)
    return options, files


def _value(shape: Any, text: str, general: dict[str, str]) -> Any:
    """Version 2 takes what is binary as base64 unless it is told otherwise."""
    if shape.type_name == "integer":
        return int(text)
    if shape.type_name == "boolean":
        return {"true": True, "false": False}[text]
    if shape.type_name == "structure":
        pairs = (pair.split("=") for pair in text.split(","))
        return {name: _value(shape.members[name], part, general) for name, part in pairs}
    if shape.type_name != "blob":
        return text
    is_raw = general.get("--cli-binary-format") == "raw-in-base64-out"
    return text.encode() if is_raw else base64.b64decode(text, validate=True)


class _Commands(socketserver.ThreadingTCPServer):
    daemon_threads = True
    folder: Path
    client: Callable[[str], Any]


class _Command(socketserver.StreamRequestHandler):
    server: _Commands

    def handle(self) -> None:
        complaint = None
        try:
            run(json.loads(self.rfile.readline()), self.server.folder, self.server.client)
        except Exception as error:
            complaint = f"aws: {type(error).__name__}: {error}"
        self.wfile.write(json.dumps(complaint).encode() + b"\n")
