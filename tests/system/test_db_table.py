"""`queuelog db` where the store is a table of DynamoDB."""

from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result

from queuelog_core.cli import main
from queuelog_core.stores import open_store
from tests.support.dynamodb import Engine
from tests.support.factories import NOON, pending_job
from tests.support.stores import claim_one, complete

Run = Callable[..., Result]


@pytest.fixture
def url(dynalite_engine: Engine, request: pytest.FixtureRequest) -> str:
    """Of a table that is not there yet."""
    return dynalite_engine.url(f"t{abs(hash(request.node.name))}")


@pytest.fixture
def run(url: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("QUEUELOG_STORE", url)
    return lambda *words: CliRunner().invoke(main, ["db", *words])


def test_migrate_makes_the_table_once(run: Run, url: str) -> None:
    first, second = run("migrate"), run("migrate", "--json")

    assert (first.exit_code, first.output) == (0, "schema version 0 is now 1\n")
    assert (second.exit_code, second.output) == (0, '{"before": 1, "after": 1}\n')
    store = open_store(url)
    assert store.get(store.insert(pending_job())[0].id) is not None
    store.close()


def test_purge_deletes_finished_jobs(run: Run, url: str) -> None:
    assert run("migrate").exit_code == 0
    store = open_store(url)
    store.insert_many([pending_job() for _ in range(3)])
    done = complete(store, claim_one(store), NOON)

    purged = run("purge", "--older-than", "1d", "--yes", "--json")

    assert (purged.exit_code, purged.output) == (0, '{"purged": 1}\n')
    assert store.get(done.id) is None
    store.close()


def test_purging_a_table_that_is_not_there_says_how_to_make_it(run: Run) -> None:
    refused = run("purge", "--older-than", "1d", "--yes")

    assert refused.exit_code == 1
    assert "there is no such table; queuelog db migrate makes it" in refused.output


@pytest.mark.parametrize("words", [("backup", "copy.db"), ("check",), ("restore", "x", "--yes")])
def test_what_is_for_a_file_says_so(run: Run, words: tuple[str, ...]) -> None:
    refused = run(*words)

    assert refused.exit_code == 1
    assert "this is for a store that is a file" in refused.output
