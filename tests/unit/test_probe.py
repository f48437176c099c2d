"""Health: how often the store is asked, and who waits for its answer."""

import threading

import pytest

from queuelog_core.errors import StoreBusy, StoreUnavailable
from queuelog_core.probe import Health, Probe
from tests.support.factories import FakeSeconds


class Check:
    """A store's check: counts its calls and raises what it is told to."""

    def __init__(self) -> None:
        self.calls = 0
        self.error: Exception | None = None

    def __call__(self) -> None:
        self.calls += 1
        if self.error is not None:
            raise self.error


@pytest.fixture
def check() -> Check:
    return Check()


@pytest.fixture
def seconds() -> FakeSeconds:
    return FakeSeconds()


@pytest.fixture
def probe(check: Check, seconds: FakeSeconds) -> Probe:
    return Probe(check, seconds)


def test_a_store_that_takes_writes_is_healthy(probe: Probe) -> None:
    assert probe.health() == Health(is_writable=True, age_seconds=0)


@pytest.mark.parametrize("error", [StoreUnavailable("gone"), StoreBusy("locked")])
def test_a_store_that_takes_no_writes_is_not_healthy(
    probe: Probe, check: Check, error: StoreUnavailable
) -> None:
    check.error = error

    assert probe.health() == Health(is_writable=False, age_seconds=0)


def test_why_a_store_takes_no_writes_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def refuse() -> None:
        raise StoreUnavailable("the disk is full")

    Probe(refuse).health()

    assert [record.fields["cause"] for record in caplog.records] == ["the disk is full"]  # type: ignore[attr-defined]


def test_the_last_answer_is_given_with_its_age_for_ten_seconds(
    probe: Probe, check: Check, seconds: FakeSeconds
) -> None:
    probe.health()
    check.error = StoreUnavailable("gone")
    seconds.now += 9.5

    assert probe.health() == Health(is_writable=True, age_seconds=9.5)


def test_the_store_is_asked_once_in_ten_seconds(
    probe: Probe, check: Check, seconds: FakeSeconds
) -> None:
    for _ in range(40):
        probe.health()
        seconds.now += 0.5

    assert check.calls == 2


@pytest.mark.parametrize("was_healthy", [True, False])
def test_the_answer_changes_when_the_store_is_asked_again(
    probe: Probe, check: Check, seconds: FakeSeconds, was_healthy: bool
) -> None:
    gone = StoreUnavailable("gone")
    check.error = None if was_healthy else gone
    probe.health()

    check.error = gone if was_healthy else None
    seconds.now += 10

    assert probe.health() == Health(is_writable=not was_healthy, age_seconds=0)


def test_the_age_counts_from_the_answer_and_not_from_the_question(seconds: FakeSeconds) -> None:
    def slow() -> None:
        seconds.now += 3

    probe = Probe(slow, seconds)

    probe.health()
    seconds.now += 1

    assert probe.health().age_seconds == 1


def test_a_caller_gets_the_last_answer_while_somebody_else_asks(seconds: FakeSeconds) -> None:
    heard: list[Health] = []

    def check() -> None:
        if seconds.now > 1_000:
            heard.append(asked.health())

    asked = Probe(check, seconds)
    asked.health()
    seconds.now += 12

    asked.health()

    assert heard == [Health(is_writable=True, age_seconds=12)]


def test_the_first_callers_share_one_question(seconds: FakeSeconds) -> None:
    calls: list[int] = []
    start = threading.Barrier(8)
    answers: list[Health] = []
    probe = Probe(lambda: calls.append(1), seconds)

    def ask() -> None:
        start.wait()
        answers.append(probe.health())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(calls) == 1
    assert answers == [Health(is_writable=True, age_seconds=0)] * 8


def test_a_fault_in_the_check_is_not_taken_for_an_answer(probe: Probe, check: Check) -> None:
    check.error = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        probe.health()

    check.error = None

    assert probe.health() == Health(is_writable=True, age_seconds=0)
