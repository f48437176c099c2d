"""DynamoDB's protocol without boto3, which takes five times as long as the engine that it asks.

For engines on this machine that look at no signature and never hang up. What boto3 itself does to a
request (signing it, sending it again) is tried wherever a store is opened by its address, and on
moto.
"""

import base64
import contextlib
import json
import socket
import time
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from botocore.exceptions import ClientError, ConnectionClosedError, EndpointConnectionError

_SIGNED = (
    "AWS4-HMAC-SHA256 Credential=test/20260101/eu-west-1/dynamodb/aws4_request,"
    " SignedHeaders=host, Signature=00"
)
_PIECE_BYTES = 65_536
_TICK_SECONDS = 0.001


class WireClient:
    """The calls of boto3's client, by the same names. Safe for many threads."""

    def __init__(self, endpoint: str) -> None:
        address = urlsplit(endpoint)
        self._endpoint = endpoint
        self._address = (address.hostname, address.port)
        self._idle: list[socket.socket] = []

    def __getattr__(self, name: str) -> Any:
        operation = "".join(word.title() for word in name.split("_"))

        def call(**request: Any) -> Any:
            return self._send(operation, request)

        # Looked up once, since a store asks for a few names all the time.
        setattr(self, name, call)
        return call

    def get_waiter(self, name: str) -> "_Waiter":
        assert name == "table_exists"
        return _Waiter(self)

    def close(self) -> None:
        """Give the connections back; the next call makes new ones."""
        while self._idle:
            self._idle.pop().close()

    def _send(self, operation: str, request: Any) -> Any:
        body = json.dumps(request, default=_encode_bytes).encode()
        head = (
            "POST / HTTP/1.1\r\nHost: dynamodb\r\nContent-Type: application/x-amz-json-1.0\r\n"
            f"X-Amz-Target: DynamoDB_20120810.{operation}\r\nX-Amz-Date: 20260101T000000Z\r\n"
            f"Authorization: {_SIGNED}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        connection = self._connection()
        try:
            connection.sendall(head.encode() + body)
            status, told = self._read(connection)
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        document = json.loads(told, object_hook=_decode_bytes)
        if status == 200:
            return document
        code = document["__type"].partition("#")[2]
        message = document.get("message") or document.get("Message", "")
        raise ClientError({"Error": {"Code": code, "Message": message}}, operation)

    def _connection(self) -> socket.socket:
        with contextlib.suppress(IndexError):
            return self._idle.pop()
        try:
            made = socket.create_connection(self._address)
        except OSError as error:
            raise EndpointConnectionError(endpoint_url=self._endpoint, error=error) from error
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    def _read(self, connection: socket.socket) -> tuple[int, bytes]:
        """Status and body of an answer, which tells its length."""
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._piece(connection)
        head, _, body = data.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        pieces, missing = [body], length - len(body)
        while missing > 0:
            pieces.append(self._piece(connection))
            missing -= len(pieces[-1])
        return int(head[9:12]), b"".join(pieces)

    def _piece(self, connection: socket.socket) -> bytes:
        piece = connection.recv(_PIECE_BYTES)
        if not piece:
            raise ConnectionClosedError(endpoint_url=self._endpoint)
        return piece


class _Waiter(NamedTuple):
    """Waits for a table that is made."""

    client: WireClient

    def wait(self, **named: Any) -> None:
        table = named["TableName"]
        while self.client.describe_table(TableName=table)["Table"]["TableStatus"] != "ACTIVE":
            time.sleep(_TICK_SECONDS)


def _encode_bytes(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _decode_bytes(document: dict[str, Any]) -> dict[str, Any]:
    """Bytes are told in base64 under the name B."""
    if isinstance(document.get("B"), str):
        document["B"] = base64.b64decode(document["B"])
    return document
