"""A copy between stores, in both directions, of every kind of job."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from queuelog_core import transitions
from queuelog_core.errors import ConfigError
from queuelog_core.job import Attempt, Outcome, Priority, Status
from queuelog_core.stores import Store, open_store
from queuelog_core.stores.copied import Copied
from queuelog_core.stores.copying import compare, copy_jobs, find_foreign, plan
from tests.support.copy_place import numbers, side
from tests.support.factories import LEASE, NOON, expired_job, job_in, pending_job
from tests.support.stores import claim, claim_one, complete, errors_of, fail, insert

LARGE = '{"text":"' + "é" * 30_000 + '"}'
ID_MAX = 2**53 - 1


def failed_attempts(first: int) -> tuple[Attempt, ...]:
    return tuple(
        Attempt(number, "mailer", NOON, NOON + 1, Outcome.FAILED, "smtp_down", True, f"r{number}")
        for number in range(first, first + 10)
    )


def kinds() -> list[Copied]:
    """Jobs of every status, with all that a job can have."""
    dead = job_in(Status.FAILED)
    history = failed_attempts(7)
    jobs = [
        pending_job(
            payload='{"b":1,"a":"\\u0000\u2028\U0001f600"}', run_at=NOON + 1, max_retries=0
        ),
        pending_job(priority=Priority.CRITICAL, payload=LARGE, fingerprint=b"\x00\xff" * 16),
        pending_job(idempotency_key="kéy", producer_id="blog", type="pdf"),
        job_in(Status.COMPLETED, idempotency_key="done")._replace(result=LARGE),
        job_in(Status.COMPLETED)._replace(result="null", version=ID_MAX),
        dead,
        job_in(Status.CANCELLED, type="sync"),
        transitions.cancel(pending_job(), NOON),
        expired_job(),
        transitions.redrive(dead, NOON + 5, "root"),
        pending_job(attempt=16, history=history, retry_count=3, release_count=4),
        pending_job(attempt=16, history=history, error="oldest", error_attempt=2),
        pending_job(attempt=16, history=history, error="newest", error_attempt=16),
    ]
    copied = [Copied(job._replace(id=3 * n + 1), {}) for n, job in enumerate(jobs)]
    for number in (10, 11, 12):
        job = copied[number].job
        texts = {attempt.attempt: f"text {attempt.attempt}" for attempt in history}
        own = {job.error_attempt: job.error} if job.error and job.error_attempt else {}
        copied[number] = Copied(job, texts | own)
    return copied


def nothing(_: int) -> None:
    """A bar that nobody sees."""


def copied_over(source: Store, target: Store) -> int:
    """A whole copy that must succeed; how many jobs it put."""
    put = copy_jobs(side(source), side(target), nothing)
    compared = compare(side(source), side(target), nothing)
    assert compared.ok, compared
    return put


@pytest.fixture
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The other store."""
    url = f"sqlite:///{tmp_path_factory.mktemp('file')}/queuelog.db"
    with closing(open_store(url)) as store:
        yield store


def test_every_kind_of_job_is_put_just_as_it_is(store: Store) -> None:
    side(store).put(kinds())

    read = side(store).read([one.job.id for one in kinds()] + [2])
    assert {one.job.id: one for one in kinds()} == read
    for one in kinds():
        assert store.get(one.job.id) == one.job
        assert errors_of(store, one.job.id) == one.errors


@pytest.mark.parametrize("there_and_back", [True, False])
def test_a_copy_holds_the_same_jobs_and_numbers(
    store: Store, file: Store, there_and_back: bool
) -> None:
    first, second = (file, store) if there_and_back else (store, file)
    side(first).put(kinds())
    side(first).put_totals(side(first).totals()._replace(late={"email": 2}, completed={"email": 2}))

    assert copied_over(first, second) == len(kinds())
    assert numbers(second) == numbers(first)
    assert second.stats(NOON, None).late_reports == 2


def test_a_copy_that_was_cut_off_goes_on_and_counts_nothing_twice(
    store: Store, file: Store
) -> None:
    side(file).put(kinds())
    side(store).put(kinds()[:5])
    side(store).put(kinds()[3:6])
    side(store).put([Copied(kinds()[0].job._replace(payload="[]", max_retries=1), {})])

    assert find_foreign(side(file), side(store), nothing) == []
    assert plan(side(file), side(store), nothing).there == 6
    assert copied_over(file, store) == len(kinds()) - 6
    assert copied_over(file, store) == 0
    assert numbers(store) == numbers(file)


def test_a_copied_job_goes_on_like_any_other(store: Store, file: Store) -> None:
    insert(file)
    fail(file, claim_one(file), error="smtp down")
    insert(file, payload=LARGE, priority=Priority.LOW)
    copied_over(file, store)

    job = claim_one(store)
    assert (job.attempt, errors_of(store, job.id)) == (2, {1: "smtp down"})
    fail(store, job, error="again")
    assert errors_of(store, job.id) == {1: "smtp down", 2: "again"}
    complete(store, claim_one(store), result=LARGE)
    last = claim_one(store)
    assert last.payload == LARGE
    complete(store, last)
    assert numbers(store).statuses == {"email": {Status.COMPLETED: 2}}
    assert claim(store) == []


def test_an_idempotency_key_names_the_copied_job(store: Store, file: Store) -> None:
    first = insert(file, idempotency_key="k", fingerprint=b"f")
    copied_over(file, store)

    assert store.insert(pending_job(idempotency_key="k")) == (first, False)
    assert store.insert(pending_job(idempotency_key="k", producer_id="blog"))[1]


def test_a_key_that_another_job_has_ends_the_copy(store: Store, file: Store) -> None:
    insert(store, idempotency_key="k")
    insert(file)
    insert(file, idempotency_key="k")

    with pytest.raises(ConfigError, match="has the idempotency key of job 2"):
        copy_jobs(side(file), side(store), nothing)
    assert find_foreign(side(file), side(store), nothing) == [1]


def test_a_job_that_runs_is_told_and_never_copied(store: Store, file: Store) -> None:
    waiting, running = insert(store), None
    insert(store, priority=Priority.HIGH)
    running = claim_one(store)
    told = side(store).running()
    assert (told.jobs, told.first_at, told.last_at) == (1, NOON + LEASE, NOON + LEASE)

    copy_jobs(side(store), side(file), nothing)

    compared = compare(side(store), side(file), nothing)
    assert (compared.ok, compared.missing) == (False, [running.id])
    assert file.get(waiting.id) == waiting
    assert file.get(running.id) is None


def test_what_is_not_the_sources_is_found_whatever_differs(store: Store, file: Store) -> None:
    side(file).put(kinds())
    job, errors = kinds()[-1]
    changes = {
        "payload": "[]",
        "type": "sync",
        "priority": Priority.LOW,
        "status": Status.CANCELLED,
        "idempotency_key": "k",
        "fingerprint": b"f",
        "history": job.history[1:],
        **dict.fromkeys(("result", "error", "error_code", "worker_id", "redriven_by"), "other"),
        **dict.fromkeys(("run_at", "created_at", "updated_at", "finished_at", "claimed_at"), 1),
        **dict.fromkeys(("retry_count", "release_count", "attempt", "max_retries"), 21),
    }
    changed = [Copied(job._replace(**{name: value}), errors) for name, value in changes.items()]  # type: ignore[arg-type]
    changed += [Copied(job, {**errors, 9: "other"}), Copied(job, {16: errors[16]})]

    digests = {one.digest for one in changed}
    assert len(digests | {kinds()[-1].digest}) == len(changed) + 1
    assert Copied(job._replace(version=9), errors).digest == kinds()[-1].digest
    side(store).put([*kinds()[:-1], Copied(job, {**errors, 9: "other"})])
    assert find_foreign(side(file), side(store), nothing) == [job.id]
    compared = compare(side(file), side(store), nothing)
    assert (compared.changed, compared.missing, compared.extra) == ([job.id], [], [])


def test_what_only_one_side_has_is_told(store: Store, file: Store) -> None:
    side(file).put(kinds()[:-1])
    side(store).put(kinds()[1:])
    first, last = kinds()[0].job.id, kinds()[-1].job.id
    side(store).put([Copied(pending_job(id=2), {})])

    compared = compare(side(file), side(store), nothing)

    assert (compared.missing, compared.extra) == ([first], [2, last])
    assert find_foreign(side(file), side(store), nothing) == [2, last]


def test_ids_go_on_above_all_that_were_ever_given(store: Store, file: Store) -> None:
    """A report on a job that was purged must never meet another job."""
    insert(store, priority=Priority.LOW)
    given = max(insert(store).id for _ in range(2))
    for _ in range(2):
        complete(store, claim_one(store))
    assert store.purge(NOON + 1, 2) == 2
    copied_over(store, file)

    assert given < insert(file).id <= ID_MAX
