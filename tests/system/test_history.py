"""What real clients were told stays true while servers, producers and workers are killed."""

from pathlib import Path

from tests.support.history_files import play_on_a_file


def test_nothing_is_lost_doubled_or_stuck_while_everybody_is_killed(tmp_path: Path) -> None:
    play_on_a_file(tmp_path, "local", 200)
