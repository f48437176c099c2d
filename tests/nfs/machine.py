"""The guest while it runs: QEMU without any help of the host's processor or its kernel.

So it runs anywhere, also where there is no KVM; the price is that it is ten times slower.
"""

import http.client
import io
import json
import re
import socket
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.nfs.image import Image

ROOT = Path(__file__).parents[2]
CLIENTS = 3
LEASE_SECONDS = 10
_BOOT_SECONDS = 240.0
_SILENCE_SECONDS = 1800.0
_KERNEL = "root=/dev/vda rw init=/init console=ttyS0 quiet mitigations=off panic=1 net.ifnames=0"
_GUESTS_FILES = ("queuelog_core", "tests/__init__.py", "tests/support", "tests/nfs")


class Guest:
    """A running guest: its agent's address, and the text of its console."""

    def __init__(self, port: int, console: Path, process: "subprocess.Popen[bytes]") -> None:
        self._port = port
        self._console = console
        self._process = process

    def run(self, scenario: str, **asked: object) -> Any:
        """What a module of tests.nfs.guest prints as its last line, which is JSON."""
        command = f"exec python3 -m tests.nfs.guest.{scenario} '{json.dumps(asked)}'"
        return json.loads(self.shell(command).splitlines()[-1])

    def shell(self, command: str) -> str:
        """What a command prints in the guest; it is an error if it fails."""
        printed = self._ask("POST", command.encode())
        found = re.search(r"\nexit (-?\d+)\n\Z", printed)
        assert found, f"the guest fell silent: {printed}\n{self.console()}"
        assert found.group(1) == "0", printed
        return printed[: found.start()]

    def console(self) -> str:
        """What the guest's kernel said last."""
        return "\n".join(self._console.read_text("utf-8", "replace").splitlines()[-40:])

    def wait_until_ready(self) -> None:
        give_up_at = time.monotonic() + _BOOT_SECONDS
        while True:
            try:
                self._ask("POST", b"true")
                return
            except (OSError, http.client.HTTPException):
                alive = self._process.poll() is None and time.monotonic() < give_up_at
                assert alive, f"the guest did not start\n{self.console()}"
            time.sleep(0.5)

    def bring(self) -> None:
        """Copy the product and the tests' own modules in."""
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            for name in _GUESTS_FILES:
                tar.add(ROOT / name, name, filter=_without_bytecode)
        self._ask("PUT", archive.getvalue())

    def _ask(self, method: str, body: bytes) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_SILENCE_SECONDS)
        try:
            connection.request(method, "/", body)
            return connection.getresponse().read().decode("utf-8", "replace")
        finally:
            connection.close()


@contextmanager
def running(image: Image, folder: Path) -> Iterator[Guest]:
    """A guest with its clients' mounts, gone again when the block is left, whatever is in it."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    volume, console = folder / "volume.img", folder / "console.txt"
    with volume.open("wb") as file:
        file.truncate(256 * 2**20)
    with console.open("wb") as log:
        process = subprocess.Popen(
            _command(image, volume, port), stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    guest = Guest(port, console, process)
    try:
        guest.wait_until_ready()
        guest.bring()
        guest.shell(f"bash tests/nfs/guest/network.sh {CLIENTS} {LEASE_SECONDS}")
        yield guest
    finally:
        process.kill()
        process.wait()


def _command(image: Image, volume: Path, port: int) -> list[str]:
    network = f"user,id=host,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:8000"
    return [
        *("qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max"),
        *("-smp", "2", "-m", "1536", "-nographic", "-no-reboot"),
        *("-kernel", str(image.kernel), "-initrd", str(image.initrd), "-append", _KERNEL),
        *("-drive", f"file={image.disk},format=raw,if=virtio,snapshot=on,cache=unsafe"),
        *("-drive", f"file={volume},format=raw,if=virtio,cache=unsafe"),
        *("-netdev", network, "-device", "virtio-net-pci,netdev=host"),
    ]


def _without_bytecode(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if "__pycache__" in member.name else member
