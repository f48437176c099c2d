"""What a process that may be killed writes down, and what is read from that afterwards."""

from pathlib import Path

import pytest

from queuelog_core.client import HttpTransport, LeaseLost, NoAnswer, Request, Response, Unreachable
from tests.support.history import (
    ANSWERED,
    CUT_OFF,
    LOST,
    OK,
    REFUSED,
    UNKNOWN,
    UNREACHED,
    Recorder,
    Tail,
    Try,
    read_history,
    read_life,
)
from tests.support.nemesis import Kill, in_flight

REQUEST = Request("GET", "/health", {})


class Network(HttpTransport):
    """Gives what it is made of, one after the other."""

    def __init__(self, *answers: Response | NoAnswer) -> None:
        self._answers = list(answers)

    def __call__(self, _: Request) -> Response:
        answer = self._answers.pop(0)
        if isinstance(answer, NoAnswer):
            raise answer
        return answer


def recorder(folder: Path) -> Recorder:
    return Recorder(folder / "life", "shop-0.0", "shop", "server-1")


def refuse() -> None:
    raise LeaseLost(409)


def give_up() -> None:
    raise Unreachable("GET /health")


def test_every_call_is_read_with_what_it_asked_and_was_told(tmp_path: Path) -> None:
    file = recorder(tmp_path)
    assert file.call("cancel", {"job": 1}, lambda: 7, lambda seven: {"is": seven}) == 7
    assert file.call("cancel", {"job": 2}, refuse, lambda _: {}) is None
    assert file.call("cancel", {"job": 3}, give_up, lambda _: {}) is None

    calls = read_history(iter([tmp_path / "life"])).calls
    assert [call.asked["job"] for call in calls] == [1, 2, 3]
    assert [call.outcome for call in calls] == [OK, REFUSED, UNKNOWN]
    assert calls[0].told == {"is": 7} and calls[1].told["code"] == "lease-lost"
    times = [at for call in calls for at in (call.invoked_at, call.ended_at) if at]
    assert times == sorted(times) and len(times) == 6


def test_every_try_is_read_with_its_ending(tmp_path: Path) -> None:
    replay = Response(200, {"idempotent-replayed": "true"})
    lost, unreached = NoAnswer("the answer broke off"), NoAnswer("connection refused (…)")
    send = recorder(tmp_path).watched(Network(replay, lost, unreached))
    assert send(REQUEST) is replay
    for _ in range(2):
        with pytest.raises(NoAnswer):
            send(REQUEST)

    tries = read_life(tmp_path / "life").tries
    assert [each.ending for each in tries] == [ANSWERED, LOST, UNREACHED]
    assert [each.replayed for each in tries] == [True, False, False]
    assert {each.server for each in tries} == {"server-1"}


def test_a_line_that_a_kill_cut_off_does_not_count(tmp_path: Path) -> None:
    recorder(tmp_path).call("cancel", {"job": 1}, lambda: 7, lambda _: {"told": "x" * 50})
    path = tmp_path / "life"
    path.write_bytes(path.read_bytes()[:-20])

    [call] = read_life(path).calls
    assert call.outcome == UNKNOWN and call.ended_at is None


def test_whoever_follows_a_file_sees_when_a_request_is_under_way(tmp_path: Path) -> None:
    seen = []
    file, tail = recorder(tmp_path), Tail(tmp_path / "life")

    def look() -> None:
        seen.append(tail.is_waiting())
        file.watched(Network(Response(200, {})))(REQUEST)

    class Looking(Network):
        def __call__(self, request: Request) -> Response:
            seen.append(tail.is_waiting())
            return super().__call__(request)

    file.call("get", {}, look, lambda _: {})
    file.watched(Looking(Response(200, {})))(REQUEST)
    seen.append(tail.is_waiting())
    tail.close()
    assert seen == [False, True, False]


def test_a_kill_counts_when_it_met_a_request() -> None:
    tries = [
        Try("shop-0.0", "server-0", 10, 20, ANSWERED),
        Try("shop-0.0", "server-0", 30, 40, LOST),
        Try("shop-0.0", "server-0", 50, 60, UNREACHED),
        Try("shop-0.0", "server-1", 70, None, CUT_OFF),
    ]
    met = [Kill("server", "server-0", 35), Kill("producer", "shop-0.0", 75)]
    missed = [
        Kill("server", "server-0", 15),
        Kill("server", "server-0", 55),
        Kill("server", "server-1", 35),
        Kill("producer", "shop-0.1", 80),
    ]
    assert in_flight(met + missed, tries) == met
