"""A run of the machine: rounds of examples, each round with a seed of its own."""

import random
from collections.abc import Callable

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from queuelog_core.stores import Store
from tests.model.figures import Figures
from tests.model.machine import Machine

STEPS_PER_EXAMPLE = 100
EXAMPLES_PER_ROUND = 9
"""From the tenth on Hypothesis would mostly repeat an example with parts of it doubled."""


def run_model(open_empty: Callable[[], Store], first_seed: int, steps: int) -> Figures:
    """Rounds until so many steps are done, and no more than twice as many as that should take.

    A difference is raised as an AssertionError, shrunk to a short way there.
    """
    figures, seeds = Figures(), random.Random(first_seed)
    rounds = -(-steps // (STEPS_PER_EXAMPLE * EXAMPLES_PER_ROUND))
    for _ in range(2 * rounds):
        if figures.steps < steps:
            run_round(open_empty, seeds.randrange(2**32), figures)
    return figures


def run_round(open_empty: Callable[[], Store], round_seed: int, figures: Figures) -> None:
    """Some examples, each on an empty store."""

    @seed(round_seed)
    class Example(Machine):
        def __init__(self) -> None:
            super().__init__(open_empty(), figures)

    run_state_machine_as_test(
        Example,
        settings=settings(
            max_examples=EXAMPLES_PER_ROUND,
            stateful_step_count=STEPS_PER_EXAMPLE,
            deadline=None,
            database=None,
            phases=(Phase.generate, Phase.shrink),
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
