"""Instants in and out of text, and a clock that never goes back."""

import re
import threading
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queuelog_core.clock import INSTANT_MAX, SystemClock, format_instant, parse_instant
from tests.support.factories import NOON

print_blob = settings(print_blob=True, deadline=None)
instants = st.integers(0, INSTANT_MAX)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROS_MAX = (INSTANT_MAX - 24 * 3_600_000) * 1000


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-29T12:00:00Z",
        "2026-11-29T12:00:00.000Z",
        "2026-11-29t12:00:00z",
        "2026-11-29T12:00:00+00:00",
        "2026-11-29T12:00:00-00:00",
        "2026-11-29T13:00:00+01:00",
        "2026-11-29T06:30:00-05:30",
        "2026-11-30T11:59:00+23:59",
        "2026-11-28T12:01:00-23:59",
    ],
)
def test_one_instant_may_be_written_in_many_ways(text: str) -> None:
    assert parse_instant(text) == NOON


@pytest.mark.parametrize(
    ("fraction", "millis"),
    [
        ("0", 0),
        ("5", 500),
        ("05", 50),
        ("123", 123),
        ("123000", 123),
        ("1230000000001", 124),
        ("000001", 1),
        ("0009999", 1),
        ("999", 999),
        ("9990001", 1000),
        ("999999999", 1000),
        ("0" * 999 + "1", 1),
    ],
)
def test_a_time_finer_than_milliseconds_is_rounded_up(fraction: str, millis: int) -> None:
    assert parse_instant(f"2026-11-29T12:00:00.{fraction}Z") == NOON + millis


def test_a_leap_second_is_the_first_of_the_next_minute() -> None:
    leap = parse_instant("2016-12-31T23:59:60Z")

    assert leap == parse_instant("2017-01-01T00:00:00Z")


def test_a_leap_second_keeps_its_fraction_and_its_offset() -> None:
    leap = parse_instant("2017-01-01T00:59:60.25+01:00")

    assert leap == parse_instant("2017-01-01T00:00:00.250Z")


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-29T12:00:00",
        "2026-11-29T12:00:00.5",
        "2026-11-29 12:00:00Z",
        "2026-11-29T12:00:00 Z",
        "2026-11-29_12:00:00Z",
        " 2026-11-29T12:00:00Z",
        "2026-11-29T12:00:00Z\n",
        "2026-11-29T12:00:00Z\0",
        "2026-11-29",
        "2026-11-29T12:00Z",
        "2026-11-29T12Z",
        "20261129T120000Z",
        "2026-W48-7T12:00:00Z",
        "2026-333T12:00:00Z",
        "2026-11-29T12:00:00,5Z",
        "2026-11-29T12:00:00.Z",
        "2026-11-29T12:00:00+0100",
        "2026-11-29T12:00:00+01",
        "2026-11-29T12:00:00+1:00",
        "2026-11-29T12:00:00+24:00",
        "2026-11-29T12:00:00+01:60",
        "2026-11-29T12:00:00UTC",
        "2026-11-29T12:00:00ZZ",
        "2026-02-29T12:00:00Z",
        "2026-13-01T12:00:00Z",
        "2026-00-01T12:00:00Z",
        "2026-11-31T12:00:00Z",
        "2026-11-29T24:00:00Z",
        "2026-11-29T12:60:00Z",
        "2026-11-29T12:00:61Z",
        "2026-11-29T12:00:60Z",
        "2026-11-29T12:34:60Z",
        "2026-11-29T23:59:60-01:00",
        "2016-12-31T23:59:60+01:00",
        "0000-01-01T00:00:00Z",
        "-2026-11-29T12:00:00Z",
        "+2026-11-29T12:00:00Z",
        "12026-11-29T12:00:00Z",
        "٢٠٢٦-11-29T12:00:00Z",
        "2026\u201011\u201029T12:00:00Z",
        "1795953600",
        "now",
        "",
    ],
)
def test_a_text_that_is_no_rfc_3339_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_instant(text)


def test_the_last_millisecond_of_the_year_9999_is_the_last_that_is_read() -> None:
    assert parse_instant("9999-12-31T23:59:59.999Z") == INSTANT_MAX


@pytest.mark.parametrize(
    "text",
    [
        "9999-12-31T23:59:59.9991Z",
        "9999-12-31T23:59:60Z",
        "9999-12-31T23:59:59-00:01",
        "9999-12-31T00:01:00-23:59",
    ],
)
def test_a_time_after_the_year_9999_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="out of range"):
        parse_instant(text)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "1969-12-31T23:59:59.999Z"])
def test_a_time_long_ago_can_be_written_again(text: str) -> None:
    assert parse_instant(format_instant(parse_instant(text))) == parse_instant(text)


def test_times_with_and_without_a_fraction_are_ordered_by_instant() -> None:
    """B11, B12: as text, a time without a fraction sorts after one with a fraction."""
    earlier, later = "2026-11-29T12:00:00Z", "2026-11-29T12:00:00.000001Z"

    assert parse_instant(earlier) < parse_instant(later)
    assert earlier > later


def test_times_with_offsets_are_ordered_by_instant() -> None:
    """B13: as text, offsets that change with daylight saving put times in the wrong order."""
    summer, winter = "2026-03-29T01:00:00+02:00", "2026-03-29T00:30:00+01:00"

    assert parse_instant(summer) < parse_instant(winter)
    assert summer > winter


@print_blob
@given(st.integers(0, MICROS_MAX), st.integers(-1439, 1439), st.sampled_from("Tt"))
def test_a_time_is_read_as_its_instant_whatever_its_offset(
    micros: int, minutes: int, letter: str
) -> None:
    local = EPOCH + timedelta(microseconds=micros, minutes=minutes)
    sign, (hour, minute) = "-" if minutes < 0 else "+", divmod(abs(minutes), 60)
    text = local.replace(tzinfo=None).isoformat(letter) + f"{sign}{hour:02}:{minute:02}"

    assert parse_instant(text) == -(-micros // 1000)


@print_blob
@given(instants)
def test_an_instant_is_written_in_one_fixed_width_and_read_back(instant: int) -> None:
    text = format_instant(instant)

    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", text)
    assert parse_instant(text) == instant


@print_blob
@given(instants, instants)
def test_written_instants_sort_as_text_in_their_order(one: int, other: int) -> None:
    assert (format_instant(one) < format_instant(other)) == (one < other)


def test_the_host_clock_may_jump_back_but_its_reading_does_not() -> None:
    readings = iter([5_000_000, 3_000_000, 5_999_999, 7_000_000])
    clock = SystemClock(lambda: next(readings))

    assert [clock(), clock(), clock(), clock()] == [5, 5, 5, 7]


def test_the_host_clock_reads_milliseconds_since_1970() -> None:
    before = datetime.now(UTC).timestamp()

    reading = SystemClock()() / 1000

    assert before - 1 <= reading <= datetime.now(UTC).timestamp() + 1


def test_a_clock_shared_by_threads_goes_back_for_none_of_them() -> None:
    falling = iter(range(10**10, 0, -1_000_000))
    clock = SystemClock(lambda: next(falling))
    seen: list[list[int]] = []

    def read() -> None:
        seen.append([clock() for _ in range(500)])

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert seen == [[10_000] * 500] * 4
