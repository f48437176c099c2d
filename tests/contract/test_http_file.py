"""examples/queuelog.http shows every route, and works from top to bottom."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from queuelog_core.http.routes import ROUTES
from queuelog_core.identity import Role
from tests.contract.http_file import Sent, send_all
from tests.support.http import ROOT
from tests.support.servers import make_key, serving

TEXT = (ROOT / "examples" / "queuelog.http").read_text("utf-8")


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The address of a server and a key for each role, under their names in the file."""
    with serving(tmp_path) as server:
        keys = {role.value: make_key(tmp_path, f"{role.value}-1", role) for role in Role}
        yield {"url": server.url, **keys}


def refused(sent: list[Sent]) -> list[tuple[str, int]]:
    """The last part of the path and the status of each request that was not welcome."""
    return [(path.rpartition("/")[2], status) for _, path, status in sent if status >= 300]


def test_every_route_is_shown(settings: dict[str, str]) -> None:
    sent = send_all(TEXT, settings)

    shown = {
        route.name
        for route in ROUTES
        for method, path, _ in sent
        if method == route.method and re.fullmatch(route.path.replace("{id}", "[0-9]+"), path)
    }
    assert shown == {route.name for route in ROUTES}


def test_every_request_is_welcome_also_when_all_are_sent_again(settings: dict[str, str]) -> None:
    first = send_all(TEXT, settings)
    second = send_all(TEXT, settings)

    assert refused(first) == []
    assert refused(second) == []


def test_a_request_that_is_refused_is_noticed(settings: dict[str, str]) -> None:
    sent = send_all(TEXT, {**settings, "admin": settings["producer"]})

    assert refused(sent) == [("redrive", 403), ("redrive", 403), ("stats", 403)]
