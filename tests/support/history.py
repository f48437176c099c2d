"""What clients did to a queue and what they were told, as each of them wrote it down.

Each process writes to a file of its own, before and after every call and every try of it; a kill
leaves what was written until then. The clock is one that all processes of a machine share.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from queuelog_core.client import (
    HttpTransport,
    NoAnswer,
    Refused,
    Request,
    Response,
    ServerError,
    Unreachable,
)

OK, REFUSED, UNKNOWN = "ok", "refused", "unknown"
ANSWERED, LOST, UNREACHED, CUT_OFF = "answered", "lost", "unreached", "cut off"
_TAIL_BYTES = 100
_NO_LISTENER = "connection refused"
_T = TypeVar("_T")


class Call(NamedTuple):
    """One call: of which process, in whose name, what it asked. Who was killed before the answer,
    or got none, does not know: `outcome` UNKNOWN. `replayed`: the answer said that it had been done
    before. Instants are nanoseconds."""

    life: str
    identity: str
    verb: str
    asked: Mapping[str, Any]
    invoked_at: int
    ended_at: int | None = None
    outcome: str = UNKNOWN
    told: Mapping[str, Any] = {}
    replayed: bool = False


class Try(NamedTuple):
    """One request of a call; CUT_OFF is the one that its process was killed in."""

    life: str
    server: str
    sent_at: int
    ended_at: int | None = None
    ending: str = CUT_OFF
    replayed: bool = False


class History(NamedTuple):
    """All that is known of some processes."""

    calls: list[Call]
    tries: list[Try]


class Recorder:
    """The file of one process."""

    def __init__(self, path: Path, life: str, identity: str, server: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._write("born", life=life, identity=identity, server=server)

    def call(
        self,
        verb: str,
        asked: Mapping[str, Any],
        send: Callable[[], _T],
        tell: Callable[[_T], Mapping[str, Any]],
    ) -> _T | None:
        """The answer, None for a refusal and for no answer; all of it is written down."""
        self._write("invoke", verb=verb, asked=asked)
        try:
            answer = send()
        except Refused as error:
            self._write(REFUSED, code=error.code, status=error.status)
            return None
        except Unreachable as error:
            status = error.status if isinstance(error, ServerError) else None
            self._write(UNKNOWN, why=str(error), status=status)
            return None
        self._write(OK, **tell(answer))
        return answer

    def watched(self, send: HttpTransport) -> Callable[[Request], Response]:
        """The network, with each try written down."""

        def watch(request: Request) -> Response:
            self._write("sent")
            try:
                response = send(request)
            except NoAnswer as error:
                self._write(UNREACHED if str(error).startswith(_NO_LISTENER) else LOST)
                raise
            self._write(ANSWERED, replayed=_is_replay(response))
            return response

        return watch

    def _write(self, event: str, **facts: Any) -> None:
        line = json.dumps([event, time.monotonic_ns(), facts])
        os.write(self._file, line.encode() + b"\n")


def _is_replay(response: Response) -> bool:
    return "idempotent-replayed" in response.headers or b'"replayed":true' in response.body


class Tail:
    """The end of a process' file, for whoever wants to meet it in the middle of a request."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.touch()
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        os.close(self._file)

    def size(self) -> int:
        return os.fstat(self._file).st_size

    def is_waiting(self) -> bool:
        """Whether a request was sent whose answer has not come."""
        end = os.pread(self._file, _TAIL_BYTES, max(0, self.size() - _TAIL_BYTES))
        return end.endswith(b"\n") and end[:-1].rpartition(b"\n")[2].startswith(b'["sent"')


def read_life(path: Path) -> History:
    """The history of one process; a line that it was killed in does not count."""
    lines = path.read_bytes().split(b"\n")[:-1]
    history = History([], [])
    born: Mapping[str, Any] = {}
    for event, at, facts in map(json.loads, lines):
        if event == "born":
            born = facts
        elif event == "invoke":
            history.calls.append(Call(born["life"], born["identity"], **facts, invoked_at=at))
        elif event == "sent":
            history.tries.append(Try(born["life"], born["server"], at))
        elif event in (OK, REFUSED, UNKNOWN):
            ended = {"ended_at": at, "outcome": event, "told": facts}
            replayed = bool(history.tries) and history.tries[-1].replayed
            history.calls[-1] = history.calls[-1]._replace(**ended, replayed=replayed)
        else:
            history.tries[-1] = history.tries[-1]._replace(ended_at=at, ending=event, **facts)
    return history


def read_history(paths: Iterator[Path]) -> History:
    """The history of all of them."""
    history = History([], [])
    for path in paths:
        calls, tries = read_life(path)
        history.calls.extend(calls)
        history.tries.extend(tries)
    return history
