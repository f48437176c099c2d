"""Faults that are planted on purpose: the history checker or a story of a few calls finds each, and
finds nothing without them.
"""

from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from queuelog_core.stores import open_store
from tests.support.factories import FakeClock
from tests.support.history_rounds import play
from tests.support.http import Api
from tests.support.seeded_bugs import BUGS
from tests.support.seeds import seed

KILLS = 8
DRAIN_SECONDS = 10.0
GIVEN_UP_AFTER_SECONDS = 3.0
RUNS_MAX = 10

BY_THE_CHECKER = {
    "no_owner_check": "stale reports",
    "acknowledge_before_commit": "lost",
    "check_then_claim": "double claims",
    "no_recovery": "stuck",
    "global_key": "odd answers",
}
"""Each with the set that it must be found in."""


def found_in_a_run(folder: Path, number: int, bug: str | None) -> set[str]:
    """The sets that are not empty after a few kills."""
    store = f"sqlite:///{folder}/queuelog.db"
    seconds = DRAIN_SECONDS if bug is None else GIVEN_UP_AFTER_SECONDS
    round = play(folder, store, number, KILLS, lease_seconds=1, drain_seconds=seconds, bug=bug)
    return set(round.found)


def test_a_short_run_without_a_bug_finds_nothing(tmp_path: Path) -> None:
    assert found_in_a_run(tmp_path / "run", seed(), None) == set()


@pytest.mark.parametrize("bug", BY_THE_CHECKER)
def test_the_history_checker_finds(bug: str, tmp_path: Path) -> None:
    first = seed()
    for number in range(first, first + RUNS_MAX):
        found = found_in_a_run(tmp_path / str(number), number, bug)
        if BY_THE_CHECKER[bug] in found:
            return
    pytest.fail(f"nothing in {RUNS_MAX} runs")


def one_key_of_two_workers_is_fenced_by_the_attempt(api: Api, _: Api) -> None:
    api.enqueue()
    slow = api.claim("worker")
    api.clock.advance(301)
    assert api.claim("worker")["attempt"] == 2
    assert api.report("complete", slow, "worker").status_code == 409


def a_job_is_due_from_its_whole_second_on(api: Api, _: Api) -> None:
    api.enqueue()
    api.clock.advance(0.5)
    assert api.claim("worker")


def a_refusal_is_in_nobodys_way(api: Api, twin: Api) -> None:
    pending = api.enqueue()
    assert api.report("complete", {**pending, "attempt": 1}).status_code == 409
    assert twin.call("GET", "/health").status_code == 200


BY_A_STORY: dict[str, Callable[[Api, Api], None]] = {
    "owner_only_check": one_key_of_two_workers_is_fenced_by_the_attempt,
    "text_times_of_mixed_width": a_job_is_due_from_its_whole_second_on,
    "lost_rollback": a_refusal_is_in_nobodys_way,
}
"""Of two servers on one store."""


def tell(story: Callable[[Api, Api], None], folder: Path) -> None:
    with ExitStack() as stack:
        url = f"sqlite:///{folder}/queuelog.db"
        stores = [stack.enter_context(closing(open_store(url))) for _ in range(2)]
        story(*(Api(store, FakeClock()) for store in stores))


@pytest.mark.parametrize("bug", BY_A_STORY)
def test_a_story_finds(bug: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound, faulty = tmp_path / "sound", tmp_path / "faulty"
    for folder in (sound, faulty):
        folder.mkdir()
    tell(BY_A_STORY[bug], sound)
    BUGS[bug](monkeypatch.setattr)
    with pytest.raises(AssertionError):
        tell(BY_A_STORY[bug], faulty)


def test_each_bug_is_looked_for() -> None:
    assert {*BY_THE_CHECKER, *BY_A_STORY} == set(BUGS)
