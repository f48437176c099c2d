"""The key registry: one JSON document, read by every front and written by `queuelog keys`.

    {"version": 1, "keys": [{id, name, role, digest, priority_max, types, created_at, …}]}

The local file is 0600, replaced atomically under a lock, and looked at again at most once a second.
A registry that cannot be read serves its last good copy for ten minutes, then nobody is known.
"""

import contextlib
import fcntl
import json
import logging
import os
import secrets
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from queuelog_core.clock import Clock, monotonic_seconds
from queuelog_core.errors import ConfigError, StoreUnavailable
from queuelog_core.identity import (
    Identity,
    KeyRecord,
    Role,
    check_name,
    find_identity,
    generate_key,
    key_digest,
)
from queuelog_core.job import Priority

LOOK_AGAIN_SECONDS = 1.0
LAST_GOOD_SECONDS = 600.0
LIVE_KEYS_MAX = 2

_log = logging.getLogger(__name__)
_Stamp = tuple[int, int, int] | None


class FileRegistry:
    """Keys in a local file. Safe for many threads and processes."""

    def __init__(
        self, path: Path, clock: Clock, monotonic: Callable[[], float] = monotonic_seconds
    ) -> None:
        self.path = path
        self._clock = clock
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._records: dict[str, KeyRecord] = {}
        self._stamp: _Stamp = None
        self._good_at: float | None = None
        self._look_at = float("-inf")

    def identify(self, key: str) -> Identity | None:
        """The identity behind a live key, or None. Raises StoreUnavailable when nobody can tell."""
        return find_identity(self._current(), key, self._clock())

    def records(self) -> list[KeyRecord]:
        """All keys as the file has them now, revoked ones included."""
        return _read(self.path)

    def create(
        self,
        name: str,
        role: Role,
        *,
        priority_max: Priority,
        types: frozenset[str] | None = None,
        expires_at: int | None = None,
    ) -> tuple[KeyRecord, str]:
        """Add a key and return it with its secret, which is never seen again."""
        with self._changing() as records:
            now = self._clock()
            check_name(name, role, records)
            live = [r for r in records if r.name == name and r.is_live(now)]
            if len(live) >= LIVE_KEYS_MAX:
                ids = " or ".join(record.id for record in live)
                raise ConfigError(f"{name} has two live keys already: revoke {ids} first")
            key = generate_key(role)
            record = KeyRecord(
                id="key_" + secrets.token_hex(6),
                name=name,
                role=role,
                digest=key_digest(key) or "",
                priority_max=priority_max,
                types=types,
                created_at=now,
                expires_at=expires_at,
            )
            records.append(record)
        return record, key

    def rotate(self, name: str) -> tuple[KeyRecord, str]:
        """A second key with the powers and lifetime of the newest live one, which stays valid."""
        now = self._clock()
        live = [r for r in self.records() if r.name == name and r.is_live(now)]
        if not live:
            raise ConfigError(f"{name} has no live key to rotate: create one")
        newest = live[-1]
        lifetime = None if newest.expires_at is None else newest.expires_at - newest.created_at
        return self.create(
            name,
            newest.role,
            priority_max=newest.priority_max,
            types=newest.types,
            expires_at=None if lifetime is None else now + lifetime,
        )

    def revoke(self, key_id: str) -> KeyRecord:
        """End a key; repeating it changes nothing."""
        with self._changing() as records:
            for index, record in enumerate(records):
                if record.id == key_id:
                    if record.revoked_at is None:
                        records[index] = record._replace(revoked_at=self._clock())
                    return records[index]
        raise ConfigError(f"no key has the id {key_id}")

    def _current(self) -> dict[str, KeyRecord]:
        with self._lock:
            now = self._monotonic()
            if now - self._look_at >= LOOK_AGAIN_SECONDS:
                self._look_at = now
                self._look(now)
            if self._good_at is None or now - self._good_at > LAST_GOOD_SECONDS:
                raise StoreUnavailable("The keys cannot be read right now.")
            return self._records

    def _look(self, now: float) -> None:
        try:
            stamp = _stamp(self.path)
            if stamp is None and self._stamp is not None:
                raise ConfigError(f"{self.path} is gone")
            if stamp != self._stamp:
                self._records = {record.digest: record for record in _read(self.path)}
                self._stamp = stamp
            self._good_at = now
        except (OSError, ConfigError) as error:
            _log.error("keys-unreadable", extra={"fields": {"cause": type(error).__name__}})

    @contextlib.contextmanager
    def _changing(self) -> Iterator[list[KeyRecord]]:
        """The records under an exclusive lock of the folder; written when the block ends well.

        The lock holds on one host: on a network volume make keys from one host at a time.
        """
        try:
            descriptor = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise ConfigError(
                f"{self.path}: its folder cannot be used: {error.strerror}"
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            records = _read(self.path)
            yield records
            _write(self.path, records)
            # The rename itself is in the folder, so the folder has to reach the disk as well.
            os.fsync(descriptor)
            self._look_at = float("-inf")
        finally:
            os.close(descriptor)


def open_registry(url: str, clock: Clock) -> FileRegistry:
    """`file:PATH`. Raises ConfigError for any other registry, and for a file that is not one."""
    scheme, _, path = url.partition(":")
    if scheme != "file" or not path:
        raise ConfigError("QUEUELOG_KEYS looks like file:.queuelog/keys.json")
    registry = FileRegistry(Path(path), clock)
    registry.records()
    return registry


def _stamp(path: Path) -> _Stamp:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _read(path: Path) -> list[KeyRecord]:
    """A file that does not exist yet holds no keys."""
    try:
        document = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read as a key registry: {error}") from error
    try:
        if document["version"] != 1:
            raise ValueError("written by a newer version")
        if not isinstance(document["keys"], list):
            raise TypeError("keys is not a list")
        return [KeyRecord.from_json(record) for record in document["keys"]]
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{path} is not a key registry: {error!r}") from error


def _write(path: Path, records: list[KeyRecord]) -> None:
    document = {"version": 1, "keys": [record.to_json() for record in records]}
    fresh = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}.new")
    descriptor = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
            file.flush()
            if path.exists() and os.geteuid() == 0:
                # Root may write it, but the user that serves has to read it.
                os.fchown(file.fileno(), path.stat().st_uid, path.stat().st_gid)
            os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
