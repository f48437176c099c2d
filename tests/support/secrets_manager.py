"""AWS Secrets Manager in this process, and clients whose calls can be caught on their way."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import boto3
from moto import mock_aws

from queuelog_core.clock import Clock
from queuelog_core.documents import compact
from queuelog_core.identity import KeyRecord, Role
from queuelog_core.job import Priority
from queuelog_core.key_registry import document_of
from queuelog_core.key_registry.secret import SecretRegistry
from tests.support.factories import FakeSeconds

NAME = "queuelog-test-keys"
REGION = "eu-west-1"
EMPTY = '{"version":1,"keys":[]}'
Around = Callable[..., Any]
"""Called with the method's name, the real call and its arguments; returns the answer."""


class Secret:
    """One secret, with as many registries before it as a test has operators and readers."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.seconds = FakeSeconds()
        self.client: Any = boto3.client("secretsmanager", region_name=REGION)
        self.client.create_secret(Name=NAME, SecretString=EMPTY)

    def registry(self, around: Around | None = None) -> SecretRegistry:
        client = Caught(self.client, around) if around else self.client
        return SecretRegistry(NAME, self.clock, self.seconds, client)

    @property
    def current(self) -> Any:
        """The version that readers get."""
        return self.client.get_secret_value(SecretId=NAME, VersionStage="AWSCURRENT")

    def put(self, **value: Any) -> None:
        """Make another value the current one. Without stages moto would leave two of them."""
        token = str(uuid.uuid4())
        self.client.put_secret_value(
            SecretId=NAME, ClientRequestToken=token, VersionStages=["put"], **value
        )
        self.client.update_secret_version_stage(
            SecretId=NAME,
            VersionStage="AWSCURRENT",
            RemoveFromVersionId=self.current["VersionId"],
            MoveToVersionId=token,
        )
        self.client.update_secret_version_stage(
            SecretId=NAME, VersionStage="put", RemoveFromVersionId=token
        )

    def fill(self, bytes_taken: int) -> None:
        """Put live keys into it, as many as these bytes hold; few, for most of them are long."""
        types = frozenset(f"type-{number:059}" for number in range(30))
        long, _ = self.registry().create(
            "w-000", Role.WORKER, priority_max=Priority.LOW, types=types
        )
        records: list[KeyRecord] = []
        for record in (long, long._replace(types=None)):
            room = bytes_taken - len(compact(document_of(records)))
            for _ in range(room // (len(compact(record.to_json())) + 1)):
                n = len(records)
                records.append(record._replace(id=f"key_{n:012}", name=f"w-{n:03}"))
        self.put(SecretString=compact(document_of(records)))

    def labels(self) -> list[str]:
        """All staging labels of all versions."""
        versions = self.client.describe_secret(SecretId=NAME)["VersionIdsToStages"]
        return sorted(label for labels in versions.values() for label in labels)


class Caught:
    """A client of boto3; every call of it goes through `around`."""

    def __init__(self, client: Any, around: Around) -> None:
        self.exceptions = client.exceptions
        self._client = client
        self._around = around

    def __getattr__(self, name: str) -> Any:
        return partial(self._around, name, getattr(self._client, name))


@contextmanager
def secret_of(clock: Clock) -> Iterator[Secret]:
    """A secret that holds no keys yet; nothing leaves this process."""
    with mock_aws():
        yield Secret(clock)


def is_move(name: str, arguments: Any) -> bool:
    """Whether a call makes another version the current one."""
    return name == "update_secret_version_stage" and arguments["VersionStage"] == "AWSCURRENT"
