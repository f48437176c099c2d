"""What `make soak` holds against the product, over its seeds and over inputs of hypothesis.

The fuzzer itself is not installed here; the targets do without it.
"""

from importlib import import_module
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.soak_run import TARGETS, outcome_of

steady = settings(
    max_examples=300,
    derandomize=True,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)


def module_of(target: str) -> ModuleType:
    return import_module(f"tests.fuzz.soak_{target}")


def inputs(target: str) -> st.SearchStrategy[bytes]:
    """Seeds of which a part is replaced by bytes and tokens, as a fuzzer does it."""
    module = module_of(target)
    tokens = st.sampled_from(module.DICTIONARY) | st.binary(max_size=4)
    pieces = st.lists(tokens, max_size=6).map(b"".join)
    places, sizes = st.integers(0, 80), st.integers(0, 20)
    return st.builds(
        lambda seed, start, size, piece: seed[:start] + piece + seed[start + size :],
        *(st.sampled_from(module.SEEDS), places, sizes, pieces),
    )


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_holds_over_its_seeds(target: str) -> None:
    module = module_of(target)

    for seed in module.SEEDS:
        assert len(seed) <= TARGETS[target], "the fuzzer would cut it"
        module.check(seed)


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_holds_over_inputs_of_hypothesis(target: str) -> None:
    @steady
    @given(inputs(target))
    def holds(data: bytes) -> None:
        module_of(target).check(data)

    holds()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("data", [b"", b"\0", b"\xff" * 300])
def test_every_input_means_something(target: str, data: bytes) -> None:
    module_of(target).check(data)


LOG = """#2	INITED cov: 51 ft: 59 corp: 2/9b exec/s: 0 rss: 45Mb
#661373	DONE   cov: 64 ft: 99 corp: 9/145b lim: 4096 exec/s: 110228 rss: 45Mb
artifact_prefix='.soak/body/found/'; Test unit written to .soak/body/found/crash-90bb
stat::number_of_executed_units: 661373
stat::average_exec_per_sec:     110228
stat::new_units_added:          43
"""


def test_the_figures_are_read_from_what_the_fuzzer_says() -> None:
    outcome = outcome_of(77, LOG)

    assert (outcome.runs, outcome.runs_per_second) == (661_373, 110_228)
    assert (outcome.coverage, outcome.corpus_new) == (64, 43)
    assert outcome.found == (".soak/body/found/crash-90bb",)


def test_a_fuzzer_that_was_interrupted_has_the_figures_of_its_last_line() -> None:
    outcome = outcome_of(72, LOG.partition("artifact")[0])

    assert (outcome.runs, outcome.runs_per_second, outcome.coverage) == (661_373, 110_228, 64)


def test_a_fuzzer_that_never_started_has_no_figures() -> None:
    outcome = outcome_of(1, "ModuleNotFoundError: No module named 'atheris'")

    assert (outcome.status, outcome.runs, outcome.coverage, outcome.found) == (1, 0, 0, ())
