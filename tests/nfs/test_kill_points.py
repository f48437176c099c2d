"""A client's process dies at any syscall of an operation; another client goes on at once.

The other one has looked for a journal a moment ago, so its kernel remembers that there is none.
That is how SQLite's own way of recovering fails on NFS.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.nfs.machine import Guest
from tests.nfs.sizes import IS_SOAK, VERBS, points
from tests.support.seeds import seed


@pytest.fixture(scope="module")
def kills(guest: Guest) -> dict[str, Any]:
    """For each operation what came of its kill points; all at once, which takes half the time."""
    number = seed()
    with ThreadPoolExecutor() as pool:
        running = {
            verb: pool.submit(guest.run, "kill_points", verb=verb, points=points(20), seed=number)
            for verb in VERBS
        }
    return {verb: each.result() for verb, each in running.items()}


@pytest.mark.parametrize("verb", VERBS)
def test_a_death_at_any_syscall_leaves_a_whole_file_to_other_clients(
    kills: dict[str, Any], verb: str
) -> None:
    found = kills[verb]
    sys.stdout.write(f"{verb}: {json.dumps(found)}\n")

    assert found["problems"] == []
    assert len(found["points"]) == (found["syscalls"] if IS_SOAK else points(20))
    # Some have died in their commit, else nothing was tried.
    assert found["hot_journals"] > 0


def test_without_the_guard_half_a_commit_is_taken_for_the_whole(guest: Guest) -> None:
    """That the others find nothing means something only if there is something to find."""
    number = seed()
    with ThreadPoolExecutor() as pool:
        guarded, unguarded = pool.map(
            lambda guarded: guest.run("half_commits", verb="claim", seed=number, guarded=guarded),
            (True, False),
        )
    sys.stdout.write(f"guarded: {json.dumps(guarded)}\nwithout: {json.dumps(unguarded)}\n")

    assert len(guarded["points"]) >= 3
    assert guarded["problems"] == {}
    assert unguarded["problems"] != {}
