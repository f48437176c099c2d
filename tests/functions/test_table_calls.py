"""Each function is permitted on the table just what it calls there, in good days and bad ones."""

import functools
import inspect
import operator
import random
from collections.abc import Callable, Mapping
from typing import Any

import flask
import pytest

from queuelog_core.errors import Unauthorized
from queuelog_core.http.app import create_app
from queuelog_core.http.routes import GROUPS, ROUTES, routes_of
from queuelog_core.identity import Identity
from queuelog_core.job import Priority
from queuelog_core.queue import Queue
from queuelog_core.stores import Filter
from queuelog_core.stores.dynamodb import DynamoDBStore
from queuelog_core.upkeep import run_upkeep
from scripts.infra_files import CALLS, UPKEEP, Calls
from tests.fronts import test_stories
from tests.fronts.local_fronts import FlaskFront
from tests.fronts.routes_table import REFUSALS, SUCCESSES
from tests.fronts.scene import Scene
from tests.functions.template import RESTORED, Template, compiled_for_a_table
from tests.functions.test_template_roles import LOG, log_of, permissions
from tests.support.dynamodb import Engine
from tests.support.dynamodb_calls import Noting
from tests.support.dynamodb_faults import Faulty, lose_text, sent_twice
from tests.support.factories import FakeClock, admin, producer, worker
from tests.support.http import plain_types

CALLERS: Mapping[str, Identity] = {
    "producer": producer("producer", priority_max=Priority.CRITICAL),
    "worker": worker("worker"),
    "admin": admin("admin"),
}
STORIES: list[Callable[[Scene], None]] = [
    story for name, story in inspect.getmembers(test_stories) if name.startswith("test_")
]
LONG = {"text": "x" * 2000}
DAYS = 30
TABLE = "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/" + RESTORED


def identify(environ: Mapping[str, Any]) -> Identity:
    if "HTTP_X_API_KEY" not in environ:
        raise Unauthorized("Send the header X-API-Key.")
    return CALLERS[environ["HTTP_X_API_KEY"]]


class Walk:
    """A queue on a table of its own, whose client notes what each route makes it call."""

    def __init__(self, engine: Engine, clock: FakeClock) -> None:
        self.faulty = Faulty(engine.connect())
        self.noting = Noting(self.faulty)
        self.clock = clock
        table = engine.make_table()
        self.lose = functools.partial(lose_text, engine.connect(), table)
        self.others = engine.open(table)
        self.store: DynamoDBStore = engine.open(table, client=self.noting)
        self.queue = Queue(self.store, plain_types(), clock, random=lambda: 0.0)
        app = create_app(self.queue, identify)
        app.before_request(self._begin)
        self.scene = Scene(FlaskFront(app, {}))

    def _begin(self) -> None:
        self.noting.going_on = flask.request.endpoint or ""

    def keep_up(self) -> None:
        """What a pass of functions/maintain.py asks of the store."""
        self.noting.going_on = UPKEEP
        assert run_upkeep(self.queue, DAYS * 86_400) is not None
        self.store.stats(self.clock(), None)

    def after(self, day: "Callable[[Walk], None]") -> Mapping[str, Calls]:
        """What was called by route when the day is over, and the process has ended."""
        day(self)
        self.noting.going_on = "the end"
        self.store.close()
        self.others.close()
        return self.noting.noted


def all_routes(walk: Walk) -> None:
    for table in (SUCCESSES, REFUSALS):
        for row in table.values():
            row[-1](walk.scene)
            walk.scene.tidy_up()
    for story in STORIES:
        story(walk.scene)
        walk.scene.tidy_up()


def large_texts_and_long_lives(walk: Walk) -> None:
    scene = walk.scene
    held = scene.running(payload=LONG, idempotency_key="large")
    scene.report("complete", held, result=LONG)
    scene.report("complete", held, result=LONG)
    scene.pending(max_retries=20)
    for _ in range(12):
        scene.report("fail", scene.claim(), error="no", retry_in_seconds=0)
    for query in ("status=failed", "status=completed&type=email", "worker_id=worker"):
        scene.call("GET", f"/jobs?{query}", "admin")
    first_of_its_type = {"type": "pdf", "idempotency_key": "first"}
    scene.call("POST", "/jobs/batch", "producer", {"jobs": [first_of_its_type] * 2})
    scene.tidy_up()
    walk.lose(scene.pending(payload=LONG)["id"], "P")
    assert scene.call("POST", "/jobs/claim", "worker", {"types": [scene.job_type]}).status == 204


def upkeep(walk: Walk) -> None:
    """A job that is redriven while it is deleted; then others, and a lease that ran out."""
    scene, others = walk.scene, Queue(walk.others, plain_types(), walk.clock)
    failed = scene.report("fail", scene.running(idempotency_key="back"), retryable=False).json
    walk.clock.advance((DAYS + 1) * 86_400)
    walk.noting.before["delete_item"] = lambda: others.redrive(CALLERS["admin"], failed["id"])
    walk.keep_up()
    scene.report("complete", scene.claim(), result=LONG)
    scene.report("complete", scene.running(payload=LONG, idempotency_key="old"))
    scene.report("fail", scene.running(), error="no", retryable=False)
    scene.running()
    walk.clock.advance((DAYS + 1) * 86_400)
    walk.keep_up()
    assert [job.id for job in others.list(CALLERS["admin"], Filter(), 9, None).jobs] == [4]


@pytest.fixture(scope="module")
def noted(dynalite_engine: Engine, moto_engine: Engine) -> Mapping[str, Calls]:
    """What was called by route. Where every answer is lost once and a refusal does not tell what
    is there, a store asks for it, as it may on DynamoDB when nothing is there any more. moto tells;
    only then a key that was deleted too early is given back."""
    found: dict[str, Calls] = {}
    for day in (all_routes, large_texts_and_long_lives, upkeep):
        walk = Walk(dynalite_engine, FakeClock())
        walk.faulty.fail_sometimes({sent_twice: 1.0}, random.Random(0))
        found = with_more(found, walk.after(day))
    return with_more(found, Walk(moto_engine, FakeClock()).after(upkeep))


def with_more(found: Mapping[str, Calls], more: Mapping[str, Calls]) -> dict[str, Calls]:
    names = {*found, *more}
    return {name: found.get(name, Calls()) | more.get(name, Calls()) for name in names}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    return compiled_for_a_table(tmp_path_factory)


def test_every_route_is_in_the_table() -> None:
    assert set(CALLS) == {*(route.name for route in ROUTES), UPKEEP}


@pytest.mark.parametrize("name", CALLS)
def test_what_a_route_makes_the_store_call_is_what_the_table_says(
    noted: Mapping[str, Calls], name: str
) -> None:
    assert noted.get(name, Calls()) == CALLS[name]


@pytest.mark.parametrize("function", [*GROUPS, UPKEEP])
def test_a_function_is_permitted_on_the_table_what_its_routes_call_and_no_more(
    template: Template, noted: Mapping[str, Calls], function: str
) -> None:
    names = [UPKEEP] if function == UPKEEP else [route.name for route in routes_of(function)]
    called = functools.reduce(operator.or_, (noted.get(name, Calls()) for name in names))
    granted = permissions(template)[f"{function.capitalize()}Role"]

    assert granted.pop(log_of(function)) == LOG
    items = {action.removeprefix("dynamodb:") for action in granted.pop(TABLE, ())}
    assert items == called.items
    # What is left are indexes.
    assert granted == {f"{TABLE}/index/{name}": {"dynamodb:Query"} for name in called.indexes}


def test_nobody_scans_and_nobody_touches_the_table_itself(template: Template) -> None:
    actions = {
        action
        for granted in permissions(template).values()
        for some in granted.values()
        for action in some
    }

    own = {action.partition(":")[2] for action in actions if action.startswith("dynamodb:")}
    assert own == {
        *("BatchGetItem", "BatchWriteItem", "DeleteItem", "GetItem"),
        *("PutItem", "Query", "UpdateItem"),
    }


def test_authorizers_and_the_worker_are_permitted_nothing_on_the_table(template: Template) -> None:
    for role in ("AuthorizerRole", "DrainRole"):
        assert not [name for name in permissions(template)[role] if "dynamodb" in name]
