"""The model on the DynamoDB store. Calls come one after the other, so that what this store does not
promise to a crowd, such as the order, it has to keep here."""

import pytest

from tests.model.judging import play, seconds_for, steps_of
from tests.support.dynamodb import Engine

STEPS = steps_of(5_000)


@pytest.mark.timeout(seconds_for(STEPS))
def test_each_answer_and_each_job_on_dynamodb_is_as_the_contract_tells(
    dynalite_engine: Engine,
) -> None:
    play(lambda: dynalite_engine.open_new(counted=False), STEPS)
