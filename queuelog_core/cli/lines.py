"""Jobs from JSON lines: what `enqueue TYPE -` and `jobs import` share."""

import sys
from codecs import BOM_UTF8
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

import click

from queuelog_core.cli.screen import json_line, progress, say
from queuelog_core.cli.shared import fail, tell
from queuelog_core.client import BatchResult, Client
from queuelog_core.client.errors import error_for
from queuelog_core.errors import QueuelogError
from queuelog_core.http.strict_json import DEPTH_MAX, parse_json

MADE, KNOWN, REFUSED, PASSED_OVER = "enqueued", "there already", "refused", "passed over"
PAYLOAD_DEPTH_MAX = DEPTH_MAX - 1
ToJob = Callable[[int, bytes], Mapping[str, Any] | None]
"""From a line and its number to what is enqueued; None passes it over. Raises ValueError in words
for a user."""


def enqueue_lines(
    client: Client, stream: IO[bytes], to_job: ToJob, *, as_json: bool, key_suffices: bool = False
) -> "Counter[str]":
    """Enqueue a job for each line, in batches, and print the ids; one that is refused is told on
    stderr and stops no other. With `key_suffices` a key that names a job of another request is no
    refusal. Returns how many ended how; an interrupt tells how many lines are without an answer."""
    counts: Counter[str] = Counter()
    waiting: deque[int] = deque()
    try:
        with progress("enqueued", _lines_in(stream)) as advance:
            for result in client.enqueue_many(_jobs(stream, to_job, counts, waiting)):
                number = waiting.popleft()
                advance(1)
                if result.id is None or (result.payload_mismatch and not key_suffices):
                    _refuse(counts, number, _why(result))
                    continue
                counts[KNOWN if result.replayed else MADE] += 1
                told = {"line": number, "id": result.id, "replayed": result.replayed}
                say(json_line(told) if as_json else result.id)
    except KeyboardInterrupt:
        if waiting:
            tell("interrupted", f"lines read and not known to be enqueued: {len(waiting)}")
        raise
    return counts


def _jobs(
    stream: IO[bytes], to_job: ToJob, counts: "Counter[str]", waiting: deque[int]
) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(stream, start=1):
        if not line.strip():
            continue
        try:
            job = to_job(number, line)
        except ValueError as error:
            _refuse(counts, number, error)
            continue
        if job is None:
            counts[PASSED_OVER] += 1
            continue
        waiting.append(number)
        yield job


def _refuse(counts: "Counter[str]", number: int, words: object) -> None:
    counts[REFUSED] += 1
    tell("error", f"line {number}: {words}")


def end_unless_all_were_taken(counts: "Counter[str]") -> None:
    """End the command as failed when a line was refused."""
    if counts[REFUSED]:
        fail(f"lines refused: {counts[REFUSED]}; the others are enqueued")


def json_object(data: bytes, depth_max: int = DEPTH_MAX) -> dict[str, Any]:
    """The object that JSON text in UTF-8 holds, read as strictly as the API does: it would refuse a
    whole batch for one that it cannot read. Raises ValueError in words for a user."""
    try:
        value = parse_json(data.removeprefix(BOM_UTF8), depth_max)
    except QueuelogError as error:
        words = error.errors[0].message if error.errors else error.detail
        raise ValueError(f"is not JSON as the API takes it: {words}") from None
    if not isinstance(value, dict):
        raise ValueError("must be a JSON object")
    return value


def stdin_lines() -> IO[bytes]:
    """What comes on stdin."""
    if sys.stdin is None:
        raise click.UsageError("stdin is closed")
    return sys.stdin.buffer


def _why(result: BatchResult) -> str:
    if result.error is None:
        return "its idempotency key names another job, which is unchanged"
    return str(error_for(result.status, result.error))


def _lines_in(stream: IO[bytes]) -> int | None:
    """How many lines are still to come; None for a stream that can be read only once."""
    if not stream.seekable():
        return None
    start = stream.tell()
    total = sum(1 for _ in stream)
    stream.seek(start)
    return total
