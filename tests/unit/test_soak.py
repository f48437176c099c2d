"""The runner of the long tests: what passed is not run again, what failed is."""

from pathlib import Path

import pytest

from tests import soak
from tests.soak import Step, main

COUNTED = "runs.txt"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for what is kept, and modules that note that they ran and end with a status."""
    for name, status in (("holds", 0), ("breaks", 3)):
        (tmp_path / f"{name}.py").write_text(
            f"with open({str(tmp_path / COUNTED)!r}, 'a') as file: file.write('{name} ')\n"
            f"print('7 {name}')\nraise SystemExit({status})\n"
        )
    monkeypatch.setattr(soak, "FOLDER", tmp_path / "kept")
    monkeypatch.setattr(soak, "_code", lambda: "one")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(
        soak, "PARTS", {"good": (Step("holds", ("holds",)),), "bad": (Step("breaks", ("breaks",)),)}
    )
    return tmp_path


def ran(place: Path) -> list[str]:
    return (place / COUNTED).read_text().split()


def test_a_step_that_passed_is_not_run_again(place: Path) -> None:
    assert [main(["good"]), main(["good"])] == [0, 0]

    assert ran(place) == ["holds"]


def test_it_is_run_again_when_the_code_has_changed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["good"])
    monkeypatch.setattr(soak, "_code", lambda: "another")

    main(["good"])

    assert ran(place) == ["holds", "holds"]


def test_a_step_that_failed_is_run_again_and_stops_no_other(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [main(["bad", "good"]), main([])] == [1, 1]

    assert ran(place) == ["breaks", "holds", "breaks"]
    assert "breaks: 7 breaks" in capsys.readouterr().out


def test_a_part_that_is_not_there_is_named(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["godo"]) == 2

    assert capsys.readouterr().err == "soak: no part godo; there are good, bad\n"
