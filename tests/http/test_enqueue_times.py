"""When a job may start: run_at and delay_seconds."""

from typing import Any

import pytest

from tests.support.http import Api, faults

NOW = "2026-11-29T12:00:00.000Z"
YEAR_SECONDS = 31_536_000


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("2026-11-29T12:00:01Z", "2026-11-29T12:00:01.000Z"),
        ("2026-11-29t12:00:01z", "2026-11-29T12:00:01.000Z"),
        ("2026-11-29T13:00:01+01:00", "2026-11-29T12:00:01.000Z"),
        ("2026-11-29T06:30:01.5-05:30", "2026-11-29T12:00:01.500Z"),
        ("2026-11-30T00:00:00+00:00", "2026-11-30T00:00:00.000Z"),
        ("2027-01-01T00:00:00+12:00", "2026-12-31T12:00:00.000Z"),
    ],
)
def test_a_time_with_any_offset_is_shown_in_utc(api: Api, sent: str, shown: str) -> None:
    assert api.enqueue(run_at=sent)["run_at"] == shown


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("2026-11-29T12:00:01.001000000Z", "2026-11-29T12:00:01.001Z"),
        ("2026-11-29T12:00:01.000000001Z", "2026-11-29T12:00:01.001Z"),
        ("2026-11-29T12:00:01.0014Z", "2026-11-29T12:00:01.002Z"),
        ("2026-11-29T12:00:01.9990001Z", "2026-11-29T12:00:02.000Z"),
        ("2026-11-29T12:59:59.9999Z", "2026-11-29T13:00:00.000Z"),
        ("2026-12-31T23:59:59.9995Z", "2027-01-01T00:00:00.000Z"),
    ],
)
def test_a_time_finer_than_milliseconds_is_rounded_up(api: Api, sent: str, shown: str) -> None:
    assert api.enqueue(run_at=sent)["run_at"] == shown


@pytest.mark.parametrize(
    "past", ["2026-11-29T11:59:59.999Z", "1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z"]
)
def test_a_time_in_the_past_means_now(api: Api, past: str) -> None:
    assert api.enqueue(run_at=past)["run_at"] == NOW


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-29T12:00:01",
        "2026-11-29",
        "2026-11-29T12:00Z",
        "2026-11-29T12:00:01+0100",
        "2026-11-29T12:00:01+01",
        "2026-11-29T12:00:01+24:00",
        "2026-11-29T12:00:01+01:60",
        "2026-11-29T12:00:01.Z",
        "2026-11-29T12:00:01,5Z",
        "2026-11-29T24:00:01Z",
        "2026-11-29T12:60:01Z",
        "2026-11-29T12:00:61Z",
        "2026-13-29T12:00:01Z",
        "2027-02-29T12:00:01Z",
        "2026-11-29T12:00:01Z\n",
        " 2026-11-29T12:00:01Z",
        "٢٠٢٦-11-29T12:00:01Z",
        "+2026-11-29T12:00:01Z",
        "1795953601",
        "tomorrow",
        "",
    ],
)
def test_a_time_that_is_not_rfc_3339_with_an_offset_is_refused(api: Api, text: str) -> None:
    """B13 for the time without an offset."""
    reply = api.call("POST", "/jobs", "producer", {"type": "email", "run_at": text})

    assert faults(reply) == [("run_at", "wrong-format")]


def test_a_job_may_run_a_year_from_now_at_the_latest(api: Api) -> None:
    job = api.enqueue(run_at="2027-11-29T12:00:00.000Z")

    assert job["run_at"] == "2027-11-29T12:00:00.000Z"


@pytest.mark.parametrize(
    "late", ["2027-11-29T12:00:00.001Z", "2027-11-29T12:00:00.0000001Z", "9999-12-31T23:59:59Z"]
)
def test_a_time_more_than_a_year_from_now_is_refused(api: Api, late: str) -> None:
    reply = api.call("POST", "/jobs", "producer", {"type": "email", "run_at": late})

    assert faults(reply) == [("run_at", "out-of-range")]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, NOW), (1, "2026-11-29T12:00:01.000Z"), (YEAR_SECONDS, "2027-11-29T12:00:00.000Z")],
)
def test_a_delay_counts_from_now(api: Api, seconds: int, shown: str) -> None:
    assert api.enqueue(delay_seconds=seconds)["run_at"] == shown


@pytest.mark.parametrize("seconds", [-1, YEAR_SECONDS + 1, 2**63, 10**12])
def test_a_delay_out_of_its_limits_is_refused(api: Api, seconds: int) -> None:
    reply = api.call("POST", "/jobs", "producer", {"type": "email", "delay_seconds": seconds})

    assert faults(reply) == [("delay_seconds", "out-of-range")]


@pytest.mark.parametrize("times", [{"run_at": NOW, "delay_seconds": 0}])
def test_both_times_at_once_are_refused(api: Api, times: dict[str, Any]) -> None:
    reply = api.call("POST", "/jobs", "producer", {"type": "email", **times})

    assert faults(reply) == [("delay_seconds", "conflict")]


@pytest.mark.parametrize(
    "times", [{"run_at": None, "delay_seconds": 5}, {"run_at": NOW, "delay_seconds": None}]
)
def test_a_time_beside_a_null_is_not_both(api: Api, times: dict[str, Any]) -> None:
    reply = api.call("POST", "/jobs", "producer", {"type": "email", **times})

    assert reply.status_code == 201


def test_a_job_never_starts_early(api: Api) -> None:
    api.enqueue(run_at="2026-11-29T12:00:00.0001Z")

    early = api.claim()
    api.clock.advance(0.001)
    due = api.claim()

    assert early is None
    assert due["id"] == 1
