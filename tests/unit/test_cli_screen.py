"""How the command words values, times and lines of JSON."""

import json
from datetime import UTC, datetime
from typing import Any

import click
import pytest

from queuelog_core.cli.filters import Time
from queuelog_core.cli.lines import json_object
from queuelog_core.cli.screen import cell, json_line, looks, print_table
from queuelog_core.cli.shared import Duration

NOON = datetime(2026, 11, 29, 12, 0, 0, 7_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        ("", "-"),
        (0, "0"),
        (NOON, "2026-11-29 12:00:00Z"),
        (["email", "pdf"], "email,pdf"),
        ([1, "a"], '[1, "a"]'),
        ({"to": "é\x9b"}, '{"to": "é\\x9b"}'),
        ("\x1b[2J\x00\x7f\x85\n\t", r"\x1b[2J\x00\x7f\x85\n\t"),
        ("\u202eevil\ud800", r"\u202eevil\ud800"),
        ("grüße 你好 🎉", "grüße 你好 🎉"),
    ],
)
def test_a_cell_is_one_line_that_steers_nothing(value: object, shown: str) -> None:
    assert cell(value) == shown


def test_a_line_of_json_is_one_line_to_every_reader_and_keeps_its_data() -> None:
    document = {"text": "é\u2028\x85\x9b\x7f\u202e\U000e0001🎉", "at": NOON}

    line = json_line(document)

    assert line.isprintable()
    assert json.loads(line) == {**document, "at": "2026-11-29T12:00:00.007Z"}
    assert "é" in line
    assert "🎉" in line


def test_a_table_without_a_terminal_has_columns_as_wide_as_they_need(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows: list[dict[str, Any]] = [{"id": 7, "type": "email"}, {"id": 123, "type": None}]

    print_table(rows)
    print_table([])

    assert capsys.readouterr().out.splitlines() == ["id   type", "7    email", "123  -"]


def test_there_are_as_many_looks_as_rounds() -> None:
    assert len(list(looks(0, 3))) == 3
    assert len(list(looks(0, 1))) == 1
    for_ever = looks(0, None)
    assert [next(for_ever) for _ in range(50)] == [None] * 50


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("30m", 1800),
        ("12h", 43_200),
        ("7d", 604_800),
        ("0s", None),
        ("90", None),
        ("1.5h", None),
        ("-1s", None),
        ("1s ", None),
        ("\u0661s", None),
        ("99999999s", None),
    ],
)
def test_a_length_of_time_has_a_unit(text: str, seconds: int | None) -> None:
    if seconds is None:
        with pytest.raises(click.BadParameter, match="looks like 90s"):
            Duration().convert(text, None, None)
    else:
        assert Duration().convert(text, None, None) == seconds


def test_a_length_of_time_is_at_most_ten_years_or_what_its_option_says() -> None:
    assert Duration().convert("3650d", None, None) == 315_360_000
    assert Duration(3651).convert("3651d", None, None) == 315_446_400
    for text in ("3651d", "87601h", "9999999d"):
        with pytest.raises(click.BadParameter, match="at most 3650d"):
            Duration().convert(text, None, None)


def test_a_point_in_time_has_a_zone() -> None:
    assert Time().convert("2026-11-29T13:00:00.007+01:00", None, None) == NOON
    for text in ("2026-11-29T12:00:00", "2026-11-29", "noon"):
        with pytest.raises(click.BadParameter, match="looks like 2026"):
            Time().convert(text, None, None)


def test_a_mark_of_the_byte_order_is_no_part_of_an_object() -> None:
    assert json_object(b'\xef\xbb\xbf{"n": 1}\r\n') == {"n": 1}
