"""The history checker on an SQLite file: rounds of kills, and afterwards the file is whole."""

import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from tests.support.history_rounds import play, play_enough
from tests.support.servers import queuelog

SHOWN_MAX = 3


def play_on_a_file(folder: Path, volume: str, kills: int) -> None:
    """Rounds on a file that is opened as on that volume; whatever is wrong fails here."""

    def play_one(number: int, kills: int) -> Mapping[str, int]:
        place = folder / f"seed-{number}"
        store = f"sqlite:///{place}/queuelog.db?volume={volume}"
        found, figures = play(place, store, number, kills)
        shown = {name: (len(cases), cases[:SHOWN_MAX]) for name, cases in found.items()}
        assert not found, f"seed {number}, see {place}; {figures}: {shown}"
        _assert_whole(place, store)
        shutil.rmtree(place)
        return figures

    play_enough(volume, kills, play_one)


def _assert_whole(folder: Path, store: str) -> None:
    with closing(sqlite3.connect(folder / "queuelog.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    checked = queuelog(folder, "db", "check", QUEUELOG_STORE=store)
    assert (checked.returncode, checked.stdout) == (0, "ok\n")
