"""Three clients of one volume at work: side by side, killed, cut off, gone."""

import json
import random
import sys

from tests.nfs.machine import LEASE_SECONDS, Guest
from tests.nfs.sizes import EVERY_POINT, IS_SOAK, VERBS, points, seconds
from tests.support.seeds import seed


def test_a_file_in_wal_mode_is_refused_with_the_command_that_converts_it(guest: Guest) -> None:
    found = guest.run("wal", seed=seed())

    assert "is in WAL mode" in found["reason"]
    assert found["found_after_the_command"]
    assert found["modes_of_new_file"] == [1, 1]


def test_three_clients_at_once_get_each_job_once(guest: Guest) -> None:
    found = guest.run("contention", seed=seed(), jobs=6)
    sys.stdout.write(f"{json.dumps(found)}\n")

    assert found["problems"] == []
    assert sum(found["claims"]) == 18


def test_nothing_acknowledged_is_lost_by_clients_that_are_killed_at_any_time(guest: Guest) -> None:
    found = guest.run("random_kills", seed=seed(), seconds=seconds(20))
    sys.stdout.write(f"{json.dumps(found)}\n")

    assert found["problems"] == []
    assert found["kills"] >= 10
    assert found["acknowledged"] >= 10


def test_a_client_that_vanishes_with_the_lock_stops_the_others_till_its_lease_ends(
    guest: Guest,
) -> None:
    found = guest.run("vanishing", seed=seed())
    sys.stdout.write(f"{json.dumps(found)}\n")

    assert found["problems"] == []
    assert found["busy"] >= 1


def cut_verbs(number: int) -> list[str]:
    return list(VERBS) if IS_SOAK else [random.Random(number).choice(VERBS)]


def test_processes_that_were_cut_off_for_longer_than_the_lease_undo_nothing(guest: Guest) -> None:
    number = seed()
    for verb in cut_verbs(number):
        found = guest.run(
            "long_cut",
            verb=verb,
            points=points(EVERY_POINT),
            seed=number,
            lease_seconds=LEASE_SECONDS,
        )
        sys.stdout.write(f"{verb}: {json.dumps(found)}\n")

        assert found["problems"] == []
        assert found["cut_seconds"] > LEASE_SECONDS
        # The others had no transaction open, or had ended it.
        assert sum(found["refused"].values()) >= len(found["points"]) // 4
