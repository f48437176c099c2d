"""Clients of the application in this process, one for each key of tests.support.http."""

from datetime import UTC, datetime

from queuelog_core.client import Client
from queuelog_core.http.in_process import in_process
from tests.client.scripted import Pauses
from tests.support.http import Api

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
"""Where tests.support.factories.FakeClock starts."""


class Clients:
    """`clients["producer"]` is a client with that key; all share `pauses`, which take no time."""

    def __init__(self, api: Api) -> None:
        self.pauses = Pauses()
        self._transport = in_process(api.client.application)

    def __getitem__(self, key: str) -> Client:
        return Client(key=key, transport=self._transport, patience=self.pauses.patience())
