"""`queuelog jobs export` and `import`: jobs as JSON lines."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from itertools import islice
from typing import IO, Any

import click

from queuelog_core.cli.filters import filters, wanted
from queuelog_core.cli.lines import (
    KNOWN,
    MADE,
    PASSED_OVER,
    end_unless_all_were_taken,
    enqueue_lines,
    json_object,
    stdin_lines,
)
from queuelog_core.cli.screen import json_line, progress, say
from queuelog_core.cli.shared import LONG_BUDGET_SECONDS, calling, json_option
from queuelog_core.client import Job, new_job
from queuelog_core.job import TERMINAL, Status

_CONTENT = ("type", "payload", "priority", "max_retries", "run_at")
_DELAY = "delay_seconds"
_BY_HAND = {*Job._fields, _DELAY}
_ORIGIN = ("producer_id", "id", "created_at")


class _Input(click.File):
    """A file to read, or stdin."""

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> IO[bytes]:
        """See click.ParamType."""
        return stdin_lines() if value == "-" else super().convert(value, param, context)


@click.command()
@filters
@click.option("--limit", type=click.IntRange(1), help="At most so many jobs.")
@click.option("--json", is_flag=True, expose_value=False, help="What it prints anyhow.")
def export(limit: int | None, **asked: Any) -> None:
    """Print jobs as JSON lines, the oldest first, all that the key may see of them.

    \b
    Examples:
      queuelog jobs export > jobs.jsonl
      queuelog jobs export --status pending --type email > emails.jsonl
    """
    with calling(LONG_BUDGET_SECONDS) as client, progress("exported", limit) as advance:
        for job in islice(client.jobs(**wanted(asked), order="asc", limit=200), limit):
            say(json_line(job._asdict()))
            advance(1)


@click.command("import")
@click.argument("file", type=_Input("rb"), default="-")
@click.option("--finished", is_flag=True, help="Also jobs that are completed, failed or cancelled.")
@json_option("Print {line, id, replayed} for each job.")
def import_jobs(file: IO[bytes], finished: bool, as_json: bool) -> None:
    """Enqueue the jobs of a FILE that `export` made, or of stdin, and print their ids.

    Each begins anew as pending, with its type, payload, priority, max_retries and run_at, and is
    the key's own. Importing the same lines again, also after an import that broke off, makes no job
    twice. Finished jobs are passed over unless you ask for them; then they become new jobs, once.

    \b
    Examples:
      queuelog jobs import jobs.jsonl
      queuelog jobs export --status failed | queuelog jobs import --finished
    """
    with calling(LONG_BUDGET_SECONDS) as client:
        reader = _Reader(client.whoami()["name"], finished)
        counts = enqueue_lines(client, file, reader, as_json=as_json, key_suffices=True)
    told = [f"{counts[name]} {name}" for name in (MADE, KNOWN, PASSED_OVER) if counts[name]]
    click.echo(", ".join(told) or "no jobs", err=True)
    end_unless_all_were_taken(counts)


class _Reader:
    """From a line to the job that it makes, with the same key each time that it is read."""

    def __init__(self, owner: str, finished: bool) -> None:
        self._owner = owner
        self._finished = finished
        self._seen: Counter[str] = Counter()

    def __call__(self, _number: int, text: bytes) -> Mapping[str, Any] | None:
        line = _checked(json_object(text))
        if not self._finished and _is_finished(line):
            return None
        fields = {name: line.get(name) for name in ("payload", "priority", "max_retries", _DELAY)}
        run_at = line.get("run_at")
        is_delayed = run_at is not None and run_at != line.get("created_at")
        return new_job(
            line["type"],
            **fields,
            run_at=_time(run_at) if is_delayed else None,
            idempotency_key=self._key(line),
        )

    def _key(self, line: dict[str, Any]) -> Any:
        """The job's own key where it goes on to mean this producer's job, which that of a finished
        one does not; else its content, and for jobs that are written by hand how many like it came
        before."""
        own, owner = line.get("idempotency_key"), line.get("producer_id")
        if own is not None and owner in (None, self._owner) and not _is_finished(line):
            return own
        is_exported = line.get("id") is not None
        # What an exported job goes through later is no other job. Lines that name no delay keep the
        # keys of versions that knew none.
        by_hand = (*_CONTENT, *({_DELAY} & line.keys()))
        names = (*_CONTENT[:2], *_ORIGIN) if is_exported else by_hand
        text = json.dumps({name: line.get(name) for name in names}, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:32]
        if is_exported:
            return f"import-{digest}"
        self._seen[digest] += 1
        return f"import-{digest}-{self._seen[digest]}"


def _checked(line: dict[str, Any]) -> dict[str, Any]:
    """A line that says what it means: only an export, whose jobs have an id, may know names that
    this version does not. Raises ValueError; other values are the server's to judge."""
    if not isinstance(line.get("type"), str):
        raise ValueError("names no type")
    if line.get("status") not in (None, *Status):
        raise ValueError(f"its status is none of {', '.join(Status)}")
    if type(line.get("id")) not in (int, type(None)):
        raise ValueError("its id is no integer")
    if line.get("id") is None and (unknown := sorted(line.keys() - _BY_HAND)):
        raise ValueError(f"no job has a {', '.join(unknown)}")
    return line


def _is_finished(line: dict[str, Any]) -> bool:
    return line.get("status") in TERMINAL


def _time(text: Any) -> datetime:
    """Raises ValueError for what is no time with a zone."""
    found = datetime.fromisoformat(str(text))
    if found.tzinfo is None:
        raise ValueError("run_at has no time zone")
    return found
