"""The history checker on an SQLite file: rounds of kills, and afterwards the file is whole."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from tests.support.history_rounds import play_enough, play_soundly
from tests.support.servers import queuelog


def play_on_a_file(folder: Path, volume: str, kills: int) -> None:
    """Rounds on a file that is opened as on that volume; whatever is wrong fails here."""
    store = f"sqlite:///{{}}/queuelog.db?volume={volume}"

    def play_one(number: int, kills: int) -> Mapping[str, int]:
        return play_soundly(
            folder, store, number, kills, look_at=lambda place: _assert_whole(place, store)
        )

    play_enough(volume, kills, play_one)


def _assert_whole(folder: Path, store: str) -> None:
    with closing(sqlite3.connect(folder / "queuelog.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    checked = queuelog(folder, "db", "check", QUEUELOG_STORE=store.format(folder))
    assert (checked.returncode, checked.stdout) == (0, "ok\n")
