"""The checker of histories where claims do not wait for each other, as on DynamoDB: what it lets
pass that an orderly store may not do, and what it finds all the same."""

import pytest

from tests.support.history_checker import check
from tests.unit.test_history_checker import (
    BETTER,
    FAULTS,
    PASSED_OVER,
    STORY,
    at,
    claim,
    end,
    enqueue,
)

TAKEN_LATER = claim(2, second=5, priority="high", key="another")
OLDER = end(*BETTER.attempts, id=2, idempotency_key="2", created_at=at(-1))


def test_a_job_of_a_higher_priority_is_not_passed_over_by_a_crowd_either() -> None:
    calls = [*STORY, *PASSED_OVER, TAKEN_LATER]

    assert list(check(calls, [end(), BETTER], in_order=False)) == ["inversions"]


def test_a_crowd_may_pass_over_an_older_job_of_the_same_priority() -> None:
    calls = [*STORY, *PASSED_OVER[1:], enqueue(2, "2"), TAKEN_LATER]

    assert list(check(calls, [end(), OLDER])) == ["inversions"]
    assert check(calls, [end(), OLDER], in_order=False) == {}


def test_a_crowd_may_pass_over_a_job_that_somebody_else_is_about_to_take() -> None:
    calls = [*STORY, *PASSED_OVER, TAKEN_LATER._replace(invoked_at=STORY[1].invoked_at)]

    assert list(check(calls, [end(), BETTER])) == ["inversions"]
    assert check(calls, [end(), BETTER], in_order=False) == {}


@pytest.mark.parametrize("name", [name for name in FAULTS if "passed over" not in name])
def test_any_other_fault_is_found(name: str) -> None:
    expected, calls, ends = FAULTS[name]

    assert expected in check(calls, ends, in_order=False)
