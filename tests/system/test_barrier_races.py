"""Two or more do what only one may, at once, hundreds of times: processes that live through all
rounds, each with a store of its own, released into each round by one barrier."""

from collections import Counter
from collections.abc import Iterator
from functools import partial

import pytest

from queuelog_core.job import Job, Outcome, Status
from queuelog_core.queue import Queue
from tests.support.engines import url_of
from tests.support.factories import LEASE, NOON, FakeClock, admin
from tests.support.race_moves import (
    KEY_THREADS,
    OWNER,
    TAKER,
    beat,
    cancel,
    claim,
    complete,
    enqueue,
    failed,
    held,
    known,
    redrive,
    send_another,
    send_one_request,
    settle,
)
from tests.support.races import (
    HEAD_START_SECONDS,
    JUDGED_FROM_ROUNDS,
    ROUNDS,
    SLOW_HEAD_START_SECONDS,
    Place,
    Racers,
    Round,
    Told,
    queue_at,
    racers,
    split_of,
)

CLAIMERS, KEY_PROCESSES = 4, 4
TENTHS = {"local": 10, "network": 2, "dynalite": 1}
"""Of the rounds: a collision on a network volume costs a pause of up to 80 ms, and all that is done
on DynamoDB takes ten times as long."""


@pytest.fixture(scope="module")
def crew(aws_credentials: None) -> Iterator[Racers]:
    with racers() as started:
        yield started


@pytest.fixture(params=TENTHS)
def place(request: pytest.FixtureRequest, crew: Racers) -> Place:
    rounds = max(1, ROUNDS * TENTHS[request.param] // 10)
    url = url_of(request.param, request)
    slow = request.param == "dynalite"
    return Place(url, rounds, crew, SLOW_HEAD_START_SECONDS if slow else HEAD_START_SECONDS)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def queue(place: Place, clock: FakeClock) -> Iterator[Queue]:
    """The queue of whoever lays down what the rounds are about, and looks at what came of them."""
    with queue_at(place.url, clock) as queue:
        yield queue


def job_of(queue: Queue, each: Round) -> Job:
    return queue.get(admin(), each.number)


def outcomes(job: Job) -> list[Outcome | None]:
    return [entry.outcome for entry in job.history]


def test_a_job_that_several_claim_at_once_goes_to_one_of_them(place: Place, queue: Queue) -> None:
    rounds = enqueue(queue, place.rounds)
    names = [f"worker-{number}" for number in range(CLAIMERS)]

    told = place.race(rounds, *(partial(claim, name=name) for name in names))

    split = split_of("claim/claim", told)
    assert all(words.count("claimed") == 1 for words in split)
    assert len(split) > 1 or place.rounds < JUDGED_FROM_ROUNDS, "the same one always won"
    for each, answers in zip(rounds, told, strict=True):
        job = job_of(queue, each)
        winner = names[[answer.word for answer in answers].index("claimed")]
        assert (job.status, job.worker_id, job.attempt) == (Status.RUNNING, winner, 1)
        assert outcomes(job) == [None]


def test_a_job_whose_lease_ends_is_completed_or_taken_never_both(
    place: Place, queue: Queue, clock: FakeClock
) -> None:
    jobs = held(queue, clock, place.rounds)
    rounds = [Round(job.id, job.lease_expires_at or 0) for job in jobs]

    told = place.race(rounds, complete, partial(claim, name=TAKER.name))

    split = split_of("complete/claim", told)
    place.assert_seen(split, ("completed", "nothing"), ("lease-lost", "claimed"))
    for each, (answer, _) in zip(rounds, told, strict=True):
        job = job_of(queue, each)
        if answer.word == "completed":
            assert (job.status, job.worker_id, job.retry_count) == (Status.COMPLETED, OWNER.name, 0)
            assert outcomes(job) == [Outcome.COMPLETED]
        else:
            assert (job.status, job.worker_id, job.retry_count) == (Status.RUNNING, TAKER.name, 1)
            assert outcomes(job) == [Outcome.EXPIRED, None]
    assert queue.stats(admin()).late_reports == place.rounds


def test_a_job_whose_lease_ends_is_completed_whether_or_not_it_is_settled_first(
    place: Place, queue: Queue, clock: FakeClock
) -> None:
    jobs = held(queue, clock, place.rounds)
    rounds = [Round(job.id, job.lease_expires_at or 0) for job in jobs]

    told = place.race(rounds, complete, settle)

    split = split_of("complete/settle", told)
    place.assert_seen(split, ("completed", "settled 0"), ("completed", "settled 1"))
    for before, each, (_, settled) in zip(jobs, rounds, told, strict=True):
        job = job_of(queue, each)
        assert (job.status, job.attempt, job.retry_count) == (Status.COMPLETED, 1, 0)
        assert outcomes(job) == [Outcome.COMPLETED]
        assert job.version == before.version + 1 + (settled.word == "settled 1")


def test_a_heartbeat_and_a_completion_at_once_end_in_a_completed_job(
    place: Place, queue: Queue, clock: FakeClock
) -> None:
    jobs = held(queue, clock, place.rounds)
    rounds = [Round(job.id, NOON + LEASE // 2) for job in jobs]

    told = place.race(rounds, beat, complete)

    split = split_of("heartbeat/complete", told)
    place.assert_seen(split, ("extended", "completed"), ("already-reported", "completed"))
    for before, each, (beaten, _) in zip(jobs, rounds, told, strict=True):
        job = job_of(queue, each)
        assert (job.status, job.result) == (Status.COMPLETED, '{"sent":true}')
        assert (job.lease_expires_at, outcomes(job)) == (None, [Outcome.COMPLETED])
        assert job.version == before.version + 1 + (beaten.word == "extended")


def test_of_several_redrives_at_once_one_is_real(place: Place, queue: Queue) -> None:
    rounds = failed(queue, place.rounds)
    names = ["root", "root", "chief", "chief"]

    told = place.race(rounds, *(partial(redrive, name=name) for name in names))

    split = split_of("redrive/redrive", told)
    assert all(sorted(words) == ["conflict"] * 2 + ["redriven", "replayed"] for words in split)
    winners = set()
    for each, answers in zip(rounds, told, strict=True):
        job = job_of(queue, each)
        real, again = (
            names[[answer.word for answer in answers].index(word)]
            for word in ("redriven", "replayed")
        )
        winners.add(real)
        assert (job.status, job.redriven_by, again) == (Status.PENDING, real, real)
        assert (job.attempt, job.history[-1].closed) == (1, True)
    place.assert_seen(Counter((name,) for name in winners), ("root",), ("chief",))


def test_a_redrive_and_a_cancel_at_once_end_as_one_after_the_other(
    place: Place, queue: Queue
) -> None:
    rounds = failed(queue, place.rounds)

    # A cancel that comes first is refused long before the redrive would have been written.
    told = place.race(rounds, partial(redrive, name="root"), cancel, head_start_seconds=0.003)

    split = split_of("redrive/cancel", told)
    place.assert_seen(split, ("redriven", "cancelled"), ("redriven", "conflict"))
    for each, (_, cancelled) in zip(rounds, told, strict=True):
        came_second = cancelled.word == "cancelled"
        expected = Status.CANCELLED if came_second else Status.PENDING
        assert job_of(queue, each).status == expected


def test_one_key_that_thirty_two_send_at_once_makes_one_job(place: Place, queue: Queue) -> None:
    """B34."""
    rounds = [Round(number, NOON) for number in range(place.rounds)]

    told = place.race(rounds, *[send_one_request] * KEY_PROCESSES)

    split_of("one key", [tuple(_first_word(one) for one in answers) for answers in told])
    ids = set()
    for answers in told:
        words = [word for answer in answers for word in answer.word.split(", ")]
        assert len(words) == KEY_PROCESSES * KEY_THREADS
        (made,) = (word for word in words if word.endswith(" new"))
        assert sorted(words) == sorted([made, *[made.removesuffix(" new")] * (len(words) - 1)])
        ids.add(made)
    assert len(ids) == place.rounds
    assert queue.stats(admin()).statuses["email"][Status.PENDING] == place.rounds


def _first_word(told: Told) -> Told:
    return told._replace(word="new" if " new" in told.word else "known")


def test_two_requests_under_one_key_at_once_make_the_job_of_the_first(
    place: Place, queue: Queue
) -> None:
    rounds = [Round(number, NOON) for number in range(place.rounds)]

    told = place.race(rounds, *(partial(send_another, name=name) for name in ("body", "header")))

    split = split_of("one key, two requests", told)
    place.assert_seen(split, ("new", "refused"), ("mismatch True", "new"))
    for each, (answer, _) in zip(rounds, told, strict=True):
        by = "body" if answer.word == "new" else "header"
        assert known(queue, each).payload == f'{{"by":"{by}"}}'
    assert queue.stats(admin()).statuses["email"][Status.PENDING] == place.rounds
