"""Each verb while DynamoDB has a fault at each of its calls in turn, and then sent once more."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import pytest
from werkzeug.test import TestResponse

from queuelog_core.errors import StoreUnavailable
from tests.support.dynamodb import Engine
from tests.support.dynamodb_faults import Fault, Faulty, lost, sent_twice, throttled
from tests.support.factories import LEASE, FakeClock
from tests.support.http import Api, json_of, plain_types

CALLS_MAX = 40
LARGE = {"text": "x" * 2000}


class Scene(NamedTuple):
    """A queue of its own on a client that can have faults."""

    api: Api
    client: Faulty


class Verb(NamedTuple):
    """What goes before a request, and the request: both know the job that it is about."""

    prepare: Callable[[Api], Any]
    send: Callable[[Api, Any], TestResponse]


def nothing(_: Api) -> Any:
    return None


def running(api: Api) -> Any:
    api.enqueue()
    return api.claim()


def failed(api: Api) -> Any:
    job = running(api)
    return json_of(api.report("fail", job, retryable=False, error="boom"))


def overdue(api: Api) -> Any:
    job = running(api)
    api.clock.advance(LEASE / 1000)
    return job


def enqueue(**fields: Any) -> Callable[[Api, Any], TestResponse]:
    body = {"type": "email", "idempotency_key": "k", **fields}
    return lambda api, _: api.call("POST", "/jobs", "producer", body)


def claim(**fields: Any) -> Callable[[Api, Any], TestResponse]:
    key = {"Idempotency-Key": "k"}
    return lambda api, _: api.call("POST", "/jobs/claim", "worker", fields, headers=key)


def report(verb: str, **fields: Any) -> Callable[[Api, Any], TestResponse]:
    return lambda api, job: api.report(verb, job, **fields)


def operate(verb: str) -> Callable[[Api, Any], TestResponse]:
    return lambda api, job: api.call("POST", f"/jobs/{job['id']}/{verb}", "admin", {})


VERBS = {
    "enqueue": Verb(nothing, enqueue()),
    "enqueue something large": Verb(nothing, enqueue(payload=LARGE)),
    "claim": Verb(lambda api: api.enqueue(), claim()),
    "claim something large": Verb(lambda api: api.enqueue(payload=LARGE), claim()),
    "claim what is overdue": Verb(overdue, claim(limit=3)),
    "complete": Verb(running, report("complete", result=[1])),
    "complete with much": Verb(running, report("complete", result=LARGE)),
    "complete late": Verb(overdue, report("complete")),
    "fail": Verb(running, report("fail", error="boom")),
    "heartbeat": Verb(running, report("heartbeat", extend_seconds=900)),
    "release": Verb(running, report("release")),
    "cancel": Verb(lambda api: api.enqueue(), operate("cancel")),
    "ask to cancel": Verb(running, operate("cancel")),
    "redrive": Verb(failed, operate("redrive")),
}


@pytest.fixture
def make_scene(dynalite_engine: Engine) -> Iterator[Callable[[], Scene]]:
    opened = []

    def make() -> Scene:
        client = Faulty(dynalite_engine.connect())
        store = dynalite_engine.open(dynalite_engine.make_table(), client=client)
        opened.append((store, client))
        return Scene(Api(store, FakeClock(), plain_types("email")), client)

    yield make
    for store, client in opened:
        client.heal()
        store.close()


def all_jobs(api: Api) -> Any:
    """Every job as it is, but for the id, of which a lost one may have been drawn."""
    jobs = json_of(api.call("GET", "/jobs"))["jobs"]
    found = [api.get(job) for job in jobs]
    histories = [json_of(api.call("GET", f"/jobs/{job['id']}/attempts")) for job in jobs]
    return [{**job, "id": 0, "history": past} for job, past in zip(found, histories, strict=True)]


def calls_of(make: Callable[[], Scene], verb: Verb) -> tuple[int, TestResponse, Any]:
    """How many calls the verb takes when all is well, its answer, and the jobs after it."""
    scene = make()
    job = verb.prepare(scene.api)
    scene.client.heal()
    reply = verb.send(scene.api, job)
    calls = len(scene.client.calls)
    assert 1 <= calls <= CALLS_MAX
    return calls, reply, all_jobs(scene.api)


@pytest.mark.parametrize("fault", [throttled, lost, sent_twice], ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("name", VERBS)
def test_a_verb_sent_again_after_a_fault_at_any_call_has_happened_once(
    make_scene: Callable[[], Scene], name: str, fault: Fault
) -> None:
    verb = VERBS[name]
    calls, told, wanted = calls_of(make_scene, verb)
    for number in range(calls):
        scene = make_scene()
        job = verb.prepare(scene.api)
        scene.client.fail_at(number, fault)

        reply = verb.send(scene.api, job)

        at = f"call {number}: {scene.client.calls}"
        if fault is sent_twice:
            assert reply.status_code == told.status_code, at
            assert "Idempotent-Replayed" not in reply.headers, at
        elif reply.status_code != told.status_code:
            assert reply.status_code == 503, at
            assert int(reply.headers["Retry-After"]) >= 1, at
        scene.client.heal()
        if name != "redrive" or reply.status_code == 503:
            again = verb.send(scene.api, job)
            assert again.status_code in (200, 201, 202), at
        assert all_jobs(scene.api) == wanted, at


@pytest.mark.parametrize("fault", [throttled, sent_twice], ids=lambda fault: fault.__name__)
def test_a_claim_without_a_key_leaves_no_job_to_nobody(
    make_scene: Callable[[], Scene], fault: Fault
) -> None:
    """B59: nor does a job that could not be taken stay hidden from the process that tried."""
    calls, *_ = calls_of(make_scene, Verb(lambda api: api.enqueue(), lambda api, _: take(api)))
    for number in range(calls):
        scene = make_scene()
        job = scene.api.enqueue()
        scene.client.fail_at(number, fault)

        reply = take(scene.api)

        at = f"call {number}: {scene.client.calls}"
        assert reply.status_code == 200 if fault is sent_twice else reply.status_code in (200, 503)
        scene.client.heal()
        if reply.status_code == 503:
            reply = take(scene.api)
        assert (json_of(reply)["id"], json_of(reply)["attempt"]) == (job["id"], 1), at


def take(api: Api) -> TestResponse:
    return api.call("POST", "/jobs/claim", "worker", {})


@pytest.mark.parametrize("fault", [throttled, lost, sent_twice], ids=lambda fault: fault.__name__)
def test_a_purge_with_a_fault_at_any_call_never_gives_an_id_twice(
    make_scene: Callable[[], Scene], fault: Fault
) -> None:
    """B36: a key leads to a job that can be read, or makes a new one."""

    def finished(api: Api) -> Any:
        api.enqueue(idempotency_key="k", payload=LARGE)
        return json_of(api.report("complete", api.claim(), result=LARGE))

    def purge(api: Api) -> int:
        return api.store.purge(api.clock() + 1, 10)

    scene = make_scene()
    finished(scene.api)
    scene.client.heal()
    assert purge(scene.api) == 1
    for number in range(len(scene.client.calls)):
        scene = make_scene()
        job = finished(scene.api)
        scene.client.fail_at(number, fault)
        with suppress(StoreUnavailable):
            purge(scene.api)
        scene.client.heal()

        again = enqueue(payload=LARGE)(scene.api, None)

        at = f"call {number}: {fault.__name__}"
        assert (again.status_code == 200) == (json_of(again)["id"] == job["id"]), at
        assert scene.api.get(json_of(again))["status"] in ("pending", "completed"), at
        purge(scene.api)
        assert scene.api.call("GET", f"/jobs/{job['id']}").status_code == 404, at
