"""Who calls: roles, identities, and the form of an API key.

A key is `ql_<role>_<43 base62 characters>_<6 base62 characters of CRC32>`. The checksum lets junk
be refused before any look-up; of the secret only its SHA-256 is ever stored.
"""

import hashlib
import hmac
import re
import secrets
import string
import zlib
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from queuelog_core.errors import ConfigError
from queuelog_core.job import PRIORITIES, Job, Priority

_BASE62 = string.digits + string.ascii_letters
_SECRET_LENGTH = 43
_CHECK_LENGTH = 6
_KEY = re.compile(r"ql_(?:producer|worker|admin)_[0-9A-Za-z]{32,64}_[0-9A-Za-z]{6}", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)


class Role(StrEnum):
    PRODUCER = "producer"
    WORKER = "worker"
    ADMIN = "admin"


READERS = frozenset(Role)
PRODUCERS = frozenset({Role.PRODUCER, Role.ADMIN})
WORKERS = frozenset({Role.WORKER, Role.ADMIN})
ADMINS = frozenset({Role.ADMIN})
AUTHORIZERS: Mapping[str, frozenset[Role]] = {
    "reader": READERS,
    "producer": PRODUCERS,
    "worker": WORKERS,
    "admin": ADMINS,
}
"""Who may pass each of the gateway's authorizers."""


class Identity(NamedTuple):
    """Who a key stands for. `types` None: every type on the allowlist; `key_id` is for logs."""

    name: str
    role: Role
    priority_max: Priority
    types: frozenset[str] | None = None
    key_id: str = "-"

    def may_use(self, job_type: str) -> bool:
        return self.types is None or job_type in self.types

    def to_json(self) -> dict[str, Any]:
        """The form in which an authorizer hands an identity to a function."""
        return {
            "name": self.name,
            "role": self.role.value,
            "priority_max": self.priority_max.label,
            "types": None if self.types is None else sorted(self.types),
            "key_id": self.key_id,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Identity":
        """Raises KeyError, TypeError or ValueError for a document that is none."""
        name, types, key_id = document["name"], document["types"], document["key_id"]
        if not NAME.fullmatch(name) or not isinstance(key_id, str):
            raise ValueError("an identity has a bad name or key id")
        if types is not None and not (
            isinstance(types, list) and all(isinstance(item, str) for item in types)
        ):
            raise TypeError("the types of an identity are not a list of names")
        return cls(
            name=name,
            role=Role(document["role"]),
            priority_max=PRIORITIES[document["priority_max"]],
            types=None if types is None else frozenset(types),
            key_id=key_id,
        )


class KeyRecord(NamedTuple):
    """One key as the registry keeps it. Instants are milliseconds; `digest` is hex SHA-256."""

    id: str
    name: str
    role: Role
    digest: str
    priority_max: Priority
    types: frozenset[str] | None
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None

    def is_live(self, now: int) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def identity(self) -> Identity:
        return Identity(
            name=self.name,
            role=self.role,
            priority_max=self.priority_max,
            types=self.types,
            key_id=self.id,
        )

    def to_json(self) -> dict[str, Any]:
        identity = self.identity().to_json()
        return {
            "id": identity.pop("key_id"),
            **identity,
            "digest": self.digest,
            "created_at": self.created_at,
            "expires_at": self.expires_at,
            "revoked_at": self.revoked_at,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "KeyRecord":
        """Raises KeyError, TypeError or ValueError for a record that is not one."""
        identity = Identity.from_json({**document, "key_id": document["id"]})
        record = cls(
            id=identity.key_id,
            name=identity.name,
            role=identity.role,
            digest=document["digest"],
            priority_max=identity.priority_max,
            types=identity.types,
            created_at=document["created_at"],
            expires_at=document["expires_at"],
            revoked_at=document["revoked_at"],
        )
        times = (record.created_at, record.expires_at or 0, record.revoked_at or 0)
        if not _DIGEST.fullmatch(record.digest) or any(type(time) is not int for time in times):
            raise ValueError("a key record has a bad digest or time")
        return record


def generate_key(role: Role) -> str:
    """A new key from the system's random source; about 256 bits."""
    secret = "".join(secrets.choice(_BASE62) for _ in range(_SECRET_LENGTH))
    stem = f"ql_{role.value}_{secret}"
    return f"{stem}_{_checksum(stem)}"


def key_digest(key: str) -> str | None:
    """The digest to look a key up by, or None for text that cannot be a key."""
    if not _KEY.fullmatch(key):
        return None
    # Junk ends here, before any look-up; the checksum is no secret and proves nothing.
    stem, _, check = key.rpartition("_")
    if not hmac.compare_digest(check.encode(), _checksum(stem).encode()):
        return None
    return hashlib.sha256(key.encode()).hexdigest()


def find_identity(records: Mapping[str, KeyRecord], key: str, now: int) -> Identity | None:
    """The identity behind a live key, or None; every unfit key looks the same to the caller."""
    digest = key_digest(key)
    record = records.get(digest) if digest else None
    if digest is None or record is None or not hmac.compare_digest(record.digest, digest):
        return None
    return record.identity() if record.is_live(now) else None


def check_name(name: str, role: Role, records: Iterable[KeyRecord]) -> None:
    """Raises ConfigError unless `name` is well formed and has always had this role."""
    if not NAME.fullmatch(name):
        raise ConfigError(f"a name looks like billing-api ({NAME.pattern})")
    for record in records:
        if record.name == name and record.role is not role:
            raise ConfigError(f"{name} is a {record.role.value}: a name keeps its role for ever")


def _checksum(stem: str) -> str:
    number = zlib.crc32(stem.encode())
    digits = ""
    for _ in range(_CHECK_LENGTH):
        number, digit = divmod(number, 62)
        digits = _BASE62[digit] + digits
    return digits


def may_see(identity: Identity, job: Job) -> bool:
    """Producers see their own jobs, workers those of types they may run, admins all."""
    match identity.role:
        case Role.PRODUCER:
            return job.producer_id == identity.name
        case Role.WORKER:
            return identity.may_use(job.type)
        case Role.ADMIN:
            return True
