"""The history checker on DynamoDB: whatever is killed, dynalite goes on, as DynamoDB would."""

from collections.abc import Mapping
from pathlib import Path

from queuelog_core.stores import open_store
from tests.support.dynamodb import Engine
from tests.support.engines import gives_in_order
from tests.support.history_rounds import play_enough, play_soundly


def test_nothing_is_lost_doubled_or_stuck_on_dynamodb_while_everybody_is_killed(
    tmp_path: Path, dynalite_engine: Engine
) -> None:
    def play_one(number: int, kills: int) -> Mapping[str, int]:
        store = dynalite_engine.url(dynalite_engine.make_table())
        in_order = gives_in_order(open_store(store))
        return play_soundly(tmp_path, store, number, kills, in_order=in_order)

    play_enough("dynamodb", 60, play_one)
