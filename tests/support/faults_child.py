"""A process of its own that opens a fresh store and plays the script, while its disk fails.

It is forked from one that has imported everything, and waits until it is traced.
"""

import os
import re
import sqlite3
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from queuelog_core.errors import StoreUnavailable
from queuelog_core.stores import open_store
from queuelog_core.stores.sqlite import SqliteStore
from queuelog_core.upkeep import run_upkeep
from tests.support.factories import NOON, FakeClock
from tests.support.faults import Point, files_of, let_anybody_trace, traced
from tests.support.faults_script import (
    TRIES,
    Faults,
    Keys,
    Script,
    Send,
    play,
    settle_extras,
    story,
)
from tests.support.http import Api
from tests.support.logs import Lines, listening
from tests.support.processes import FRESH, Fresh
from tests.support.servers import Answer

CHILD_SECONDS = 120
CHECKPOINT_PAGES = 24
CAUSE = re.compile(r"the disk (is full \(SQLITE_FULL|reports an .* error \(SQLITE_IOERR)")
MONTH_SECONDS = 40 * 86_400
T = TypeVar("T")


class Told(NamedTuple):
    """What the process says at its end: the story of its jobs before and after the upkeep, how
    often it was refused, and how many faults the store got over by itself."""

    before: str
    after: str
    extra: Mapping[str | None, bool]
    refusals: int
    recovered: int


class Seen(NamedTuple):
    """What the process told, and what strace counted."""

    told: Told
    injected: int
    calls: Mapping[str, int]


def watched(folder: Path, mode: str, point: Point | None = None) -> Seen:
    """Play the script on a fresh store in this folder, with faults at this point."""
    database = folder / "queuelog.db"
    (folder / "copies").mkdir()
    copies = [folder / "copies" / f"{n}.db{end}" for n in range(TRIES) for end in ("", ".new")]
    ours, theirs = FRESH.Pipe()
    lasting = point is not None and point.lasting
    process = Fresh(target=_live, args=(theirs, str(database), mode, lasting))
    process.start()
    theirs.close()
    try:
        assert process.pid is not None
        _receive(ours)
        files = [*files_of(database), *copies, folder / "copies"]
        with traced(process.pid, files, folder / "strace", point) as run:
            ours.send("go")
            while (word := _receive(ours)) == "lift":
                run.leave_in_peace()
                ours.send("lifted")
        told, failure = word
        assert not failure, failure
        return Seen(told, run.injected, run.calls)
    finally:
        process.kill()
        process.join()


def look_again(database: Path, mode: str, told: Told) -> str:
    """The story that a process tells which meets the file after all that, and no faults."""
    store = cast(SqliteStore, open_store(f"sqlite:///{database}?volume={mode}"))
    try:
        assert store.check() == []
        script = Script(in_process(Api(store, FakeClock())), Keys(), Faults(None), lambda: None)
        script.extra.update(told.extra)
        return story(script)
    finally:
        store.close()
        if store._file._header is not None:
            # A store keeps it for the life of its process, and there are thousands here.
            os.close(store._file._header)


def in_process(api: Api) -> Send:
    """The application called directly."""

    def send(method: str, path: str, key: str, body: Any, headers: Mapping[str, str]) -> Answer:
        reply = api.call(method, path, key, body, headers=headers)
        return Answer(reply.status_code, dict(reply.headers), reply.get_data(as_text=True))

    return send


def _receive(line: Any) -> Any:
    assert line.poll(CHILD_SECONDS), "the process says nothing"
    return line.recv()


def _live(line: Any, database: str, mode: str, lasting: bool) -> None:
    let_anybody_trace()
    line.send("ready")
    line.recv()
    try:
        line.send((_work(line, Path(database), mode, lasting), ""))
    except BaseException:
        line.send((None, traceback.format_exc()))
    # As if it were killed: what a close would bring to the disk must be there already.
    os._exit(0)


def _work(line: Any, database: Path, mode: str, lasting: bool) -> Told:
    def lift() -> None:
        line.send("lift")
        line.recv()

    faults = Faults(lift if lasting else None)
    log = Lines()
    with listening(log), early_checkpoints():
        store = _insist(faults, lambda: open_store(f"sqlite:///{database}?volume={mode}"))
        assert isinstance(store, SqliteStore)
        return _tell(Scene(store, faults, log, database))


class Scene(NamedTuple):
    store: SqliteStore
    faults: Faults
    log: Lines
    database: Path


def _tell(scene: Scene) -> Told:
    clock = FakeClock()
    api = Api(scene.store, clock)
    script = Script(in_process(api), Keys(), scene.faults, lambda: clock.advance(1))
    play(script)
    before = story(script)
    scene.store.close()
    _back_up(scene)
    # Set, because a script that was refused has asked more often.
    clock.now = NOON + MONTH_SECONDS * 1000
    failed = _keep_up(scene, api)
    settle_extras(script)
    recovered = _read_log(scene, [*script.refused, *failed])
    return Told(before, story(script), script.extra, scene.faults.refusals, recovered)


def _keep_up(scene: Scene, api: Api) -> list[str]:
    """Repeat the upkeep until it is done; what the log must say, for each pass that failed."""
    failed: list[str] = []
    for _ in range(TRIES):
        done = run_upkeep(api.queue, MONTH_SECONDS // 2)
        if done is not None:
            return failed
        failed.append("upkeep-failed")
        scene.faults.refuse()
    raise AssertionError("the upkeep fails although the faults are over")


def _back_up(scene: Scene) -> None:
    """Until a copy is made; one that is told as made is whole."""
    copies = (scene.database.parent / "copies" / f"{number}.db" for number in range(TRIES))

    def back_up() -> Path:
        copy = next(copies)
        scene.store.backup(copy)
        return copy

    copy = _insist(scene.faults, back_up)
    store = open_store(f"sqlite:///{copy}?volume=network")
    assert store.stats(0, None).statuses == scene.store.stats(0, None).statuses


def _insist(faults: Faults, step: Callable[[], T]) -> T:
    """What has no answer of its own: a clear cause for the operator, then it is done again."""
    for _ in range(TRIES):
        try:
            return step()
        except StoreUnavailable as error:
            assert error.reason.startswith("/"), error.reason
        except OSError as error:
            assert error.strerror
        faults.refuse()
    raise AssertionError("it fails although the faults are over")


def _read_log(scene: Scene, refused: list[str]) -> int:
    """Each refusal has one line with its cause; further ones tell what the store got over."""
    told = []
    recovered = 0
    for line in scene.log.lines:
        assert CAUSE.match(line["cause"].removeprefix(f"{scene.database}: ")), line
        if line["event"] == "store-recovered":
            recovered += 1
        else:
            told.append(line["request_id"] if line["event"] == "store-error" else line["event"])
    assert sorted(told) == sorted(refused), (scene.log.lines, refused)
    return recovered


@contextmanager
def early_checkpoints() -> Iterator[None]:
    """SQLite's own come after so many pages that the script would see none."""
    connect = sqlite3.connect

    def connect_so(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        connection.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
        return connection

    sqlite3.connect = connect_so  # type: ignore[assignment]
    try:
        yield
    finally:
        sqlite3.connect = connect
