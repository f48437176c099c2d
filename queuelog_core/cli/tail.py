"""`queuelog jobs tail`: the newest jobs, and what becomes of them."""

import contextlib
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import click

from queuelog_core.cli.filters import filters, wanted
from queuelog_core.cli.screen import cell, json_line, looks
from queuelog_core.cli.shared import Duration, calling, json_option, only_with
from queuelog_core.client import Client, Job, NotFound

PAGE = 200
NEW_MAX = 2000


@click.command()
@filters
@click.option("-n", "--lines", default=10, show_default=True, type=click.IntRange(0, PAGE))
@click.option("-f", "--follow", is_flag=True, help="Go on until Ctrl-C.")
@click.option("--interval", type=Duration(), default="2s", show_default=True, help="With -f.")
@click.option("--rounds", type=click.IntRange(1), help="With -f: end after so many looks.")
@json_option("Print the whole job for each line.")
def tail(
    lines: int, follow: bool, interval: int, rounds: int | None, as_json: bool, **asked: Any
) -> None:
    """Show what changed last, and with -f go on.

    A line for each job, as it is now. With -f there is another one for each new job and each change
    of status among the newest 200 jobs and the newest 200 that run; what begins and ends between
    two looks is one line.

    \b
    Examples:
      queuelog jobs tail -n 5
      queuelog jobs tail -f --type email --rounds 2
    """
    only_with("-f", follow, "interval", "rounds")
    with calling() as client, contextlib.suppress(KeyboardInterrupt):
        follower = Follower(client, asked)
        for turn, _ in enumerate(looks(interval, rounds if follow else 1)):
            changed = follower.look()
            for job in changed if turn else changed[len(changed) - min(lines, len(changed)) :]:
                click.echo(json_line(job._asdict()) if as_json else _line(job))


class Follower:
    """Sees what changed among the newest jobs and those that run."""

    def __init__(self, client: Client, asked: dict[str, Any]) -> None:
        self._client = client
        self._status = asked["status"]
        self._where = {**wanted(asked), "status": None, "limit": PAGE}
        self._known: dict[int, Job] | None = None
        self._last_id = 0
        self._last_change = datetime.min.replace(tzinfo=UTC)

    def look(self) -> list[Job]:
        """Jobs that are new or no longer as they were, in the order of their changes."""
        known = self._known or {}
        newest = self._newest()
        running = self._client.jobs(**{**self._where, "status": "running"})
        found = {job.id: job for job in [*newest, *islice(running, PAGE)]}
        for job in known.values():
            # One that ran and is in neither list has ended, however old it is.
            if job.status == "running" and job.id not in found:
                with contextlib.suppress(NotFound):
                    found[job.id] = self._client.get(job.id)
        changed = [job for job in found.values() if self._is_news(job, known.get(job.id))]
        self._known = found
        self._last_id = max([self._last_id, *(job.id for job in newest)])
        self._last_change = max([self._last_change, *(job.updated_at for job in newest)])
        shown = [job for job in changed if self._status in (None, job.status)]
        return sorted(shown, key=lambda job: (job.updated_at, job.id))

    def _newest(self) -> list[Job]:
        """A page, or as many more as came since the last look."""
        newest: list[Job] = []
        most = PAGE if self._known is None else NEW_MAX
        for job in islice(self._client.jobs(**self._where), most):
            newest.append(job)
            if len(newest) >= PAGE and job.id <= self._last_id:
                break
        return newest

    def _is_news(self, job: Job, before: Job | None) -> bool:
        if before is None:
            # An old one that nobody touched has only moved up to where others were deleted.
            return job.id > self._last_id or job.updated_at > self._last_change
        return _state(job) != _state(before)


def _state(job: Job) -> object:
    return job.status, job.attempt, job.retry_count


def _line(job: Job) -> str:
    words = [job.updated_at, job.id, job.type, job.status, f"attempt {job.attempt}"]
    told = [word for word in (job.worker_id, job.error_code) if word]
    return "  ".join(map(cell, [*words, *told]))
