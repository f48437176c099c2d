"""Every pattern is linear by its form; the times themselves are a matter of the benchmark.

Python's engine goes back only into what it has matched already. So a text is read a bounded number
of times if repetitions are bounded, and if all that follows an unbounded one may be empty: then the
match succeeds, its text is replaced, and it is not read again.
"""

import re
from collections.abc import Iterator
from re import _constants as codes
from re import _parser as parser
from typing import Any

import pytest

from queuelog_core.redact_rule import Rule
from queuelog_core.redact_rules import RULES

BOUND = 2_048
REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
LOOKS = (codes.ASSERT, codes.ASSERT_NOT)
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)


def inner(argument: Any) -> list[Any]:
    """The patterns that an operation contains."""
    if isinstance(argument, parser.SubPattern):
        return [argument]
    if isinstance(argument, list | tuple):
        return [found for each in argument for found in inner(each)]
    return []


def longest(pattern: Any, seen: bool = True) -> int:
    """The bound of the longest repetition in a pattern; without look-arounds, if not `seen`."""
    most = 0
    for operation, argument in pattern:
        if operation in LOOKS and not seen:
            continue
        if operation in REPEATS:
            most = max(most, int(argument[1]))
        most = max([most, *(longest(part, seen) for part in inner(argument))])
    return most


def faults(pattern: Any, may_end: bool = True) -> Iterator[str]:
    """What could make a pattern read a text more than a bounded number of times."""
    steps = list(pattern)
    for place, (operation, argument) in enumerate(steps):
        rest_may_be_empty = may_end and all(
            width_of(pattern, later) == 0 for later in range(place + 1, len(steps))
        )
        if operation in REPEATS and argument[1] > BOUND:
            if not rest_may_be_empty:
                yield "something must match after an unbounded repetition"
            if longest(argument[2], seen=False) > 1:
                yield "a repetition inside an unbounded one"
        elif operation in LOOKS and longest(argument[1]) > BOUND:
            yield "an unbounded look-around"
        else:
            for part in inner(argument):
                yield from faults(part, rest_may_be_empty)


def width_of(pattern: Any, place: int) -> int:
    """The fewest characters that one step of a pattern matches."""
    low, _ = pattern[place : place + 1].getwidth()
    return int(low)


@every_rule
def test_a_pattern_reads_a_text_a_bounded_number_of_times(rule: Rule) -> None:
    assert list(faults(parser.parse(rule.expression))) == []


@pytest.mark.parametrize(
    "expression",
    ["(?:a+)+", "a*b", "(?:x|a+)b", "(?:a{1,9})*", "a(?=.*b)", "(?P<keep>a+)b", "a.*?b", "(a*)*b"],
)
def test_a_pattern_that_is_not_linear_would_be_noticed(expression: str) -> None:
    assert list(faults(parser.parse(expression)))


@every_rule
def test_a_pattern_is_written_in_lower_case(rule: Rule) -> None:
    """The text that it is matched against is."""
    literals = re.sub(r"\\.|\(\?P.", "", rule.expression)

    assert literals == literals.lower()


def test_the_text_that_patterns_see_has_the_length_of_the_original() -> None:
    """Only U+0130 grows in lower case; the scrubber replaces it first."""
    grown = [code for code in range(0x110000) if len(chr(code).lower()) != 1]

    assert grown == [0x130]
