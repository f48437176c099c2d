"""A `queuelog db copy` that is killed, stopped or held up, and then made again."""

import os
import random
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.copy_place import Place, many_jobs, numbers, side
from tests.support.factories import pending_job
from tests.support.faults_disk import bound_by_modes, read_only
from tests.support.seeds import seed
from tests.support.servers import COMMAND, environment

COPIED = int(os.environ.get("QUEUELOG_COPIED", "150"))
KILLS = max(2, COPIED // 1_000)
KINDS = [("sqlite", "dynamodb"), ("dynamodb", "sqlite")]


@pytest.mark.parametrize("kinds", KINDS)
def test_a_copy_that_is_killed_goes_on_and_doubles_nothing(
    place: Place, kinds: tuple[str, str]
) -> None:
    chance = random.Random(seed())
    source, target = place.filled(kinds[0], many_jobs(COPIED)), place.new(kinds[1])
    ended = []
    for _ in range(KILLS):
        at, later = chance.randrange(COPIED * 2 // 3), chance.uniform(0, 0.2)
        killed = place.cut_off(source, target, at, signal.SIGKILL, later)
        ended.append(killed.process.wait())
    last = place.copied(source, target)

    sys.stdout.write(f"ended with {ended}, then {last['copied']} of {COPIED} jobs were left\n")
    assert set(ended) <= {0, -signal.SIGKILL}
    assert last["jobs"] == COPIED
    with closing(place.open(source)) as first, closing(place.open(target)) as second:
        assert side(second).count() == COPIED
        assert numbers(first) == numbers(second)
        for one in many_jobs(9):
            if one.job.idempotency_key is not None:
                again = pending_job(idempotency_key=one.job.idempotency_key)
                assert second.insert(again) == (one.job, False)


def test_ctrl_c_leaves_what_the_same_command_goes_on_from(place: Place) -> None:
    # So many that the signal comes long before the end.
    jobs = many_jobs(3 * COPIED)
    source, target = place.filled("sqlite", jobs), place.new("dynamodb")

    stopped = place.cut_off(source, target, 1, signal.SIGINT)

    assert stopped.process.returncode == 130, stopped.log
    assert "interrupted: what is copied stays; the same command goes on from there" in stopped.log
    assert "Traceback" not in stopped.log
    assert 0 < place.copied(source, target)["copied"] < len(jobs)


@pytest.mark.parametrize("what", ["read-only", "full"])
def test_a_target_that_cannot_be_written_tells_why_and_is_gone_on_with(
    place: Place, what: str
) -> None:
    source, target = place.filled("sqlite", many_jobs(400)), place.filled("sqlite", [])
    file = Path(target.removeprefix("sqlite:///"))
    limit = ["prlimit", f"--fsize={200_000 if what == 'full' else 10**9}"]
    copy = [str(COMMAND), "db", "copy", "--from", source, "--to", target]

    with read_only(*([file] if what == "read-only" else [])):
        failed = subprocess.run(
            [*bound_by_modes(), *limit, *copy],
            env=environment(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert (failed.returncode, failed.stdout) == (1, "")
    lines = failed.stderr.splitlines()
    assert lines[-2].startswith(f"error: the store cannot be used: {file}: the "), lines
    assert lines[-1].startswith("hint: what is copied stays; the same command goes on")
    assert place.copied(source, target)["jobs"] == 400
