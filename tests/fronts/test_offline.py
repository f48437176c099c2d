"""serverless-offline by itself: its authorizers, and what the README tells a reader to type."""

import pytest

from queuelog_core.http.routes import ROUTES
from tests.fronts.conftest import Offline
from tests.fronts.front import Front
from tests.support.http import ROOT
from tests.support.readme import RUN, read_blocks, run_blocks

CURLS = [block for block in read_blocks(ROOT / "README.md") if "curl" in block]


def test_the_curls_of_the_readme_work_against_it(emulated_offline: Offline) -> None:
    """The job that they enqueue is run by the schedule: see test_offline_schedule.py."""
    assert len(CURLS) >= 3

    printed = run_blocks([RUN, *CURLS], emulated_offline.server)

    assert '"status":"pending"' in printed[2]
    assert '"type":"email"' in printed[3]
    assert '"as_of"' in printed[4]


@pytest.mark.parametrize(
    ("key", "method", "path", "status"),
    [
        (None, "GET", "/whoami", 401),
        ("junk", "GET", "/whoami", 403),
        ("worker", "POST", "/jobs", 403),
        ("producer", "POST", "/jobs/claim", 403),
        ("worker", "POST", "/jobs/redrive", 403),
        ("producer", "GET", "/whoami", 200),
        ("worker", "GET", "/stats", 200),
        ("admin", "GET", "/stats", 200),
    ],
)
def test_its_authorizers_let_through_who_may(
    offline_front: Front, key: str | None, method: str, path: str, status: int
) -> None:
    """B45."""
    assert any((route.method, route.path) == (method, path) for route in ROUTES)

    assert offline_front.call(method, path, key).status == status
