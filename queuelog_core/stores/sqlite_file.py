"""One SQLite file shared by threads and processes: its connections and its transactions.

A connection belongs to one process and thread. Every write is one BEGIN IMMEDIATE and one COMMIT.
Waiting is our own: SQLite's busy handler lets one process starve, a short jittered retry does not.
"""

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from queuelog_core.clock import monotonic_seconds
from queuelog_core.errors import StoreBusy, StoreUnavailable
from queuelog_core.stores.sqlite_connection import (
    connect,
    is_worth_a_retry,
    patiently,
    translate,
    try_twice,
)
from queuelog_core.stores.volume import LOCAL, Guard, Volume, hot_journal, refuse_wal

_JOURNAL_TRIES = 3
_T = TypeVar("_T")
_Work = Callable[[sqlite3.Connection], _T]
_Transaction = Callable[[sqlite3.Connection, float], _T]
_abandoned: list[object] = []


class SqliteFile:
    """Runs work in transactions on one file, for all threads of this process.

    Only the start may make the file: one that vanishes later is an error, never an empty queue.
    """

    def __init__(self, path: Path, volume: Volume) -> None:
        self.path = path
        self._volume = volume
        self._forget()
        self._in_our_words(self._open_first)

    def _open_first(self) -> None:
        self._header = refuse_wal(self.path) if self._volume.guarded else None
        with contextlib.suppress(FileExistsError):
            # Payloads lie in it; SQLite gives the files beside it the same mode.
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        connect(self.path, self._volume, "rwc", self._deadline()).close()
        self._inode, self._was_filled = self.path.stat().st_ino, False

    def write(self, work: _Work[_T], busy_seconds: float | None = None) -> _T:
        """Run `work` in one write transaction and commit it.

        Raises StoreBusy when others hold the file too long, StoreUnavailable when it is broken.
        """

        def transaction(connection: sqlite3.Connection, deadline: float) -> _T:
            self._take_turn(deadline)
            try:
                guard = self._begin_write(connection, deadline)
                result = work(connection)
                guard.check("before the commit")
                self._commit(connection, deadline)
                guard.check("after the commit: the outcome is unknown")
                return result
            finally:
                # Before the turn passes on: the next thread would find the file locked.
                self._end(connection)
                self._writing.release()

        return self._run(transaction, busy_seconds)

    def read(self, work: _Work[_T], *, snapshot: bool = False) -> _T:
        """Run `work`, which only reads; with `snapshot` all its statements see one state.

        Raises like `write`.
        """

        def transaction(connection: sqlite3.Connection, deadline: float) -> _T:
            if not (self._volume.guarded or snapshot):
                return patiently(lambda: work(connection), self._volume, deadline)
            self._begin_read(connection, deadline)
            result = work(connection)
            connection.execute("COMMIT")
            return result

        return self._run(transaction, None)

    def let_others_write(self) -> None:
        """Stand back between two transactions for longer than anybody waits between tries."""
        time.sleep(2 * self._volume.pause_seconds[0])

    def close(self) -> None:
        """Close the connections of all threads; the next use opens new ones. One in use is closed
        by its own thread when its call ends: under it would be a crash."""
        with self._lock:
            idle = [found for found in self._threads if found not in self._in_use]
            self._threads.clear()
            self._local = threading.local()
        for connection in idle:
            connection.close()

    def _forget(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._local = threading.local()
        self._threads: dict[sqlite3.Connection, threading.Thread] = {}
        self._in_use: set[sqlite3.Connection] = set()

    def _deadline(self, busy_seconds: float | None = None) -> float:
        return monotonic_seconds() + (busy_seconds or self._volume.busy_seconds)

    def _in_our_words(self, step: Callable[[], _T]) -> _T:
        """What `step` returns; what goes wrong below is told in our words, with the path."""
        try:
            return step()
        except sqlite3.Error as error:
            raise translate(error, self.path) from error
        except OSError as error:
            raise StoreUnavailable(f"{self.path}: {error.strerror}") from error
        except StoreUnavailable as error:
            if str(self.path) in error.reason:
                raise
            raise type(error)(f"{self.path}: {error.reason}") from error

    def _run(self, transaction: _Transaction[_T], busy_seconds: float | None) -> _T:
        deadline = self._deadline(busy_seconds)

        def attempt() -> _T:
            return self._try(transaction, deadline)

        return self._in_our_words(lambda: try_twice(attempt, self.path))

    def _try(self, transaction: _Transaction[_T], deadline: float) -> _T:
        connection = self._taken(deadline)
        try:
            return transaction(connection, deadline)
        except sqlite3.Error as error:
            if is_worth_a_retry(error):
                self._discard(connection)
            raise
        finally:
            self._end(connection)
            self._give_back(connection)

    def _take_turn(self, deadline: float) -> None:
        """Threads of one process write in turn: waiting here costs less than asking the file."""
        if not self._writing.acquire(timeout=max(0.0, deadline - monotonic_seconds())):
            raise StoreBusy(f"{self.path}: others in this process wrote too long")

    def _begin_write(self, connection: sqlite3.Connection, deadline: float) -> Guard:
        for _ in range(_JOURNAL_TRIES):
            guard = Guard(self._volume)
            patiently(lambda: connection.execute("BEGIN IMMEDIATE"), self._volume, deadline)
            # We hold the only right to write and have written nothing: it is a dead writer's.
            if not self._volume.guarded or not hot_journal(self.path):
                guard.check("before the first write")
                return guard
            connection.execute("ROLLBACK")
        raise StoreUnavailable(f"{self.path}: a crashed writer's journal cannot be rolled back")

    def _begin_read(self, connection: sqlite3.Connection, deadline: float) -> None:
        def enter() -> None:
            try:
                connection.execute("BEGIN")
                connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
            except sqlite3.Error:
                self._end(connection)
                raise

        patiently(enter, self._volume, deadline)
        if self._volume.guarded and hot_journal(self.path):
            # Its name is known again now, and SQLite itself tells a live writer from a dead one.
            connection.execute("ROLLBACK")
            patiently(enter, self._volume, deadline)

    def _commit(self, connection: sqlite3.Connection, deadline: float) -> None:
        try:
            # Readers are in the way, and nobody else can come in while we hold the lock: be quick.
            patiently(lambda: connection.execute("COMMIT"), LOCAL, deadline)
        except sqlite3.Error as error:
            # Whether it is on disk nobody can tell, so running it again could do it twice.
            if is_worth_a_retry(error):
                self._discard(connection)
            raise translate(error, self.path) from error

    def _taken(self, deadline: float) -> sqlite3.Connection:
        """This thread's connection, which nobody else closes until it is given back."""
        while True:
            connection = self._connection(deadline)
            with self._lock:
                if connection in self._threads:
                    self._in_use.add(connection)
                    return connection

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            self._in_use.discard(connection)
            is_kept = connection in self._threads
        if not is_kept:
            connection.close()

    def _connection(self, deadline: float) -> sqlite3.Connection:
        if self._pid != os.getpid():
            # Closing what a fork carried over would touch the parent's locks and journal.
            _abandoned.append((self._local, self._threads))
            self._forget()
        found: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if not self._is_same_file():
            if found is not None:
                self._discard(found)
            raise StoreUnavailable(f"{self.path} was removed, emptied or replaced since the start")
        if found is not None:
            return found
        connection = connect(self.path, self._volume, "rw", deadline)
        self._local.connection = connection
        with self._lock:
            ownerless = [c for c, thread in self._threads.items() if not thread.is_alive()]
            self._threads[connection] = threading.current_thread()
        for each in ownerless:
            self._discard(each)
        return connection

    def _is_same_file(self) -> bool:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return False
        # On a network volume it is empty until it has tables.
        self._was_filled |= found.st_size > 0
        return found.st_ino == self._inode and (found.st_size > 0 or not self._was_filled)

    def _discard(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            self._threads.pop(connection, None)
        if getattr(self._local, "connection", None) is connection:
            del self._local.connection
        connection.close()

    def _end(self, connection: sqlite3.Connection) -> None:
        """No transaction outlives a call; after some errors SQLite has already rolled back."""
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:
            self._discard(connection)
