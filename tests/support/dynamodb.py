"""Engines that speak DynamoDB: moto in this process, dynalite in one of its own.

moto is for one caller at a time: it checks a condition and writes in two steps. Here one lock makes
them one, which costs nothing as long as all callers are threads of this process.
"""

import functools
import itertools
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError

from queuelog_core.stores.dynamodb import DynamoDBStore
from queuelog_core.stores.dynamodb_client import Client, connect
from queuelog_core.stores.dynamodb_schema import create_table
from tests.support.dynamodb_wire import WireClient
from tests.support.http import ROOT
from tests.support.ministack import started
from tests.support.offline import free_ports
from tests.support.servers import Server, environment, eventually, running

REGION = "eu-west-1"
DYNALITE = ROOT / "node_modules" / "dynalite"
_SERVE = """
// It throws when a caller is killed in the middle of a request. DynamoDB takes no notice of that.
process.on('uncaughtException', (error) => { if (error.code !== 'ECONNRESET') throw error })
const [folder, port] = process.argv.slice(1)
const server = require(folder)({ createTableMs: 0, deleteTableMs: 0 })
server.keepAliveTimeout = 0
server.listen(Number(port), '127.0.0.1')
"""
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
START_SECONDS = 30.0
READS = frozenset({"get_item", "batch_get_item", "query"})
WRITES = frozenset({"put_item", "update_item", "delete_item", "batch_write_item"})
_tables = itertools.count(1)


class Kept:
    """A client that stores may close and that stays open."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def close(self) -> None:
        """Others use it too."""


class OneAtATime(Kept):
    """One whose calls wait for each other."""

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self._lock = threading.RLock()

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._client, name)

        def locked(*given: Any, **named: Any) -> Any:
            with self._lock:
                return call(*given, **named)

        return locked


class Engine:
    """Something that speaks DynamoDB, and the client that asks it. `endpoint` None: moto, in this
    process."""

    def __init__(self, client: Kept, endpoint: str | None = None) -> None:
        self._client = client
        self.endpoint = endpoint

    def connect(self) -> Kept:
        """The client, always the same: to make one takes longer than most tests."""
        return self._client

    def make_table(self) -> str:
        """A new and empty table."""
        name = f"queuelog-{next(_tables)}"
        create_table(Client(self.connect), name)
        return name

    def open(self, table: str, shards: int = 1, client: Any = None) -> DynamoDBStore:
        """A store whose ids count from one, as those of a new file do; over this client, if any."""
        ids = itertools.count(1)
        asked = Client(lambda: client or self.connect())
        return DynamoDBStore(asked, table, shards, ids=lambda: next(ids))

    def open_new(self, *, counted: bool = True) -> DynamoDBStore:
        """A store on a table that is made at the first call: many a test never makes one. Unless
        ids are `counted`, they are as everywhere."""
        ids = functools.partial(next, itertools.count(1)) if counted else None
        name = f"queuelog-{next(_tables)}"

        def make_and_connect() -> Any:
            create_table(Client(self.connect), name)
            return self.connect()

        made = functools.cache(make_and_connect)
        return DynamoDBStore(Client(made), name, ids=ids)

    def url(self, table: str, shards: int = 1) -> str:
        """The address by which another process opens the table."""
        return f"dynamodb://{table}?region={REGION}&endpoint={self.endpoint}&shards={shards}"


@contextmanager
def moto() -> Iterator[Engine]:
    """DynamoDB in this process, empty."""
    from moto import mock_aws

    with mock_aws():
        yield Engine(OneAtATime(connect(REGION, None)))


@contextmanager
def dynalite(folder: Path) -> Iterator[Engine]:
    """DynamoDB as a process, in memory."""
    assert DYNALITE.exists(), "npm ci brings dynalite"
    port = free_ports(1)
    command = ["node", "-e", _SERVE, str(DYNALITE), str(port)]
    with running(command, folder, environment()) as server:
        endpoint = f"http://127.0.0.1:{port}"
        with closing(WireClient(endpoint)) as client:
            yield _when_it_answers(server, Engine(Kept(client), endpoint))
        server.stop()


def _when_it_answers(server: Server, engine: Engine) -> Engine:
    def answers() -> bool:
        assert server.process.poll() is None, server.log
        try:
            engine.connect().list_tables()
        except BotoCoreError:
            return False
        return True

    eventually(answers, "the engine answers", START_SECONDS)
    return engine


@contextmanager
def ministack(folder: Path) -> Iterator[Engine]:
    """DynamoDB as a process that counts request units as AWS does."""
    settings = {"SERVICES": "dynamodb", "SFTP_ENABLED": "0", "IOT_MTLS_ENABLED": "0"}
    with started(folder, **settings) as (server, port):
        endpoint = f"http://127.0.0.1:{port}"
        engine = Engine(Kept(connect(REGION, endpoint)), endpoint)
        yield _when_it_answers(server, engine)
        server.stop()


class Metered(Kept):
    """A client that adds up the request units of its calls."""

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self.read = self.written = 0.0
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if name not in READS | WRITES:
            return method

        def call(**request: Any) -> Any:
            answer = method(ReturnConsumedCapacity="TOTAL", **request)
            told = answer.get("ConsumedCapacity") or []
            units = sum(
                one["CapacityUnits"] for one in (told if isinstance(told, list) else [told])
            )
            with self._lock:
                self.read += units if name in READS else 0
                self.written += units if name in WRITES else 0
            return answer

        return call
