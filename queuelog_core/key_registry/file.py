"""Keys in a local file: 0600, replaced atomically under a lock, looked at once a second at most."""

import fcntl
import json
import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

from queuelog_core.clock import Clock, monotonic_seconds
from queuelog_core.errors import ConfigError
from queuelog_core.identity import KeyRecord
from queuelog_core.key_registry import Change, KeyRegistry, document_of, records_in

_Stamp = tuple[int, int, int] | None


class FileRegistry(KeyRegistry):
    """See KeyRegistry."""

    look_again_seconds = 1.0

    def __init__(
        self, path: Path, clock: Clock, monotonic: Callable[[], float] = monotonic_seconds
    ) -> None:
        super().__init__(clock, monotonic)
        self.path = path
        self._stamp: _Stamp = None

    def records(self) -> list[KeyRecord]:
        return _read(self.path)

    def changed_records(self) -> Sequence[KeyRecord] | None:
        stamp = _stamp(self.path)
        if stamp is None and self._stamp is not None:
            raise ConfigError(f"{self.path} is gone")
        if stamp == self._stamp:
            return None
        records = _read(self.path)
        self._stamp = stamp
        return records

    def change(self, apply: Change) -> KeyRecord:
        """Under an exclusive lock of the folder.

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
            record = apply(records)
            _write(self.path, records)
            # The rename itself is in the folder, so the folder has to reach the disk as well.
            os.fsync(descriptor)
            return record
        finally:
            os.close(descriptor)


def open_file_registry(path: str, clock: Clock) -> FileRegistry:
    """Raises ConfigError for a file that is no registry; one that is not there yet is empty."""
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
    return records_in(document, str(path))


def _write(path: Path, records: Sequence[KeyRecord]) -> None:
    fresh = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}.new")
    descriptor = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(document_of(records), file, indent=1)
            file.flush()
            if path.exists() and os.geteuid() == 0:
                # Root may write it, but the user that serves has to read it.
                os.fchown(file.fileno(), path.stat().st_uid, path.stat().st_gid)
            os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
