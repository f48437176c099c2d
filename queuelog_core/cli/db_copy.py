"""`queuelog db copy`: move a queue from one store to another."""

import contextlib
import json
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import click

from queuelog_core.cli.screen import json_line, print_table, progress
from queuelog_core.cli.shared import CONFLICT, FAILED, fail, json_option, one_line_errors, tell
from queuelog_core.clock import SystemClock, format_instant
from queuelog_core.config import Config, load_config
from queuelog_core.errors import ConfigError, StoreUnavailable
from queuelog_core.job import Status
from queuelog_core.job_types import load_job_types
from queuelog_core.queue import Queue
from queuelog_core.stores import is_table
from queuelog_core.stores.copied import (
    Copyable,
    StoreCopy,
    open_source,
    open_target,
)
from queuelog_core.stores.copying import Compared, compare, copy_jobs, find_foreign, plan

SETTLED_PER_STEP = 1_000
WAIT_SECONDS_MAX = 1.0
STALE_LOOKS_MAX, STALE_SECONDS = 40, 0.25
"""An index may show a lease that is settled for a moment more."""
USD_PER_WRITE_UNIT = 0.625 / 1_000_000
AGAIN = "what is copied stays; the same command goes on from there"


class _Address(click.ParamType):  # type: ignore[type-arg]
    name = "url"

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> str:
        """See click.ParamType."""
        if not str(value).startswith(("sqlite:///", "dynamodb://")):
            self.fail(
                "looks like sqlite:///queuelog.db or dynamodb://table?region=eu-west-1",
                param,
                context,
            )
        return str(value)


class _Sides(NamedTuple):
    """What is copied: `store` is the source itself; `target` None: a file that is not there yet."""

    store: Copyable
    source: StoreCopy
    target: StoreCopy | None


@click.command()
@click.option("--from", "source", type=_Address(), required=True, help="The store as it is.")
@click.option("--to", "target", type=_Address(), required=True, help="An empty one, or a new file.")
@click.option("--wait", is_flag=True, help="Wait for leases that last, instead of refusing.")
@click.option("--dry-run", is_flag=True, help="Only tell what there is to copy, and its price.")
@json_option("Print {ok, jobs, copied, settled, digest, changed, missing, extra}; or the plan.")
def copy(source: str, target: str, wait: bool, dry_run: bool, as_json: bool) -> None:
    """Copy all jobs to another store, just as they are; stop the servers and workers first.

    A store is a file, sqlite:///queuelog.db, or a table, dynamodb://table?region=eu-west-1. Leases
    that have run out are settled, as the next claim would. Then everything is read on both sides
    and compared: exit 1 if they differ. A copy that was cut off goes on with the same command; a
    target that holds anything else is refused, like a source with leases that last: exit 5.

    \b
    Examples:
      queuelog db copy --from sqlite:///.queuelog/queuelog.db --to sqlite:///moved.db --dry-run
      queuelog db copy --from sqlite:///.queuelog/queuelog.db --to sqlite:///moved.db --wait
    """
    if source == target:
        raise click.UsageError("--from and --to name the same store")
    with one_line_errors():
        config = load_config()
        with _opened(source, target, config, dry_run) as sides:
            if sides.target is not None:
                _refuse_what_is_not_ours(sides.source, sides.target)
            if dry_run or sides.target is None:
                _tell_plan(sides, is_table(target), as_json)
                return
            try:
                settled = _settle(sides, config, wait)
                copied, compared = _copy(sides.source, sides.target)
            except KeyboardInterrupt:
                tell("interrupted", AGAIN)
                raise
            except StoreUnavailable as error:
                fail(f"the store cannot be used: {error.reason}", FAILED, hint=AGAIN)
            _tell_result(compared, copied, settled, as_json)


@contextlib.contextmanager
def _opened(source: str, target: str, config: Config, dry_run: bool) -> Iterator[_Sides]:
    with contextlib.ExitStack() as stack:

        def copying(store: Copyable) -> StoreCopy:
            stack.callback(store.close)
            side = store.copying()
            stack.callback(side.close)
            return side

        with _told_of("--from"):
            store = open_source(source)
        side = copying(store)
        with _told_of("--to"):
            other = open_target(target, config.retention_days, dry_run=dry_run)
        yield _Sides(store, side, None if other is None else copying(other))


@contextlib.contextmanager
def _told_of(option: str) -> Iterator[None]:
    """Elsewhere the address of a store is a setting."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(str(error).replace("QUEUELOG_STORE", option)) from error


def _refuse_what_is_not_ours(source: StoreCopy, target: StoreCopy) -> None:
    with progress("looked at", target.count()) as advance:
        foreign = find_foreign(source, target, advance)
    if foreign:
        fail(
            f"the target holds jobs that the source does not have like that: {_some(foreign)}",
            CONFLICT,
            hint="copy into an empty table or a new file",
        )


def _settle(sides: _Sides, config: Config, wait: bool) -> int:
    """Settle leases that have run out; how many. Those that last are waited for, or refused."""
    clock = SystemClock()
    settled = stale = 0
    while (running := sides.source.running()).jobs:
        if running.last_at > clock() and not wait:
            fail(
                f"{running.jobs} jobs run; the last lease ends at "
                f"{format_instant(running.last_at)}",
                CONFLICT,
                hint="stop the workers, who hand their jobs back; --wait waits for the leases",
            )
        wait_seconds = (running.first_at - clock()) / 1000
        if wait_seconds > 0:
            time.sleep(min(wait_seconds, WAIT_SECONDS_MAX))
            continue
        queue = Queue(sides.store, load_job_types(config.job_types), clock)
        done = queue.leases.recover(SETTLED_PER_STEP)
        settled += done
        stale = 0 if done else stale + 1
        if stale == STALE_LOOKS_MAX:
            fail("leases that have run out cannot be settled: others are at work", CONFLICT)
        if stale:
            time.sleep(STALE_SECONDS)
    return settled


def _copy(source: StoreCopy, target: StoreCopy) -> tuple[int, Compared]:
    total = source.count()
    with progress("copied", total) as advance:
        copied = copy_jobs(source, target, advance)
    with progress("compared", total) as advance:
        return copied, compare(source, target, advance)


def _tell_result(compared: Compared, copied: int, settled: int, as_json: bool) -> None:
    told = {
        "ok": compared.ok,
        "jobs": compared.jobs,
        "copied": copied,
        "settled": settled,
        "digest": compared.digest,
        "changed": compared.changed,
        "missing": compared.missing,
        "extra": compared.extra,
    }
    click.echo(json.dumps(told) if as_json else compared.jobs)
    if not as_json and settled:
        click.echo(f"{settled} leases that had run out were settled first", err=True)
    if not as_json and compared.ok:
        there = compared.jobs - copied
        click.echo(
            f"{copied} copied, {there} were there; all are the same, digest {compared.digest}",
            err=True,
        )
    if not compared.ok:
        fail(
            f"source and target differ, so somebody was at work: {_differences(compared)}",
            hint="stop servers and workers, and copy into an empty table or a new file",
        )


def _differences(compared: Compared) -> str:
    named = [
        f"{_some(ids)} {words}"
        for words, ids in (
            ("changed", compared.changed),
            ("missing in the target", compared.missing),
            ("only in the target", compared.extra),
        )
        if ids
    ]
    return "; ".join(named) or f"the target shows {compared.shown} jobs of {compared.jobs}"


def _tell_plan(sides: _Sides, is_billed: bool, as_json: bool) -> None:
    with progress("looked at", sides.source.count()) as advance:
        found = plan(sides.source, sides.target, advance)
    cost = round(found.write_units * USD_PER_WRITE_UNIT, 6)
    if as_json:
        told = {
            "jobs": found.jobs,
            "there": found.there,
            "bytes": found.text_bytes,
            "types": found.statuses,
            "running": found.running.jobs,
            "write_units": found.write_units if is_billed else None,
            "cost_usd": cost if is_billed else None,
        }
        click.echo(json_line(told))
    else:
        rows = [
            {"type": name, **{status.value: numbers.get(status.value, 0) for status in Status}}
            for name, numbers in sorted(found.statuses.items())
        ]
        print_table(rows)
        told_there = f", {found.there} of them there already" if found.there else ""
        words = f"{found.jobs} jobs{told_there}; {found.text_bytes} bytes of texts"
        if is_billed:
            words += f"; about {found.write_units} write units, ${cost:.2f} at on-demand prices"
        click.echo(words, err=True)
    if found.running.jobs:
        last_at = format_instant(found.running.last_at)
        click.echo(f"{found.running.jobs} jobs run, the last lease ends at {last_at}", err=True)


def _some(ids: Any) -> str:
    return ", ".join(map(str, ids))
