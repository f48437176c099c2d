"""An emulator of AWS on loopback, and this stack deployed to it by `make deploy`'s own script."""

import copy
import http.client
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.support.http import ROOT
from tests.support.ministack import started
from tests.support.offline import end_all_of
from tests.support.servers import Server, environment, eventually

STAGE, REGION = "emulated", "eu-west-1"
RUNTIME = f"python{sys.version_info[0]}.{sys.version_info[1]}"
START_SECONDS = 30.0
DEPLOY_SECONDS = 180.0
_ADMIN_KEY = re.compile(r"^  (ql_admin_\w+)$", re.MULTILINE)


class Cloud:
    """An emulator that runs, and a stage there. `port` answers for all services and for the
    deployed APIs."""

    def __init__(self, server: Server, port: int, drain_port: int) -> None:
        self.server = server
        self.port = port
        self.folder = server.folder
        self.stage = STAGE
        self._parameters = {
            "store": f"sqlite:///{self.folder}/queuelog.db",
            "backups": f"{self.folder}/backups",
        }
        self._drain_port = drain_port

    def beside(self, stage: str, **parameters: str) -> "Cloud":
        """Another stage on the same emulator, whose jobs do not lie in a file here."""
        twin = copy.copy(self)
        twin.stage, twin._parameters = stage, parameters
        return twin

    def client(self, service: str) -> Any:
        """A boto3 client of this emulator alone, to be closed."""
        import boto3

        return boto3.client(service, region_name=REGION, **self._credentials())

    def _credentials(self) -> dict[str, str]:
        return {
            "endpoint_url": f"http://127.0.0.1:{self.port}",
            "aws_access_key_id": "test",
            "aws_secret_access_key": "test",
        }

    def deploy(self, *options: str) -> str:
        """Deploy the stage with its files in this folder, and return what was printed."""
        done = self.try_to_deploy(*options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def try_to_deploy(self, *options: str) -> "subprocess.CompletedProcess[str]":
        """The same, also where it is refused. Options may be parameters too."""
        parameters = {
            "runtime": RUNTIME,
            "drainFolder": f"{self.folder}/drain",
            "drainUrl": f"http://127.0.0.1:{self._drain_port}",
            **self._parameters,
        }
        kept = {name: value for name, value in environment().items() if not name.startswith("AWS_")}
        credentials = {name.upper(): value for name, value in self._credentials().items()}
        return subprocess.run(
            [
                *(sys.executable, "-m", "scripts.deploy", self.stage, "--region", REGION),
                *(f"{name}={value}" for name, value in parameters.items()),
                *options,
            ],
            cwd=ROOT,
            env={
                **kept,
                **credentials,
                "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
                "QUEUELOG_BUILD": f"{self.folder}/build",
            },
            capture_output=True,
            text=True,
            timeout=DEPLOY_SECONDS,
            check=False,
        )

    @property
    def host(self) -> str:
        """The deployed API's own name, by which the emulator knows it among all services."""
        with closing(self.client("apigatewayv2")) as gateway:
            apis = {each["Name"]: each for each in gateway.get_apis()["Items"]}
        api = apis[f"{self.stage}-queuelog"]
        return f"{api['ApiId']}.execute-api.127.0.0.1:{self.port}"

    def stop_schedules(self) -> None:
        """From here on functions run only when they are called."""
        with closing(self.client("events")) as events:
            for rule in events.list_rules()["Rules"]:
                events.disable_rule(Name=rule["Name"])

    def invoke(self, function: str, event: bytes) -> Any:
        """What a scheduled function returns."""
        with closing(self.client("lambda")) as functions:
            name = f"queuelog-{self.stage}-{function}"
            reply = functions.invoke(FunctionName=name, Payload=event)
            assert "FunctionError" not in reply, reply
            return json.loads(reply["Payload"].read())

    def stop(self) -> None:
        """End the emulator and then its functions, which wait for more work a while longer."""
        if self.server.process.poll() is None:
            self.server.stop()
        end_all_of(self.server.process.pid)


def admin_key_in(printed: str) -> str | None:
    """The first admin key, as a deployment prints it."""
    found = _ADMIN_KEY.search(printed)
    return found and found.group(1)


@contextmanager
def cloud(folder: Path) -> Iterator[Cloud]:
    """MiniStack, with nothing deployed yet; what the drain calls leads to the API deployed last."""
    settings = {
        "MINISTACK_HOST": "127.0.0.1",
        "MINISTACK_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "LAMBDA_EXECUTOR": "local",
    }
    with started(folder, **settings) as (server, port), _Passage.open() as passage:
        emulator = Cloud(server, port, passage.server_port)
        passage.cloud = emulator
        try:
            eventually(lambda: _is_ready(server, port), "the emulator answers", START_SECONDS)
            yield emulator
        finally:
            emulator.stop()


def _is_ready(server: Server, port: int) -> bool:
    assert server.process.poll() is None, server.log
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
        try:
            connection.request("GET", "/_localstack/health")
            return connection.getresponse().status == 200
        except OSError:
            return False


class _Passage(ThreadingHTTPServer):
    """An address without a name for the deployed API: its own name is none that resolves."""

    daemon_threads = True
    cloud: Cloud

    @classmethod
    @contextmanager
    def open(cls) -> "Iterator[_Passage]":
        passage = cls(("127.0.0.1", 0), _PassOn)
        thread = threading.Thread(target=passage.serve_forever, daemon=True)
        thread.start()
        yield passage
        passage.shutdown()
        passage.server_close()
        thread.join()


class _PassOn(BaseHTTPRequestHandler):
    server: _Passage

    def do_GET(self) -> None:
        emulator = self.server.cloud
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
        connection = http.client.HTTPConnection("127.0.0.1", emulator.port, timeout=60)
        with closing(connection):
            host = {"Host": emulator.host}
            connection.request(self.command, self.path, body, {**headers, **host})
            reply = connection.getresponse()
            told = reply.read()
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        """Nobody reads these."""
