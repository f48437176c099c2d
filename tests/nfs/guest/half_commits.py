"""A victim dies between its writes into the file itself, with and without the guard.

Without it the second client takes half a commit for the whole. So this shows that a scenario that
finds nothing with the guard would have found something.
"""

import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from unittest import mock

from queuelog_core.errors import QueuelogError
from queuelog_core.stores import sqlite_connection, sqlite_file
from tests.nfs.guest.kill_points import Scene
from tests.nfs.guest.scenario import answer
from tests.nfs.guest.stopped import Syscall
from tests.nfs.guest.volume import SERVER, make_folder


def half_commits(verb: str, seed: int, guarded: bool) -> object:
    folder = make_folder(f"half-{verb}-{seed}-{'with' if guarded else 'without'}")
    with ExitStack() as stack:
        if not guarded:
            for module in (sqlite_connection, sqlite_file):
                stack.enter_context(mock.patch.object(module, "hot_journal", lambda _: False))
        scene = Scene(f"{folder}/undamaged.db", verb)
        scene.syscalls()
        points = inside_the_commit(scene.syscalls(), scene.name)
        found = {}
        for number in points:
            copy = f"{folder}/{number}.db"
            shutil.copy(SERVER / scene.name, SERVER / copy)
            found[number] = damage(copy, verb, number)
    return {"points": points, "problems": {n: texts for n, texts in found.items() if texts}}


def inside_the_commit(called: Sequence[Syscall], name: str) -> list[int]:
    """Numbers of the syscalls after the first write into the file, till the journal's end."""
    names = [call.name for call in called]
    written = [
        number
        for number, call in enumerate(called, 1)
        if call.name == "pwrite64" and call.target.endswith(name)
    ]
    return list(range(written[0] + 1, names.index("unlink", written[0]) + 2))


def damage(name: str, verb: str, number: int) -> list[str]:
    """What is wrong after a death there, in a file of its own."""
    scene = Scene(name, verb)
    try:
        scene.die_before(number, "read")
        return scene.verdict()
    except (QueuelogError, AssertionError) as error:
        return [*scene.found, repr(error)]


if __name__ == "__main__":
    answer(half_commits)
