"""`queuelog db copy`: the same queue in another store, whatever comes between."""

import json
import sqlite3
from contextlib import closing

import pytest

from queuelog_core.cli import db_copy
from queuelog_core.clock import SystemClock, format_instant
from queuelog_core.stores import Filter
from queuelog_core.stores.copying import compare
from queuelog_core.stores.sqlite import SqliteStore
from tests.support.copies import Rich, claim_order, repeated, seen
from tests.support.copy_place import Place, many_jobs, side
from tests.support.factories import FakeClock
from tests.support.http import Api
from tests.support.servers import COMMAND, environment
from tests.support.stores import claim_one, insert
from tests.system.cli_scene import on_terminal

WAITING = 24
HOUR = 3_600_000
NOBODY = "dynamodb://queuelog-1?region=eu-west-1&endpoint=http://127.0.0.1:9"


@pytest.mark.parametrize(
    "kinds", [("sqlite", "dynamodb", "sqlite"), ("dynamodb", "sqlite", "dynamodb")]
)
def test_a_copied_queue_answers_everything_as_before(place: Place, kinds: list[str]) -> None:
    urls = [place.new(kind) for kind in kinds]
    with closing(place.open(urls[0])) as store:
        said = Rich(store).fill(WAITING)
    told = [place.copied(*urls[:2]), place.copied(*urls[1:])]
    assert [one["settled"] for one in told] == [2, 0]
    assert told[0]["digest"] == told[1]["digest"]
    now = SystemClock()() + HOUR

    stores = [place.open(url) for url in urls]
    apis = [Api(store, FakeClock(now)) for store in stores]
    ids = [job.id for job in stores[0].list(Filter(), 200, None).jobs]
    assert len(ids) == told[0]["jobs"] > WAITING + 8
    assert [seen(api, ids) == seen(apis[0], ids) for api in apis] == [True] * 3
    answers = [repeated(api, said) for api in apis]
    assert answers[0] == answers[1] == answers[2]
    assert {200, 409} <= {status for _, _, status, _, _ in answers[0]}
    orders = [claim_order(api) for api in apis]
    assert orders[0] == orders[1] == orders[2]
    assert len(orders[0]) > WAITING
    for api, store in zip(apis, stores, strict=True):
        assert api.enqueue()["id"] not in ids
        assert not isinstance(store, SqliteStore) or store.check() == []
        store.close()


@pytest.mark.parametrize("kind", ["sqlite", "dynamodb"])
def test_a_source_with_a_lease_that_lasts_is_refused(place: Place, kind: str) -> None:
    source, target = place.new(kind), place.new("sqlite")
    with closing(place.open(source)) as store:
        insert(store)
        lease_end = claim_one(store, SystemClock()()).lease_expires_at
    assert lease_end is not None

    refused = place.copy(source, target)

    assert (refused.exit_code, refused.stdout) == (5, "")
    until = format_instant(lease_end)
    assert refused.stderr.startswith(f"error: 1 jobs run; the last lease ends at {until}\n")
    with closing(place.open(target)) as store:
        assert side(store).count() == 0


@pytest.mark.parametrize("kind", ["sqlite", "dynamodb"])
def test_a_lease_that_ends_soon_is_waited_for_and_settled(place: Place, kind: str) -> None:
    source, target = place.new(kind), place.new("sqlite")
    with closing(place.open(source)) as store:
        insert(store)
        claim_one(store, SystemClock()(), lease=700)

    waited = place.copied(source, target, "--wait")

    assert (waited["copied"], waited["settled"]) == (1, 1)
    with closing(place.open(target)) as store:
        (job,) = store.list(Filter(), 9, None).jobs
        assert (job.status.value, job.attempt, job.error_code) == ("pending", 1, "lease_expired")


@pytest.mark.parametrize("kind", ["sqlite", "dynamodb"])
def test_a_target_with_other_jobs_is_refused_and_stays_as_it_is(place: Place, kind: str) -> None:
    source = place.filled("sqlite", many_jobs(8))
    target = place.filled(kind, many_jobs(4))
    with closing(place.open(target)) as store:
        other = insert(store, type="pdf")

    for options in ([], ["--dry-run"]):
        refused = place.copy(source, target, *options)

        assert (refused.exit_code, refused.stdout) == (5, "")
        assert refused.stderr.startswith("error: the target holds jobs that the source does not")
        assert str(other.id) in refused.stderr
    with closing(place.open(target)) as store:
        assert side(store).count() == 5


@pytest.mark.parametrize("kind", ["sqlite", "dynamodb"])
def test_a_dry_run_tells_the_plan_and_writes_nothing(place: Place, kind: str) -> None:
    source, target = place.filled("sqlite", many_jobs(8)), place.new(kind)
    with closing(place.open(source)) as store:
        insert(store)
        claim_one(store)
    before = {path.name for path in place.folder.iterdir()}

    told = place.copy(source, target, "--dry-run")
    plan = json.loads(place.copy(source, target, "--dry-run", "--json").stdout)

    assert told.exit_code == 0
    assert told.stdout.split()[:6] == [
        "type",
        "pending",
        "running",
        "completed",
        "failed",
        "cancelled",
    ]
    assert "1 jobs run, the last lease ends at" in told.stderr
    assert (plan["jobs"], plan["there"], plan["running"]) == (9, 0, 1)
    assert plan["types"]["email"] == {"pending": 3, "completed": 2}
    assert plan["types"]["sync"] == {"pending": 1, "running": 1}
    assert plan["bytes"] > 6 * 1_500
    # Two jobs each of 6, 7, 4 and 3 units, and the one that runs.
    assert plan["write_units"] == (None if kind == "sqlite" else 43)
    assert ("$0.00 at on-demand prices" in told.stderr) == (kind == "dynamodb")
    if kind == "dynamodb":
        with closing(place.open(target)) as store:
            assert side(store).count() == 0
    assert {path.name for path in place.folder.iterdir()} == before


def test_a_source_that_changes_meanwhile_is_told(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = place.filled("sqlite", many_jobs(8)), place.new("dynamodb")

    def change_and_compare(*sides: object) -> object:
        with closing(place.open(source)) as store:
            claimed, late = claim_one(store), insert(store)
        ids.extend((claimed.id, late.id))
        return compare(*sides)  # type: ignore[arg-type]

    ids: list[int] = []
    monkeypatch.setattr(db_copy, "compare", change_and_compare)
    done = place.copy(source, target, "--json")
    told = json.loads(done.stdout)

    assert done.exit_code == 1
    assert (told["ok"], told["changed"], told["missing"], told["extra"]) == (
        *(False, [ids[0]], [ids[1]], []),
    )
    assert f"somebody was at work: {ids[0]} changed; {ids[1]} missing" in done.stderr
    monkeypatch.undo()
    assert place.copy(source, target).exit_code == 5


def test_a_bar_shows_on_a_terminal_how_far_it_is(place: Place) -> None:
    source, target = place.filled("sqlite", many_jobs(8)), place.new("sqlite")
    command = [str(COMMAND), "db", "copy", "--from", source, "--to", target]

    shown = on_terminal(command, place.folder, environment())

    assert shown.code == 0
    assert "copied 0/8" in shown.screen
    assert "compared 0/8" in shown.screen
    assert "8 copied, 0 were there; all are the same, digest" in shown.screen


def test_a_wrong_use_is_told(place: Place) -> None:
    for source, told in (("queue.db", "--from"), ("sqlite:///b.db", "name the same store")):
        done = place.copy(source, "sqlite:///b.db")

        assert (done.exit_code, done.stdout) == (2, "")
        assert told in done.stderr


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("sqlite:////nowhere/a.db", "/nowhere is not a folder"),
        ("sqlite:///none.db", "none.db does not exist"),
        ("dynamodb://table/more", "error: --from looks like dynamodb://table?region=eu-west-1"),
        (NOBODY, "the store cannot be used: DynamoDB: "),
    ],
)
def test_a_store_that_is_not_there_is_told_and_none_is_made(
    place: Place, source: str, told: str
) -> None:
    target = place.new("sqlite")

    done = place.copy(source, target)

    assert (done.exit_code, done.stdout) == (1, "")
    assert told in done.stderr.splitlines()[0]
    with closing(place.open(target)) as store:
        assert side(store).count() == 0


def test_a_file_of_an_older_version_is_told_and_not_touched(place: Place) -> None:
    source = place.filled("sqlite", many_jobs(1))
    with closing(sqlite3.connect(source.removeprefix("sqlite:///"))) as connection:
        connection.execute("PRAGMA user_version=1")

    done = place.copy(source, place.new("sqlite"))

    assert done.exit_code == 1
    assert "of an older schema version: queuelog db migrate" in done.stderr
