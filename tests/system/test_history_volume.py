"""The history checker on a file as it is opened on a network volume."""

from pathlib import Path

from tests.support.history_files import play_on_a_file


def test_nothing_is_lost_doubled_or_stuck_on_a_volume_while_everybody_is_killed(
    tmp_path: Path,
) -> None:
    play_on_a_file(tmp_path, "network", 100)
