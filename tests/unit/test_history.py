"""The history as text: read back as it was written, never more than two kilobytes. Error texts lie
apart and are gone, at the latest with the next text, when the history has dropped their attempt."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queuelog_core.clock import INSTANT_MAX
from queuelog_core.job import Attempt, Outcome
from queuelog_core.stores import Store
from queuelog_core.stores.history import HISTORY_BYTES_MAX, decode_history, encode_history
from tests.support.factories import NOON
from tests.support.stores import claim_one, errors_of, fail, insert

print_blob = settings(print_blob=True, deadline=None)
ATTEMPT_MAX = 2**53 - 1
names = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,63}", fullmatch=True)
codes = st.from_regex(r"[a-z0-9_]{1,64}", fullmatch=True)
digests = st.from_regex(r"[A-Za-z0-9_-]{16}", fullmatch=True)
instants = st.integers(0, INSTANT_MAX)
# Built by hand: hypothesis would make up the other fields of the class as well.
open_attempts = st.tuples(st.integers(1, ATTEMPT_MAX), names, instants).map(
    lambda parts: Attempt(*parts)
)
ended_attempts = st.builds(
    Attempt,
    attempt=st.integers(1, ATTEMPT_MAX),
    worker_id=names,
    claimed_at=instants,
    ended_at=instants,
    outcome=st.sampled_from(Outcome),
    error_code=st.none() | codes,
    retry_spent=st.booleans(),
    report=st.none() | digests,
    closed=st.booleans(),
)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Attempt, ...]:
    """At most ten ended attempts, or nine and one that is still running."""
    ended = draw(st.lists(ended_attempts, max_size=9))
    return (*ended, *draw(st.lists(open_attempts | ended_attempts, max_size=1)))


def longest(attempt: int) -> Attempt:
    """An attempt whose every part is as long as it may be."""
    return Attempt(
        attempt=attempt,
        worker_id="w" * 64,
        claimed_at=INSTANT_MAX,
        ended_at=INSTANT_MAX,
        outcome=Outcome.FAILED,
        error_code="e" * 64,
        retry_spent=True,
        report="r" * 16,
        closed=True,
    )


def test_a_job_that_never_ran_has_an_empty_history() -> None:
    assert decode_history(encode_history(())) == ()


@print_blob
@given(histories())
def test_a_history_is_read_back_as_it_was_written(history: tuple[Attempt, ...]) -> None:
    kept = decode_history(encode_history(history))

    assert kept == history[len(history) - len(kept) :]


@print_blob
@given(histories())
def test_a_history_is_never_longer_than_two_kilobytes(history: tuple[Attempt, ...]) -> None:
    assert len(encode_history(history).encode()) <= HISTORY_BYTES_MAX == 2048


@print_blob
@given(histories())
def test_an_entry_is_left_out_only_when_there_is_no_room_for_it(
    history: tuple[Attempt, ...],
) -> None:
    text = encode_history(history)
    kept = len(decode_history(text))

    assert kept == len(history) or len(text) > HISTORY_BYTES_MAX - 256


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_has_its_own_letter(outcome: Outcome) -> None:
    entry = Attempt(attempt=1, worker_id="w", claimed_at=NOON, ended_at=NOON, outcome=outcome)

    assert decode_history(encode_history([entry])) == (entry,)


def test_ten_attempts_with_the_longest_names_and_codes_fit() -> None:
    history = tuple(longest(attempt) for attempt in range(1, 11))

    assert decode_history(encode_history(history)) == history


def test_attempts_of_extreme_length_push_out_the_oldest_and_keep_the_newest() -> None:
    first = ATTEMPT_MAX - 11
    history = tuple(longest(first + number) for number in range(12))

    kept = decode_history(encode_history(history))

    assert kept == history[-len(kept) :]
    assert len(kept) >= 9


def test_a_running_attempt_is_written_without_what_it_does_not_have_yet() -> None:
    text = encode_history([Attempt(attempt=1, worker_id="mailer", claimed_at=NOON)])

    assert json.loads(text) == [[1, "mailer", NOON]]


def fail_often(store: Store, number: int, error: str | None) -> None:
    for _ in range(number):
        fail(store, claim_one(store), error=error)


def test_the_texts_of_the_newest_ten_attempts_are_kept(store: Store) -> None:
    job = insert(store, max_retries=25)

    fail_often(store, 10, "boom")

    assert errors_of(store, job.id) == dict.fromkeys(range(1, 11), "boom")


@pytest.mark.parametrize("silent", [0, 1, 5, 11])
def test_texts_that_the_history_has_dropped_are_deleted_at_the_latest_with_the_next_text(
    store: Store, silent: int
) -> None:
    other = insert(store, max_retries=0)
    fail_often(store, 1, "of another job")
    job = insert(store, max_retries=25)
    fail_often(store, 10, "old")

    fail_often(store, silent, None)
    fail_often(store, 1, "new")

    newest = 11 + silent
    kept = dict.fromkeys(range(newest - 9, 11), "old") | {newest: "new"}
    assert errors_of(store, job.id) == kept
    assert errors_of(store, other.id) == {1: "of another job"}
    stored = store.get(job.id)
    assert stored is not None
    assert [entry.attempt for entry in stored.history] == list(range(newest - 9, newest + 1))
