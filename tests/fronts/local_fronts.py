"""Flask in process, and whatever listens on a loopback port."""

import http.client
from collections.abc import Mapping
from contextlib import closing
from typing import ClassVar

from flask import Flask
from werkzeug.datastructures import Headers as FlaskHeaders

from tests.fronts.front import Answer, Front, Headers

REQUEST_SECONDS = 60.0


class FlaskFront(Front):
    """The application in this process."""

    name = "flask"

    def __init__(self, app: Flask, keys: Mapping[str, str]) -> None:
        super().__init__(keys)
        self._client = app.test_client()

    def send(self, method: str, path: str, headers: Headers, body: bytes | None) -> Answer:
        # As every server does: in an environment an underscore is another spelling of a dash.
        sent = FlaskHeaders([(name, value) for name, value in headers if "_" not in name])
        reply = self._client.open(path, method=method, headers=sent, data=body)
        told = {name.lower(): value for name, value in reply.headers.items()}
        return Answer(reply.status_code, told, reply.get_data())


class PortFront(Front):
    """A server on loopback; `host` is its name where the port serves several."""

    name = "served"

    def __init__(self, port: int, keys: Mapping[str, str], host: str = "") -> None:
        super().__init__(keys)
        self.port = port
        self.host = host or f"127.0.0.1:{port}"

    def send(self, method: str, path: str, headers: Headers, body: bytes | None) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=REQUEST_SECONDS)
        with closing(connection):
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            connection.putheader("Host", self.host)
            for name, value in headers:
                connection.putheader(name, value)
            if body is not None or method == "POST":
                connection.putheader("Content-Length", str(len(body or b"")))
            connection.endheaders(body)
            reply = connection.getresponse()
            told = {name.lower(): value for name, value in reply.headers.items()}
            return Answer(reply.status, told, reply.read())


class OfflineFront(PortFront):
    """serverless-offline, whose schedule runs the jobs of the shipped types each minute."""

    name = "offline"
    gateway: ClassVar[bool] = True
    job_type: ClassVar[str] = "letter"


class CloudFront(PortFront):
    """An emulator of AWS that the whole stack was deployed to."""

    name = "cloud"
    gateway: ClassVar[bool] = True

    def send(self, method: str, path: str, headers: Headers, body: bytes | None) -> Answer:
        """The emulator takes /health of every name for its own; the API's own has another way."""
        if path != "/health":
            return super().send(method, path, headers, body)
        api_id = self.host.partition(".")[0]
        around = PortFront(self.port, self.keys)
        return around.send(method, f"/_aws/execute-api/{api_id}/$default{path}", headers, body)
