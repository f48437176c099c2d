"""The key registry: one JSON document, read by every front and written by `queuelog keys`.

    {"version": 1, "keys": [{id, name, role, digest, priority_max, types, created_at, …}]}

It lies in a local file or in a secret of AWS Secrets Manager. One that cannot be read serves its
last good copy for ten minutes; after that nobody can tell who is calling.
"""

import logging
import secrets
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

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

LAST_GOOD_SECONDS = 600.0
AGAIN_SECONDS = 1.0
"""Until the next look while nothing was read yet: there is no good copy to wait with."""
LIVE_KEYS_MAX = 2

Change = Callable[[list[KeyRecord]], KeyRecord]
_log = logging.getLogger(__name__)


class KeyRegistry(ABC):
    """Keys, wherever they lie. Safe for many threads and processes."""

    look_again_seconds: ClassVar[float]

    def __init__(self, clock: Clock, monotonic: Callable[[], float] = monotonic_seconds) -> None:
        self._clock = clock
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._records: Mapping[str, KeyRecord] = {}
        self._good_at: float | None = None
        self._look_at = float("-inf")

    @abstractmethod
    def records(self) -> list[KeyRecord]:
        """All keys as they are now, revoked ones included. Raises ConfigError."""

    @abstractmethod
    def change(self, apply: Change) -> KeyRecord:
        """Change the records in place and keep them; nobody else's change is lost. `apply` may be
        called again on newer records. Raises ConfigError."""

    @abstractmethod
    def changed_records(self) -> Sequence[KeyRecord] | None:
        """The records when they may have changed since the last call, else None. Raises what goes
        wrong."""

    def is_nearly_full(self) -> bool:
        """Whether the last change left room for few further keys."""
        return False

    def identify(self, key: str) -> Identity | None:
        """The identity behind a live key, or None. Raises StoreUnavailable when nobody can tell."""
        return find_identity(self._current(), key, self._clock())

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
        key = generate_key(role)
        now = self._clock()
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

        def add(records: list[KeyRecord]) -> KeyRecord:
            if record in records:
                return record
            check_name(name, role, records)
            live = [r for r in records if r.name == name and r.is_live(now)]
            if len(live) >= LIVE_KEYS_MAX:
                ids = " or ".join(record.id for record in live)
                raise ConfigError(f"{name} has two live keys already: revoke {ids} first")
            records.append(record)
            return record

        return self._changed(add), key

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

        def end(records: list[KeyRecord]) -> KeyRecord:
            for index, record in enumerate(records):
                if record.id == key_id:
                    if record.revoked_at is None:
                        records[index] = record._replace(revoked_at=self._clock())
                    return records[index]
            raise ConfigError(f"no key has the id {key_id}")

        return self._changed(end)

    def _changed(self, apply: Change) -> KeyRecord:
        record = self.change(apply)
        self._look_at = float("-inf")
        return record

    def _current(self) -> Mapping[str, KeyRecord]:
        with self._lock:
            now = self._monotonic()
            pause = AGAIN_SECONDS if self._good_at is None else self.look_again_seconds
            if now - self._look_at >= pause:
                self._look_at = now
                self._look(now)
            if self._good_at is None or now - self._good_at > LAST_GOOD_SECONDS:
                raise StoreUnavailable("The keys cannot be read right now.")
            return self._records

    def _look(self, now: float) -> None:
        try:
            changed = self.changed_records()
            if changed is not None:
                self._records = {record.digest: record for record in changed}
            self._good_at = now
        except Exception as error:
            _log.error("keys-unreadable", extra={"fields": {"cause": type(error).__name__}})


def open_registry(url: str, clock: Clock) -> KeyRegistry:
    """`file:PATH` or `secretsmanager:NAME`. Raises ConfigError for any other registry, and for a
    file that is not one."""
    scheme, _, place = url.partition(":")
    if scheme == "file" and place:
        from queuelog_core.key_registry.file import open_file_registry

        return open_file_registry(place, clock)
    if scheme == "secretsmanager" and place:
        from queuelog_core.key_registry.secret import SecretRegistry

        return SecretRegistry(place, clock)
    raise ConfigError(
        "a key registry (QUEUELOG_KEYS) looks like file:.queuelog/keys.json or secretsmanager:NAME"
    )


def records_in(document: Any, where: str) -> list[KeyRecord]:
    """The records of a registry's document. Raises ConfigError naming where it lies."""
    try:
        if document["version"] != 1:
            raise ValueError("written by a newer version")
        if not isinstance(document["keys"], list):
            raise TypeError("keys is not a list")
        return [KeyRecord.from_json(record) for record in document["keys"]]
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{where} is not a key registry: {error!r}") from error


def document_of(records: Sequence[KeyRecord]) -> dict[str, Any]:
    """The document that holds these records."""
    return {"version": 1, "keys": [record.to_json() for record in records]}
