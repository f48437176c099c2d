"""Keys in AWS Secrets Manager: read once a minute, and changed so that two operators lose nothing.

A change is staged as a version of its own; then AWSCURRENT moves to it from the version that was
read. When somebody was faster the move is refused, and the change is made again on top of theirs.
"""

import contextlib
import json
import uuid
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from queuelog_core.clock import Clock, monotonic_seconds
from queuelog_core.documents import compact
from queuelog_core.errors import ConfigError, NoKey
from queuelog_core.identity import KeyRecord
from queuelog_core.key_registry import Change, KeyRegistry, document_of, records_in

SECRET_BYTES_MAX = 65_536
NEARLY_FULL_BYTES = 57_344
TRIES = 10
_CURRENT = "AWSCURRENT"
_END_BYTES = len("1795953600000") - len("null")
"""What a record grows by when its key is revoked, for which there is always room."""
_T = TypeVar("_T")


class _Version(NamedTuple):
    id: str
    records: list[KeyRecord]


class SecretRegistry(KeyRegistry):
    """See KeyRegistry. `client` is boto3's; it is made at first use."""

    look_again_seconds = 60.0

    def __init__(
        self,
        name: str,
        clock: Clock,
        monotonic: Callable[[], float] = monotonic_seconds,
        client: Any = None,
    ) -> None:
        super().__init__(clock, monotonic)
        self.name = name
        self._given_client = client
        self._bytes_taken = 0

    def records(self) -> list[KeyRecord]:
        return self._in_our_words(self._read).records

    def changed_records(self) -> Sequence[KeyRecord] | None:
        return self._read().records

    def change(self, apply: Change) -> KeyRecord:
        """Raises ConfigError also when others were faster ten times in a row."""
        return self._in_our_words(lambda: self._change(apply))

    def is_nearly_full(self) -> bool:
        """Whether the last change left less than an eighth of what a secret can hold."""
        return self._bytes_taken > NEARLY_FULL_BYTES

    def _change(self, apply: Change) -> KeyRecord:
        for _ in range(TRIES):
            read = self._read()
            before = list(read.records)
            record = apply(read.records)
            if read.records == before or self._replace(read):
                return record
        raise ConfigError(f"{self.name}: others change it all the time; try again")

    def _read(self) -> _Version:
        answer = self._current_value()
        try:
            document = json.loads(answer["SecretString"])
        except (KeyError, ValueError, RecursionError):
            # A binary secret has another field; what the text is stays out of the words.
            raise ConfigError(f"{self.name} is not a key registry: it holds no JSON") from None
        return _Version(answer["VersionId"], records_in(document, self.name))

    def _replace(self, changed: _Version) -> bool:
        """Whether these records are the current ones now, in place of the version they were read
        from."""
        text = compact(document_of(changed.records))
        unrevoked = sum(record.revoked_at is None for record in changed.records)
        self._bytes_taken = len(text.encode()) + unrevoked * _END_BYTES
        if self._bytes_taken > SECRET_BYTES_MAX:
            raise ConfigError(
                f"{self.name} is full: a secret holds {SECRET_BYTES_MAX} bytes, and these keys take"
                f" {self._bytes_taken}; begin a second registry for a second stage"
            )
        new = str(uuid.uuid4())
        # A label of our own: without one the new version would become the current one at once.
        label = f"queuelog-{new}"
        self._client.put_secret_value(
            SecretId=self.name,
            ClientRequestToken=new,
            SecretString=text,
            VersionStages=[label],
        )
        try:
            return self._move(changed.id, new)
        finally:
            # The change is done or not by now, and the library's repeat of this would be refused.
            with contextlib.suppress(Exception):
                self._client.update_secret_version_stage(
                    SecretId=self.name, VersionStage=label, RemoveFromVersionId=new
                )

    def _move(self, old: str, new: str) -> bool:
        refused = (
            self._client.exceptions.InvalidParameterException,
            self._client.exceptions.InvalidRequestException,
            self._client.exceptions.ResourceNotFoundException,
        )
        try:
            self._client.update_secret_version_stage(
                SecretId=self.name,
                VersionStage=_CURRENT,
                RemoveFromVersionId=old,
                MoveToVersionId=new,
            )
        except Exception as error:
            # It may be done all the same: a repeat by the library is refused when the first answer
            # got lost.
            if self._current_value()["VersionId"] == new:
                return True
            if isinstance(error, refused):
                return False
            raise
        return True

    def _current_value(self) -> Any:
        return self._client.get_secret_value(SecretId=self.name, VersionStage=_CURRENT)

    @cached_property
    def _client(self) -> Any:
        return self._given_client or _secrets_manager()

    def _in_our_words(self, step: Callable[[], _T]) -> _T:
        return _in_our_words(self.name, step)


def secret_text(name: str) -> str:
    """What a secret holds. Raises ConfigError; NoKey when nothing was put into it yet."""
    client = _in_our_words(name, _secrets_manager)

    def read() -> Any:
        try:
            return client.get_secret_value(SecretId=name).get("SecretString")
        except client.exceptions.ResourceNotFoundException:
            return None

    text = _in_our_words(name, read)
    if not text:
        raise NoKey(f"the secret {name} is empty")
    return str(text)


def put_secret_text(name: str, text: str) -> None:
    """Put a text into a secret that exists. Raises ConfigError."""
    _in_our_words(
        name, lambda: _secrets_manager().put_secret_value(SecretId=name, SecretString=text)
    )


def _secrets_manager() -> Any:
    import boto3
    from botocore.config import Config

    # The gateway waits ten seconds for an authorizer, whatever the function's own limit is.
    patience = Config(
        connect_timeout=1, read_timeout=3, retries={"mode": "standard", "total_max_attempts": 2}
    )
    return boto3.client("secretsmanager", config=patience)


def _in_our_words(name: str, step: Callable[[], _T]) -> _T:
    """What `step` returns; raises ConfigError with what the library says is wrong."""
    try:
        return step()
    except ConfigError:
        raise
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"the secret {name} needs {error.name}: pip install 'queuelog[aws]'"
        ) from error
    except Exception as error:
        told = type(error).__module__.startswith("botocore.")
        cause = " ".join(str(error).split()) if told else type(error).__name__
        raise ConfigError(f"the secret {name} cannot be used: {cause}") from error
