"""A worker that stands still for longer than its lease: a frozen function, a paused machine, a
laptop that sleeps. When it wakes up, it is not the job's worker any more."""

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.naps import KINDS, LEASE_SECONDS, Site, nap_site, told_of_the_loss
from tests.support.servers import eventually

FROZEN_SECONDS = 3 * LEASE_SECONDS
NAPS = {"the handler has ended": 1, "the handler goes on": FROZEN_SECONDS + 3}
"""How long a handler takes, by what it does when its worker wakes up."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with nap_site(tmp_path) as site:
        yield site


@pytest.mark.parametrize("awake", NAPS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_worker_that_was_frozen_drops_the_job_logs_it_once_and_goes_on(
    site: Site, kind: str, awake: str
) -> None:
    """B28: it woke up and believed that it still owned the lease."""
    job_id = site.enqueue(NAPS[awake])
    with site.worker(kind) as frozen:
        eventually(lambda: site.naps() == [f"{job_id} 1"], "the handler has begun")
        frozen.send_signal(signal.SIGSTOP)
        time.sleep(FROZEN_SECONDS)
        with site.worker("work") as other:
            done = site.completed(job_id)
            assert other.stop() == 0
        another = site.enqueue(0)

        frozen.send_signal(signal.SIGCONT)

        went_on = site.completed(another)
        if kind == "drain":
            assert frozen.process.wait(30) == 0
            told = {"completed": 1, "failed": 0, "released": 0, "lost": 1}
            assert json.loads(frozen.out) == told
        else:
            assert frozen.stop() == 0

    assert site.naps() == [f"{job_id} 1", f"{job_id} 2", f"{another} 1"]
    assert (done["result"], went_on["result"]) == ({"attempt": 2}, {"attempt": 1})
    assert site.server.job(site.key, job_id) == done, "the late report changed something"
    assert len(told_of_the_loss(frozen)) == 1
    assert "Traceback" not in frozen.log
