"""Requests drawn from the OpenAPI document: whatever is sent, the document tells the answer."""

import pytest
from schemathesis.checks import CHECKS

from queuelog_core.http.openapi import openapi_document
from tests.fuzz.schema_callers import FittingCallers
from tests.fuzz.schema_lambda import LambdaServer
from tests.fuzz.schema_run import CASES, Account, fuzz
from tests.fuzz.schema_server import Server

pytestmark = pytest.mark.timeout(240 + CASES // 10)
DECLARED = {
    (method.upper(), path, int(status))
    for path, operations in openapi_document()["paths"].items()
    for method, operation in operations.items()
    for status in operation["responses"]
    if status < "500"
}
EACH_ALONE = ["examples", "coverage", "fuzzing"]


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Account:
    """Every route on its own, called by everybody."""
    server = Server(tmp_path_factory.mktemp("http"), reseed_every=25)
    return fuzz("http", server, EACH_ALONE, cases=CASES)


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> Account:
    """One request after another about the same job, by those who may."""
    server = Server(tmp_path_factory.mktemp("stories"), reseed_every=None)
    return fuzz("stories", server, ["stateful"], cases=CASES // 4, callers=FittingCallers)


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Account:
    """The first again, by the Lambda adapter."""
    server = LambdaServer(tmp_path_factory.mktemp("lambda"), reseed_every=25)
    return fuzz("lambda", server, EACH_ALONE, cases=CASES // 4)


@pytest.fixture(params=["http", "stories", "events"])
def account(request: pytest.FixtureRequest) -> Account:
    found: Account = request.getfixturevalue(request.param)
    return found


def test_no_check_finds_a_fault(account: Account) -> None:
    assert not account.faults, "\n\n".join(account.faults[:20])


def test_every_answer_is_declared_and_none_is_the_servers_failure(account: Account) -> None:
    # No operation answers another method's request, so none declares 405.
    answers = {answer for answer in account.answers if answer[2] != 405}

    assert answers <= DECLARED


def test_every_check_was_made(account: Account) -> None:
    assert set(account.checked) == set(CHECKS.get_all_names())


def test_every_declared_answer_occurs(http: Account) -> None:
    assert DECLARED - http.answers.keys() == set()


def test_a_run_is_long_enough(http: Account, events: Account) -> None:
    assert sum(http.answers.values()) >= CASES
    assert sum(events.answers.values()) >= min(200, CASES)
    assert set(http.phases) == set(events.phases) == set(EACH_ALONE)
