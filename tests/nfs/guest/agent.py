"""Takes orders from the host: PUT unpacks a tar archive into /queuelog, POST runs a command there.

The answer to POST is what the command prints, as it prints it, then a line `exit N`.
"""

import io
import os
import subprocess
import tarfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FOLDER = "/queuelog"
ALL_ADDRESSES = "0.0.0.0"  # QEMU forwards to the guest's own address, not to its loopback


class Orders(BaseHTTPRequestHandler):
    def do_PUT(self) -> None:
        with tarfile.open(fileobj=io.BytesIO(self._body())) as archive:
            archive.extractall(FOLDER)
        self._begin_answer()

    def do_POST(self) -> None:
        Path(FOLDER).mkdir(exist_ok=True)
        command = ["/bin/bash", "-c", self._body().decode()]
        self._begin_answer()
        with subprocess.Popen(
            command,
            cwd=FOLDER,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            assert process.stdout is not None
            while printed := os.read(process.stdout.fileno(), 65_536):
                self.wfile.write(printed)
        self.wfile.write(f"\nexit {process.returncode}\n".encode())

    def log_message(self, format: str, *args: object) -> None:
        """The console shows what the kernel says, not each request."""

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"]))

    def _begin_answer(self) -> None:
        self.send_response(200)
        self.end_headers()


if __name__ == "__main__":
    ThreadingHTTPServer((ALL_ADDRESSES, 8000), Orders).serve_forever()
