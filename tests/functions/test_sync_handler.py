"""The handler of sync: what it copies, and that no path or link leads it out of its folder."""

import os
from pathlib import Path
from typing import Any

import pytest

from functions.job_handlers import handlers
from tests.support.held import held_job


def run(folder: Path, payload: Any) -> Any:
    return handlers(folder)["sync"](held_job("sync", payload))


def tree(folder: Path) -> dict[str, str]:
    """Every file under a folder with its text."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text("utf-8") for path in files}


@pytest.fixture
def synced(tmp_path: Path) -> Path:
    """The sync folder, with a tree to copy."""
    folder = tmp_path / "sync"
    (folder / "photos" / "2026").mkdir(parents=True)
    (folder / "photos" / "2026" / "ada.txt").write_text("Ada", "utf-8")
    (folder / "photos" / "grace.txt").write_text("Grace", "utf-8")
    return folder


def test_sync_copies_a_tree_with_its_times_and_leaves_the_source(
    tmp_path: Path, synced: Path
) -> None:
    os.utime(synced / "photos" / "grace.txt", (1_000_000_000, 1_000_000_000))

    done = run(tmp_path, {"source": "photos", "target": "backup/of/photos"})

    assert done == {"files": 2, "bytes": 8}
    wanted = {"2026/ada.txt": "Ada", "grace.txt": "Grace"}
    assert tree(synced / "photos") == tree(synced / "backup" / "of" / "photos") == wanted
    copied = synced / "backup" / "of" / "photos" / "grace.txt"
    assert copied.stat().st_mtime == 1_000_000_000


def test_sync_run_twice_ends_the_same_and_brings_what_has_changed(
    tmp_path: Path, synced: Path
) -> None:
    payload = {"source": "photos", "target": "copy"}
    first = run(tmp_path, payload)
    (synced / "photos" / "grace.txt").write_text("Hopper", "utf-8")

    second = run(tmp_path, payload)

    assert (first["files"], second["files"]) == (2, 2)
    assert tree(synced / "copy") == {"2026/ada.txt": "Ada", "grace.txt": "Hopper"}


@pytest.mark.parametrize("field", ["source", "target"])
@pytest.mark.parametrize("path", ["..", "../outside", "photos/../../outside", "/etc", "/"])
def test_sync_refuses_a_path_that_leads_outside(
    tmp_path: Path, synced: Path, field: str, path: str
) -> None:
    (tmp_path / "outside").mkdir()
    before = tree(tmp_path)

    with pytest.raises(ValueError, match="outside the sync folder"):
        run(tmp_path, {"source": "photos", "target": "copy", field: path})

    assert tree(tmp_path) == before


def test_sync_leaves_links_out(tmp_path: Path, synced: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("ql_admin", "utf-8")
    (synced / "photos" / "key").symlink_to(tmp_path / "secret" / "key")
    (synced / "photos" / "folder").symlink_to(tmp_path / "secret")
    (synced / "photos" / "broken").symlink_to("nowhere")

    done = run(tmp_path, {"source": "photos", "target": "copy"})

    assert done == {"files": 2, "bytes": 8}
    assert tree(synced / "copy") == {"2026/ada.txt": "Ada", "grace.txt": "Grace"}


@pytest.mark.parametrize("link", ["copy", "copy/2026", "copy/grace.txt"])
def test_sync_never_writes_through_a_link_that_leads_outside(
    tmp_path: Path, synced: Path, link: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (synced / link).parent.mkdir(exist_ok=True)
    (synced / link).symlink_to(outside / "new.txt" if link.endswith(".txt") else outside)

    with pytest.raises(ValueError, match="outside the sync folder"):
        run(tmp_path, {"source": "photos", "target": "copy"})

    assert tree(outside) == {}


@pytest.mark.parametrize("target", ["photos", "photos/copy", "./photos/2026/../x"])
def test_sync_refuses_a_target_inside_its_source(tmp_path: Path, synced: Path, target: str) -> None:
    with pytest.raises(ValueError, match="inside the source"):
        run(tmp_path, {"source": "photos", "target": target})

    assert tree(synced) == {"photos/2026/ada.txt": "Ada", "photos/grace.txt": "Grace"}


@pytest.mark.parametrize("source", ["nothing", "photos/grace.txt", "photos/no/such"])
def test_sync_needs_a_folder_to_copy(tmp_path: Path, synced: Path, source: str) -> None:
    with pytest.raises(FileNotFoundError):
        run(tmp_path, {"source": source, "target": "copy"})

    assert not (synced / "copy").exists()


def test_sync_fails_where_a_folder_stands_in_a_files_place(tmp_path: Path, synced: Path) -> None:
    (synced / "copy" / "grace.txt").mkdir(parents=True)

    with pytest.raises(OSError, match=r"grace\.txt"):
        run(tmp_path, {"source": "photos", "target": "copy"})

    assert "grace.txt/grace.txt" not in tree(synced / "copy")
