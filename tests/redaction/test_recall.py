"""How many of the secrets are found, plain and in the forms that texts take on their way."""

import pytest

from queuelog_core.redact import redact_error, scrub
from tests.redaction.corpus import Sample, load
from tests.redaction.mutators import MUTATORS

# The lines of missed.txt are known to be missed, and count; docs/redaction.md says why.
FOUND = load(
    *("development", "held_out", "fresh", "unseen"),
    *("blind", "blind_again", "blind_third", "blind_two", "terminal"),
)
SAMPLES = [*FOUND, *load("missed")]
KINDS = sorted({sample.kind for sample in SAMPLES})
RECALL_MIN, MUTATED_RECALL_MIN = 0.99, 0.95


def misses(samples: list[Sample]) -> list[str]:
    """The lines of which a secret, or a run of one, is still there."""
    return [sample.line for sample in samples if sample.leaks(redact_error(sample.text))]


def assert_recall(samples: list[Sample], least: float) -> None:
    missed = misses(samples)
    assert len(missed) <= len(samples) * (1 - least), missed


def test_the_corpus_is_large_enough_to_judge_by() -> None:
    assert len(SAMPLES) >= 320
    assert len(KINDS) >= 45
    assert min(sum(sample.kind == kind for sample in SAMPLES) for kind in KINDS) >= 5
    assert all(sample.secrets and sample.runs() for sample in SAMPLES)
    assert len({sample.line for sample in SAMPLES}) == len(SAMPLES)
    assert len(MUTATORS) >= 6


@pytest.mark.parametrize("kind", KINDS)
def test_the_secrets_of_a_kind_are_found(kind: str) -> None:
    assert misses([sample for sample in FOUND if sample.kind == kind]) == []


def test_nearly_all_secrets_are_found() -> None:
    assert_recall(SAMPLES, RECALL_MIN)


@pytest.mark.parametrize("name", MUTATORS)
def test_nearly_all_secrets_are_found_in_every_form_of_a_text(name: str) -> None:
    assert_recall([MUTATORS[name](sample) for sample in SAMPLES], MUTATED_RECALL_MIN)


@pytest.mark.parametrize("name", MUTATORS)
def test_a_form_of_a_text_keeps_the_marks_of_its_secrets(name: str) -> None:
    changed = [MUTATORS[name](sample) for sample in SAMPLES]

    counts = [
        (len(one.secrets), len(other.secrets)) for one, other in zip(SAMPLES, changed, strict=True)
    ]
    assert all(before == after for before, after in counts)
    assert sum(one.text != other.text for one, other in zip(SAMPLES, changed, strict=True)) > 100


def test_what_was_scrubbed_is_not_scrubbed_again() -> None:
    for sample in SAMPLES:
        once = scrub(sample.text)
        assert scrub(once) == once


@pytest.mark.parametrize("start", ["https://app:", "eyJhbGciOiJ9.", "password=", 'token="', "ghp_"])
@pytest.mark.parametrize("length", [2_000, 3_000, 5_000])
def test_the_beginning_of_a_very_long_secret_at_the_bound_does_not_survive(
    start: str, length: int
) -> None:
    """The block before it shrinks, so that what lies at the bound would be shown."""
    before = "-----BEGIN PRIVATE KEY-----" + "x" * 12_000 + "-----END PRIVATE KEY----- "
    secret = "Ab3d" * length

    assert "Ab3dAb" not in redact_error(f"{before}{start}{secret}@db")


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("aws_secret_access_key = wJalrXUtnFEMI" * 3, "wJalrX"),
        ("https://user:pa/ssw0rd@host/x", "pa/ssw"),
        ("https://user:pa/ssw0rd@host/x", "ssw0rd"),
        ("password=<hunter2>", "hunter2"),
        ("İ password=hunter2 İ", "hunter2"),
        ("AKIAIOSFODNN7EXAMPLE" * 2, "AKIAIOSFODNN7EXAMPLE"),
    ],
)
def test_a_secret_that_was_once_missed_is_found(text: str, secret: str) -> None:
    assert secret not in redact_error(text)


def test_nothing_of_a_token_with_a_colon_stays_behind_its_scheme() -> None:
    token = "123456789:AAF0123456789abcdefghijABCDEFGHIJ01"

    assert redact_error(f"Bearer {token}") == "Bearer [redacted:bearer]"
