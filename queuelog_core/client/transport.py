"""How a request reaches a server. Anything that takes a Request and gives a Response will do: the
network, an application in this process, or a function in a test."""

import functools
from collections.abc import Callable, Mapping
from typing import NamedTuple

import urllib3

from queuelog_core.forks import begin_anew_in_children

CONNECTIONS_MAX = 32
_abandoned: list[urllib3.HTTPConnectionPool] = []


class Request(NamedTuple):
    """One request, complete: `path` holds the query, `body` is JSON or empty."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""


class Response(NamedTuple):
    """One answer; the names of `headers` are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


class NoAnswer(Exception):
    """The request may have arrived or not; no answer came back."""


Transport = Callable[[Request], Response]
"""Raises NoAnswer. May be called by many threads at once."""


class HttpTransport:
    """Over the network, on kept connections. A redirect is an answer: the key goes to one place.

    A forked process opens connections of its own.
    """

    def __init__(self, url: str, timeout_seconds: float) -> None:
        place = urllib3.util.parse_url(url)
        self._prefix = (place.path or "").rstrip("/")
        self._address = urllib3.util.Url(place.scheme, host=place.host, port=place.port).url
        self._timeout = timeout = urllib3.Timeout(
            connect=min(timeout_seconds, 5.0), read=timeout_seconds
        )
        # One pool: urllib3's manager of many works out which one at each request.
        self._open = functools.partial(
            urllib3.connection_from_url,
            url,
            timeout=timeout,
            retries=False,
            maxsize=CONNECTIONS_MAX,
        )
        self._pool = self._open()
        begin_anew_in_children(self)

    def __call__(self, request: Request) -> Response:
        try:
            reply = self._pool.urlopen(
                request.method,
                self._prefix + request.path,
                body=request.body or None,
                headers=request.headers,
                redirect=False,
            )
        except urllib3.exceptions.HTTPError as error:
            raise NoAnswer(f"{_why(error, self._timeout)} ({self._address})") from error
        headers = {name.lower(): value for name, value in reply.headers.items()}
        return Response(reply.status, headers, reply.data)

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        closed, self._pool = self._pool, self._open()
        closed.close()

    def begin_anew(self) -> None:
        """Leave the connections to the parent, in a process that was forked."""
        # Whoever drops a pool closes it, and its lock may be held for ever.
        _abandoned.append(self._pool)
        self._pool = self._open()


def _why(error: urllib3.exceptions.HTTPError, timeout: urllib3.Timeout) -> str:
    match error:
        case urllib3.exceptions.NameResolutionError():
            return "the name cannot be looked up"
        case urllib3.exceptions.NewConnectionError():
            words = getattr(error.__cause__, "strerror", None) or "no connection"
            return f"{words[0].lower()}{words[1:]}"
        case urllib3.exceptions.ConnectTimeoutError():
            return f"no connection within {timeout.connect_timeout:g} s"
        case urllib3.exceptions.ReadTimeoutError():
            return f"no answer within {timeout.read_timeout:g} s"
        case urllib3.exceptions.SSLError():
            return "TLS failed"
        case _:
            return "the answer broke off or is no HTTP"
