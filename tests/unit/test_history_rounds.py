"""How a soak of the history checker goes on where it was interrupted."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support import history_rounds

FIGURES = {"in flight": 250, "acknowledged": 1_500}


class Played:
    """Counts rounds, and is interrupted in one of them."""

    def __init__(self, interrupted_in: int | None = None) -> None:
        self.seeds: list[int] = []
        self._interrupted_in = interrupted_in

    def __call__(self, number: int, _: int) -> Mapping[str, int]:
        if len(self.seeds) == self._interrupted_in:
            raise KeyboardInterrupt
        self.seeds.append(number)
        return FIGURES


@pytest.fixture
def soak(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_rounds, "ROOT", tmp_path)
    monkeypatch.setattr(history_rounds, "KILLS_WANTED", 1_000)


def test_without_a_soak_there_is_one_round() -> None:
    played = Played()
    history_rounds.play_enough("local", 200, played)
    assert len(played.seeds) == 1


@pytest.mark.usefixtures("soak")
def test_a_soak_plays_until_kills_and_jobs_are_enough() -> None:
    played = Played()
    history_rounds.play_enough("local", 200, played)
    assert len(played.seeds) == len(set(played.seeds)) == 4


@pytest.mark.usefixtures("soak")
def test_an_interrupted_soak_goes_on_and_a_finished_one_begins_anew() -> None:
    first, second, third = Played(3), Played(), Played()
    with pytest.raises(KeyboardInterrupt):
        history_rounds.play_enough("local", 200, first)
    history_rounds.play_enough("local", 200, second)
    history_rounds.play_enough("local", 200, third)

    assert [len(played.seeds) for played in (first, second, third)] == [3, 1, 4]


@pytest.mark.usefixtures("soak")
def test_each_mode_has_a_soak_of_its_own() -> None:
    for mode in ("local", "network"):
        played = Played()
        history_rounds.play_enough(mode, 200, played)
        assert len(played.seeds) == 4
