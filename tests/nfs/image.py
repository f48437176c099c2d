"""The guest's disk: a small Debian with an NFS server, an NFS client and Python, built once.

It lies in .nfs/, its name holds a digest of its recipe: another recipe makes another image.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

CACHE = Path(__file__).parents[2] / ".nfs"
SUITE = "bookworm"
PACKAGES = (
    "linux-image-cloud-amd64",
    "nfs-kernel-server",
    "nfs-common",
    "python3",
    "iproute2",
    "kmod",
    "e2fsprogs",
)
COMMANDS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "mmdebstrap": "mmdebstrap",
    "mke2fs": "e2fsprogs",
}
"""What the host must have, and the Debian package that brings it."""
_SIZE_BYTES = 1200 * 2**20
_PARTS = {"init.sh": "init", "agent.py": "agent.py"}
_GUEST = Path(__file__).parent / "guest"
_MACHINES_SOURCES = ("sources.list.d/debian.sources", "sources.list")


class Image(NamedTuple):
    """What QEMU starts: a disk, and the kernel and first file system that came with it."""

    disk: Path
    kernel: Path
    initrd: Path


def lacks() -> str | None:
    """What this machine lacks, as a sentence with the command that brings it."""
    if platform.machine() != "x86_64":
        return f"make test-nfs builds its guest on x86_64 only, and this is {platform.machine()}"
    if os.geteuid() != 0:
        return "make test-nfs builds its guest as root: run it as root"
    missing = [package for command, package in COMMANDS.items() if not shutil.which(command)]
    if missing:
        return (
            "make test-nfs needs qemu-system-x86, mmdebstrap and e2fsprogs. "
            f"On Debian: apt-get install {' '.join(missing)}"
        )
    return None


def image() -> Image:
    """The image of this recipe; it takes a minute where it has to be built, and root's rights."""
    folder = CACHE / f"image-{_digest()}"
    if not folder.exists():
        CACHE.mkdir(exist_ok=True)
        for old in CACHE.glob("image-*"):
            shutil.rmtree(old)
        being_built = CACHE / f"image-{time.time_ns()}"
        try:
            _build(being_built)
            being_built.rename(folder)
        finally:
            shutil.rmtree(being_built, ignore_errors=True)
    return Image(folder / "disk.img", folder / "vmlinuz", folder / "initrd.img")


def _digest() -> str:
    recipe = hashlib.sha256(Path(__file__).read_bytes())
    for part in _PARTS:
        recipe.update((_GUEST / part).read_bytes())
    return recipe.hexdigest()[:16]


def _build(folder: Path) -> None:
    root = folder / "root"
    folder.mkdir()
    subprocess.run(
        [
            *("mmdebstrap", "--quiet", "--variant=minbase", "--mode=root"),
            f"--include={','.join(PACKAGES)}",
            *(SUITE, str(root), *_sources()),
        ],
        check=True,
        stdin=subprocess.DEVNULL,
    )
    for part, name in _PARTS.items():
        shutil.copy(_GUEST / part, root / name)
        (root / name).chmod(0o755)
    for name in ("vmlinuz", "initrd.img"):
        (found,) = (root / "boot").glob(f"{name}-*")
        found.rename(folder / name)
    disk = folder / "disk.img"
    with disk.open("wb") as file:
        file.truncate(_SIZE_BYTES)
    subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", "-d", str(root), str(disk)], check=True)
    shutil.rmtree(root)


def _sources() -> list[str]:
    """Where this machine itself gets packages from, if it is of the guest's release."""
    files = [Path("/etc/apt", name) for name in _MACHINES_SOURCES]
    return [str(file) for file in files if file.exists() and SUITE in file.read_text("utf-8")][:1]
