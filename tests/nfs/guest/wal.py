"""A file in WAL mode is refused on the volume, with the command that converts it; new ones are not
in that mode."""

import re
import sqlite3

from queuelog_core.errors import StoreUnavailable
from queuelog_core.stores import open_store
from tests.nfs.guest.operations import enqueue
from tests.nfs.guest.scenario import answer
from tests.nfs.guest.volume import FIRST, SECOND, SERVER, store_at


def wal(seed: int) -> object:
    name = f"wal-{seed}.db"
    local = open_store(f"sqlite:///{SERVER / name}?volume=local")
    job = enqueue(local, "made-on-a-local-disk")
    local.close()
    reason = ""
    try:
        store_at(FIRST, name)
    except StoreUnavailable as refused:
        reason = refused.reason
    named = re.search(r'"(PRAGMA [^"]+)"', reason)
    if named:
        connection = sqlite3.connect(SERVER / name)
        connection.execute(named.group(1))
        connection.close()
    enqueue(store_at(SECOND, f"new-{seed}.db"), "made-on-the-volume")
    return {
        "reason": reason,
        "found_after_the_command": store_at(FIRST, name).get(job.id) == job,
        "modes_of_new_file": list((SERVER / f"new-{seed}.db").read_bytes()[18:20]),
    }


if __name__ == "__main__":
    answer(wal)
